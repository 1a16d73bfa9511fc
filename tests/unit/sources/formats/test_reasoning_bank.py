"""ReasoningBank: strategies derive from the task they were drawn from; the agent's status is its own grade."""

from pathlib import Path
from typing import Any

import pytest

from guardian.sources.formats.reasoning_bank import ReasoningBankSource
from tests.contract.samples.files import data_of, events_of, read, read_alone, reasons_of, write_lines
from tests.contract.samples.reasoning_bank import row

SOURCE = ReasoningBankSource()
ITEM = "# Memory Item 1\n## Title A\n## Content Look first."


@pytest.mark.parametrize(
    ("items", "texts"),
    [
        (["Look.", "  ", "Ask."], ["Look.", "Ask."]),
        ([ITEM, "Ask.", "# Memory Item 2\n## Title B", "```"], [f"{ITEM}\n\nAsk.", "# Memory Item 2\n## Title B"]),
        (["It went well.", f"```markdown\n{ITEM}"], ["It went well.", ITEM]),
        (f"{ITEM}\n\n# Memory Item 2\n## Title B", [ITEM, "# Memory Item 2\n## Title B"]),
        ("Just ask.", ["Just ask."]),
        ("", []),
        (None, []),
    ],
)
def test_items_are_a_list_or_one_text_and_never_letters(tmp_path: Path, items: Any, texts: list[str]) -> None:
    """Cut at headings: the writer cuts at blank lines, and the reader takes a text letter by letter."""
    task, *skills = data_of(read(SOURCE, write_lines(tmp_path / "b", {**row("1"), "memory_items": items})))
    assert [data["text"] for data in skills] == texts
    assert all((data["kind"], data["parents"]) == ("skill", [task["memory_id"]]) for data in skills)


@pytest.mark.parametrize(
    ("status", "grade"), [("success", 1.0), ("fail", 0.0), (" Success ", 1.0), ("unknown", None), (None, None)]
)
def test_the_status_is_a_self_grade_of_the_episode(tmp_path: Path, status: Any, grade: float | None) -> None:
    """Grade the episode and not its items; a verdict is nobody's to make here."""
    items = read(SOURCE, write_lines(tmp_path / "b", {**row("1", items=[ITEM]), "status": status}))
    assert [data.get("self_grade") for data in data_of(items)] == [grade, None]
    assert not events_of(items, "audited")
    assert reasons_of(items) == ([] if grade is not None else ["grade_unknown"])


def test_a_run_again_is_another_episode_with_items_of_its_own(tmp_path: Path) -> None:
    """Tell runs by content, and what was drawn from each."""
    rows = [row("1", items=[ITEM]), row("1", items=[ITEM], status="fail"), row("1", items=[ITEM])]
    items = read(SOURCE, write_lines(tmp_path / "b", *rows))
    assert len({data["memory_id"] for data in data_of(items)}) == 4
    assert reasons_of(items) == ["unchanged"]


def test_a_row_that_arrives_has_the_same_memories(tmp_path: Path) -> None:
    """Give the same ids by either route."""
    live, filed = read_alone(SOURCE, row("1", items=[ITEM])), read(SOURCE, write_lines(tmp_path / "b", row("1", items=[ITEM])))
    assert [data["memory_id"] for data in data_of(live)] == [data["memory_id"] for data in data_of(filed)]
