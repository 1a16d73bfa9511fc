"""The benchmarks of what memory may say: labels are cut off before the run, and what is counted is what happened."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from benchmarks import __main__ as command
from benchmarks.bank import decode_events
from benchmarks.lifecycle import HISTORIES, NEW, OLD, Echo, History, Life, Reader, Story, build_stories, live, measure_stories
from benchmarks.memsyco import WITH_TURNS, Tally, judge_row, measure_rows
from benchmarks.memsyco_rows import Policy, Seen, Solution, Turn, build_bank, load_rows, split_row
from benchmarks.recaps import FRAMES, WAYS, reword, reword_freely, strip_frame, write_recap
from benchmarks.report import Report
from guardian.errors import ConfigError
from guardian.ports import Fence
from guardian.read import Calibrator, Task
from guardian.settings import Settings
from guardian.store.memory import MemoryStore
from guardian.wiring import build_identity, build_pipeline
from tests.unit.benchmark_rows import ROWS, figure, ignore


class WordEmbedder:
    """An embedder without a model: texts that share words lie near each other."""

    identity, size, embeds = "words", 96, True

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Count each text's words into bins."""
        return [count_words(text) for text in texts]

    def forget(self, texts: Sequence[str]) -> None:
        """Keep nothing."""

    async def close(self) -> None:
        """Release nothing."""


def count_words(text: str) -> tuple[float, ...]:
    """Count the words of a text into bins."""
    bins = [0.01] * WordEmbedder.size
    for word in text.lower().replace(".", "").split():
        bins[zlib.crc32(word.encode()) % len(bins)] += 1.0
    return tuple(bins)


class TestLabels:
    """What a run may know of a row."""

    def test_nothing_of_the_solution_reaches_what_is_seen_or_written(self) -> None:
        """Rows that differ in every label alone are seen alike, and make the same events, to the byte."""
        for row in ROWS:
            other = copy.deepcopy(row) | {
                "id": "zz",
                "task": "personalized_memory_use",
                "evaluation": {},
                "metadata": {"topic": "other"},
            }
            other["memory"]["policy"] = "use"
            for item in other["memory"]["items"]:
                item |= {"type": "another", "status": "active"}
            one, two = split_row(row)[0], split_row(other)[0]
            assert one == two
            assert orjson.dumps(build_bank(one, 1, has_turns=True)) == orjson.dumps(build_bank(two, 1, has_turns=True))

    def test_what_is_seen_names_no_label(self) -> None:
        """The fields are the three that a reader has."""
        assert set(Seen.__slots__) == {"question", "dialogue", "items"}

    def test_a_tools_excerpts_are_the_blocks_of_the_dialogue(self) -> None:
        """One each, and only of the assistant's turns: a user cannot write evidence into the bank."""
        block = "<information>\n[A]\none\n\n[B]\ntwo\n</information>"
        turns = (Turn(role="assistant", text=block), Turn(role="user", text=block))
        assert Seen(question="q", dialogue=turns, items=()).evidence == ("[A]\none", "[B]\ntwo")

    def test_reversals_by_the_label_lead_from_outdated_to_current(self) -> None:
        """And rows without an outdated item have none."""
        assert [sorted(split_row(row)[1].reversals) for row in ROWS] == [[], [], [(0, 1)]]

    def test_a_folder_without_rows_is_refused(self, tmp_path: Path) -> None:
        """With a line that says what to do; the run goes on with the next benchmark."""
        with pytest.raises(ConfigError, match="no rows"):
            load_rows(tmp_path)


class TestRecaps:
    """How recaps are worded."""

    def test_a_frame_comes_off_as_it_went_on(self) -> None:
        """So that a recap of a recap is no longer than one of the original."""
        for before, behind in FRAMES:
            assert strip_frame(f"{before}Prefers tea.{behind}") == "Prefers tea."
        assert strip_frame("Prefers tea.") == "Prefers tea."

    def test_every_way_writes_something_of_what_was_read(self) -> None:
        """Only a join holds a second memory, and both stand in it."""
        texts = ["User prefers films about travel.", "User dislikes queues."]
        for number, way in enumerate(WAYS):
            text, held = write_recap(number, texts)
            assert held == (2 if way == "join" else 1), way
            assert ("queues" in text) == (way == "join")
            assert text
        assert write_recap(WAYS.index("join"), texts[:1])[1] == 1

    def test_rewording_changes_words(self) -> None:
        """The freer one changes more."""
        text = "User prefers films about travel."
        assert reword(text) == "This person would rather have films about travel."
        assert reword_freely(text) == "This person would rather have pictures about trips."


class TestMemsyco:
    """The whole run, on three invented rows."""

    async def test_every_run_counts_its_rows(self) -> None:
        """Given tasks meet the aims; unknown ones are read on the careful side; by the label nothing outdated is shown."""
        rows, report = [split_row(row) for row in ROWS], Report(name="memsyco", title="three rows")
        await measure_rows(report, rows, WordEmbedder(), ignore)
        for corrections in ("corrections found", "corrections by label"):
            given = f"task given, {corrections}: "
            assert figure(report, f"{given}fact: a person's memory as evidence") == 0
            assert figure(report, f"{given}outdated memory shown") == 0
            assert figure(report, f"{given}valid memory shown as preference") == 1
            assert figure(report, f"{given}conflict policy right") == 1
            assert figure(report, f"{given}tool evidence shown as evidence") == 1
            guessed = f"task guessed, {corrections}: "  # no weights for these vectors: nothing is said
            assert figure(report, f"{guessed}fact: a person's memory as evidence") == 0
            assert figure(report, f"{guessed}valid memory shown as preference") == 0
        assert figure(report, f"task given, {WITH_TURNS}: fact: a person's memory as evidence") == 0
        assert figure(report, "reversals found, recall, all rows") == 1

    async def test_a_missed_reversal_counts_as_shown(self) -> None:
        """The figures can fail: without a correction both claims stand, and the outdated one is counted."""
        seen, solution = split_row(ROWS[2])
        tally = await self.read(seen, solution, Task(requires_objective_fact=False, personalization_allowed=True, user="person"))
        assert tally.hits["outdated memory shown"] == 1
        assert tally.hits["valid memory shown as preference"] == 1
        assert tally.hits["conflict policy right"] == 1

    async def test_a_wish_in_a_choice_of_others_counts_by_its_role(self) -> None:
        """Told that others are concerned, it is a constraint; untold, a free preference."""
        seen = Seen(question="What shall we eat?", dialogue=(), items=("User prefers spicy food.",))
        solution = Solution(task="contextual_scope_control", policy=Policy.CONSTRAIN, statuses=("active",), is_development=True)
        task = Task(requires_objective_fact=False, personalization_allowed=True, user="person")
        told = await self.read(
            seen, solution, Task(**{name: getattr(task, name) for name in task.__slots__} | {"concerns_others": True})
        )
        untold = await self.read(seen, solution, task)
        counts = [
            (tally.hits["others' choice: memory as constraint"], tally.hits["others' choice: memory as free preference"])
            for tally in (told, untold)
        ]
        assert counts == [(1, 0), (0, 1)]

    async def read(self, seen: Seen, solution: Solution, task: Task) -> Tally:
        """Read one row without any correction and judge it."""
        embedder, tally = WordEmbedder(), Tally()
        store = MemoryStore(build_identity(embedder))
        await store.open()
        await build_pipeline(Settings(), store, embedder, None).process(decode_events(build_bank(seen, 0)), fence=Fence())
        judge_row(
            tally,
            solution,
            await Calibrator(store, embedder=embedder).context(seen.question, task, space="bank-0", turns=seen.turns),
        )
        await store.close()
        return tally


STORY = Story(
    old="User enjoys long evening walks by the river.",
    new="User now prefers reading at home in the evening.",
    question="What shall this User do in the evening?",
    others=tuple(
        (f"User prefers {food} for {meal}.", f"Which {food} for {meal}?") for food, meal in (("figs", "lunch"), ("rye", "supper"))
    ),
)


class TestLifecycle:
    """The life of one claim."""

    async def test_guardian_gives_no_old_family_and_a_bare_bank_does(self) -> None:
        """Recaps declared or not; unrelated memories are found all the same."""
        report = Report(name="lifecycle", title="one story")
        await measure_stories(report, [STORY], WordEmbedder(), ignore)
        assert figure(report, "plain, recapped: old family in the top 10") > 0
        for history in HISTORIES:
            assert figure(report, f"Guardian, {history.name}: old family in the top 10") == 0
            assert figure(report, f"Guardian, {history.name}: new claim in the top 10") == 1
            assert figure(report, f"Guardian, {history.name}: unrelated memory found") == 1

    @pytest.mark.parametrize("history", [HISTORIES[0], HISTORIES[3]], ids=lambda history: history.name)
    async def test_the_old_claim_is_given_until_it_is_corrected(self, history: History) -> None:
        """What is out afterwards was in before: nothing is shown by showing nothing."""
        embedder = WordEmbedder()
        store = MemoryStore(build_identity(embedder))
        await store.open()
        pipeline = build_pipeline(Settings(), store, embedder, None)
        life = Life(space="life", reader=Reader.GUARDIAN, history=history, store=store, pipeline=pipeline, embedder=embedder)
        old = await life.tell(OLD, STORY.old)
        assert await life.read(STORY.question) == [old]
        await store.close()

    @pytest.mark.parametrize(
        ("text", "share"), [("User paints boats in spring.", 0), ("User prefers figs for lunch, says the list.", 1)]
    )
    async def test_what_the_agent_has_from_elsewhere_is_counted_by_its_parents(self, text: str, share: float) -> None:
        """A text that nobody gave it has none; one that says what was just read has one, so the figure can fail."""
        report = Report(name="lifecycle", title="one story")
        story = replace(STORY, strangers=((text, "Which figs for lunch?"),))
        await measure_stories(report, [story], WordEmbedder(), ignore)
        assert figure(report, "Guardian, recapped, undeclared: unrelated writes given a parent") == share

    async def test_a_recap_holds_what_its_sources_hold(self) -> None:
        """Also over two steps: this is how the benchmark knows the old family when Guardian does not."""
        embedder, echo = WordEmbedder(), Echo()
        store = MemoryStore(build_identity(embedder))
        await store.open()
        pipeline = build_pipeline(Settings(), store, embedder, None)
        life = Life(space="life", reader=Reader.PLAIN, history=HISTORIES[3], store=store, pipeline=pipeline, embedder=embedder)
        await live(life, STORY, echo)
        assert all(life.holds[memory_id] for memory_id in life.recaps)
        assert {frozenset({OLD}), frozenset({NEW})} <= set(life.holds.values())
        assert len(echo.present) == 30
        await store.close()

    def test_stories_are_made_of_rows_with_a_correction(self, tmp_path: Path) -> None:
        """Others' standing memories lie around them."""
        row = ROWS[2]
        (tmp_path / "valid.jsonl").write_bytes(b"\n".join(orjson.dumps(row | {"id": str(number)}) for number in range(4)))
        stories = build_stories(tmp_path, stories=2, others=3)
        assert len(stories) == 2
        assert all(len(story.others) == 3 and story.old != story.new for story in stories)
        assert all(not story.strangers for story in stories)  # every other row says what is in the bank


@pytest.mark.parametrize("name", ["memsyco", "lifecycle", "rewording", "answers"])
async def test_without_data_it_is_skipped_with_a_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the variable to set."""
    monkeypatch.delenv("GUARDIAN_REAL_DATA", raising=False)
    with pytest.raises(ConfigError, match="GUARDIAN_REAL_DATA"):
        await command.BENCHMARKS[name].quick(ignore)
