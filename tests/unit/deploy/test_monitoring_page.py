"""Laws of the page on monitoring: its tables are the metrics and the alerts that there are."""

from __future__ import annotations

import re

import pytest

from tests.monitoring import ROOT
from tests.unit.deploy.queries import Family, list_families, list_serve_families, load_alerts

PAGE = (ROOT / "docs" / "monitoring.md").read_text("utf-8")


def read_table(heading: str) -> list[tuple[str, ...]]:
    """Give the rows of the table of a section, without its head."""
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]) for row in rows[1:]]


@pytest.mark.parametrize(
    ("heading", "families"), [("Metrics", list_families()), ("Metrics of the service", list_serve_families())]
)
def test_the_table_of_metrics_is_the_registry(heading: str, families: list[Family]) -> None:
    """Name, type, labels and meaning of every metric, and no other."""
    expected = [
        (
            f"`{one.name}{'_total' if one.kind == 'counter' else ''}`",
            one.kind,
            ", ".join(f"`{label}`" for label in one.labels) or "none",
            one.text,
        )
        for one in families
    ]
    assert read_table(heading) == expected


def test_the_table_of_alerts_is_the_rules() -> None:
    """Name, kind with its runbook, severity and pauses of every alert, and some words on each."""
    rows = read_table("Alerts")
    expected = [
        (
            f"`{name}`",
            f"[`{rule.labels['alert']}`](when-things-go-wrong.md#{rule.labels['alert']})",
            rule.labels["severity"],
            rule.content.get("for", "0m"),
            rule.content.get("keep_firing_for", "0m"),
        )
        for name, rule in load_alerts().items()
    ]
    assert [row[:5] for row in rows] == expected
    assert all(len(row[5]) > 20 for row in rows)
