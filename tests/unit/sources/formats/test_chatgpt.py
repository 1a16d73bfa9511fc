"""ChatGPT's export: calls and contexts as one memory's writes, branches, and archives."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from guardian.errors import RecordError
from guardian.sources.formats.chatgpt import ChatGptSource
from guardian.sources.port import SourceOptions
from tests.contract.samples.chatgpt import context, conversation, node, save, saved, say, write
from tests.unit.sources.formats.reading import events_of, read, reasons, shape

SOURCE = ChatGptSource()
NOON = 1_777_636_800.25
DAY = 86_400.0


def store(path: Path, *conversations: Any) -> Path:
    """Write conversations as an array."""
    path.write_text(json.dumps(conversations))
    return path


def called(name: str, text: str, time: float) -> dict[str, Any]:
    """Give a conversation with one answered call."""
    return conversation(
        name,
        node(f"{name}1", None, [f"{name}2"], save(text, time)),
        node(f"{name}2", f"{name}1", [], saved(time)),
        current=f"{name}2",
    )


def shown(name: str, *lines: str, time: float) -> dict[str, Any]:
    """Give a conversation with one context."""
    return conversation(name, node(name, None, [], context(*lines, time=time)), current=name)


def test_a_call_gives_its_golden_event(tmp_path: Path) -> None:
    """Take the model for the author, the message for the reference, and epoch seconds for the time."""
    (event,) = events_of(read(SOURCE, store(tmp_path / "x", called("c", "Sits at desk 3.", NOON))))
    assert event == {
        "specversion": "1.0",
        "id": event["id"],
        "source": "chatgpt:export",
        "type": "memory.written",
        "time": "2026-05-01T12:00:00.250000Z",
        "space": "chatgpt",
        "data": {
            "memory_id": event["data"]["memory_id"],
            "text": "Sits at desk 3.",
            "source": {"kind": "agent", "ref": "chatgpt:export:c/c1", "actor": "gpt-x"},
            "metadata": {
                "format": "chatgpt.export",
                "told_by": "call",
                "time_from": "message",
                "time_raw": NOON,
                "tz_assumed": False,
                "branch": "current",
                "model": "gpt-x",
                "conversation_id": "c",
            },
        },
    }


def test_a_context_repeats_calls_adds_lines_and_shows_deletions(tmp_path: Path) -> None:
    """Name a memory by its text, date a line by its own day, and delete what a later context lacks."""
    rows = [
        shown("s2", "1. [2026-05-01]. Sits at desk 3.", time=NOON + 2 * DAY),
        shown("s1", "1. [2026-05-01]. Sits at desk 3.", "2. [2026-04-01]. Likes tea.\nAt four.", time=NOON + DAY),
        called("c", "Sits at desk 3.", NOON),
    ]
    items = read(SOURCE, store(tmp_path / "x", *rows))
    assert [(event["type"], event["time"], event["data"].get("text")) for event in events_of(items)] == [
        ("memory.written", "2026-05-01T12:00:00.250000Z", "Sits at desk 3."),
        ("memory.written", "2026-04-01T00:00:00Z", "Likes tea.\nAt four."),
        ("memory.deleted", "2026-05-03T12:00:00.250000Z", None),
    ]
    line = events_of(items)[1]["data"]
    assert line["source"]["kind"] == "unknown"
    assert (line["metadata"]["time_raw"], line["metadata"]["tz_assumed"], line["metadata"]["time_from"]) == (
        "2026-04-01",
        True,
        "line",
    )
    assert [item.rows for item in items] == [1, 1, 1]


def test_a_context_without_lines_proves_nothing(tmp_path: Path) -> None:
    """Delete nothing where memory was off, or its form is new."""
    for lines in ((), ("Likes tea.",)):
        rows = [called("c", "Sits at desk 3.", NOON), shown("s", *lines, time=NOON + DAY)]
        items = read(SOURCE, store(tmp_path / "x", *rows))
        assert [kind for kind, _, _ in shape(items)] == ["written"]
        assert reasons(items) == [("raw_messages", 1)]


def test_a_call_on_an_abandoned_branch_was_made_all_the_same(tmp_path: Path) -> None:
    """Say on which branch a call stands."""
    items = read(SOURCE, *write(tmp_path)[0])
    assert [(event["data"].get("text"), event["data"]["metadata"].get("branch")) for event in events_of(items)] == [
        ("Sits at desk 3.", "current"),
        ("Sits at desk 4.", "abandoned"),
        ("Likes tea.", "current"),
        (None, "current"),
    ]


def test_a_call_without_answer_is_not_believed(tmp_path: Path) -> None:
    """Count only what the tool confirmed."""
    row = conversation(
        "c", node("n1", None, ["n2"], save("x", NOON)), node("n2", "n1", [], say("assistant", "ok", NOON)), current="n2"
    )
    assert reasons(read(SOURCE, store(tmp_path / "x", row))) == [("write_unconfirmed", 1)]


def test_times_fall_back_to_the_conversation(tmp_path: Path) -> None:
    """Read a null time as that of the conversation, and break where there is none."""
    row = conversation("c", node("n1", None, ["n2"], save("x", None)), node("n2", "n1", [], saved(NOON)), current="n2", time=NOON)  # type: ignore[arg-type] # exports hold null
    assert events_of(read(SOURCE, store(tmp_path / "x", row)))[0]["time"] == "2026-05-01T12:00:00.250000Z"
    row["create_time"] = None
    assert reasons(read(SOURCE, store(tmp_path / "x", row))) == [("time_missing", 1)]


def test_a_tree_that_is_none_is_walked_once(tmp_path: Path) -> None:
    """End at a loop, a missing parent, and a node that is no object."""
    row = called("c", "x", NOON)
    row["mapping"]["c1"]["parent"] = "c2"
    row["mapping"]["odd"] = 7
    row["mapping"]["empty"] = {"message": None, "parent": "gone", "children": [None]}
    assert [text for _, _, text in shape(read(SOURCE, store(tmp_path / "x", row)))] == ["x"]


def test_parts_of_one_export_are_compared_in_the_order_of_time(tmp_path: Path) -> None:
    """Read split files as one, whatever their order."""
    early = store(tmp_path / "b", called("c", "Sits at desk 3.", NOON))
    late = store(tmp_path / "a", shown("s", "1. [2026-05-01]. Likes tea.", time=NOON + DAY))
    assert events_of(read(SOURCE, early, late)) == events_of(read(SOURCE, late, early))


def test_an_archive_without_conversations_is_refused(tmp_path: Path) -> None:
    """Say what is missing."""
    path = write(tmp_path)[0][0]
    path.write_bytes(path.read_bytes().replace(b"conversations-000.json", b"conversionsxx-000.json"))
    assert not SOURCE.detect(path)
    with pytest.raises(RecordError, match=r"holds no conversations\.json"):
        read(SOURCE, path)


def test_a_large_export_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """Hold one conversation and the texts of memories, not the file."""
    talk = json.dumps(conversation("c", node("n", None, [], say("user", "x" * 1_000_000, NOON)), current="n"))
    path = tmp_path / "x"
    with path.open("w") as file:
        file.write("[" + ",".join([talk] * 60) + "]")
    tracemalloc.start()
    items = sum(1 for _ in SOURCE.iter_items([path], SourceOptions()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert items == 60
    assert peak < 20_000_000
