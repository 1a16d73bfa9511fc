"""Voyager and Agent-KB: skills under names, workflows under their content, and no grade that nobody gave."""

from pathlib import Path

from guardian.sources.formats.agent_kb import AgentKbSource
from guardian.sources.formats.voyager import VoyagerSource
from tests.contract.samples.agent_kb import workflow
from tests.contract.samples.files import data_of, events_of, read, read_alone, reasons_of, stamp_files, write_json
from tests.contract.samples.voyager import skill

VOYAGER, AGENT_KB = VoyagerSource(), AgentKbSource()


def test_a_skill_of_the_same_name_is_a_revision_and_an_absent_one_deleted(tmp_path: Path) -> None:
    """Read versions of a library by difference."""
    first = write_json(tmp_path / "a", {"mine": skill("mine"), "dig": skill("dig")})
    second = write_json(tmp_path / "b", {"mine": skill("mine", " again(); ")})
    items = read(VOYAGER, *stamp_files(first, second))
    assert [(event["type"], event["data"]["memory_id"]) for event in events_of(items)] == [
        ("memory.written", "skill:mine"),
        ("memory.written", "skill:dig"),
        ("memory.written", "skill:mine"),
        ("memory.deleted", "skill:dig"),
    ]
    assert {data["kind"] for data in data_of(items, "written")} == {"skill"}
    assert all("self_grade" not in data for data in data_of(items))


def test_a_library_that_cannot_be_parsed_is_one_dead_letter(tmp_path: Path) -> None:
    """Delete nothing on its word."""
    first, second = write_json(tmp_path / "a", {"mine": skill("mine")}), tmp_path / "b"
    second.write_text('{"mine": {"code"')
    items = read(VOYAGER, *stamp_files(first, second))
    assert reasons_of(items) == ["not_json", "absence_in_damaged_version"]


def test_a_workflow_is_its_content_whatever_its_id(tmp_path: Path) -> None:
    """Never use an id that is made anew at every load."""
    rows = [workflow("How?", workflow_id="1.5"), workflow("How?", workflow_id="2.5"), workflow("How?", agent_experience="Wait.")]
    items = read(AGENT_KB, write_json(tmp_path / "kb", rows))
    assert len({data["memory_id"] for data in data_of(items)}) == 2
    assert reasons_of(items) == ["unchanged"]


def test_a_workflow_without_an_answer_or_a_grade(tmp_path: Path) -> None:
    """Import no reference answer, and make up no grade."""
    (data,) = data_of(
        read(AGENT_KB, write_json(tmp_path / "kb", [workflow("How?", true_answer="SECRET", search_agent_planning=None)]))
    )
    assert "SECRET" not in str(data)
    assert "Search plan" not in data["text"]
    assert "self_grade" not in data
    assert data_of(read_alone(AGENT_KB, workflow("How?")))[0]["kind"] == "episode"
