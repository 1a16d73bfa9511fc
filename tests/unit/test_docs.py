"""Laws of the pages: what they name exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from guardian.settings import Settings
from guardian.telemetry.metrics import Metrics
from guardian.telemetry.serve import ServeMetrics

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
# What stands where a page tells of a fault.
FAULTS = (
    "The broker is down",
    "The store is down",
    "A worker is killed",
    "A rebalance",
    "A clock is wrong",
    "Poison",
    "The disk is full",
    "The schema changes",
    "The embedding model changes",
    "The number of partitions changes",
)
PARTS = ("**Promised:**", "**You see:**", "**Do:**", "**Shown by:**")


def _id_of(page: Path) -> str:
    return page.stem


@cache
def _names_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )


@cache
def _source() -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "guardian").rglob("*.py")))


@pytest.mark.parametrize("page", PAGES, ids=_id_of)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    """A promise is shown by a test that can be run under the name that is given."""
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", page.read_text("utf-8"))
    assert [f"{path}::{name}" for path, name in named if name not in _names_in(ROOT / path)] == []


@pytest.mark.parametrize("page", PAGES, ids=_id_of)
def test_every_metric_that_a_page_names_exists(page: Path) -> None:
    """An alert on a metric that nobody has would never fire."""
    rendered = Metrics().render().decode() + ServeMetrics().render().decode()
    named = set(re.findall(r"\bguardian_(?!memory\b)[a-z_]+", page.read_text("utf-8")))
    assert {name for name in named if f"# TYPE {name} " not in rendered} == set()


@pytest.mark.parametrize("page", PAGES, ids=_id_of)
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    """Names in the environment lead to a field of the settings."""
    named = set(re.findall(r"\bGUARDIAN_([A-Z]+)__([A-Z_]+)\b", page.read_text("utf-8")))
    fields = Settings.model_fields
    assert {
        (section, name)
        for section, name in named
        if section.lower() not in fields or name.lower() not in getattr(fields[section.lower()].annotation, "model_fields", {})
    } == set()


def test_every_log_line_that_the_operating_page_names_is_written() -> None:
    """Who searches the log for it finds it."""
    text = (ROOT / "docs" / "when-things-go-wrong.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", text)) - {"guardian.enriched", "guardian.events", "guardian.reviews"}
    lines = {name for name in named if not name.startswith(("guardian.", "memory."))}
    assert lines
    assert {name for name in lines if f'"{name}"' not in _source()} == set()


def test_the_operating_page_tells_every_fault_in_full() -> None:
    """Each heading has what is promised, what is seen, what to do, and what shows it."""
    text = (ROOT / "docs" / "when-things-go-wrong.md").read_text("utf-8")
    sections = {part.split("\n", 1)[0]: part for part in text.split("\n## ")[1:]}
    for fault in FAULTS:
        (section,) = [body for title, body in sections.items() if title.startswith(fault)]
        assert [part for part in PARTS if part not in section] == [], fault
