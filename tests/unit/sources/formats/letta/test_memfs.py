"""MemFS: one block a file, one revision a commit, and renames that carry lineage."""

from pathlib import Path

from guardian.core.model import SourceKind
from guardian.sources.formats.letta.memfs import LettaMemfsSource
from tests.contract.samples.letta import AGENT, BY_AGENT, page
from tests.git_repository import TestRepository
from tests.unit.sources.formats.reading import events_of, read, reasons, shape

SOURCE = LettaMemfsSource()


def test_a_commit_gives_its_golden_event(tmp_path: Path) -> None:
    """Name the memory by agent and path, date it by the author, keep message and frontmatter."""
    commit = TestRepository(tmp_path).commit(
        {"system/human.md": page("Desk 3")}, author=BY_AGENT, message="Ann moved", time=1_777_622_460, zone=-25_200
    )
    assert events_of(read(SOURCE, tmp_path)) == [
        {
            "specversion": "1.0",
            "id": events_of(read(SOURCE, tmp_path))[0]["id"],
            "source": "letta:memfs",
            "type": "memory.written",
            "time": "2026-05-01T08:01:00Z",
            "space": "letta",
            "data": {
                "memory_id": "agent-7/system/human.md",
                "text": "Desk 3",
                "source": {"kind": "agent", "ref": "letta:memfs:agent-7/system/human.md", "actor": "agent-7"},
                "scope": {"agent_id": "agent-7"},
                "metadata": {
                    "path": "system/human.md",
                    "format": "letta.memfs",
                    "commit": commit,
                    "reason": "Ann moved",
                    "time_raw": "2026-05-01T01:01:00-07:00",
                    "tz_assumed": False,
                    "author": "Desk",
                    "fields": {"description": "About the person"},
                },
            },
        }
    ]


def test_a_rename_ends_one_memory_and_begins_its_child(tmp_path: Path) -> None:
    """Let what is found wrong with the one hold for the other."""
    repository = TestRepository(tmp_path)
    repository.commit({"system/a.md": page("Desk 3")}, author=BY_AGENT)
    repository.commit({"system/a.md": None, "system/b.md": page("Desk 3")}, author=BY_AGENT, time=1_777_622_500)
    items = read(SOURCE, tmp_path)
    assert shape(items) == [
        ("written", "agent-7/system/a.md", "Desk 3"),
        ("deleted", "agent-7/system/a.md", None),
        ("written", "agent-7/system/b.md", "Desk 3"),
    ]
    assert events_of(items)[2]["data"]["parents"] == ["agent-7/system/a.md"]
    assert [item.rows for item in items] == [1, 1, 0]


def test_who_edits_from_outside_stays_unknown(tmp_path: Path) -> None:
    """Take the kind of a commit's author from an agent's address only."""
    repository = TestRepository(tmp_path)
    repository.commit({"system/a.md": page("1")}, author=BY_AGENT)
    repository.commit({"system/a.md": page("2")}, author="Ann <ann@example.org>")
    events = events_of(read(SOURCE, tmp_path))
    assert events[1]["data"]["source"] == {"kind": "unknown", "ref": "letta:memfs:agent-7/system/a.md", "actor": "Ann"}
    stated = events_of(read(SOURCE, tmp_path, source_kind=SourceKind.USER))
    assert [event["data"]["source"]["kind"] for event in stated] == ["agent", "user"]


def test_a_repository_that_somebody_else_set_up_is_its_agents(tmp_path: Path) -> None:
    """Name the memories alike before and after the agent's first commit."""
    repository = TestRepository(tmp_path)
    repository.commit({"system/a.md": page("1")}, author="Setup <setup@letta.com>")
    repository.commit({"system/a.md": page("2")}, author=BY_AGENT)
    assert [memory_id for _, memory_id, _ in shape(read(SOURCE, tmp_path))] == [f"{AGENT}/system/a.md"] * 2


def test_commits_of_one_second_keep_their_order(tmp_path: Path) -> None:
    """Put the second behind the first, and say so; also when a clock was set back."""
    repository = TestRepository(tmp_path)
    for number, time in enumerate((1_777_622_400, 1_777_622_400, 1_777_000_000)):
        repository.commit({"system/a.md": page(f"{number}")}, author=BY_AGENT, time=time)
    events = events_of(read(SOURCE, tmp_path))
    assert [event["time"] for event in events] == [
        "2026-05-01T08:00:00Z",
        "2026-05-01T08:00:00.000001Z",
        "2026-05-01T08:00:00.000002Z",
    ]
    assert [event["data"]["metadata"].get("time_inferred") for event in events] == [None, True, True]


def test_an_emptied_file_is_a_deletion_and_an_empty_one_nothing(tmp_path: Path) -> None:
    """Remember nothing where nothing stands."""
    repository = TestRepository(tmp_path)
    repository.commit({"system/a.md": page("1"), "system/b.md": page("")}, author=BY_AGENT)
    repository.commit({"system/a.md": page("  ")}, author=BY_AGENT)
    repository.commit({"system/b.md": None}, author=BY_AGENT)
    items = read(SOURCE, tmp_path)
    assert shape(items) == [("written", f"{AGENT}/system/a.md", "1"), ("deleted", f"{AGENT}/system/a.md", None)]
    assert reasons(items) == [("empty", 1), ("empty", 1)]


def test_a_new_description_is_a_revision(tmp_path: Path) -> None:
    """Keep what frontmatter says now, and skip what changes neither it nor the text."""
    repository = TestRepository(tmp_path)
    repository.commit({"system/a.md": page("1")}, author=BY_AGENT)
    repository.commit({"system/a.md": page("1", "Other")}, author=BY_AGENT)
    repository.commit({"system/a.md": page("1\n\n", "Other")}, author=BY_AGENT)
    items = read(SOURCE, tmp_path)
    assert [event["data"]["metadata"]["fields"]["description"] for event in events_of(items)] == ["About the person", "Other"]
    assert reasons(items) == [("unchanged", 1)]


def test_a_skill_is_told_by_its_place(tmp_path: Path) -> None:
    """Give the kind that the layout states."""
    repository = TestRepository(tmp_path)
    repository.commit({"skills/sql/SKILL.md": page("Quote names"), "system/a.md": page("x")}, author=BY_AGENT)
    assert [event["data"].get("kind") for event in events_of(read(SOURCE, tmp_path))] == ["skill", None]


def test_only_a_repository_with_described_blocks_is_recognised(tmp_path: Path) -> None:
    """Claim no other repository with markdown."""
    repository = TestRepository(tmp_path)
    repository.commit({"README.md": page("x"), "docs/a.md": page("x")})
    assert not SOURCE.detect(tmp_path)
    repository.commit({"system/a.md": page("x")})
    assert SOURCE.detect(tmp_path)
