"""Agent files: confirmed calls as revisions, in both versions, with every quirk of real files."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from guardian.sources.formats.letta.agent_file import LettaAgentFileSource
from guardian.sources.port import SourceEvent
from guardian.sources.reading.envelope import digest_parts
from tests.contract.samples.letta import agent_file, answer, call, message, write_agent_file
from tests.unit.sources.formats.reading import events_of, read, reasons, shape

SOURCE = LettaAgentFileSource()


def write(path: Path, value: Any) -> Path:
    """Write a file."""
    path.write_text(json.dumps(value))
    os.utime(path, (1_780_000_000, 1_780_000_000))
    return path


def edited(call_id: str, day: int, old: str, new: str, status: str = "OK") -> list[dict[str, Any]]:
    """Give a call that replaces, and its answer."""
    calls = call(call_id, "core_memory_replace", label="human", old_content=old, new_content=new)
    return [message("assistant", day, tool_calls=calls), answer(call_id, day, status)]


def test_the_sample_gives_its_golden_events(tmp_path: Path) -> None:
    """Open what is encoded twice, sort messages by time, replay confirmed calls, leave failed ones and heartbeats."""
    items = read(SOURCE, *write_agent_file(tmp_path)[0])
    assert shape(items) == [
        ("written", "Desk/human", "Desk 2"),
        ("written", "Desk/human", "Desk 3"),
        ("written", "Desk/human", "Desk 3\nTea at four"),
        ("written", f"Desk/archival/{digest_parts('c4', 'The lab is in Kyiv', size=16)}", "The lab is in Kyiv"),
    ]
    first, second = (event for event in events_of(items)[:2])
    assert first["data"]["source"] == {"kind": "unknown", "ref": "letta:agent-file:Desk/human"}
    assert (first["time"], first["data"]["metadata"]["time_from"]) == ("2026-05-01T08:00:00Z", "first_message")
    assert second == {
        "specversion": "1.0",
        "id": second["id"],
        "source": "letta:agent-file",
        "type": "memory.written",
        "time": "2026-05-02T08:00:00Z",
        "space": "letta",
        "data": {
            "memory_id": "Desk/human",
            "text": "Desk 3",
            "source": {"kind": "agent", "ref": "letta:agent-file:c1", "actor": "Desk"},
            "scope": {"agent_id": "Desk"},
            "metadata": {
                "format": "letta.agent-file",
                "time_from": "message",
                "label": "human",
                "description": "About the person",
                "limit": 5000,
                "time_raw": "2026-05-02T08:00:00+00:00",
                "tz_assumed": False,
                "tool": "memory_replace",
            },
        },
    }
    assert events_of(items)[3]["data"]["metadata"]["tags"] == ["lab"]
    assert reasons(items) == [("write_failed", 1), ("raw_messages", 5)]


def test_only_a_call_that_its_tool_message_confirms_counts(tmp_path: Path) -> None:
    """Tell failed and unanswered calls apart, by the answer's status in either place."""
    newer = message("tool", 4, tool_returns=[{"tool_call_id": "c3", "status": "success"}])
    messages = [
        *edited("c1", 2, "Desk 2", "Desk 3", "Failed"),
        edited("c2", 3, "Desk 3", "Desk 4")[0],
        edited("c3", 4, "Desk 5", "Desk 6")[0],
        newer,
    ]
    items = read(SOURCE, write(tmp_path / "a", agent_file(*messages, value="Desk 6")))
    assert [text for _, _, text in shape(items)] == ["Desk 5", "Desk 6"]
    assert reasons(items) == [("write_failed", 1), ("write_unconfirmed", 1), ("raw_messages", 2)]


def test_a_text_that_cannot_be_worked_out_is_not_invented(tmp_path: Path) -> None:
    """Skip the edit behind which somebody changed the block, and write what the file holds, dated by its export."""
    items = read(SOURCE, write(tmp_path / "a", agent_file(*edited("c1", 2, "Desk 2", "Desk 3"), value="Rewritten by hand")))
    assert shape(items) == [("written", "Desk/human", "Rewritten by hand")]
    assert events_of(items)[0]["time"] == "2026-05-20T08:00:00Z"
    assert reasons(items) == [("revision_unknown", 1), ("raw_messages", 1)]


def test_a_first_version_file_is_read(tmp_path: Path) -> None:
    """Read naive times as UTC and say so; date a block's first text by its creation, and one without calls by its update."""
    messages = [{**row, "created_at": row["created_at"].removesuffix("+00:00")} for row in edited("c1", 2, "Desk 2", "Desk 3")]
    times = {"created_at": "2026-04-01T08:00:00", "updated_at": "2026-05-02T08:00:00.1"}
    value = {
        "agent_type": "memgpt_agent",
        "name": "Desk",
        "core_memory": [
            {"label": "human", "value": "Desk 3", **times},
            {"label": "persona", "value": "I am Desk.", **times},
            {"label": "notes", "value": "", **times},
        ],
        "messages": messages,
        "version": "0.6.47",
    }
    path = write(tmp_path / "a", value)
    assert SOURCE.detect(path)
    items = read(SOURCE, path)
    assert [(event["time"], event["data"]["text"]) for event in events_of(items)] == [
        ("2026-04-01T08:00:00Z", "Desk 2"),
        ("2026-05-02T08:00:00Z", "Desk 3"),
        ("2026-05-02T08:00:00.100000Z", "I am Desk."),
    ]
    assert all(event["data"]["metadata"]["tz_assumed"] for event in events_of(items))
    assert reasons(items) == [("empty", 1), ("raw_messages", 1)]


def test_several_agents_keep_apart_and_share_what_they_share(tmp_path: Path) -> None:
    """Give a shared block one memory with the edits of both, in the order of times."""
    value = agent_file(*edited("c1", 2, "Desk 2", "Desk 3"), value="Desk 4", name="One")
    value["agents"].append(
        {"id": "agent-1", "name": "Two", "block_ids": ["block-0", "block-1"], "messages": edited("c2", 3, "Desk 3", "Desk 4")}
    )
    value["blocks"].append({"id": "block-1", "label": "human", "value": "Own"})
    items = read(SOURCE, write(tmp_path / "a", value))
    assert shape(items) == [
        ("written", "One+Two/human", "Desk 2"),
        ("written", "One+Two/human", "Desk 3"),
        ("written", "One+Two/human", "Desk 4"),
        ("written", "Two/human", "Own"),
    ]
    assert [event["data"]["source"].get("actor") for event in events_of(items)] == [None, "One", "Two", None]


def test_a_file_without_blocks_or_messages_is_read(tmp_path: Path) -> None:
    """Accept agents that remember nothing yet."""
    path = write(tmp_path / "a", {"agents": [{"name": "Desk", "messages": []}], "blocks": [], "created_at": None})
    assert SOURCE.detect(path)
    assert read(SOURCE, path) == []


def test_parallel_calls_of_one_message_are_one_row(tmp_path: Path) -> None:
    """Let the first answer for it."""
    both = call("c1", "core_memory_append", label="human", content="b") + call(
        "c2", "core_memory_append", label="human", content="c"
    )
    messages = [message("assistant", 2, tool_calls=both), answer("c1", 2), answer("c2", 2)]
    items = read(SOURCE, write(tmp_path / "a", agent_file(*messages, value="a\nb\nc")))
    assert [text for _, _, text in shape(items)] == ["a", "a\nb", "a\nb\nc"]
    assert sum(item.rows for item in items) == 4


def test_a_later_export_of_the_same_agent_goes_on(tmp_path: Path) -> None:
    """Give the calls that both hold the same ids, so that nothing is counted twice."""
    first = write(tmp_path / "a", agent_file(*edited("c1", 2, "Desk 2", "Desk 3"), value="Desk 3"))
    more = [*edited("c1", 2, "Desk 2", "Desk 3"), *edited("c2", 3, "Desk 3", "Desk 4")]
    second = write(tmp_path / "b", agent_file(*more, value="Desk 4"))
    earlier, later = (events_of(read(SOURCE, path)) for path in (first, second))
    assert later[: len(earlier)] == earlier
    third = write(tmp_path / "c", agent_file(*edited("c2", 3, "Desk 3", "Desk 4"), value="Desk 4"))
    items = read(SOURCE, first, third)
    assert events_of(items) == later
    assert reasons(items) == [("raw_messages", 1), ("unchanged", 1), ("raw_messages", 1)]


@pytest.mark.parametrize(
    "value",
    [
        {"agents": 1, "messages": []},
        {"messages": [{"role": "user", "content": "x"}]},
        ["agents", "messages"],
        {"core_memory": {}},
    ],
)
def test_other_documents_are_not_claimed(tmp_path: Path, value: Any) -> None:
    """Look at more than the words."""
    assert not SOURCE.detect(write(tmp_path / "a", value))


def test_a_broken_part_costs_itself(tmp_path: Path) -> None:
    """Keep the rest of the file."""
    value = agent_file(*edited("c1", 2, "Desk 2", "Desk 3"), value="Desk 3")
    value["blocks"].append({"id": "block-9", "label": 7})
    value["agents"][0]["messages"].append("no message")
    items = read(SOURCE, write(tmp_path / "a", value))
    assert [text for _, _, text in shape(items)] == ["Desk 2", "Desk 3"]
    assert reasons(items).count(("shape_unknown", 1)) == 2
    assert sum(item.rows for item in items) == 5


def test_a_block_that_is_empty_in_a_later_export_is_deleted(tmp_path: Path) -> None:
    """Tell by difference what no call tells."""
    first, second = (write(tmp_path / name, agent_file(value=value)) for name, value in (("a", "Desk 3"), ("b", " ")))
    assert [kind for kind, _, _ in shape(read(SOURCE, first, second))] == ["written", "deleted"]


REAL = os.environ.get("GUARDIAN_REAL_DATA")


@pytest.mark.skipif(not REAL, reason="GUARDIAN_REAL_DATA names no folder of real files")
@pytest.mark.parametrize(
    ("name", "rows", "written"),
    [
        ("v1_memgpt_agent_with_convo.af", 93, 7),
        ("memgpt_agent.af", 3, 2),
        ("customer_service.af", 3, 2),
        ("deep_research_agent.af", 5, 2),
        ("loop.af", 12, 9),
    ],
)
def test_real_agent_files_are_read_whole(name: str, rows: int, written: int) -> None:
    """Account for every block and message, without a fault, twice alike; the first text is what the first prompt showed."""
    path = Path(REAL or "") / "letta_af" / name
    items = read(SOURCE, path)
    assert SOURCE.detect(path)
    assert items == read(SOURCE, path)
    assert sum(item.rows for item in items) == rows
    assert sum(isinstance(item, SourceEvent) for item in items) == written
    assert {reason for reason, _ in reasons(items)} <= {"raw_messages", "empty"}
    if name.startswith("v1"):
        prompt = json.loads(path.read_bytes())["messages"][0]["content"][0]["text"]
        firsts = [event["data"]["text"] for event in events_of(items) if event["data"]["metadata"]["time_from"] == "created_at"]
        assert len(firsts) == 2
        assert all(text in prompt for text in firsts)
