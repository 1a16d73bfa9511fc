"""Hostile memories on a terminal: whatever a text or a name holds, a command prints what can be seen and steers nothing."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from guardian.cli.context import build_table, clean_prompt
from guardian.cli.search import build_hit_row
from guardian.cli.search import build_table as build_hits_table
from guardian.cli.show import build_page
from guardian.core.script import is_hidden
from guardian.read import Calibrator, ReadPolicy, Task
from guardian.read.explain import explain
from guardian.read.retrieve import Question, retrieve
from tests import builders as build
from tests.property.bank import Bank

CORPUS = Path(__file__).parents[2] / "data" / "injection"
TEXTS = [json.loads(line)["text"] for path in sorted(CORPUS.glob("*.jsonl")) for line in path.read_text().splitlines()]
# Joiners and selectors that writing and emoji need, and the ends of lines, which move nothing on a terminal.
SEEN = frozenset("\n\t\u200c\u200d\ufe0e\ufe0f\u2028\u2029")


def draw(page: Any) -> str:
    """Draw something as it would be printed."""
    drawn = StringIO()
    Console(file=drawn, highlight=False, markup=False, emoji=False, width=200).print(page)
    return drawn.getvalue()


def list_hidden(shown: str) -> set[str]:
    """List the characters that nobody would see."""
    return {f"{ord(char):x}" for char in shown if char not in SEEN and is_hidden(char)}


async def fill(bank: Bank, text: str) -> None:
    """Write a text, and use it for every name that a writer chooses."""
    name = text[:100]
    named = {"ref": name, "actor": name, "subject": name, "session": name, "scope": {"project_id": name}}
    await bank.send(build.written(f"m{name}", f"kiln {text}"[:8_000], src="tool", kind="fact", **named))
    instead = build.written_data(f"n{name}", f"kiln new {name}", src="tool")
    await bank.send(build.corrected(f"m{name}", instead, by="human_review", actor=name, reason=text[:500], t=5))


@pytest.mark.parametrize("start", range(0, len(TEXTS), 40))
async def test_no_memory_steers_or_hides_on_a_terminal(start: int) -> None:
    """Neither in a page, nor in the tables of a search and a context, nor in a prompt."""
    bank, part = Bank(), TEXTS[start : start + 40]
    for text in part:
        await fill(bank, text)
    pages = [await explain(bank.store, "s", f"m{text[:100]}") for text in part]
    shown = [draw(build_page(page)) for page in pages if page is not None]
    hits = await retrieve(bank.store, Question(space="s", text="kiln", limit=100, with_history=True, per_family=None))
    shown.append(draw(build_hits_table([build_hit_row(hit) for hit in hits])))
    for task in (Task(), Task(is_history=True)):
        admission = await Calibrator(bank.store, ReadPolicy(limit=100, token_budget=None)).context("kiln", task, space="s")
        shown += [draw(build_table(admission)), draw(clean_prompt(admission.prompt.text))]
    assert len(shown) == len(part) + 5
    assert [found for each in shown if (found := list_hidden(each))] == []
