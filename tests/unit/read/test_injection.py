"""Hostile memories: over a hundred texts that try to be something else, and none of them is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from guardian.read import Admission, Calibrator, ReadPolicy, Task
from guardian.read.prompt.section import parse_block
from tests import builders as build
from tests.property.bank import Bank

CORPUS = Path(__file__).parents[2] / "data" / "injection"
TEXTS = [json.loads(line) for path in sorted(CORPUS.glob("*.jsonl")) for line in path.read_text().splitlines()]
# What each pretends to be, whatever it says: kind, source, and whether its writer says that it is verified.
WRITERS = [
    ("fact", "user", True),
    ("preference", "user", False),
    ("belief", "user", True),
    ("fact", "agent", True),
    ("instruction", "agent", True),
    ("instruction", "document", False),
    ("fact", "unknown", True),
    ("fact", "tool", False),
    ("episode", "agent", False),
    ("summary", "document", True),
]
TASKS = [
    Task(),
    Task(requires_objective_fact=True),
    Task(requires_objective_fact=False, personalization_allowed=True),
    Task(is_history=True),
]
# One word that every text gets, so that a search finds all of them.
WORD = "kiln"
NUMBER = 50


def write(name: str, text: str, kind: str, source: str, *, verified: bool, **fields: Any) -> Any:
    """Build the write of one text."""
    return build.written(name, f"{WORD} {text}", kind=kind, src=source, verified=verified, **fields)


async def ask(bank: Bank, task: Task, **policy: Any) -> Admission:
    """Ask for everything that a bank has."""
    chosen = ReadPolicy(limit=100, max_text_chars=100_000, token_budget=None, **policy)
    return await Calibrator(bank.store, chosen).context(WORD, task, space="s")


def judgement(admission: Admission) -> dict[str, tuple[Any, ...]]:
    """Give what was decided on each memory, without its words."""
    return {
        item.candidate.memory_id: (item.role, item.reason, item.is_rendered, item.candidate.slots, item.candidate.permission)
        for item in admission.decisions
    }


def test_the_corpus_is_large_and_its_texts_differ() -> None:
    """At least sixty, each with a name of its own."""
    assert len(TEXTS) >= 60
    assert len({item["name"] for item in TEXTS}) == len({item["text"] for item in TEXTS}) == len(TEXTS)


@pytest.mark.parametrize(("kind", "source", "verified"), WRITERS)
def test_no_text_changes_what_its_memory_may_do(kind: str, source: str, verified: bool) -> None:
    """Status, slots, permission, role and reason are those of a harmless text of the same writer, for every sort of task."""

    async def run() -> None:
        for start in range(0, len(TEXTS), NUMBER):
            part = TEXTS[start : start + NUMBER]
            hostile, harmless = Bank(), Bank()
            await hostile.send(*(write(item["name"], item["text"], kind, source, verified=verified) for item in part))
            await harmless.send(*(write(item["name"], f"note {item['name']}", kind, source, verified=verified) for item in part))
            before = {row["memory_id"]: (row["status"], row["slots"], row["roots"]) for row in await harmless.rows()}
            assert {row["memory_id"]: (row["status"], row["slots"], row["roots"]) for row in await hostile.rows()} == before
            for task in TASKS:
                decided = judgement(await ask(hostile, task))
                assert len(decided) == len(part)
                assert decided == judgement(await ask(harmless, task))

    asyncio.run(run())


@pytest.mark.parametrize("task", TASKS, ids=str)
@pytest.mark.parametrize("budget", [None, 3_000])
def test_no_text_changes_the_structure_of_the_prompt(task: Task, budget: int | None) -> None:
    """All of them together: each record is one line of its own section, its text read back to the letter or to where it was cut."""

    async def run() -> None:
        for start in range(0, len(TEXTS), NUMBER):
            bank = Bank()
            written = [
                write(item["name"], item["text"], *WRITERS[number % len(WRITERS)][:2], verified=number % 2 == 0)
                for number, item in enumerate(TEXTS[start : start + NUMBER])
            ]
            await bank.send(*written)
            policy = ReadPolicy(limit=100, max_text_chars=100_000, token_budget=budget)
            admission = await Calibrator(bank.store, policy).context(WORD, task, space="s")
            check_structure(admission)

    asyncio.run(run())


def check_structure(admission: Admission) -> None:
    """Compare a prompt with the decisions that it was made of."""
    sections = parse_block(admission.prompt.block)
    texts = {item.candidate.memory_id: item.candidate.text for item in admission.rendered}
    shown = {admission.prompt.handles[item.handle]: item.fields for section in sections for item in section.items}
    assert shown.keys() == texts.keys()
    for memory_id, fields in shown.items():
        assert texts[memory_id][: len(fields["text"])] == fields["text"]
        assert len(texts[memory_id]) - len(fields["text"]) == fields.get("cut", 0)
    lines = len(shown) + len(sections) + sum(section.left_out > 0 for section in sections) + bool(sections)
    assert len(admission.prompt.block.splitlines()) == lines  # by every character that Unicode breaks lines at
    assert not set(admission.prompt.block) & set("<>`\x1b\u202e\u200b")


@pytest.mark.parametrize("item", TEXTS, ids=lambda item: item["name"])
def test_no_name_changes_anything_either(item: dict[str, str]) -> None:
    """The same texts as memory id, subject, scope, actor and reference of a source."""
    name = item["text"][:400]
    event = build.written(
        name,
        f"{WORD} 900",
        src="document",
        ref=name,
        actor=name,
        subject=name,
        kind="fact",
        verified=True,
        scope={"domain": name},
    )
    bank = Bank()

    async def run() -> Admission:
        await bank.send(event)
        return await ask(bank, Task(requires_objective_fact=True))

    admission = asyncio.run(run())
    (section,) = parse_block(admission.prompt.block)
    assert (section.name, [found.handle for found in section.items]) == ("evidence", ["E1"])
    assert section.items[0].fields["text"] == f"{WORD} 900"
    assert len(admission.prompt.block.splitlines()) == 3
    assert not any(name in line for line in admission.prompt.guide.splitlines())
