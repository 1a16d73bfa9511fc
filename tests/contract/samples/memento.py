"""A sample of Memento: a bank with rewards, a bank with labels, and training rows."""

import json
from pathlib import Path
from typing import Any

from tests.contract.samples.files import stamp_files, write_lines


def plan(*steps: str) -> str:
    """Give a plan as the bank holds it: JSON in a text."""
    return json.dumps({"plan": [{"id": number, "description": step} for number, step in enumerate(steps, start=1)]})


def case(question: str, label: str = "positive") -> dict[str, Any]:
    """Give a labelled case."""
    return {"case": question, "plan": plan(f"Look up: {question}"), "case_label": label}


def retrieved(query: str, question: str, label: str = "positive", *, truth: bool = False) -> dict[str, Any]:
    """Give a training row."""
    return {"query": query, **case(question, label), "truth_label": truth}


def write(folder: Path) -> tuple[list[Path], int]:
    """Write three files, one with a line that is no JSON and one with a grade off the scale."""
    rewards = [{"question": "Which host?", "plan": plan("Look"), "reward": 1}, {"question": "Who?", "plan": "ask", "reward": 7}]
    bank = write_lines(folder / "bank", case("Where?"), case("When?", "negative"), '{"case": "cut')
    rows = [retrieved("Which?", "Where?"), retrieved("Which?", "When?", "negative"), retrieved("Why?", "Where?", truth=True)]
    return stamp_files(write_lines(folder / "memo.l", *rewards), bank, write_lines(folder / "training", *rows)), 8
