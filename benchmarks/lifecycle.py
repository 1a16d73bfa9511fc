"""The life of a claim that was corrected, in the shape of MEchoBench ("Memory Echo in Single-Agent Long-Term Memory").

A bank holds an old claim of a person and unrelated memories. The claim is read (once, six times, or six times with a recap after each read), then corrected, then
thirty more questions are asked, each followed by a recap where the history has recaps. How often does the old family come back? The claims,
their corrections and the questions are the rows of MemSyco-Bench's Valid Memory Selection; unrelated memories are the standing ones of other rows.

Four readers, each with banks of its own, for what a reader sees is what its agent writes down again:

- *plain*: hybrid search, the ten best, of all that was ever written;
- *repetition penalty*: the fifty best, each score divided by one and the times that the memory was given before;
- *recency*: the fifty best, each score halved for every `HALF_LIFE` since the memory was written;
- *Guardian*: the pipeline and the calibrated read. The correction is an event by the user. Recaps name what they recap (declared), or nothing
  at all (undeclared): then the read's own `memory.read`, in the recap's session, is all there is.

To the first three the correction is one more memory, as it is to a bank without a guard.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from benchmarks.bank import START, decode_events, wrap
from benchmarks.laps import Advance
from benchmarks.memsyco_rows import Policy, load_rows
from benchmarks.real_data import find_real
from benchmarks.recaps import WAYS, write_recap
from benchmarks.report import Aim, Report
from guardian.core.model import Read, Status
from guardian.core.numbers.interval import estimate_share
from guardian.core.point import PointKind
from guardian.embed.bm25 import bm25_query
from guardian.embed.port import Embedder
from guardian.embed.sentence_transformers import open_sentence_transformers
from guardian.pipeline import Pipeline
from guardian.ports import Fence, SearchQuery
from guardian.read import Calibrator, ReadPolicy, Task
from guardian.read.admission.policy import STANDING
from guardian.settings import Settings
from guardian.store.memory import MemoryStore
from guardian.wiring import build_identity, build_pipeline

TOP, DEEP = 10, 50
STRANGERS = 3  # unrelated texts that the agent writes down after each story
READS_BEFORE, READS_AFTER = 6, 30
HALF_LIFE = timedelta(days=7)
_STEP = timedelta(hours=6)  # between two reads
USER = "person"
TASK = Task(requires_objective_fact=False, personalization_allowed=True, concerns_others=False, user=USER)
OLD, NEW = "old", "new"


class Reader(StrEnum):
    """Who reads."""

    PLAIN = "plain"
    PENALTY = "repetition penalty"
    RECENCY = "recency"
    GUARDIAN = "Guardian"


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What happens to a claim before it is corrected, and after every read."""

    name: str
    reads: int
    has_recaps: bool = False
    is_declared: bool = False


HISTORIES = (
    History(name="written once", reads=0),
    History(name="read six times", reads=READS_BEFORE),
    History(name="recapped, declared", reads=READS_BEFORE, has_recaps=True, is_declared=True),
    History(name="recapped, undeclared", reads=READS_BEFORE, has_recaps=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One claim with its correction and a question, and unrelated memories with theirs.

    Attributes:
        strangers: Texts with their questions that are in no bank before the end.
    """

    old: str
    new: str
    question: str
    others: tuple[tuple[str, str], ...]
    strangers: tuple[tuple[str, str], ...] = ()


def build_stories(folder: Path, *, stories: int, others: int) -> list[Story]:
    """Build stories of the rows; unrelated memories are the standing ones of the rows that follow."""
    rows = [
        (seen, solution)
        for seen, solution in load_rows(folder)
        if solution.policy is Policy.UPDATE and solution.statuses == ("outdated", "current")
    ]
    told = [(seen.items[1], seen.question) for seen, _ in rows]
    step = max(1, len(rows) // stories)
    built = []
    for place in range(0, len(rows), step)[:stories]:
        seen, around = rows[place][0], [told[(place + ahead) % len(rows)] for ahead in range(1, len(rows))]
        there = {*seen.items, *(text for text, _ in around[:others])}
        strangers = [one for one in around[others:] if one[0] not in there][:STRANGERS]
        claim = {"old": seen.items[0], "new": seen.items[1], "question": seen.question}
        built.append(Story(**claim, others=tuple(around[:others]), strangers=tuple(strangers)))
    return built


@dataclass(slots=True)
class Life:
    """One bank: what was written into it, and who descends from whom as only the benchmark knows.

    Attributes:
        holds: Memory -> the first memories whose words stand in it.
        given: Memory -> times it was given.
    """

    space: str
    reader: Reader
    history: History
    store: MemoryStore
    pipeline: Pipeline
    embedder: Embedder
    now: datetime = START
    holds: dict[str, frozenset[str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    written_at: dict[str, datetime] = field(default_factory=dict)
    given: dict[str, int] = field(default_factory=dict)
    recaps: dict[str, str] = field(default_factory=dict)
    strangers: set[str] = field(default_factory=set)
    first_way: int = 0
    events: int = 0

    async def send(self, event_type: str, **content: Any) -> None:
        """Send one event, now."""
        self.events += 1
        event = wrap(self.space, event_type, self.events, content) | {
            "id": f"{self.space}-{self.events}",
            "time": self.now.isoformat(),
        }
        await self.pipeline.process(decode_events([event]), fence=Fence())

    async def write(self, memory_id: str, text: str, holds: frozenset[str], **content: Any) -> None:
        """Write a memory."""
        self.holds[memory_id], self.texts[memory_id], self.written_at[memory_id] = holds, text, self.now
        await self.send("memory.written", memory_id=memory_id, text=text, **content)

    async def tell(self, name: str, text: str) -> str:
        """Let the person say something about themselves; gives the memory's id, which says nothing, as ids decide ties."""
        memory_id = hashlib.sha256(f"{self.space} {name}".encode()).hexdigest()[:12]
        source, scope = {"kind": "user", "actor": USER}, {"user_id": USER}
        await self.write(memory_id, text, frozenset({name}), kind="preference", source=source, scope=scope)
        return memory_id

    async def read(self, question: str) -> list[str]:
        """Ask, and give the memories that the reader gives, best first."""
        if self.reader is Reader.GUARDIAN:
            given = await self._read_calibrated(question)
        else:
            given = await self._search(question)
        for memory_id in given:
            self.given[memory_id] = self.given.get(memory_id, 0) + 1
        return given

    async def recap(self, given: Sequence[str], number: int) -> None:
        """Let the agent write down again, a minute later in the same session, the first (and second) of what it was given."""
        number += self.first_way
        text, held = write_recap(number, [self.texts[memory_id] for memory_id in given])
        sources = list(given[:held])
        memory_id = self._name("recap")
        self.recaps[memory_id] = WAYS[number % len(WAYS)]
        held_words = frozenset[str]().union(*(self.holds[name] for name in sources))
        declared = {"parents": sources} if self.history.is_declared else {}
        await self._write_in_session(memory_id, text, held_words, kind="summary" if held > 1 else "preference", **declared)

    async def note_stranger(self, text: str, question: str) -> None:
        """Let the agent read what is nearest, and write down in the same session what it has from elsewhere."""
        self.now += _STEP
        await self.read(question)
        memory_id = self._name("stranger")
        self.strangers.add(memory_id)
        await self._write_in_session(memory_id, text, frozenset({memory_id}), kind="preference")

    @property
    def session(self) -> str:
        """Every read has a session of its own."""
        return f"{self.space}-{self.now:%Y%m%dT%H}"

    def _name(self, what: str) -> str:
        return hashlib.sha256(f"{self.space} {what} {len(self.texts)}".encode()).hexdigest()[:12]

    async def _write_in_session(self, memory_id: str, text: str, holds: frozenset[str], **content: Any) -> None:
        self.now += timedelta(minutes=1)
        source, scope = {"kind": "agent", "actor": "assistant"}, {"user_id": USER, "session_id": self.session}
        await self.write(memory_id, text, holds, source=source, scope=scope, **content)

    async def _read_calibrated(self, question: str) -> list[str]:
        async def pass_on(read: Read) -> None:
            await self.pipeline.process([read], fence=Fence())

        calibrator = Calibrator(
            self.store, ReadPolicy(limit=TOP, token_budget=None), embedder=self.embedder, on_read=pass_on, clock=lambda: self.now
        )
        task = Task(**{name: getattr(TASK, name) for name in TASK.__slots__} | {"session": self.session})
        admission = await calibrator.context(question, task, space=self.space)
        return [decision.candidate.memory_id for decision in admission.rendered]

    async def _search(self, question: str) -> list[str]:
        (vector,) = await self.embedder.embed([question])
        query = SearchQuery(space=self.space, sparse=bm25_query(question), dense=vector, limit=DEEP, fields=("memory_id",))
        hits = await self.store.search(query)
        scored = [(self._weigh(hit.point.payload["memory_id"], hit.score), hit.point.payload["memory_id"]) for hit in hits]
        return [memory_id for _, memory_id in sorted(scored, key=lambda pair: -pair[0])[:TOP]]

    def _weigh(self, memory_id: str, score: float) -> float:
        if self.reader is Reader.PENALTY:
            return score / (1 + self.given.get(memory_id, 0))
        if self.reader is Reader.RECENCY:
            return float(score * 0.5 ** ((self.now - self.written_at[memory_id]) / HALF_LIFE))
        return score


@dataclass(slots=True)
class Echo:
    """What became of the old family in the reads after the correction, one entry a read, over all stories."""

    present: list[bool] = field(default_factory=list)
    at_last: list[bool] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    renewed: list[bool] = field(default_factory=list)
    unrelated: list[bool] = field(default_factory=list)
    tied: list[bool] = field(default_factory=list)
    recognised: dict[str, list[bool]] = field(default_factory=dict)
    standing: dict[str, list[bool]] = field(default_factory=dict)

    @property
    def stories(self) -> list[bool]:
        """Whether the old claim came back at all, one entry a story."""
        return [any(self.present[place : place + READS_AFTER]) for place in range(0, len(self.present), READS_AFTER)]

    def note(self, life: Life, given: Sequence[str], *, is_last: bool) -> None:
        """Note one read after the correction: any memory that holds the old claim counts, whatever else it holds."""
        old = [memory_id for memory_id in given if OLD in life.holds[memory_id]]
        self.present.append(bool(old))
        self.places.append(len(old))
        self.renewed.append(any(NEW in life.holds[memory_id] for memory_id in given))
        if is_last:
            self.at_last.append(bool(old))


async def live(life: Life, story: Story, echo: Echo) -> None:
    """Live one story through."""
    for place, (text, _) in enumerate(story.others):
        await life.tell(f"other-{place}", text)
    old = await life.tell(OLD, story.old)
    for number in range(life.history.reads):
        await _turn(life, story.question, number, about=OLD)
    life.now += _STEP
    new = await life.tell(NEW, story.new)
    if life.reader is Reader.GUARDIAN:
        await life.send("memory.corrected", targets=[old], replacement=new, authority={"kind": "user", "actor": USER})
    for number in range(READS_AFTER):
        given = await _turn(life, story.question, life.history.reads + number)
        echo.note(life, given, is_last=number == READS_AFTER - 1)
    for place, (_, question) in list(enumerate(story.others))[::3]:
        life.now += _STEP
        echo.unrelated.append(any(f"other-{place}" in life.holds[memory_id] for memory_id in await life.read(question)))
    if life.history.has_recaps and not life.history.is_declared and life.reader is Reader.GUARDIAN:
        for text, question in story.strangers:
            await life.note_stranger(text, question)


async def _note_bank(life: Life, echo: Echo) -> None:
    """Note which recaps and strangers got a parent, recaps by their way of wording, and which recaps of the old claim still stand."""
    async for point in life.store.iter_points():
        memory_id = point.payload.get("memory_id", "")
        if point.payload["point"] != PointKind.RECORD or memory_id not in life.recaps.keys() | life.strangers:
            continue
        is_inferred = orjson.loads(point.payload["lineage"]).get("pv") == "inferred"
        if memory_id in life.strangers:
            echo.tied.append(is_inferred)
            continue
        way = life.recaps[memory_id].removeprefix("framed ").split("-")[0]
        echo.recognised.setdefault(way, []).append(is_inferred)
        if OLD in life.holds[memory_id]:
            sort = "of it alone" if life.holds[memory_id] == {OLD} else "joined with others"
            echo.standing.setdefault(sort, []).append(Status(point.payload["status"]) in STANDING)


async def _turn(life: Life, question: str, number: int, about: str | None = None) -> list[str]:
    """Read, and recap what came first; what holds `about` comes before the rest, for the claim is what is talked of then."""
    life.now += _STEP
    given = await life.read(question)
    if life.history.has_recaps and given:
        await life.recap(sorted(given, key=lambda memory_id: about is not None and about not in life.holds[memory_id]), number)
    return given


async def measure_lifecycle(*, stories: int, others: int, advance: Advance, folder: Path | None = None) -> Report:
    """Live every story with every reader and every history, and report what came back."""
    told = build_stories(folder or find_real("memsyco-bench"), stories=stories, others=others)
    report = Report(
        name="lifecycle",
        title=f"{len(told)} claims corrected, {others} unrelated memories beside each, {READS_AFTER} reads after",
    )
    embedder = await open_sentence_transformers()
    try:
        await measure_stories(report, told, embedder, advance)
    finally:
        await embedder.close()
    return report


async def measure_stories(report: Report, stories: Sequence[Story], embedder: Embedder, advance: Advance) -> None:
    """Measure all readers; a reader that knows no parents needs one history with recaps only."""
    texts = [
        text
        for story in stories
        for text in (story.old, story.new, story.question, *(one for pair in (*story.others, *story.strangers) for one in pair))
    ]
    advance("embedding")
    await embedder.embed(list(dict.fromkeys(texts)))
    plain: dict[str, float] = {}
    for reader in Reader:
        for history in HISTORIES:
            if history.is_declared and reader is not Reader.GUARDIAN:
                continue
            advance(f"{reader.value}, {history.name}")
            echo = await _live_all(stories, reader, history, embedder)
            _report(report, reader, history, echo, plain)
    report.notes.append(
        "reads of one story hang together: their intervals are too narrow, those of stories and of the last read are not"
    )


async def _live_all(stories: Sequence[Story], reader: Reader, history: History, embedder: Embedder) -> Echo:
    echo = Echo()
    for place, story in enumerate(stories):
        store = MemoryStore(build_identity(embedder))
        await store.open()
        pipeline = build_pipeline(Settings(), store, embedder, None)
        life = Life(
            space=f"life-{place}",
            reader=reader,
            history=history,
            store=store,
            pipeline=pipeline,
            embedder=embedder,
            first_way=5 * place,
        )
        await live(life, story, echo)
        await _note_bank(life, echo)
        await store.close()
    return echo


def _report(report: Report, reader: Reader, history: History, echo: Echo, plain: dict[str, float]) -> None:
    name = history.name if reader is Reader.GUARDIAN else history.name.replace("recapped, undeclared", "recapped")
    is_guarded = reader is Reader.GUARDIAN
    aim = Aim(value=0.03 if history.has_recaps and not history.is_declared else 0.0, is_ceiling=True) if is_guarded else None
    shares = {
        "old family in the top 10": (echo.present, aim),
        "stories in which it came back": (echo.stories, aim),
        "old family in the last read": (echo.at_last, aim),
        "new claim in the top 10": (echo.renewed, None),
        "unrelated memory found": (echo.unrelated, None),
    }
    for what, (hits, target) in shares.items():
        report.add_estimate(f"{reader.value}, {name}: {what}", estimate_share(sum(hits), len(hits)), aim=target)
    report.add(f"{reader.value}, {name}: places of the top 10 held by it", sum(echo.places) / len(echo.places), "places")
    if is_guarded:
        found = echo.recognised if not history.is_declared else {}
        for what, by_sort in (("recaps given a parent", found), ("recaps still standing in the bank", echo.standing)):
            for sort, hits in sorted(by_sort.items()):
                report.add_estimate(f"{reader.value}, {name}: {what}, {sort}", estimate_share(sum(hits), len(hits)))
    if echo.tied:
        what = "unrelated writes given a parent"
        report.add_estimate(f"{reader.value}, {name}: {what}", estimate_share(sum(echo.tied), len(echo.tied)))
    recall = sum(echo.unrelated) / len(echo.unrelated)
    key = name.split(",")[0]
    if reader is Reader.PLAIN:
        plain[key] = recall
    elif is_guarded:
        report.add(f"Guardian, {name}: unrelated found, to plain search", recall / plain[key], "ratio", aim=Aim(value=0.98))
