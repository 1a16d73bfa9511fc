"""A sample of Cognee's sessions: rows with and without feedback, and one with a score off the scale."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import write_lines


def row(qa_id: str, **more: Any) -> dict[str, Any]:
    """Give one question with its answer."""
    return {
        "time": "2026-05-01T08:00:00",
        "qa_id": qa_id,
        "question": f"Where is desk {qa_id}?",
        "context": "graph",
        "answer": "On floor 3.",
        "feedback_text": None,
        "feedback_score": None,
        "used_graph_element_ids": {"node_ids": ["n1"], "edge_ids": ["e1"]},
        "used_session_context_ids": [],
        "memify_metadata": {},
        **more,
    }


def write(folder: Path) -> tuple[list[Path], int]:
    """Write four rows, the last without an answer."""
    rows = [row("1"), row("2", feedback_score=5, feedback_text="right"), row("3", feedback_score=9), {"qa_id": "4"}]
    return [write_lines(folder / "qa.jsonl", *rows)], 4
