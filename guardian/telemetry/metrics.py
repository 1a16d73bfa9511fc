"""Metrics: every name in one place, in a registry of its own that is passed around.

Labels are bounded: dispositions, reasons, topic roles, phases, dependencies, evidence channels of the settings. Never a space, a memory, a topic name or anything else
that a sender chooses; a reason that is not of the contract's closed set is counted as `other`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from guardian.chat.budget import ChatUsage
from guardian.contracts.reason import Reason
from guardian.core.alert import SEVERITIES, AlertKind
from guardian.induce.author import Authored, Progress
from guardian.sources.reason import SourceReason

PHASES = ("fetch", "decide", "embed", "apply", "publish")
DEPENDENCIES = ("store", "model", "broker", "schema_registry")
# What a topic is to the worker; the stream's `Role` has the same values.
TOPIC_ROLES = ("canonical", "ingress", "audit", "induce")
# Reasons that the stream adds to those of the contract.
RECORD_TOO_LARGE = "record_too_large"
OTHER_REASON = "other"
_KNOWN_REASONS = frozenset({reason.value for reason in (*Reason, *SourceReason)} | {RECORD_TOO_LARGE})
# Figures of the drift, each of a bank's estimates with its interval; a gauge each.
DRIFT_FIGURES = {
    "corrupted_share": "p, share of wrong ones among the trusted records whose truth is known.",
    "attractor": "p*, where the bank is heading.",
    "one_shot": "p0, the share after one pass.",
    "compounding": "p*/p0, what the loop adds.",
    "kappa": "Rise of the error rate with the corrupted share of what was retrieved.",
    "leniency": "P(self-grade accepts | wrong).",
    "sensitivity": "P(self-grade accepts | right).",
    "base_error": "Error rate with clean memories.",
    "collapse_margin": "Distance of kappa from the collapse threshold.",
    "superseded_top_k": "Share of what reads returned that a correction fells.",
}
# All spaces together, and the one of which the figure is worst; never a space's name.
DRIFT_SCOPES = ("overall", "worst")
DRIFT_BOUNDS = ("value", "low", "high")
DRIFT_OUTCOMES = ("done", "failed", "skipped")
# Seconds: a run reads the whole store, in pages.
_RUN_BUCKETS = (0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
# Seconds: a batch of new leaves takes milliseconds, a cascade over a large family many seconds.
_BUCKETS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


# Shares of 1.
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class Metrics:
    """All metrics of one worker.

    Attributes:
        registry: Where they are registered; what `/metrics` shows.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = CollectorRegistry() if registry is None else registry
        # The standard figures of the process (start, memory, descriptors): a start that changes is a restart. Linux alone has them.
        ProcessCollector(registry=self.registry)
        self.events = self._count("events", "Events decided, by what became of them.", "disposition")
        self.dead_letters = self._count(
            "dead_letters", "Records refused, by reason and where they were read.", "reason", "topic_role"
        )
        self.letters_erased = self._count(
            "dead_letters_erased",
            "Dead letters of erased memories: given a tombstone, or never written but counted as dead letters.",
        )
        self.records = self._count("records_written", "Records (revisions) put into the store.")
        self.felled = self._count("records_felled", "Records that stand superseded by a correction in an event's outcome.")
        self.born_superseded = self._count("records_born_superseded", "Records that came after the correction that reaches them.")
        self.inferred = self._count("parents_inferred", "Records that got an inferred parent.")
        self.refused_claims = self._count("claims_refused", "Verification claims that were recorded and not believed.")
        self.naive_times = self._count("times_naive", "Times without an offset, read as UTC.")
        self.trust_lowered = self._count("trust_lowered", "Source or authority claims above their cap, lowered to agent.")
        self.misnamed_headers = self._count("headers_misnamed", "Headers with the prefix ce- instead of ce_.")
        self.forwarded = self._count("events_forwarded", "Events that ingress forwarded to the canonical topic.")
        self.skipped = self._count("rows_skipped", "Rows of ingress topics that deliberately become no event.", "reason")
        self.rerouted = self._count(
            "events_rerouted", "Events found in a partition that is not their space's, sent to the right one."
        )
        self.too_large = self._count("outcomes_too_large", "Outcomes that their topic does not take; the state is in the store.")
        self.retries = self._count("retries", "Tries of a batch that failed because something was away.", "dependency")
        self.pending = self._count("records_pending_dense", "Records stored without the dense vector they should have.")
        self.phase = Histogram(
            "guardian_batch_phase_seconds", "Time of a batch by phase.", ["phase"], buckets=_BUCKETS, registry=self.registry
        )
        self.batch = Histogram(
            "guardian_batch_seconds",
            "Time of a batch from decoding to commit.",
            ["topic_role"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.lag = self._gauge("lag_records", "Records behind the fetch high watermark.", "topic_role")
        self.last_batch_age = self._gauge(
            "last_batch_age_seconds", "Age of the last finished batch, or of the start.", "topic_role"
        )
        self.partitions = self._gauge("partitions_assigned", "Partitions this worker owns.", "topic_role")
        self.up = self._gauge("dependency_up", "1 while the dependency answers, 0 while it is away.", "dependency")
        self.pending_dense = self._gauge("pending_dense_records", "Records in the store that wait for their dense vector.")
        self.audits = self._count("audits", "Evidence channels asked about a case, by what became of it.", "channel", "outcome")
        self.audit = Histogram(
            "guardian_audit_seconds", "Time of one channel on one case.", ["channel"], buckets=_BUCKETS, registry=self.registry
        )
        self.drift = {
            name: self._gauge(f"drift_{name}", f"{description} NaN while unknown.", "scope", "bound")
            for name, description in DRIFT_FIGURES.items()
        }
        self.drift_episodes = self._gauge("drift_episodes", "Audited episodes the estimates of drift rest on.", "scope")
        self.drift_last_run = self._gauge(
            "drift_last_run_timestamp_seconds", "When drift was last estimated to the end; 0: never."
        )
        self.drift_run = Histogram(
            "guardian_drift_run_seconds", "Time of an estimate of drift.", buckets=_RUN_BUCKETS, registry=self.registry
        )
        self.drift_runs = self._count("drift_runs", "Estimates of drift, by what became of them.", "outcome")
        self.alert_standing = self._gauge("alert_standing", "Alerts that stand.", "alert", "severity")
        self.alerts_raised = self._count("alerts_raised", "Alerts raised.", "alert")
        self.alerts_resolved = self._count("alerts_resolved", "Alerts resolved.", "alert")
        self.channels_failing = self._gauge(
            "channels_failing", "Channels that fail the error-independence test; NaN while unknown."
        )
        self.cards = self._count("cards", "Records that a model was asked about for a card, by what became of it.", "outcome")
        self.card_tokens = self._count("card_tokens", "Tokens of questions about cards and their answers.", "direction")
        self.card_cost = self._count("card_cost", "Money spent on cards, in the unit of the prices that are set.")
        self.card_agreement = Histogram(
            "guardian_card_agreement",
            "Agreement of the samples of a card, from 0 to 1.",
            buckets=_SHARES,
            registry=self.registry,
        )
        self._make_series()
        self._make_drift_series()

    def note_card(self, authored: Authored) -> None:
        """Count what became of a request for a card, and how far its samples agreed."""
        self.cards.labels(authored.progress.value).inc()
        if authored.confidence is not None and authored.progress is not Progress.CACHED:
            self.card_agreement.observe(authored.confidence)

    def note_chat(self, usage: ChatUsage) -> None:
        """Count the tokens and the money of one answered question about a card."""
        self.card_tokens.labels("prompt").inc(usage.prompt_tokens)
        self.card_tokens.labels("completion").inc(usage.completion_tokens)
        self.card_cost.inc(usage.cost)

    def note_audit(self, channel: str, outcome: str, seconds: float) -> None:
        """Count what became of asking a channel about a case; channels are named by the settings."""
        self.audits.labels(channel, outcome).inc()
        if outcome != "known":
            self.audit.labels(channel).observe(seconds)

    def note_dead_letter(self, reason: str, *, topic_role: str) -> None:
        """Count a dead letter."""
        self.dead_letters.labels(reason if reason in _KNOWN_REASONS else OTHER_REASON, topic_role).inc()

    def note_skipped(self, reason: str, count: int) -> None:
        """Count rows that become no event."""
        self.skipped.labels(reason if reason in _KNOWN_REASONS else OTHER_REASON).inc(count)

    def note_phases(self, milliseconds: Mapping[str, float]) -> None:
        """Note how long a batch spent in each phase."""
        for phase, spent in milliseconds.items():
            self.phase.labels(phase).observe(spent / 1000)

    def render(self) -> bytes:
        """Give all metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def _make_series(self) -> None:
        """Make the series of closed sets at once: an alert needs a zero before it can see a rise."""
        for phase in PHASES:
            self.phase.labels(phase)
        for dependency in DEPENDENCIES:
            self.retries.labels(dependency)
            self.up.labels(dependency).set(1)
        for topic_role in TOPIC_ROLES:
            for reason in (*sorted(_KNOWN_REASONS), OTHER_REASON):
                self.dead_letters.labels(reason, topic_role)

    def _make_drift_series(self) -> None:
        """Make the series of drift and alerts: unknown until something is known, and nothing stands."""
        for scope in DRIFT_SCOPES:
            self.drift_episodes.labels(scope)
            for gauge in self.drift.values():
                for bound in DRIFT_BOUNDS:
                    gauge.labels(scope, bound).set(math.nan)
        self.channels_failing.set(math.nan)
        for outcome in DRIFT_OUTCOMES:
            self.drift_runs.labels(outcome)
        for kind in AlertKind:
            self.alert_standing.labels(kind.value, SEVERITIES[kind].value)
            self.alerts_raised.labels(kind.value)
            self.alerts_resolved.labels(kind.value)
        for progress in Progress:
            self.cards.labels(progress.value)
        for direction in ("prompt", "completion"):
            self.card_tokens.labels(direction)

    def _count(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(f"guardian_{name}", description, labels, registry=self.registry)

    def _gauge(self, name: str, description: str, *labels: str) -> Gauge:
        return Gauge(f"guardian_{name}", description, labels, registry=self.registry)
