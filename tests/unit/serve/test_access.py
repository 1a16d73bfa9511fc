"""Laws of access: what a key may do, what it may claim to be, and what it is never told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.contracts.admission import DecodePolicy
from guardian.core.model import SourceKind
from guardian.core.policy import Policy
from guardian.errors import ConfigError, RecordError
from guardian.pipeline import Pipeline
from guardian.read import Calibrator, LedgerFile
from guardian.serve.access import Access
from guardian.serve.body import ContextRequest, CorrectRequest, OutcomeRequest, SearchRequest, TaskBody, WriteRequest
from guardian.serve.key import Key, Right
from guardian.serve.problem import ProblemError
from guardian.serve.sending import PipelineSink
from guardian.settings import ReadSettings, Settings, StoreSettings
from guardian.store.memory import MemoryStore
from guardian.wiring import open_access
from tests.builders import START
from tests.property.bank import IDENTITY

ALL = frozenset(Right)
POLICY = Policy(verify_actors=frozenset({"Southfield Farms"}))


def key(*rights: Right, highest: SourceKind = SourceKind.AGENT, spaces: tuple[str, ...] = ("s",), actor: str = "bot") -> Key:
    """Build a key of some rights; all without any."""
    return Key(name="k", may=frozenset(rights) or ALL, spaces=spaces, highest=highest, actor=actor, source="/keys/k")


AGENT = key()
TOOL = key(highest=SourceKind.TOOL)
REVIEWER = key(highest=SourceKind.HUMAN_REVIEW, actor="ann")


@pytest.fixture
async def memory(tmp_path: Path) -> Access:
    """Give access to an empty store in memory, with a ledger in a file."""
    store = MemoryStore(IDENTITY)
    await store.open()
    sink = PipelineSink(Pipeline(store=store, policy_of=lambda _: POLICY))

    calibrator = Calibrator(store, publisher=LedgerFile(tmp_path), on_read=sink.post, clock=lambda: START + timedelta(days=1))
    return Access(
        calibrator=calibrator,
        sink=sink,
        policy_of=lambda _: POLICY,
        decode_policy=DecodePolicy(),
        clock=lambda: START + timedelta(days=1),
    )


async def write(
    memory: Access, memory_id: str, text: str = "Beans cost 20 dollars", *, by: Key = AGENT, **fields: Any
) -> str | None:
    """Write a memory, and give what became of it."""
    asked = WriteRequest.model_validate({"memory_id": memory_id, "text": text, **fields})
    return (await memory.write(by, fields.pop("space", "s"), asked)).disposition


async def status_of(memory: Access, memory_id: str) -> str:
    """Give the standing of a memory's text in force."""
    return (await memory.explain(AGENT, "s", memory_id)).revisions[0].status


async def refused(memory: Access, what: str, by: Key, body: Any, *, space: str = "s") -> str:
    """Give the code a request is refused with."""
    with pytest.raises(ProblemError) as caught:
        await getattr(memory, what)(by, space, body)
    assert caught.value.mend
    return caught.value.code


REQUESTS = {
    "context": (Right.READ, ContextRequest(question="beans")),
    "search": (Right.READ, SearchRequest(text="beans")),
    "explain": (Right.READ, "m"),
    "write": (Right.WRITE, WriteRequest(memory_id="m", text="Beans")),
    "delete": (Right.WRITE, "m"),
    "correct": (Right.CORRECT, CorrectRequest(targets=("m",))),
}


@pytest.mark.parametrize("what", REQUESTS)
async def test_every_request_needs_its_right_and_its_space(memory: Access, what: str) -> None:
    """No way leads around a key, whether or not the memory is there."""
    right, body = REQUESTS[what]
    assert await refused(memory, what, key(*(ALL - {right})), body) == "may_not"
    assert await refused(memory, what, key(spaces=("t", "s2")), body) == "not_your_space"
    await write(memory, "m")
    assert await refused(memory, what, key(spaces=("t",)), body) == "not_your_space"
    assert await status_of(memory, "m") == "active"


async def test_an_agent_cannot_claim_to_be_more(memory: Access) -> None:
    """Neither the kind of a source, nor of an inline replacement's, nor of an authority passes the key's cap."""
    for kind in ("user", "tool", "document", "human_review", "system_import"):
        asked = WriteRequest.model_validate({"memory_id": "m", "text": "Beans", "source": {"kind": kind}})
        assert await refused(memory, "write", AGENT, asked) == "claims_too_much"
        correction = CorrectRequest.model_validate({"targets": ["m"], "authority": {"kind": kind}})
        assert await refused(memory, "correct", AGENT, correction) == "claims_too_much"
        inline = {"memory_id": "n", "text": "Beans", "source": {"kind": kind}}
        correction = CorrectRequest.model_validate({"targets": ["m"], "replacement": inline})
        assert await refused(memory, "correct", AGENT, correction) == "claims_too_much"
    assert await write(memory, "m", source={"kind": "agent"}) == "applied"


async def test_an_agents_word_verifies_and_corrects_nothing(memory: Access) -> None:
    """Even with the right to correct: it comes to a dispute for a person, and the answer says so."""
    await write(memory, "m", by=TOOL, source={"kind": "tool"}, kind="fact")
    told = await memory.write(
        AGENT, "s", WriteRequest(memory_id="v", text="Beans cost 9 dollars", verified=True, supersedes=("m",))
    )
    assert (told.trusted, told.disposition) == (False, "applied")  # the text lands, and nothing more
    told = await memory.correct(AGENT, "s", CorrectRequest(targets=("m",)))
    assert (told.trusted, told.disposition) == (False, "disputed")
    assert await status_of(memory, "m") == "active"
    assert await status_of(memory, "v") == "active"


async def test_verifying_needs_the_right_to_correct(memory: Access) -> None:
    """A verified write corrects in place, so writing alone is not enough, however high the key."""
    writer = key(Right.WRITE, highest=SourceKind.HUMAN_REVIEW)
    for fields in ({"verified": True}, {"supersedes": ("m",)}):
        asked = WriteRequest.model_validate({"memory_id": "n", "text": "Beans", "source": {"kind": "document"}, **fields})
        assert await refused(memory, "write", writer, asked) == "may_not_verify"


async def test_a_trusted_actors_name_is_no_pass(memory: Access) -> None:
    """Whom a space trusts by name speaks with a key of that name only; nobody corrects under another's."""
    source = {"kind": "tool", "actor": "Southfield Farms"}
    asked = WriteRequest.model_validate({"memory_id": "m", "text": "Beans", "source": source, "verified": True})
    assert await refused(memory, "write", TOOL, asked) == "actor_not_yours"
    own = key(highest=SourceKind.TOOL, actor="Southfield Farms")
    assert (await memory.write(own, "s", asked)).trusted is True
    correction = CorrectRequest.model_validate({"targets": ["m"], "authority": {"actor": "ann"}})
    assert await refused(memory, "correct", TOOL, correction) == "actor_not_yours"


async def test_a_reviewers_correction_reaches_what_derives_from_its_target(memory: Access) -> None:
    """The correction is carried out on the key's word, and the old text answers no more."""
    await write(memory, "old", by=TOOL, source={"kind": "tool"}, kind="fact")
    await write(memory, "recap", "We pay 20 dollars for beans", parents=["old"], source={"kind": "agent"})
    inline = {"memory_id": "new", "text": "Beans cost 25 dollars", "kind": "fact"}
    asked = CorrectRequest.model_validate({"targets": ["old"], "replacement": inline, "reason": "new invoice"})
    told = await memory.correct(REVIEWER, "s", asked)
    assert (told.trusted, told.disposition, told.memory_id, told.source) == (True, "applied", "new", "/keys/k")
    known = await memory.explain(AGENT, "s", "recap")
    assert (known.revisions[0].status, known.replaced_by) == ("superseded", ("new",))
    assert (await memory.explain(AGENT, "s", "new")).replaces == ("old",)
    (event,) = (await memory.explain(AGENT, "s", "old")).events
    assert event["by"] == ["human_review", None, "ann"]
    hits = (await memory.search(AGENT, "s", SearchRequest(text="beans cost dollars", every=True))).hits
    assert [hit.memory_id for hit in hits] == ["new"]


async def test_the_same_request_with_id_and_time_is_done_once(memory: Access) -> None:
    """A retry after an answer that was lost changes nothing."""
    asked = WriteRequest.model_validate({"memory_id": "m", "text": "Beans", "event_id": "e1", "time": "2026-03-01T10:00:00Z"})
    assert [(await memory.write(AGENT, "s", asked)).disposition for _ in range(2)] == ["applied", "duplicate"]


async def test_a_memory_that_can_never_be_written_is_refused_with_its_reason(memory: Access) -> None:
    """The reasons are those of dead letters."""
    for fields, reason in (({"text": "  "}, "text_blank"), ({"time": "2027-01-01T00:00:00Z"}, "time_in_future")):
        with pytest.raises(RecordError) as caught:
            await write(memory, "m", **{"text": "Beans", **fields})
        assert caught.value.reason == reason


async def test_half_a_character_is_refused_as_such(memory: Access) -> None:
    """What JSON cannot carry never reaches the topic."""
    asked = WriteRequest.model_validate({"memory_id": "m", "text": "Beans", "metadata": {"a": "\ud800"}})
    assert await refused(memory, "write", AGENT, asked) == "not_json"


@pytest.mark.parametrize("memory_id", ["", "x" * 1025, "a\x00b", "\ud800"])
async def test_what_can_be_no_id_is_refused(memory: Access, memory_id: str) -> None:
    """Before the store is asked."""
    assert await refused(memory, "explain", AGENT, memory_id) == "id_invalid"


async def test_the_text_of_what_is_barred_is_not_handed_over(memory: Access) -> None:
    """A program that shows the whole answer to a model shows it nothing that the rules kept out."""
    user = key(highest=SourceKind.USER)
    await write(memory, "wish", "I wish beans cost 5 dollars", by=user, kind="preference", source={"kind": "user"})
    await write(memory, "price", "Beans cost 20 dollars", by=TOOL, kind="fact", source={"kind": "tool"})
    asked = ContextRequest(question="What do beans cost?", task=TaskBody(requires_objective_fact=True))
    given = await memory.context(AGENT, "s", asked)
    records = {record.memory_id: record for each in given.records.values() for record in each}
    assert (records["price"].rendered, records["price"].text, records["price"].handle) == (True, "Beans cost 20 dollars", "E1")
    assert (records["wish"].rendered, records["wish"].text, records["wish"].reason) == (False, None, "not_evidence")
    assert "wish" not in given.prompt
    assert given.recorded


async def test_a_limit_holds_for_its_own_question(memory: Access) -> None:
    """One question asks for less; the next is not touched."""
    for name in ("a", "b", "c"):
        await write(memory, name, f"Beans of sort {name} cost {ord(name)} dollars", by=TOOL, kind="fact", source={"kind": "tool"})
    sizes = []
    for limit in (1, None):
        given = await memory.context(AGENT, "s", ContextRequest(question="beans", limit=limit))
        sizes.append(sum(record.rendered for each in given.records.values() for record in each))
    assert sizes == [1, 3]


async def test_a_question_that_points_back_is_looked_up_by_what_the_asker_said(memory: Access) -> None:
    """The turns go with the question; without them it finds nothing."""
    await write(memory, "price", "Beans cost 20 dollars", by=TOOL, kind="fact", source={"kind": "tool"})
    sizes = []
    for turns in ((), ("I am about to order beans for the shop.",)):
        asked = ContextRequest(question="How would you handle this situation?", turns=turns)
        given = await memory.context(AGENT, "s", asked)
        sizes.append(sum(record.rendered for each in given.records.values() for record in each))
    assert sizes == [0, 1]


async def test_the_guard_learns_of_a_read(memory: Access) -> None:
    """What is written again in that session gets its parent, without the agent's help."""
    await write(memory, "price", "Beans cost 20 dollars", by=TOOL, kind="fact", source={"kind": "tool"})
    await memory.context(AGENT, "s", ContextRequest(question="What do beans cost?", task=TaskBody(session="s1")))
    await write(memory, "recap", "Beans cost 20 dollars", source={"kind": "agent"}, scope={"session_id": "s1"})
    known = await memory.explain(AGENT, "s", "recap")
    assert (known.revisions[0].provenance, known.revisions[0].parents) == ("inferred", ("price",))


async def test_an_outcome_goes_to_the_ledger_and_is_held_against_what_was_given(memory: Access, tmp_path: Path) -> None:
    """Using what was not given went against what was decided, and so the ledger says."""
    await write(memory, "price", "Beans cost 20 dollars", by=TOOL, kind="fact", source={"kind": "tool"})
    given = await memory.context(AGENT, "s", ContextRequest(question="What do beans cost?"))
    for used, against in ((("price",), False), (("elsewhere",), True)):
        told = await memory.judge(AGENT, "s", given.id, OutcomeRequest(value=0.0, judged_by="tests", used=used))
        assert (told.known, told.overridden) == (True, against)
    lines = [orjson.loads(line) for line in (tmp_path / "guardian.ledger.jsonl").read_bytes().splitlines()]
    assert [line["data"]["overridden"] for line in lines if line["type"] == "guardian.context.judged"] == [False, True]
    unknown = await memory.judge(AGENT, "s", "0" * 32, OutcomeRequest(value=1.0, judged_by="tests", used=("x",)))
    assert (unknown.known, unknown.overridden) == (False, False)


async def test_an_agent_cannot_say_what_is_true(memory: Access) -> None:
    """The channel gold is for those who may correct; and an id that is none never reaches the ledger."""
    gold = OutcomeRequest(value=1.0, judged_by="gold")
    with pytest.raises(ProblemError, match="may not say what is true"):
        await memory.judge(key(Right.READ, Right.WRITE), "s", "0" * 32, gold)
    with pytest.raises(ProblemError, match="may not say what is true"):
        await memory.judge(key(Right.READ), "s", "0" * 32, OutcomeRequest(value=1.0, judged_by=" Gold"))
    with pytest.raises(ProblemError, match="no id of a context"):
        await memory.judge(REVIEWER, "s", "../../etc/passwd", gold)
    assert (await memory.judge(REVIEWER, "s", "0" * 32, gold)).known is False


async def test_without_a_ledger_an_outcome_is_refused_and_not_swallowed(memory: Access) -> None:
    """The mend names the setting."""
    memory.has_ledger = False
    with pytest.raises(ProblemError, match="GUARDIAN_READ__LEDGER_DIR"):
        await memory.judge(AGENT, "s", "0" * 32, OutcomeRequest(value=1.0, judged_by="tests"))


async def test_a_budget_that_holds_no_prompt_is_refused_at_the_start(tmp_path: Path) -> None:
    """Over HTTP and MCP alike: no request has to find out; the message names the setting and the least."""
    settings = Settings(store=StoreSettings(path=tmp_path / "store", min_free_bytes=0), read=ReadSettings(token_budget=5))
    with pytest.raises(ConfigError, match=r"least possible is \d+.*GUARDIAN_READ__TOKEN_BUDGET"):
        async with open_access(settings):
            pass


async def test_what_derives_from_a_parent_that_is_no_root_any_more_is_told(memory: Access) -> None:
    """A record of very many parents keeps the least of their roots; the others know it as theirs all the same, and what derives from it."""
    await write(memory, "sum", "All of it", parents=[f"p{number:03}" for number in range(100)])
    await write(memory, "recap", "All of it, again", parents=["sum"])
    for parent in ("p000", "p099"):
        known = await memory.explain(AGENT, "s", parent)
        assert [kin.memory_id for kin in known.descendants] == ["sum", "recap"], parent


@pytest.mark.parametrize("name", [" Gold ", "\uff27\uff2f\uff2c\uff24", "go\u200bld", "gold\U000e0041", "\U0001d420old"])
async def test_nothing_that_looks_like_gold_is_anybodys_word(memory: Access, name: str) -> None:
    """Other letters, and letters with something unseen between them, read as the truth in a report."""
    with pytest.raises(ProblemError, match="may not say what is true"):
        await memory.judge(key(Right.READ, Right.WRITE), "s", "0" * 32, OutcomeRequest(value=1.0, judged_by=name))


@pytest.mark.parametrize("levels", [300, 900])
async def test_metadata_of_too_many_levels_is_refused_and_no_bug(memory: Access, levels: int) -> None:
    """Of a write, and of a replacement that stands in a correction."""
    metadata: dict[str, Any] = {}
    for _ in range(levels):
        metadata = {"a": metadata}
    with pytest.raises(ProblemError, match="too many levels"):
        await memory.write(REVIEWER, "s", WriteRequest(memory_id="m", text="x", metadata=metadata))
    replacement = {"memory_id": "n", "text": "x", "metadata": metadata}
    with pytest.raises(ProblemError, match="too many levels"):
        await memory.correct(REVIEWER, "s", CorrectRequest.model_validate({"targets": ["m"], "replacement": replacement}))
