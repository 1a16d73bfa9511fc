"""LoCoMo, LongMemEval and MemSyco-Bench: what was said and noted is imported, what is asked and answered is not."""

from pathlib import Path
from typing import Any

import pytest

from guardian.sources.formats.locomo import LocomoSource
from guardian.sources.formats.longmemeval import LongMemEvalSource
from guardian.sources.formats.memsyco import MemSycoSource
from tests.contract.samples import locomo, longmemeval, memsyco
from tests.contract.samples.files import data_of, events_of, read, reasons_of, write_json, write_lines

LOCOMO, LONGMEMEVAL, MEMSYCO = LocomoSource(), LongMemEvalSource(), MemSycoSource()


@pytest.mark.parametrize(
    ("evidence", "parents", "is_whole"),
    [
        ("D1:1", ["D1:1"], True),
        (["D1:1", "D1:2"], ["D1:1", "D1:2"], True),
        ("D1:1; D1:2", ["D1:1", "D1:2"], True),
        (["D1:1 D2:1"], ["D1:1", "D2:1"], True),
        ("D", [], False),
        ("D:11:26", [], False),
        ("D1:1, D", ["D1:1"], False),
        ("D9:9", [], False),
        ([], [], True),
        (7, [], True),
    ],
)
def test_evidence_names_parents_as_far_as_it_can_be_read(
    tmp_path: Path, evidence: Any, parents: list[str], is_whole: bool
) -> None:
    """Make parents of turns that exist; note what names none."""
    sample = locomo.sample(observation={"session_1_observation": {"Ann": [["Fact.", evidence]]}}, qa=[])
    items = read(LOCOMO, write_json(tmp_path / "l", [sample]))
    (fact,) = (data for data in data_of(items) if data["memory_id"].startswith("observation:"))
    assert fact.get("parents", []) == [f"turn:conv-1:{name}" for name in parents]
    assert reasons_of(items) == ([] if is_whole else ["evidence_unreadable"])


def test_summaries_and_events_derive_from_the_turns_of_their_session(tmp_path: Path) -> None:
    """Take a session's own turns and no others."""
    by_id = {
        data["memory_id"].split("#")[0]: data for data in data_of(read(LOCOMO, write_json(tmp_path / "l", [locomo.sample()])))
    }
    assert by_id["session:conv-1:1"]["parents"] == ["turn:conv-1:D1:1", "turn:conv-1:D1:2"]
    assert by_id["event:conv-1:2"]["parents"] == ["turn:conv-1:D2:1"]


def test_a_session_dates_all_that_belongs_to_it(tmp_path: Path) -> None:
    """Read words for a time, mark the zone, and say where a time cannot be read."""
    sample = locomo.sample()
    sample["conversation"]["session_2_date_time"] = "later"
    items = read(LOCOMO, write_json(tmp_path / "l", [sample]))
    times = {event["data"]["memory_id"].split("#")[0]: event for event in events_of(items)}
    assert times["session:conv-1:1"]["time"] == "2023-05-08T13:56:00Z"
    assert times["turn:conv-1:D2:1"]["data"]["metadata"]["time_from"] == "mtime"
    assert "time_unreadable" in reasons_of(items)


def test_each_pair_has_a_bank_of_its_own_and_no_answers(tmp_path: Path) -> None:
    """Keep people apart, and the benchmark's solutions out."""
    qa = [{"question": "SECRET?", "answer": "SECRET"}]
    items = read(LOCOMO, write_json(tmp_path / "l", [locomo.sample(qa=qa), locomo.sample("conv-2")]))
    assert {event["space"] for event in events_of(items)} == {"locomo/conv-1", "locomo/conv-2"}
    assert "SECRET" not in str(items)


def test_turns_without_words_are_noted(tmp_path: Path) -> None:
    """Skip a turn that says nothing or has no id."""
    sample = locomo.sample(observation={}, session_summary={}, event_summary={}, qa=[])
    sample["conversation"]["session_2"] = [{"speaker": "Bo", "dia_id": "D2:1", "text": " "}, "odd"]
    assert reasons_of(read(LOCOMO, write_json(tmp_path / "l", [sample]))) == ["empty_row", "empty_row"]


def test_a_haystack_is_read_in_the_order_of_its_dates(tmp_path: Path) -> None:
    """Put the earlier session first, keep roles, and leave out where the answer stands."""
    items = read(LONGMEMEVAL, write_json(tmp_path / "o", [longmemeval.question()]))
    assert [(data["text"], data["source"]["kind"]) for data in data_of(items)] == [
        ("Hello.", "user"),
        ("I drink Assam.", "user"),
        ("Good choice.", "agent"),
    ]
    assert "has_answer" not in str(items)
    assert "Which tea" not in str(items)
    assert {event["space"] for event in events_of(items)} == {"longmemeval/q1"}


def test_a_haystack_with_fewer_dates_than_sessions_is_read(tmp_path: Path) -> None:
    """Fall back to the file's time and to the place of the session."""
    row = longmemeval.question(haystack_dates=["2023/05/20 (Sat) 02:21"], haystack_session_ids=None)
    data = data_of(read(LONGMEMEVAL, write_json(tmp_path / "o", [row])))
    assert {entry["memory_id"] for entry in data} == {"turn:q1:0:1", "turn:q1:0:2", "turn:q1:1:1"}
    assert {entry["metadata"]["time_from"] for entry in data} == {"session", "mtime"}


def test_memory_items_claim_to_replace_and_nothing_of_the_solution_is_imported(tmp_path: Path) -> None:
    """Let a current item name the outdated ones, unverified; leave question, policy and evaluation out."""
    row = memsyco.row(question="SECRET?", memory={**memsyco.row()["memory"], "policy": "SECRET"})
    items = read(MEMSYCO, write_lines(tmp_path / "m", row))
    outdated, current = data_of(items)[2:]
    assert (outdated["kind"], outdated["metadata"]["status"]) == ("preference", "outdated")
    assert current["supersedes"] == [outdated["memory_id"]]
    assert "verified" not in current
    assert "parents" not in current
    assert "SECRET" not in str(items)
    assert reasons_of(items) == ["evaluation_only"]


def test_active_items_replace_nothing(tmp_path: Path) -> None:
    """Claim nothing that the row does not."""
    items = [{"content": "Likes mornings.", "type": "motivation", "status": "active"}, {"content": "", "type": "x"}, 3]
    read_items = read(MEMSYCO, write_lines(tmp_path / "m", memsyco.row(memory={"policy": "use", "items": items})))
    (data,) = data_of(read_items)[2:]
    assert "supersedes" not in data
    assert "kind" not in data
    assert reasons_of(read_items) == ["empty_row", "empty_row", "evaluation_only"]
