"""Laws of the ledger: lines are kept and read back, and the figures are those of hand-made lines."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import decode
from guardian.contracts.ledger import ContextGiven, ContextJudged, LedgerRecord, LedgerTask
from guardian.contracts.outcome import build_outcome_id
from guardian.core.model import Read
from guardian.errors import DependencyError
from guardian.ports import OutcomeMessage
from guardian.read.ledger.entry import build_read, digest_query, pack_entry, pack_read
from guardian.read.ledger.file import LedgerFile, Unread, iter_lines
from guardian.read.ledger.metrics import Blame, LedgerAccount, build_account

T0 = datetime(2026, 3, 14, 9, tzinfo=UTC)


def record(memory_id: str, **fields: Any) -> LedgerRecord:
    """Build a record of a line: rendered evidence unless said."""
    plain: dict[str, Any] = {
        "record_id": f"id-{memory_id}",
        "memory_id": memory_id,
        "revision": "r",
        "role": "evidence_candidate",
        "reason": "verified_evidence",
        "rendered": True,
        "status": "verified",
        "kind": "fact",
        "source_kind": "tool",
        "may_be_evidence": True,
    }
    return LedgerRecord(**(plain | fields))


def given(*records: LedgerRecord, retrieved: int | None = None, latency_ms: float = 1.0, **task: Any) -> ContextGiven:
    """Build the line of a read."""
    return ContextGiven(
        space="s",
        asked_at=T0,
        query_digest="d",
        task=LedgerTask(**task),
        retrieved=len(records) if retrieved is None else retrieved,
        records=records,
        conflict_policy="current_evidence_wins",
        searches=1,
        has_vector=False,
        tokens=1,
        latency_ms=latency_ms,
    )


def judged(context: ContextGiven, value: float, **fields: Any) -> ContextJudged:
    """Build the line of an outcome."""
    return ContextJudged(space="s", context=build_outcome_id(context), judged_at=T0, value=value, judged_by="gold", **fields)


def account(*lines: ContextGiven | ContextJudged) -> LedgerAccount:
    """Count lines up."""
    return build_account((build_outcome_id(line), line) for line in lines)


def value(found: LedgerAccount, name: str) -> float | None:
    """Give a figure."""
    return found.figures()[name].value


class TestFigures:
    """Each by hand."""

    def test_contamination_counts_questions_of_fact_with_barred_evidence(self) -> None:
        """One of two; beside it the wider share, in which barred memory stood anywhere. Other questions do not count."""
        barred = record("w", may_be_evidence=False)
        beside = record("b", may_be_evidence=False, role="background", reason="context_only")
        found = account(
            given(barred, requires_objective_fact=True),
            given(beside, requires_objective_fact=True, latency_ms=2.0),
            given(barred, requires_objective_fact=False),
        )
        assert (value(found, "objective_fact_contamination"), value(found, "objective_fact_touched")) == (0.5, 1.0)

    def test_superseded_records_count_where_history_was_not_asked_for(self) -> None:
        """One of four rendered."""
        old = record("o", status="superseded", role="superseded", reason="held_before")
        found = account(given(old, record("a"), record("b"), record("c")), given(old, is_history=True))
        assert value(found, "superseded_render") == 0.25

    def test_coverage_counts_what_was_found_and_is_not_listed(self) -> None:
        """Of three records left out one has no line: nobody can say why it was left out."""
        out = {"role": "reject", "reason": "expired", "rendered": False}
        found = account(given(record("a"), record("b", **out), record("c", **out), retrieved=4))
        assert value(found, "rejected_audit_coverage") == pytest.approx(2 / 3)

    def test_wrong_answers_are_attributed_to_what_they_were_given(self) -> None:
        """By all that was rendered, or by what went in where that is known; right answers count for it."""
        one, other, bare = given(record("a"), record("b")), given(record("a"), latency_ms=2.0), given()
        found = account(one, other, bare, judged(one, 0.0), judged(other, 1.0), judged(bare, 0.2), judged(one, 0.4, used=("b",)))
        assert value(found, "retrieved_but_wrong") == pytest.approx(2 / 3)
        assert found.list_blame(10) == [
            Blame(space="s", memory_id="b", wrong=2, judged=2),
            Blame(space="s", memory_id="a", wrong=1, judged=2),
        ]
        assert found.list_blame(1) == found.list_blame(10)[:1]

    def test_overrides_are_counted_of_judged_answers(self) -> None:
        """One of two."""
        line = given(record("a"))
        found = account(line, judged(line, 1.0), judged(line, 0.0, overridden=True))
        assert value(found, "override") == 0.5

    def test_a_share_of_nothing_is_unknown(self) -> None:
        """Never zero, which would read as healthy."""
        found = account()
        assert {estimate.value for estimate in found.figures().values()} == {None}
        assert found.percentile_ms(0.5) is None

    def test_order_and_number_of_the_lines_do_not_matter(self) -> None:
        """An outcome may come before its context, and every line twice; one of no context here is told."""
        line = given(record("a"))
        lines = [line, judged(line, 0.0), judged(given(record("elsewhere"), latency_ms=9.0), 0.0)]
        for order in permutations([*lines, *lines]):
            found = account(*order)
            assert (found.calls, found.judged, found.unmatched) == (1, 1, 1)

    def test_an_outcome_counts_in_its_own_space_only(self) -> None:
        """Who may report in one space says nothing of what was given in another."""
        line = given(record("a"))
        found = account(line, judged(line, 0.0).model_copy(update={"space": "other"}))
        assert (found.judged, found.unmatched, found.list_blame(10)) == (0, 1, [])

    def test_latencies(self) -> None:
        """The value that the share did not exceed."""
        found = account(*(given(latency_ms=float(number)) for number in range(1, 101)))
        assert (found.percentile_ms(0.5), found.percentile_ms(0.99)) == (51.0, 100.0)


class TestFile:
    """The ledger without a broker."""

    async def test_lines_are_read_back(self, tmp_path: Path) -> None:
        """With their ids, in their order; each topic in a file of its own."""
        line = given(record("a"))
        outcome = judged(line, 1.0)
        read = build_read(line, source="/r")
        assert read is not None
        ledger = LedgerFile(tmp_path / "ledger")
        await ledger.publish([pack_entry(line), pack_read(read)])
        await ledger.publish([pack_entry(outcome)])
        assert list(iter_lines(tmp_path / "ledger" / "guardian.ledger.jsonl")) == [
            (build_outcome_id(line), line),
            (build_outcome_id(outcome), outcome),
        ]
        (event,) = (tmp_path / "ledger" / "guardian.events.jsonl").read_bytes().splitlines()
        assert decode(event, policy=DecodePolicy(), received_at=T0).event == read

    async def test_a_line_that_cannot_be_read_costs_itself(self, tmp_path: Path) -> None:
        """What is still being written is no fault; what is complete and unreadable is told in its place, without what it holds."""
        path = tmp_path / "guardian.ledger.jsonl"
        await LedgerFile(tmp_path).publish([pack_entry(given())])
        whole = path.read_bytes()
        path.write_bytes(whole + whole[:40])
        assert len(list(iter_lines(path))) == 1
        bad = [b'{"type":"guardian.context.given","id":"x","data":{}}', b'{"type":"guardian.context.given","id":["secret"]}']
        bad += [b"5", b"[]", b'{"type":{}}', b"\xff", b"[" * 3_000, whole[:40]]
        path.write_bytes(b"\n".join([*bad, whole]))
        *unread, (line_id, _) = list(iter_lines(path))
        assert [each.number for each in unread if isinstance(each, Unread)] == list(range(1, len(bad) + 1))
        assert line_id == build_outcome_id(given())
        assert "secret" not in repr(unread)

    async def test_a_line_after_a_torn_one_begins_anew(self, tmp_path: Path) -> None:
        """A process that died in the midst of a line costs that line, and none of its successor's."""
        path = tmp_path / "guardian.ledger.jsonl"
        path.write_bytes(b'{"specversion":"1.0","id":"to')
        for _ in range(2):
            await LedgerFile(tmp_path).publish([pack_entry(given())])
        assert [isinstance(line, Unread) for line in iter_lines(path)] == [True, False, False]
        assert path.read_bytes().count(b"\n") == 3

    async def test_what_a_newer_version_adds_is_passed_over(self, tmp_path: Path) -> None:
        """A report of an older version reads a newer ledger."""
        path = tmp_path / "guardian.ledger.jsonl"
        document = orjson.loads(pack_entry(given(record("m"))).value or b"")
        document["data"] |= {"later": 1}
        document["data"]["records"][0] |= {"later": 1}
        path.write_bytes(orjson.dumps(document))
        assert list(iter_lines(path)) == [(document["id"], given(record("m")))]

    async def test_other_events_are_passed_over(self, tmp_path: Path) -> None:
        """A dump of several topics can be given as it is."""
        path = tmp_path / "dump.jsonl"
        path.write_bytes(orjson.dumps({"type": "memory.read", "id": "1"}) + b"\n\n" + (pack_entry(given()).value or b""))
        assert len(list(iter_lines(path))) == 1

    async def test_a_folder_that_cannot_be_written_is_away(self, tmp_path: Path) -> None:
        """Not an error of the reader's own."""
        (tmp_path / "file").touch()
        with pytest.raises(DependencyError, match="ledger"):
            await LedgerFile(tmp_path / "file").publish([OutcomeMessage(topic="t", key="k", value=b"v", id="i")])

    async def test_a_file_that_is_full_costs_the_others_nothing(self, tmp_path: Path) -> None:
        """The guard is told of a read although its line found no place."""
        (tmp_path / "guardian.ledger.jsonl").mkdir()  # as good as full
        messages = [OutcomeMessage(topic=topic, key="k", value=b"v", id="i") for topic in ("guardian.ledger", "guardian.events")]
        with pytest.raises(DependencyError, match="ledger"):
            await LedgerFile(tmp_path).publish(messages)
        assert (tmp_path / "guardian.events.jsonl").read_bytes() == b"v\n"


class TestEntry:
    """What is made of a read."""

    def test_a_read_names_what_was_rendered_once_each(self) -> None:
        """With the session and the task, without the question; its id is that of the line."""
        line = given(record("b"), record("a"), record("b", revision="r2"), record("c", rendered=False), session="i", task_id="t")
        read = build_read(line, source="/reader")
        assert isinstance(read, Read)
        assert (read.retrieved, read.session_id, read.task_id, read.query) == (("b", "a"), "i", "t", None)
        assert (read.ref.source, read.ref.id, read.ref.time) == ("/reader", f"read-{build_outcome_id(line)}", T0)
        assert build_read(given(), source="/reader") is None

    def test_digests_of_questions(self) -> None:
        """Equal for equal questions in NFC, other by key, and never a lone surrogate's fault."""
        assert digest_query("caf\u00e9") == digest_query("cafe\u0301")
        assert len({digest_query("q"), digest_query("q", b"1"), digest_query("q", b"2"), digest_query("\ud800")}) == 4
        long = "k" * 8_192  # bringing what follows to NFC would take the square of its combining marks
        assert len({digest_query(long + end) for end in ("", "caf\u00e9", "cafe\u0301")}) == 3
