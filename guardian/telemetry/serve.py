"""The metrics of `guardian serve`; those of a worker are in `metrics`.

Labels take values from closed sets: routes, statuses, roles, reasons, stages, codes of refusals. Never a space, a memory, a key, a model or
anything else that a caller chooses.
"""

from __future__ import annotations

from collections import Counter as Tally
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from guardian.chat.budget import ChatUsage
from guardian.contracts.ledger import ContextGiven, ContextJudged
from guardian.read.admission.policy import WhenUnverified
from guardian.read.admission.task import Task, needs_classifying
from guardian.read.ledger.metrics import FIGURES, tally_given, tally_judged
from guardian.read.stage.answer import Answer, Standing
from guardian.read.stage.call import Call, CallFault
from guardian.read.stage.check import Fault
from guardian.read.stage.reason import REVISION
from guardian.read.stage.reason import STAGE as REASONING
from guardian.read.stage.reflect import STAGE as REFLECTION

# What a request is refused with: the codes of problems. The refusals of an event are counted as `event_refused`.
EVENT_REFUSED: Final = "event_refused"
REFUSALS: Final = (
    "actor_not_yours", "away", "body_wrong", "bug", "claims_too_much", "context_id_bad", EVENT_REFUSED, "gone", "id_invalid",
    "key_unknown", "may_not", "may_not_judge_gold", "may_not_verify", "memory_changed", "method_wrong", "misconfigured", "no_ledger",
    "no_model", "no_such_memory", "no_such_route", "not_json", "not_this_host", "not_your_space", "refused", "too_busy", "too_large",
    "too_many_requests", "too_slow",
)  # fmt: skip
# What is done for want of a verified record; none where there is one, or none is needed.
ADVICE: Final = ("none", *WhenUnverified)
# Who said what sort of task a question is: its caller all of it, a classifier some, or nobody.
GUESSES: Final = ("not_asked", "told", "silent")
LEDGER_LINES: Final = ("given", "judged")
STAGES: Final = (REFLECTION, REASONING, REVISION)
USABLE: Final = "usable"
CALL_OUTCOMES: Final = (USABLE, *CallFault)
# Statements of an answer: such as stand as they were first said, such as stand after a revision, such as were taken out.
SPAN_OUTCOMES: Final = ("stands", "revised", "removed")
EVIDENCE_OUTCOMES: Final = ("shown", "cut", "left_out")
DIRECTIONS: Final = ("prompt", "completion")
# Seconds: a context takes milliseconds, an explanation of a large family many.
_BUCKETS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0)
# Seconds: a model answers in seconds, an answer takes up to five of its.
_MODEL_BUCKETS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0)
_SEARCHES: Final = (1, 2, 3, 5, 10)
_TOKENS: Final = (100, 250, 500, 1_000, 1_500, 2_000, 4_000, 8_000, 16_000)


class ServeMetrics:
    """All metrics of one service.

    Attributes:
        registry: Where they are registered; what `/metrics` shows.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = CollectorRegistry() if registry is None else registry
        ProcessCollector(registry=self.registry)
        self.requests = self._count("requests", "Requests answered, by route and HTTP status.", "route", "status")
        self.seconds = self._spread("request_seconds", "Time of a request, by route.", "route", buckets=_BUCKETS)
        self.in_hand = Gauge("guardian_requests_in_hand", "Requests that are being answered.", registry=self.registry)
        self.refused = self._count("requests_refused", "Requests refused, by the code of the problem.", "code")
        self.ready = Gauge(
            "guardian_ready", "1 while the store answers, 0 while it is away; asked with every scrape.", registry=self.registry
        )
        self._make_reads()
        self._make_answers()
        self._make_series()

    def _make_reads(self) -> None:
        self.contexts = self._count("contexts", "Contexts given, by what was advised for want of a verified record.", "advice")
        self.records = self._count("context_records", "Records found for contexts, by role and reason.", "role", "reason")
        self.rendered = self._count(
            "context_records_rendered", "Records that stood in a prompt, by role and status.", "role", "status"
        )
        self.context = self._spread("context_seconds", "Time from question to prompt.", buckets=_BUCKETS)
        self.searches = self._spread("context_searches", "Searches of a context.", buckets=_SEARCHES)
        self.tokens = self._spread("context_tokens", "Tokens of a prompt, by the estimate.", buckets=_TOKENS)
        self.guesses = self._count("task_guesses", "Contexts by who said what sort of task it is.", "outcome")
        self.cases = self._count("admission_cases", "Cases that a figure of admission is a share of.", "figure")
        self.hits = self._count("admission_hits", "Those of the cases that the figure counts.", "figure")
        self.ledger_failures = self._count("ledger_failures", "Lines that the ledger did not take.", "line")

    def _make_answers(self) -> None:
        self.answers = self._count("answers", "Answers by a model, by what they are worth.", "standing")
        self.answer = self._spread("answer_seconds", "Time of an answer, without its context.", buckets=_MODEL_BUCKETS)
        self.spans = self._count("answer_spans", "Statements of answers, by what the check made of them.", "outcome")
        self.faults = self._count("answer_faults", "What was wrong with statements and their cites.", "fault")
        self.evidence = self._count("answer_evidence", "Texts that callers gave beside memory, by what was shown.", "outcome")
        self.cost = self._count("answer_cost", "Money spent on answers, in the unit of the prices that are set.")
        self.calls = self._count("stage_calls", "Questions to the model, by stage and what became of them.", "stage", "outcome")
        self.call = self._spread("stage_seconds", "Time of a question to the model.", "stage", buckets=_MODEL_BUCKETS)
        self.call_tokens = self._count(
            "stage_tokens", "Tokens of questions to the model and their answers, as the endpoint counts.", "stage", "direction"
        )

    def note(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def note_refused(self, code: str) -> None:
        """Count a refused request; a code that is none of a problem's is the reason of an event."""
        self.refused.labels(code if code in REFUSALS else EVENT_REFUSED).inc()

    def note_ready(self, is_ready: bool) -> None:
        """Note whether the store answers."""
        self.ready.set(is_ready)

    def note_given(self, line: ContextGiven, *, asked: Task, known: Task) -> None:
        """Count a context by its ledger line; the task as it was asked tells whether a classifier had to say anything."""
        self.contexts.labels(line.advice or "none").inc()
        for (role, reason), number in Tally((record.role.value, record.reason.value) for record in line.records).items():
            self.records.labels(role, reason).inc(number)
        shown = [record for record in line.records if record.rendered]
        for (role, status), number in Tally((record.role.value, record.status.value) for record in shown).items():
            self.rendered.labels(role, status).inc(number)
        self.context.observe(line.latency_ms / 1000)
        self.searches.observe(line.searches)
        self.tokens.observe(line.tokens)
        self.guesses.labels("not_asked" if not needs_classifying(asked) else "silent" if known == asked else "told").inc()
        for figure, tally in tally_given(line).items():
            self.cases.labels(figure).inc(tally.cases)
            self.hits.labels(figure).inc(tally.hits)

    def note_judged(self, line: ContextJudged, *, had_memory: bool | None) -> None:
        """Count an outcome."""
        for figure, tally in tally_judged(line, had_memory=had_memory).items():
            self.cases.labels(figure).inc(tally.cases)
            self.hits.labels(figure).inc(tally.hits)

    def note_ledger_failure(self, line: str) -> None:
        """Count a line that the ledger did not take."""
        self.ledger_failures.labels(line).inc()

    def note_call(self, call: Call) -> None:
        """Count one question to the model, also one that nobody waited for."""
        self.calls.labels(call.stage, USABLE if call.fault is None else call.fault.value).inc()
        self.call.labels(call.stage).observe(call.latency_ms / 1000)
        self.call_tokens.labels(call.stage, "prompt").inc(call.prompt_tokens)
        self.call_tokens.labels(call.stage, "completion").inc(call.completion_tokens)

    def note_usage(self, usage: ChatUsage) -> None:
        """Count the money of one answered question."""
        self.cost.inc(usage.cost)

    def note_answer(self, found: Answer) -> None:
        """Count an answer and what the check made of it; its questions were counted one by one."""
        self.answers.labels(found.standing.value).inc()
        self.answer.observe(found.latency_ms / 1000)
        for outcome, number in zip(
            SPAN_OUTCOMES, (max(0, len(found.spans) - found.revised), found.revised, found.removed), strict=True
        ):
            self.spans.labels(outcome).inc(number)
        for fault, number in found.measures.faults.items():
            self.faults.labels(fault.value).inc(number)
        for piece in found.evidence:
            self.evidence.labels("left_out" if not piece.is_shown else "cut" if piece.cut else "shown").inc()

    def render(self) -> bytes:
        """Give all metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def _make_series(self) -> None:
        """Make the series of closed sets at once: an alert needs a zero before it can see a rise."""
        for counter, values in (
            (self.refused, REFUSALS),
            (self.contexts, ADVICE),
            (self.guesses, GUESSES),
            (self.cases, FIGURES),
            (self.hits, FIGURES),
            (self.ledger_failures, LEDGER_LINES),
            (self.answers, Standing),
            (self.spans, SPAN_OUTCOMES),
            (self.faults, Fault),
            (self.evidence, EVIDENCE_OUTCOMES),
        ):
            for value in values:
                counter.labels(str(value))
        for stage in STAGES:
            self.call.labels(stage)
            for outcome in CALL_OUTCOMES:
                self.calls.labels(stage, str(outcome))
            for direction in DIRECTIONS:
                self.call_tokens.labels(stage, direction)

    def _count(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(f"guardian_{name}", description, labels, registry=self.registry)

    def _spread(self, name: str, description: str, *labels: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"guardian_{name}", description, labels, buckets=buckets, registry=self.registry)
