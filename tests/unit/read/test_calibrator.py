"""Laws of the calibrator: what it refuses, whose vector and task it takes, and what the guard learns of a read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from guardian.core.model import Read
from guardian.errors import ConfigError, DependencyError
from guardian.ports import OutcomeMessage
from guardian.read import Calibrator, Classification, LedgerFile, ReadPolicy, Reason, Role, SyncCalibrator, Task
from guardian.read.ledger.entry import digest_query
from guardian.read.prompt.section import parse_block
from guardian.store.memory import MemoryStore
from tests import builders as build
from tests.property.bank import IDENTITY, Bank, Collector
from tests.unit.read.asking import DENSE, FACT, PERSONAL, CountingStore, memories


class FakeEmbedder:
    """An embedder whose model may be away."""

    identity, size, embeds = "fake", 2, True

    def __init__(self, *, is_away: bool = False) -> None:
        self.is_away = is_away

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Give the same vector for every text."""
        if self.is_away:
            raise DependencyError("the model is away", dependency="model")
        return [(1.0, 0.0) for _ in texts]

    def forget(self, texts: Sequence[str]) -> None:
        """Keep nothing."""

    async def close(self) -> None:
        """Release nothing."""


class AwayPublisher:
    """A ledger that takes nothing."""

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
        """Refuse."""
        raise DependencyError("the broker is away", dependency="broker")


class TestRefusals:
    """What the caller got wrong is told before anybody is asked."""

    @pytest.mark.parametrize("vector", [(1.0,), (1.0, 0.0, 0.0), (1.0, float("nan"))])
    async def test_a_vector_that_is_none_of_the_stores(self, vector: tuple[float, ...]) -> None:
        """Its size and the embedder are named."""
        store = CountingStore(DENSE)
        with pytest.raises(ValueError, match="2 finite ones: embed the question with 'fake'"):
            await Calibrator(store).context("kiln", FACT, space="s", vector=vector)
        assert store.asked == []

    @pytest.mark.parametrize("wrong", [{"space": "s\ud800"}, {"space": "s", "task": Task(user="\udc00nn")}])
    async def test_a_name_with_half_a_character(self, wrong: dict[str, Any]) -> None:
        """Which name it is, is told."""
        with pytest.raises(ValueError, match=r"^(space|user) has half a character"):
            await Calibrator(CountingStore()).context("kiln", **wrong)

    async def test_names_of_any_script_are_taken(self) -> None:
        """Only halves of characters are none."""
        admission = await Calibrator(Bank().store).context("kiln", Task(user="Aña 李 🌟"), space="ю")
        assert admission.decisions == ()


class TestVectors:
    """Whose vector a question has."""

    async def bank(self) -> Bank:
        """Give a bank of two memories, one near to the question."""
        bank = Bank(store=MemoryStore(DENSE))
        await bank.send(
            build.written("near", "oven", src="tool", vector=[1.0, 0.1]),
            build.written("far", "kiln", src="tool", vector=[0.0, 1.0]),
        )
        return bank

    async def test_the_embedder_of_the_store_is_used(self) -> None:
        """It finds what words do not."""
        admission = await Calibrator((await self.bank()).store, embedder=FakeEmbedder()).context("furnace", FACT, space="s")
        assert admission.has_vector
        assert memories(admission, Role.EVIDENCE_CANDIDATE) == ["near", "far"]
        assert [item.candidate.similarity for item in admission.decisions] == [pytest.approx(1.01**-0.5, abs=1e-3), 0.0]

    async def test_with_the_model_away_words_have_to_do(self) -> None:
        """And the admission says so."""
        admission = await Calibrator((await self.bank()).store, embedder=FakeEmbedder(is_away=True)).context(
            "kiln", FACT, space="s"
        )
        assert not admission.has_vector
        assert memories(admission, Role.EVIDENCE_CANDIDATE) == ["far"]

    async def test_a_given_vector_needs_no_embedder(self) -> None:
        """A caller that has it saves the call; a store without vectors takes no notice."""
        admission = await Calibrator((await self.bank()).store).context("x", FACT, space="s", vector=(0.0, 1.0))
        assert memories(admission, Role.EVIDENCE_CANDIDATE) == ["far", "near"]
        assert not (await Calibrator(Bank().store).context("x", FACT, space="s", vector=(0.0, 1.0))).has_vector


class TestTask:
    """What the caller says, and what is found out."""

    class Sure:
        """A classifier that takes every question for a personal one."""

        def __init__(self, confidence: float) -> None:
            self.confidence = confidence
            self.asked = 0
            self.question = ""

        async def classify(self, question: str, vector: tuple[float, ...] | None) -> Classification:
            """Classify."""
            self.asked += 1
            self.question = question
            return Classification(
                task=Task(requires_objective_fact=False, personalization_allowed=True), confidence=self.confidence
            )

    async def test_unknown_is_read_on_the_careful_side(self) -> None:
        """Without a word about the question nobody's wishes are used, and what may be a fact is flagged."""
        bank = Bank()
        await bank.send(build.written("w", "likes kilns", src="user", kind="preference"))
        admission = await Calibrator(bank.store).context("kiln", space="s")
        assert memories(admission, Role.REJECT) == ["w"]
        assert admission.ruling.advice == "flag"

    @pytest.mark.parametrize(("confidence", "role"), [(0.49, Role.REJECT), (0.5, Role.PREFERENCE)])
    async def test_a_classifier_is_believed_when_it_is_sure(self, confidence: float, role: Role) -> None:
        """Below the policy's confidence the task stays unknown."""
        bank = Bank()
        await bank.send(build.written("w", "likes kilns", src="user", kind="preference"))
        admission = await Calibrator(bank.store, classifier=self.Sure(confidence)).context("kiln", space="s")
        assert memories(admission, role) == ["w"]

    async def test_what_the_caller_says_stands(self) -> None:
        """A classifier fills gaps only, and is not asked where there are none."""
        classifier = self.Sure(1.0)
        calibrator = Calibrator(Bank().store, classifier=classifier)
        partly = await calibrator.context("q", Task(personalization_allowed=False, user="ann"), space="s")
        assert partly.task == Task(requires_objective_fact=False, personalization_allowed=False, user="ann")
        await calibrator.context("q", replace(PERSONAL, concerns_others=False), space="s")
        assert classifier.asked == 1
        await calibrator.context("q", PERSONAL, space="s")  # whom the choice concerns decides on the role of a wish
        assert classifier.asked == 2

    async def test_only_a_question_that_points_back_is_read_behind_a_turn(self) -> None:
        """It is classified and looked up with the asker's latest turn; any other stands alone."""
        bank, classifier = Bank(), self.Sure(1.0)
        await bank.send(build.written("w", "likes kilns", src="user", kind="preference"))
        calibrator, turns = Calibrator(bank.store, classifier=classifier), ("I told you of my kiln, the kilns are hot.", "ok")
        question = "What would you do in this situation?"
        back = await calibrator.context(question, space="s", turns=turns)
        assert classifier.question == f"{turns[0]}\n{question}"
        assert memories(back, Role.PREFERENCE) == ["w"]
        assert memories(await calibrator.context(question, space="s"), Role.PREFERENCE) == []
        alone = await calibrator.context("Who painted it?", space="s", turns=turns)
        assert classifier.question == "Who painted it?"
        assert memories(alone, Role.PREFERENCE) == []


class TestLedger:
    """What a read leaves behind."""

    async def test_a_line_says_everything_but_texts(self) -> None:
        """Ids, roles and reasons of what was rendered and what was not; neither the question's words nor the memories'."""
        bank, ledger = Bank(), Collector()
        await bank.send(
            build.written("m", "the kiln fires at nine hundred", src="tool", subject="secret subject"),
            build.written("w", "the user adores kilns", src="user", kind="preference"),
        )
        asked = Task(requires_objective_fact=True, session="i", task_id="t")
        admission = await Calibrator(bank.store, publisher=ledger).context("which kiln fires hottest", asked, space="s")
        line, event = ledger.messages
        assert (line.topic, line.key, line.id) == ("guardian.ledger", "s", admission.id)
        assert (event.topic, event.key) == ("guardian.events", "s")
        for message in ledger.messages:
            for word in (b"hottest", b"nine hundred", b"adores", b"secret subject"):
                assert word not in (message.value or b"")
        assert {(record.memory_id, record.role, record.reason, record.rendered) for record in admission.entry.records} == {
            ("m", Role.EVIDENCE_CANDIDATE, Reason.UNVERIFIED_EVIDENCE, True),
            ("w", Role.REJECT, Reason.NOT_EVIDENCE, False),
        }
        assert (
            admission.entry.query_digest
            == digest_query("which kiln fires hottest")
            != digest_query("which kiln fires hottest", b"k")
        )
        assert admission.is_recorded

    async def test_a_ledger_that_is_away_holds_up_no_answer(self) -> None:
        """The admission says that it was not recorded."""
        bank = Bank()
        await bank.send(build.written("m", "kiln", src="tool"))
        admission = await Calibrator(bank.store, publisher=AwayPublisher()).context("kiln", FACT, space="s")
        assert len(admission.rendered) == 1
        assert not admission.is_recorded

    async def test_the_guard_learns_of_a_read_whose_ledger_is_away(self) -> None:
        """Or a full disk would leave undeclared recaps without parents, out of reach of any correction."""
        bank, heard = Bank(), []

        async def hear(read: Read) -> None:
            heard.append(read.retrieved)

        await bank.send(build.written("m", "kiln", src="tool"))
        calibrator = Calibrator(bank.store, publisher=AwayPublisher(), on_read=hear)
        admission = await calibrator.context("kiln", FACT, space="s")
        assert (admission.is_recorded, heard) == (False, [("m",)])

    async def test_nothing_rendered_is_nothing_read(self) -> None:
        """A line is kept, but no `memory.read` says that something was retrieved."""
        ledger = Collector()
        await Calibrator(Bank().store, publisher=ledger).context("kiln", FACT, space="s")
        assert [message.topic for message in ledger.messages] == ["guardian.ledger"]

    async def test_an_undeclared_recap_of_what_was_read_gets_its_parent(self) -> None:
        """The guard learns of the read by itself: what the agent then writes again has an inferred parent, and falls with it."""
        bank = Bank()
        seen: list[Read] = []

        async def tell(read: Read) -> None:
            seen.append(read)
            await bank.send(read)

        await bank.send(build.written("fact", "Depot A owns trailer 7", src="tool", t=0))
        calibrator = Calibrator(bank.store, on_read=tell, clock=lambda: build.START.replace(minute=5))
        asked = Task(requires_objective_fact=True, session="talk", task_id="t-1")
        await calibrator.context("who owns trailer 7", asked, space="s")
        assert [(read.retrieved, read.session_id, read.task_id, read.query) for read in seen] == [
            (("fact",), "talk", "t-1", None)
        ]
        await bank.send(build.written("recap", "Trailer 7: depot A owns it", src="agent", session="talk", t=10))
        row = await bank.row("recap")
        assert (row["parents"], row["provenance"], row["roots"]) == (["fact"], "inferred", ["fact"])
        await bank.send(build.corrected("fact", build.written_data("new", "Depot B owns trailer 7", src=None), t=20))
        assert (await bank.row("recap"))["status"] == "superseded"
        admission = await calibrator.context("who owns trailer 7", asked, space="s")
        assert memories(admission, Role.EVIDENCE_CANDIDATE, Role.BACKGROUND, Role.REJECT, Role.PREFERENCE) == ["new"]

    async def test_an_outcome_is_reported_to_its_context(self) -> None:
        """Using what was rejected is an override, whether it is called one or not."""
        bank, ledger = Bank(), Collector()
        await bank.send(build.written("m", "kiln", src="tool"), build.written("w", "kiln", src="user"))
        calibrator = Calibrator(bank.store, publisher=ledger)
        admission = await calibrator.context("kiln", FACT, space="s")
        judged = [await calibrator.report(admission, 0.0, judged_by="tests", used=used) for used in (None, ["m"], ["m", "w"])]
        assert [item.overridden for item in judged] == [False, False, True]
        assert {item.context for item in judged} == {ledger.messages[0].id}


def test_a_budget_below_any_prompt_is_refused_by_the_counter_in_use() -> None:
    """What is too little by one counter may do by another; the message says how much does."""
    with pytest.raises(ConfigError, match="the least possible is"):
        Calibrator(CountingStore(), ReadPolicy(token_budget=20))
    assert Calibrator(CountingStore(), ReadPolicy(token_budget=20), count_tokens=lambda text: len(text) // 10)
    assert Calibrator(CountingStore(), ReadPolicy(token_budget=None))


def test_the_sync_door_is_the_same_calibrator(tmp_path: object) -> None:
    """It opens the store and closes it, and gives what the other gives."""
    store = CountingStore()
    with SyncCalibrator(Calibrator(store, publisher=LedgerFile(tmp_path))) as memory:  # type: ignore[arg-type] # pytest's path
        first = memory.context("kiln", FACT, space="s")
        memory.report(first, 1.0, judged_by="gold")
        assert memory.context("kiln", FACT, space="s").ruling == first.ruling
    assert len(store.asked) == 2


async def test_superseded_and_erased_records_never_render() -> None:
    """After a correction, a deletion and an erasure, a default read gives none of them (P3); the prompt names none of their words."""
    bank = Bank()
    await bank.send(
        build.written("a", "kiln red", src="tool"),
        build.written("b", "kiln recap of red", src="agent", parents=["a"], t=1),
        build.written("c", "kiln green", src="tool"),
        build.written("d", "kiln blue", src="tool"),
        build.corrected("a", build.written_data("n", "kiln white", src="tool"), t=2),
        build.deleted("c", t=3),
        build.erased("d", t=4),
    )
    admission = await Calibrator(bank.store).context("kiln", FACT, space="s")
    assert memories(admission, *Role) == ["n"]
    history = await Calibrator(bank.store).context("kiln", Task(requires_objective_fact=True, is_history=True), space="s")
    assert set(memories(history, Role.SUPERSEDED)) == {"a", "b", "c"}
    shown = {
        item.fields["text"]: item.fields.get("replaced_by")
        for section in parse_block(history.prompt.block)
        for item in section.items
    }
    assert shown["kiln red"] == ["E1"]
    assert "kiln blue" not in history.prompt.text


async def test_a_history_question_is_told_what_holds_now() -> None:
    """However many earlier revisions were found before it; each points to the memory as it is today."""
    bank = Bank()
    await bank.send(*(build.written("m", f"Kiln 4 fires at {900 + number}", src="tool", t=number) for number in range(20)))
    calibrator = Calibrator(bank.store, ReadPolicy(limit=3, overfetch=1))
    admission = await calibrator.context("kiln 4 fires at", Task(requires_objective_fact=True, is_history=True), space="s")
    assert [item.candidate.text for item in admission.by_role(Role.EVIDENCE_CANDIDATE)] == ["Kiln 4 fires at 919"]
    past = [item for section in parse_block(admission.prompt.block) if section.name == "history" for item in section.items]
    assert [item.fields["replaced_by"] for item in past] == [["E1"]] * 3


@pytest.mark.parametrize("space_has_vectors", [False, True])
async def test_half_a_character_in_a_question_stops_nothing(space_has_vectors: bool) -> None:
    """Callers cut texts by UTF-16 units, in the midst of an emoji."""
    bank = Bank(store=MemoryStore(DENSE if space_has_vectors else IDENTITY))
    await bank.send(build.written("m", "Kiln 4 is hot", src="tool"))
    ledger = Collector()
    calibrator = Calibrator(bank.store, publisher=ledger, embedder=FakeEmbedder())
    admission = await calibrator.context("is the kiln hot? \ud83d", FACT, space="s")
    assert (memories(admission, Role.EVIDENCE_CANDIDATE), admission.is_recorded) == (["m"], True)


async def test_a_classifier_is_given_the_beginning_of_a_long_question() -> None:
    """What is looked at of a question is bounded for all who look at it."""

    class Reader:
        """Keeps what it is asked."""

        asked = ""

        async def classify(self, question: str, vector: tuple[float, ...] | None) -> Classification:
            """Keep the question."""
            self.asked = question
            return Classification(task=Task(), confidence=0.0)

    reader, bank = Reader(), Bank()
    await Calibrator(bank.store, classifier=reader).context("kiln \u0301\u0323" * 9_000, space="s")
    assert 0 < len(reader.asked) < 10_000


async def test_the_calibration_of_the_space_says_which_channels_pass() -> None:
    """A detector that passes flags an example; what failed, or is activated in another space, does not; taken back, the policy holds again."""
    bank = Bank()
    await bank.send(build.written("a", "Ordered arabica", kind="episode", grade=0.9), build.audited("a", 0.4, channel="x", t=1))
    task = Task(requires_objective_fact=True)

    async def decide(policy: ReadPolicy | None = None) -> Reason:
        admission = await Calibrator(bank.store, policy).context("arabica", task, space="s")
        (decision,) = admission.ruling.decisions
        return decision.reason

    by_settings = ReadPolicy(passing_channels=frozenset({"gold", "x"}))
    assert (await decide(), await decide(by_settings)) == (Reason.AUDITED_EXAMPLE, Reason.FLAGGED)
    await bank.send(build.calibrated("other", t=2, space="other", x=build.trust(1.0, detects=True)))
    assert await decide() is Reason.AUDITED_EXAMPLE
    detecting = build.calibrated("one", t=3, x=build.trust(0.25, detects=True))
    await bank.send(detecting)
    assert await decide() is Reason.FLAGGED
    failing = build.calibrated("two", t=4, x=build.trust(0.0, passes=False))
    await bank.send(failing)
    assert (await decide(), await decide(by_settings)) == (Reason.AUDITED_EXAMPLE, Reason.AUDITED_EXAMPLE)
    await bank.send(build.retracted(failing, t=5), build.retracted(detecting, t=6))
    assert (await decide(), await decide(by_settings)) == (Reason.AUDITED_EXAMPLE, Reason.FLAGGED)


async def test_the_calibration_of_a_space_is_looked_up_now_and_then() -> None:
    """One reader asks for it once in half a minute, space by space, and then hears of a new one."""
    bank, now = Bank(), [build.START]
    await bank.send(build.written("a", "Ordered arabica", kind="episode", grade=0.9), build.audited("a", 0.4, channel="x", t=1))
    calibrator = Calibrator(bank.store, clock=lambda: now[0])

    async def decide() -> Reason:
        (decision,) = (await calibrator.context("arabica", Task(requires_objective_fact=True), space="s")).ruling.decisions
        return decision.reason

    assert await decide() is Reason.AUDITED_EXAMPLE
    await bank.send(build.calibrated("one", t=3, x=build.trust(0.25, detects=True)))
    now[0] += timedelta(seconds=29)
    assert await decide() is Reason.AUDITED_EXAMPLE
    now[0] += timedelta(seconds=1)
    assert await decide() is Reason.FLAGGED
