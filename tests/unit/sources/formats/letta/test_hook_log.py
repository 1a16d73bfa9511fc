"""Memory logs of the hook: texts worked out from diffs, backwards from the state and forwards from nothing."""

import json
from pathlib import Path
from typing import Any

from guardian.sources.formats.letta.hook_log import LettaHookLogSource
from tests.contract.samples.letta import AGENT, diff
from tests.unit.sources.formats.reading import events_of, read, reasons, shape

SOURCE = LettaHookLogSource()
TEXTS = ["Desk 2", "Desk 3", "Desk 3\nTea"]


def write_log(path: Path, *texts: str, **fields: Any) -> Path:
    """Write the log of a block that held these texts, a day apart."""
    rows = [
        {"timestamp": f"2026-05-0{day + 1}T08:00:00Z", "diff": diff(texts[day], texts[day + 1], "human"), **fields}
        for day in range(len(texts) - 1)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def write_state(path: Path, text: str, day: int = 9) -> Path:
    """Write the state of a block."""
    path.write_text(json.dumps({"block_name": "human", "content": text, "updated_at": f"2026-05-0{day}T08:00:00Z"}))
    return path


def test_texts_are_worked_out_backwards_from_the_state(tmp_path: Path) -> None:
    """Give what stood there first, dated one step before its change, then each text; the state repeats the last."""
    log = write_log(tmp_path / "a", *TEXTS, agent_id=AGENT)
    items = read(SOURCE, log, write_state(tmp_path / "b", TEXTS[-1]))
    assert shape(items) == [("written", f"{AGENT}/human", text) for text in TEXTS]
    assert [event["time"] for event in events_of(items)] == [
        "2026-05-01T07:59:59.999999Z",
        "2026-05-01T08:00:00Z",
        "2026-05-02T08:00:00Z",
    ]
    assert events_of(items)[0]["data"]["metadata"] == {
        "format": "letta.memory-log",
        "label": "human",
        "time_from": "before_first_change",
        "time_raw": "2026-05-01T08:00:00Z",
        "tz_assumed": False,
        "time_inferred": True,
    }
    assert events_of(items)[1]["data"]["source"] == {"kind": "unknown", "ref": f"letta:memory-log:{AGENT}/human"}
    assert reasons(items) == [("unchanged", 1)]


def test_a_log_from_the_beginning_needs_no_state(tmp_path: Path) -> None:
    """Begin with nothing where the first diff does."""
    items = read(SOURCE, write_log(tmp_path / "a", "", *TEXTS))
    assert shape(items) == [("written", "block/human", text) for text in TEXTS]


def test_a_log_from_the_middle_without_state_has_no_texts(tmp_path: Path) -> None:
    """Say so for each change, and invent none."""
    items = read(SOURCE, write_log(tmp_path / "a", *TEXTS))
    assert reasons(items) == [("revision_unknown", 1)] * 2
    assert not events_of(items)


def test_a_state_that_the_log_does_not_lead_to_is_a_write(tmp_path: Path) -> None:
    """Keep the log's own texts as far as they are certain."""
    items = read(SOURCE, write_log(tmp_path / "a", "", "Desk 2"), write_state(tmp_path / "b", "Other"))
    assert shape(items) == [("written", "block/human", "Desk 2"), ("written", "block/human", "Other")]


def test_a_block_that_is_emptied_is_deleted(tmp_path: Path) -> None:
    """End the memory where nothing stands any more."""
    items = read(SOURCE, write_log(tmp_path / "a", "", "Desk 2", ""), write_state(tmp_path / "b", ""))
    assert [kind for kind, _, _ in shape(items)] == ["written", "deleted"]


def test_the_newest_of_two_states_counts(tmp_path: Path) -> None:
    """Account for the other."""
    items = read(SOURCE, write_state(tmp_path / "a", "new", 9), write_state(tmp_path / "b", "old", 8))
    assert shape(items) == [("written", "block/human", "new")]
    assert reasons(items) == [("replaced_in_file", 1)]
