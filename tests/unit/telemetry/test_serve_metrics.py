"""Laws of the service's metrics: closed labels, zeros to start from, and the figures of `guardian ledger report`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from guardian.chat.budget import ChatUsage
from guardian.contracts.ledger import ContextGiven, ContextJudged
from guardian.contracts.role import Reason, Role
from guardian.core.model import Status
from guardian.read.admission.task import Task
from guardian.read.ledger.metrics import FIGURES
from guardian.read.stage.call import Call, CallFault
from guardian.telemetry.metrics import Metrics
from guardian.telemetry.serve import CALL_OUTCOMES, EVENT_REFUSED, REFUSALS, STAGES, ServeMetrics
from tests.unit.read.ledger.test_ledger import account, given, judged, record

SERVE = Path(__file__).parents[3] / "guardian" / "serve"
FACT = {"requires_objective_fact": True}
BARRED = {"may_be_evidence": False, "kind": "preference"}
LINES: list[ContextGiven] = [
    given(),
    given(record("a"), record("b", **BARRED), **FACT),
    given(record("a"), record("b", role="background", reason="context_only", **BARRED), **FACT),
    given(record("a"), record("b", rendered=False, role="reject", reason="same_family"), retrieved=4),
    given(record("a", status="superseded"), record("b")),
    given(record("a", status="superseded", role="superseded", reason="held_before"), is_history=True),
]
OUTCOMES: list[ContextJudged] = [
    judged(LINES[1], 0.0),
    judged(LINES[0], 0.2),
    judged(LINES[3], 1.0, overridden=True),
]


def value(metrics: ServeMetrics, name: str, **labels: str) -> float:
    """Give the number of a series, which must be there."""
    found = metrics.registry.get_sample_value(name, labels)
    assert found is not None, (name, labels)
    return found


def note_all(metrics: ServeMetrics) -> None:
    """Count all lines."""
    for line in LINES:
        metrics.note_given(line, asked=Task(), known=Task())
    for outcome, had_memory in zip(OUTCOMES, (True, False, True), strict=True):
        metrics.note_judged(outcome, had_memory=had_memory)


def test_the_shares_are_those_of_the_ledger() -> None:
    """What rules make of the counters is what `guardian ledger report` says of the same lines."""
    metrics = ServeMetrics()
    note_all(metrics)
    figures = account(*LINES, *OUTCOMES).figures()
    assert set(figures) == set(FIGURES)
    for name, estimate in figures.items():
        cases = value(metrics, "guardian_admission_cases_total", figure=name)
        assert cases == estimate.n > 0
        assert value(metrics, "guardian_admission_hits_total", figure=name) / cases == pytest.approx(estimate.value)


def test_an_outcome_of_a_context_that_nobody_remembers_attributes_nothing() -> None:
    """Whether memory was given is not known then; that it was overridden was said."""
    metrics = ServeMetrics()
    metrics.note_judged(judged(LINES[1], 0.0, overridden=True), had_memory=None)
    assert value(metrics, "guardian_admission_cases_total", figure="retrieved_but_wrong") == 0
    assert value(metrics, "guardian_admission_hits_total", figure="override") == 1


def test_a_context_is_counted_by_what_was_found_and_shown() -> None:
    """By role and reason, by role and status, with its searches and tokens."""
    metrics = ServeMetrics()
    note_all(metrics)
    assert value(metrics, "guardian_context_records_total", role="reject", reason="same_family") == 1
    assert value(metrics, "guardian_context_records_rendered_total", role="evidence_candidate", status="superseded") == 1
    assert value(metrics, "guardian_context_seconds_count") == value(metrics, "guardian_context_searches_count") == len(LINES)
    assert value(metrics, "guardian_contexts_total", advice="none") == len(LINES)


@pytest.mark.parametrize(
    ("asked", "known", "outcome"),
    [
        ({}, {}, "silent"),
        ({}, {"requires_objective_fact": False}, "told"),
        ({"requires_objective_fact": True}, {"requires_objective_fact": True}, "silent"),
        ({"requires_objective_fact": True, "personalization_allowed": False},) * 2 + ("not_asked",),
    ],
)
def test_a_classifier_that_says_nothing_is_seen(asked: dict[str, Any], known: dict[str, Any], outcome: str) -> None:
    """Silent where the caller left something open and nobody filled it in."""
    metrics = ServeMetrics()
    metrics.note_given(LINES[0], asked=Task(**asked), known=Task(**known))
    for one in ("silent", "told", "not_asked"):
        assert value(metrics, "guardian_task_guesses_total", outcome=one) == (one == outcome)


def test_labels_take_values_from_closed_sets() -> None:
    """Whatever is counted: no label has a value that a caller chose."""
    metrics = ServeMetrics()
    note_all(metrics)
    metrics.note_call(Call(stage="reason", fault=CallFault.AWAY))
    metrics.note_usage(ChatUsage(space="a-space", prompt_tokens=1, completion_tokens=1, cost=2.0, tokens_known=True))
    metrics.note_refused("text_blank")
    metrics.note_ledger_failure("given")
    closed = {"role": set(Role), "reason": set(Reason), "status": set(Status), "stage": set(STAGES), "code": set(REFUSALS)}
    found: dict[str, set[str]] = {}
    for family in metrics.registry.collect():
        for sample in family.samples:
            for name, label in sample.labels.items():
                found.setdefault(name, set()).add(label)
    assert set(found) == {
        "le", "role", "reason", "status", "stage", "code", "advice", "outcome", "figure", "line", "standing", "fault", "direction",
    }  # fmt: skip
    assert [name for name, values in closed.items() if found[name] - {str(one) for one in values}] == []
    assert "a-space" not in metrics.render().decode()
    assert value(metrics, "guardian_answer_cost_total") == 2.0


def test_every_call_is_counted_by_its_stage() -> None:
    """With its tokens and its time, whatever became of it."""
    metrics = ServeMetrics()
    metrics.note_call(Call(stage="reflect", prompt_tokens=7, completion_tokens=5, latency_ms=250.0))
    metrics.note_call(Call(stage="reflect", fault=CallFault.UNUSABLE))
    assert value(metrics, "guardian_stage_calls_total", stage="reflect", outcome="usable") == 1
    assert value(metrics, "guardian_stage_calls_total", stage="reflect", outcome="unusable") == 1
    assert value(metrics, "guardian_stage_tokens_total", stage="reflect", direction="prompt") == 7
    assert value(metrics, "guardian_stage_seconds_sum", stage="reflect") == 0.25


def test_series_that_alerts_start_from_are_there_at_once() -> None:
    """A rise from nothing is not seen."""
    metrics = ServeMetrics()
    for figure in FIGURES:
        assert value(metrics, "guardian_admission_hits_total", figure=figure) == 0
    for code in REFUSALS:
        assert value(metrics, "guardian_requests_refused_total", code=code) == 0
    for stage in STAGES:
        assert [value(metrics, "guardian_stage_calls_total", stage=stage, outcome=str(one)) for one in CALL_OUTCOMES] == [0] * 7
    assert value(metrics, "guardian_ledger_failures_total", line="given") == 0


def list_codes() -> set[str]:
    """List the codes of all problems that the service can raise, read from its source."""
    codes = set()
    for path in SERVE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_problem = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ProblemError"
            if is_problem and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                codes.add(str(node.args[1].value))
    codes |= set(re.findall(r'\d{3}: "(\w+)"', (SERVE / "http.py").read_text("utf-8"))) | {"refused"}
    return codes


def test_every_code_of_a_problem_is_a_label() -> None:
    """And none is that no problem has; reasons of events, of which there are many, are counted as one."""
    assert list_codes() | {EVENT_REFUSED} == set(REFUSALS)
    assert sorted(REFUSALS) == list(REFUSALS)


def test_names_are_apart_from_those_of_a_worker() -> None:
    """A rule on one must not see the other, whatever its job is called."""
    of_service, of_worker = ({family.name for family in each.registry.collect()} for each in (ServeMetrics(), Metrics()))
    assert {name for name in of_service & of_worker if not name.startswith("process_")} == set()
