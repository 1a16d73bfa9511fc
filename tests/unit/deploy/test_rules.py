"""Laws of the rules: they pass their own tests, name what exists, speak in words, and lead to a page that helps."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from guardian.core.alert import SEVERITIES, AlertKind, Severity
from tests.monitoring import ROOT, RULE_TESTS, RULES, Programs
from tests.unit.deploy.queries import find_faults, load_alerts, load_rules

RUNBOOK = ROOT / "docs" / "when-things-go-wrong.md"
PREFIX = "{{ $externalLabels.docs_url }}docs/when-things-go-wrong.md#"


def run(*command: str | Path) -> None:
    """Run a program that must succeed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@cache
def load_rule_tests() -> list[dict[str, Any]]:
    """Load the checks of all rule tests: alert, time and what is expected, with the number of the test."""
    tests = [test for path in sorted(RULE_TESTS.glob("*.yml")) for test in yaml.safe_load(path.read_text())["tests"]]
    return [{"test": number, **check} for number, test in enumerate(tests) for check in test.get("alert_rule_test", [])]


def list_anchors() -> set[str]:
    """List what a link into the operating page can lead to: its headings, and places marked by name."""
    text = RUNBOOK.read_text("utf-8")
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    headings = {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
    return headings | set(re.findall(r'<a (?:id|name)="([\w-]+)"', text))


def test_no_two_places_of_the_runbook_have_one_name() -> None:
    """A link leads to the first of them."""
    marked = re.findall(r'<a (?:id|name)="([\w-]+)"', RUNBOOK.read_text("utf-8"))
    assert len(marked) == len(set(marked))


@pytest.mark.parametrize("path", sorted(RULE_TESTS.glob("*.yml")), ids=lambda path: path.stem)
def test_the_rules_pass_their_tests(monitoring: Programs, path: Path) -> None:
    """Each alert fires, stays silent just below, and resolves, with the words that are promised."""
    run(monitoring.promtool, "test", "rules", path)


def test_prometheus_takes_its_configuration(monitoring: Programs) -> None:
    """The example and all rule files that it names."""
    run(monitoring.promtool, "check", "config", "--lint=all", "--lint-fatal", RULES.parent / "prometheus.yml")


@pytest.mark.parametrize("name", sorted(load_alerts()))
def test_every_alert_is_shown_to_fire_to_be_silent_and_to_resolve(name: str) -> None:
    """A rule that no test saw fire may never do so, and one that no test saw end may never end."""
    checks = [check for check in load_rule_tests() if check["alertname"] == name]
    numbers = {check["test"] for check in checks}
    courses = [[bool(check["exp_alerts"]) for check in checks if check["test"] == number] for number in numbers]
    assert any(course[0] is False and True in course and course[-1] is False for course in courses)


def test_every_metric_and_label_of_the_rules_exists() -> None:
    """A rule on what nobody has would be silent for ever."""
    assert [fault for rule in load_rules() for fault in find_faults(rule.query)] == []


def test_queries_in_texts_name_what_exists() -> None:
    """Figures in a text come from queries that are built there."""
    queries = [query for rule in load_alerts().values() for text in rule.texts.values() for query in iter_queries(text)]
    assert len(queries) > 20
    assert [fault for query in queries for fault in find_faults(query)] == []


def iter_queries(text: str) -> Iterator[str]:
    """Give the queries that a text builds, for some job and namespace."""
    for template in re.findall(r'printf "([^"]*[{(][^"]*)" \$(?:at|labels)', text):
        yield template.replace("job='%s',namespace='%s'", "job='j',namespace='n'").replace("%s", "job='j',namespace='n'")


def test_every_series_of_the_rule_tests_exists() -> None:
    """A rule that is tested on series that no worker has is not tested."""
    series = [
        one["series"]
        for path in sorted(RULE_TESTS.glob("*.yml"))
        for test in yaml.safe_load(path.read_text())["tests"]
        for one in test["input_series"]
    ]
    faults = {fault for one in series for fault in find_faults(one)}
    assert faults == set()


def test_every_kind_of_alert_has_its_rule() -> None:
    """What the worker can raise on its topic reaches whoever watches Prometheus alone, as severe."""
    severities = {(rule.labels["alert"], rule.labels["severity"]) for rule in load_alerts().values()}
    assert {(kind.value, SEVERITIES[kind].value) for kind in AlertKind} - severities == set()


@pytest.mark.parametrize("name", sorted(load_alerts()))
def test_every_alert_speaks_in_words_and_leads_to_its_page(name: str) -> None:
    """A summary without figures that change its meaning, a description with them, and a heading that exists."""
    rule = load_alerts()[name]
    assert rule.labels["severity"] in set(Severity)
    assert set(rule.texts) == {"summary", "description", "runbook_url"}
    assert "{{" in rule.texts["description"] or "absent(" in rule.query
    assert rule.texts["runbook_url"] == PREFIX + rule.labels["alert"]
    assert rule.labels["alert"] in list_anchors()
