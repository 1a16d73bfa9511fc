"""What a query names: metrics and labels, read with a parser of PromQL, and what of it the workers really have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import promql_parser as promql
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from guardian.core.alert import AlertKind, Severity
from guardian.read.ledger.metrics import FIGURES
from guardian.read.stage.answer import Standing
from guardian.telemetry import serve
from guardian.telemetry.metrics import DEPENDENCIES, DRIFT_BOUNDS, DRIFT_OUTCOMES, DRIFT_SCOPES, TOPIC_ROLES, Metrics
from tests.monitoring import RULES

# What Prometheus adds to whatever it reads; `namespace` comes from where a deployment has it.
SCRAPED = frozenset({"job", "instance", "namespace"})
# Prometheus' own metrics.
OWN = {"up": SCRAPED, "ALERTS": SCRAPED | {"alertname", "alertstate", "severity", "alert"}}
_ENDINGS = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
CLOSED: Mapping[str, frozenset[str]] = {
    "dependency": frozenset(DEPENDENCIES),
    "topic_role": frozenset(TOPIC_ROLES),
    "scope": frozenset(DRIFT_SCOPES),
    "bound": frozenset(DRIFT_BOUNDS),
    "outcome": frozenset(
        map(str, (*DRIFT_OUTCOMES, *serve.GUESSES, *serve.CALL_OUTCOMES, *serve.SPAN_OUTCOMES, *serve.EVIDENCE_OUTCOMES))
    ),
    "alert": frozenset(AlertKind),
    "severity": frozenset(Severity),
    "figure": frozenset(FIGURES),
    "code": frozenset(serve.REFUSALS),
    "standing": frozenset(Standing),
    "stage": frozenset(serve.STAGES),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the shipped files."""

    group: str
    content: Mapping[str, Any]

    @property
    def query(self) -> str:
        """Its expression."""
        return str(self.content["expr"])

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the alert."""
        labels: Mapping[str, str] = self.content.get("labels", {})
        return labels

    @property
    def texts(self) -> Mapping[str, str]:
        """The annotations of the alert."""
        texts: Mapping[str, str] = self.content["annotations"]
        return texts


@dataclass(frozen=True, slots=True)
class Family:
    """A metric; a counter's name is without its `_total`."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str


def list_families() -> list[Family]:
    """List the metrics of the workers, also those that no series is of yet."""
    return _list_families(Metrics().registry)


def list_serve_families() -> list[Family]:
    """List the metrics of the services, likewise."""
    return _list_families(serve.ServeMetrics().registry)


def _list_families(registry: CollectorRegistry) -> list[Family]:
    own = {collector for collector in registry._collector_to_names if isinstance(collector, MetricWrapperBase)}
    families = [Family(one._name, one._type, tuple(one._labelnames), one._documentation) for one in own]
    named = {family.name for family in families}
    others = [Family(one.name, one.type, (), one.documentation) for one in registry.collect() if one.name not in named]
    return sorted(families + others, key=lambda family: family.name)


@cache
def load_rules() -> tuple[Rule, ...]:
    """Load all shipped rules."""
    groups = [group for path in sorted(RULES.glob("*.yml")) for group in yaml.safe_load(path.read_text())["groups"]]
    return tuple(Rule(group["name"], rule) for group in groups for rule in group["rules"])


def load_alerts() -> dict[str, Rule]:
    """Load the alerting rules, by name."""
    return {rule.content["alert"]: rule for rule in load_rules() if "alert" in rule.content}


@cache
def list_known() -> Mapping[str, frozenset[str]]:
    """List every metric that a query can name, with its labels: the workers' and services', Prometheus' own, and what rules record."""
    known = dict(OWN)
    for metric in (*list_families(), *list_serve_families()):
        for ending in _ENDINGS[metric.kind]:
            known[metric.name + ending] = frozenset(metric.labels) | SCRAPED | ({"le"} if ending == "_bucket" else set())
    for rule in load_rules():
        if "record" in rule.content:
            known[rule.content["record"]] = _find_labels(rule.query, known)
    return known


def _find_labels(query: str, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Find the labels of what a rule records: those it groups by, or else those of what it takes over."""
    tree = promql.parse(query)
    return next(_iter_groupings(tree), None) or next(known[one.name] for one in _iter_selectors(tree))


def find_faults(query: str) -> list[str]:
    """Find what a query names that nobody has: metrics, labels, and values of closed sets."""
    tree = promql.parse(_fill_in(query))
    selectors = list(_iter_selectors(tree))
    faults = [f"{one.name}: no such metric" for one in selectors if one.name not in list_known()]
    labels = SCRAPED.union(*(list_known().get(one.name, frozenset()) for one in selectors))
    for one in selectors:
        for matcher in one.matchers.matchers:
            if matcher.name not in list_known().get(one.name, {matcher.name}):
                faults.append(f"{one.name}: no label {matcher.name}")
            is_exact = matcher.op == promql.MatchOp.Equal and not matcher.value.startswith("$")
            if is_exact and matcher.value not in CLOSED.get(matcher.name, {matcher.value}):
                faults.append(f"{one.name}: {matcher.name} is never {matcher.value}")
    faults += [f"{name}: no such label to group by" for by in _iter_groupings(tree) for name in by - labels]
    return faults


def list_metrics(query: str) -> set[str]:
    """List the metrics that a query names."""
    return {one.name for one in _iter_selectors(promql.parse(_fill_in(query)))}


def _fill_in(query: str) -> str:
    """Give a query as Prometheus would get it from Grafana."""
    return re.sub(r"\$__rate_interval", "5m", query)


def _iter_selectors(tree: promql.Expr) -> Iterator[promql.VectorSelector]:
    found: list[promql.Expr] = []
    promql.walk(tree, found.append)  # type: ignore[arg-type] # append gives None, which goes on
    for one in found:
        if isinstance(one, promql.VectorSelector):
            yield one


def _iter_groupings(tree: promql.Expr) -> Iterator[frozenset[str]]:
    found: list[promql.Expr] = []
    promql.walk(tree, found.append)  # type: ignore[arg-type] # append gives None, which goes on
    for one in found:
        if isinstance(one, promql.AggregateExpr) and one.modifier is not None:
            yield frozenset(one.modifier.labels)
