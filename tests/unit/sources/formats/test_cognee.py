"""Cognee: facts derive from what they name as provenance; a user's score is a verdict, what was used is a read."""

from pathlib import Path
from typing import Any

import pytest

from guardian.sources.formats.cognee_session import CogneeSessionSource
from guardian.sources.formats.cogx import CogxSource
from tests.contract.samples.cognee_session import row
from tests.contract.samples.cogx import BASE, RECORDS
from tests.contract.samples.files import data_of, events_of, read, read_alone, reasons_of, write_lines

COGX, SESSION = CogxSource(), CogneeSessionSource()


def test_provenance_makes_parents_of_memories_of_the_same_archive(tmp_path: Path) -> None:
    """Name the episode by the id under which it is imported itself."""
    data = data_of(read(COGX, write_lines(tmp_path / "r", *RECORDS)))
    (fact,) = (entry for entry in data if entry["metadata"]["cogx_kind"] == "fact")
    assert fact["parents"] == ["ep1"]
    assert set(fact["parents"]) <= {entry["memory_id"] for entry in data}


def test_the_end_of_validity_is_no_correction(tmp_path: Path) -> None:
    """Keep world time as validity."""
    items = read(COGX, write_lines(tmp_path / "r", RECORDS[3]))
    assert [event["type"] for event in events_of(items)] == ["memory.written"]
    assert (data_of(items)[0]["valid_from"], data_of(items)[0]["valid_until"]) == ("2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z")


@pytest.mark.parametrize(
    ("record", "text", "kind"),
    [
        (RECORDS[0], "Plan\nDesk plan", "document"),
        (RECORDS[1], "user: Ann sits at desk 3.\nassistant: Noted.", "unknown"),
        (RECORDS[2], "Ann (Person)", "unknown"),
        ({**RECORDS[2], "description": "A smith"}, "Ann (Person): A smith", "unknown"),
        ({**RECORDS[3], "fact_text": None}, "n1 SITS_AT n2", "unknown"),
        (RECORDS[4], "Prefers tea", "unknown"),
        (RECORDS[5], "human: Ann", "unknown"),
    ],
)
def test_each_kind_of_record_has_its_text(record: dict[str, Any], text: str, kind: str) -> None:
    """Say what the record says; only a document is an outside source."""
    (data,) = data_of(read_alone(COGX, record))
    assert (data["text"], data["source"]["kind"], data["scope"]) == (text, kind, {"user_id": "u1"})


@pytest.mark.parametrize(
    ("time", "expected"), [(1777622400000, "2026-05-01T08:00:00Z"), ("2026-05-01T08:00:00", "2026-05-01T08:00:00Z")]
)
def test_times_are_texts_or_milliseconds(time: Any, expected: str) -> None:
    """Prefer the update to the creation."""
    (event,) = events_of(read_alone(COGX, {**RECORDS[4], "updated_at": time, "created_at": "2020-01-01T00:00:00Z"}))
    assert event["time"] == expected


def test_a_record_without_its_fields_costs_itself(tmp_path: Path) -> None:
    """Refuse what has no id, no text, or another kind."""
    rows = [
        {"kind": "memory", "external_id": " ", "content": "x", **BASE},
        {"kind": "memory", "external_id": "m", **BASE},
        {"kind": "raw_node", "properties": {}},
    ]
    assert reasons_of(read(COGX, write_lines(tmp_path / "r", *rows))) == ["id_missing", "shape_unknown", "shape_unknown"]


@pytest.mark.parametrize(
    ("score", "value"), [(1, 0.0), (3, 0.5), (5, 1.0), (4.0, 0.75), (0, None), (6, None), (True, None), ("5", None)]
)
def test_the_users_score_is_a_verdict_on_one_scale(score: Any, value: float | None) -> None:
    """Map 1 to 5 onto [0, 1]; leave out what is off the scale, and say so."""
    items = read_alone(SESSION, row("1", feedback_score=score))
    assert [(data["channel"], data["value"]) for data in data_of(items, "audited")] == (
        [] if value is None else [("user_feedback", value)]
    )
    assert reasons_of(items) == ([] if value is not None else ["grade_unknown"])


def test_no_score_is_no_verdict() -> None:
    """Make nothing of a row that nobody judged."""
    items = read_alone(SESSION, row("1"))
    assert [event["type"] for event in events_of(items)] == ["memory.written", "memory.read"]
    assert reasons_of(items) == []


def test_what_was_used_is_a_read_of_the_exports_ids() -> None:
    """Name nodes and edges as a COGX export of the same graph does."""
    (data,) = data_of(read_alone(SESSION, row("1")), "read")
    assert (data["retrieved"], data["used"], data["task_id"]) == (["n1", "e1"], ["n1", "e1"], "1")
    (entity,) = data_of(read_alone(COGX, RECORDS[2]))
    assert entity["memory_id"] in data["used"]


@pytest.mark.parametrize("ids", [None, {}, [], {"node_ids": None}])
def test_nothing_used_is_no_read(ids: Any) -> None:
    """Make no read of nothing."""
    assert not events_of(read_alone(SESSION, row("1", used_graph_element_ids=ids)), "read")


def test_a_folder_is_an_archive_and_its_secrets_are_not_opened(tmp_path: Path) -> None:
    """Read the files of records by their names in the format, and nothing else of the folder."""
    write_lines(tmp_path / "facts.jsonl", RECORDS[3])
    write_lines(tmp_path / "episodes.jsonl", RECORDS[1])
    for name in ("nodes.jsonl", "permissions.json"):
        write_lines(tmp_path / name, {"password": "SECRET", "kind": "memory", "external_id": "x", "content": "SECRET"})
    assert not COGX.detect(tmp_path)
    write_lines(tmp_path / "manifest.json", {"cogx_version": "0.1", "source_system": "zep"})
    assert COGX.detect(tmp_path)
    items = read(COGX, tmp_path)
    assert sorted(data["memory_id"] for data in data_of(items)) == ["ep1", "f1"]
    assert "SECRET" not in str(items)
