"""The laws that every input is held to, whatever it is: what is refused, what an event is good for, how much an import accounts for."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import orjson

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import Decoded, decode, encode_event
from guardian.contracts.reason import Reason
from guardian.core.export import EXPORTED, build_row, dump_row, sort_rows
from guardian.core.model import Corrected, Event, SourceKind
from guardian.core.policy import Policy
from guardian.dead_letter_file import DeadLetterFile
from guardian.embed.bm25 import BM25_IDENTITY
from guardian.embed.given import GivenEmbedder
from guardian.errors import RecordError
from guardian.pipeline import BatchReport, Pipeline
from guardian.ports import Fence, OutcomeMessage, StoreIdentity
from guardian.replay import Replay, ReplaySummary, read_event_bytes
from guardian.sources.port import Broken, Item, Skipped, Source, SourceEvent, SourceOptions
from guardian.sources.reason import SourceReason
from guardian.sources.registry import BUILT_IN
from guardian.store.layout import SCHEMA_VERSION
from guardian.store.memory import MemoryStore

RECEIVED_AT = datetime(2027, 1, 1, tzinfo=UTC)
# Small vectors, so that those of inputs fit sometimes; topics and sources that are trusted less.
VECTOR_SIZE = 2
POLICY = DecodePolicy(
    vector_size=VECTOR_SIZE,
    trust_topics=(("agent.*", SourceKind.AGENT), ("tool.*", SourceKind.TOOL)),
    trust_sources=(("/agents/*", SourceKind.USER),),
)
REASONS = frozenset({*Reason, *SourceReason})
FENCE = Fence(version=1)

T = TypeVar("T")


def settle(work: Coroutine[Any, Any, T]) -> T:
    """Run what never waits to its end, without an event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return] # what the coroutine returns
    work.close()
    raise AssertionError("this work waits for something")


class Collector:
    """A publisher that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[OutcomeMessage] = []

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
        """Keep the messages."""
        self.messages += messages


class World:
    """A store in memory, and the pipeline before it."""

    def __init__(self) -> None:
        embedder = GivenEmbedder(size=VECTOR_SIZE)
        identity = StoreIdentity(
            schema_version=SCHEMA_VERSION, embedding=embedder.identity, vector_size=VECTOR_SIZE, bm25=BM25_IDENTITY
        )
        self.store = MemoryStore(identity)
        settle(self.store.open())
        self.collector = Collector()
        self.pipeline = Pipeline(
            store=self.store,
            policy_of=lambda _: Policy(),
            embedder=embedder,
            publisher=self.collector,
            decide_in_thread=10**9,
        )

    def process(self, events: Sequence[Event]) -> BatchReport:
        """Take a batch through the pipeline."""
        return settle(self.pipeline.process(events, fence=FENCE))

    def export(self) -> bytes:
        """Give all rows of the store."""
        return b"".join(dump_row(row) for row in sort_rows(settle(self._build_rows())))

    async def _build_rows(self) -> list[dict[str, Any]]:
        return [build_row(point) async for point in self.store.iter_points(kinds=EXPORTED)]


def check_refusal(error: RecordError) -> None:
    """A refusal has a reason of the closed set, and its message and path can be written."""
    assert error.reason in REASONS, f"{error.reason!r} is no declared reason"
    orjson.dumps([error.reason, str(error), error.path])
    assert len(str(error)) < 20_000, "a message repeats its input"


def check_decoded(decoded: Decoded, *, policy: DecodePolicy = POLICY, received_at: datetime = RECEIVED_AT) -> None:
    """What is decoded can be written, reads back as itself but for the digest, and then as itself in everything."""
    event = decoded.event
    encoded = encode_event(event)
    again = decode(encoded, policy=policy, received_at=received_at).event
    assert _without_digest(again) == _without_digest(event), "an event is another after a round trip"
    assert encode_event(again) == encoded, "the normal form is not stable"


def check_events(events: Sequence[Event]) -> None:
    """Decoded events are decided one by one and together; a second delivery changes no byte; what is published parses."""
    world = World()
    report = world.process(events)
    assert sum(report.dispositions.values()) == len(events), "an event has no disposition"
    rows = world.export()
    check_rows(rows)
    for message in world.collector.messages:
        check_message(message)
    world.process(events)
    assert world.export() == rows, "a second delivery changes the state"


def check_rows(rows: bytes) -> None:
    """Every row of an export is one JSON object that says where it belongs."""
    for line in rows.splitlines():
        assert {"space", "memory_id", "status"} <= orjson.loads(line).keys()


def check_message(message: OutcomeMessage) -> None:
    """An outcome is JSON with the id that the message bears, under a key that can be sent."""
    assert message.value is not None
    assert orjson.loads(message.value)["id"] == message.id
    message.key.encode()


def check_import(source: Source, paths: Sequence[Path], options: SourceOptions, letters: Path) -> list[Item]:
    """Every item of a file ends as one of event, skipped with a reason, or dead letter, and a second import changes nothing.

    Args:
        source: Format that reads the files.
        paths: The files.
        options: As a caller gives them.
        letters: Where dead letters go; replaced.
    """
    letters.unlink(missing_ok=True)
    try:
        items = list(source.iter_items(paths, options))
    except RecordError as error:
        check_refusal(error)
        return []
    for item in items:
        _check_item(item)
    world = World()
    summary = _replay(source, paths, options, letters, world)
    _check_summary(summary, items)
    file = DeadLetterFile(letters)
    kept = [letter for _, letter in file.iter_letters()]
    assert not file.torn
    assert len(kept) + summary.letters_erased == summary.dead_letters.total(), "a dead letter is lost"
    broken = {item.raw for item in items if isinstance(item, Broken)}
    assert summary.letters_erased or {letter.value for letter in kept} >= broken
    rows, lines = world.export(), letters.read_bytes() if letters.exists() else b""
    check_rows(rows)
    again = _replay(source, paths, options, letters, world)
    assert (again.events, again.dead_letters, again.skipped) == (summary.events, summary.dead_letters, summary.skipped)
    assert world.export() == rows, "a second import changes the state"
    assert (letters.read_bytes() if letters.exists() else b"") == lines, "a second import repeats dead letters"
    for known in BUILT_IN:
        known.detect(paths[0])
    return items


def _check_item(item: Item) -> None:
    assert item.rows >= 0
    orjson.dumps(item.position)
    if isinstance(item, Skipped):
        assert item.reason in REASONS
        orjson.dumps(item.detail)
    elif isinstance(item, Broken):
        check_refusal(RecordError(item.reason, item.message))
    else:
        try:
            decoded = decode(read_event_bytes(item), policy=POLICY, received_at=RECEIVED_AT)
        except RecordError as error:
            check_refusal(error)
        else:
            check_decoded(decoded)


def _replay(source: Source, paths: Sequence[Path], options: SourceOptions, letters: Path, world: World) -> ReplaySummary:
    replay = Replay(
        source=source,
        paths=paths,
        options=options,
        decode_policy=POLICY,
        received_at=RECEIVED_AT,
        dead_letters=DeadLetterFile(letters),
        pipeline=world.pipeline,
        batch_events=40,
    )
    return settle(replay.run())


def _check_summary(summary: ReplaySummary, items: Sequence[Item]) -> None:
    skipped = [item for item in items if isinstance(item, Skipped)]
    assert summary.items == len(items), "an item is not counted"
    assert summary.rows == sum(item.rows for item in items), "a row is not counted"
    assert summary.skipped.total() == sum(item.rows for item in skipped)
    assert summary.events + summary.dead_letters.total() + len(skipped) == len(items), "an item ends as nothing, or twice"
    assert sum(isinstance(item, SourceEvent) for item in items) >= summary.events
    assert summary.dispositions.total() == summary.events, "an event has no disposition"


def _without_digest(event: Event) -> Event:
    bare = replace(event, ref=replace(event.ref, digest=""))
    if isinstance(bare, Corrected) and bare.inline is not None:
        bare = replace(bare, inline=replace(bare.inline, ref=replace(bare.inline.ref, digest="")))
    return bare
