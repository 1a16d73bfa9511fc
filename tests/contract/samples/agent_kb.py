"""A sample of Agent-KB: workflows, one of them twice under other ids."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import write_json


def workflow(question: str, **more: Any) -> dict[str, Any]:
    """Give one workflow."""
    return {
        "question": question,
        "agent_planning": "1. Read the table.",
        "search_agent_planning": "1. Search for the table.",
        "agent_experience": "Check the unit.",
        "search_agent_experience": "Prefer primary sources.",
        **more,
    }


def write(folder: Path) -> tuple[list[Path], int]:
    """Write three workflows and one without a question."""
    rows = [
        workflow("How tall?", workflow_id="1767225600.5"),
        workflow("How tall?", workflow_id="1767225999.5"),
        workflow("How wide?", true_answer="3 m"),
        {"agent_planning": "x", "agent_experience": "y"},
    ]
    return [write_json(folder / "kb.json", rows, indent=1)], 4
