"""Answer a question from a context: two model calls (reflection, reasoning), one more if something has to be revised; or none.

The induction that MemAdapter makes online was made when the memories were stored. A model that is away, refuses or cannot be read costs
the answer and nothing else: what is left is the calibrated prompt, and the result says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import structlog

from guardian.chat.port import ChatModel
from guardian.chat.structured import FaultyAnswerError
from guardian.core.card import Card
from guardian.errors import DependencyError, RecordError
from guardian.read.admission.decision import Mark
from guardian.read.admission.policy import WhenUnverified
from guardian.read.calibrator import Admission
from guardian.read.stage.call import Call, Caller
from guardian.read.stage.check import LEAST_OVERLAP, Measures, Span, measure
from guardian.read.stage.evidence import EVIDENCE_TOKENS, Evidence, Hand, Piece, compile_evidence
from guardian.read.stage.form import Claim
from guardian.read.stage.reason import Reasoned, reason
from guardian.read.stage.reflect import Reflections, reflect

log = structlog.stdlib.get_logger(__name__)


class Standing(StrEnum):
    """What an answer is worth.

    supported: Every statement of fact rests on a verified record.
    given: Some rest on what the caller gave beside memory, and say so; none on an unverified record.
    unverified: Some rest on unverified records only, and say so.
    ask: The same, and confirmation is asked for.
    abstained: Nothing is said that the policy allows.
    fallback: No answer: the model failed, and the calibrated prompt is what there is.
    """

    SUPPORTED = "supported"
    GIVEN = "given"
    UNVERIFIED = "unverified"
    ASK = "ask"
    ABSTAINED = "abstained"
    FALLBACK = "fallback"


NOT_KNOWN: Final = "Memory does not say."
# What stands beside a statement that rests on what the caller gave.
NOT_MEMORY: Final = "not memory"
CONFIRM: Final = "Please confirm this before it is relied on: nothing verified supports it."
_LABELS: Final = {
    Claim.RULE: "a rule",
    Claim.WISH: "a wish",
    Claim.PRECEDENT: "a precedent",
    Claim.CONTEXT: "background",
    Claim.PAST: "held before",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOptions:
    """How the stages are run.

    Attributes:
        reflects: Whether there is a reflection; without one each record has its role's ceiling.
        revises: Whether what fails is asked for once more; else it is taken out at once.
        when_unverified: What is done with statements of fact on which no verified record stands.
        max_tokens: Longest answer of the model.
        least_overlap: See `guardian.read.stage.check.LEAST_OVERLAP`.
        evidence_tokens: Tokens of what the caller gives beside memory, by an estimate; None for no limit.
        with_trace: Whether the trace is given.
    """

    reflects: bool = True
    revises: bool = True
    when_unverified: WhenUnverified = WhenUnverified.FLAG
    max_tokens: int = 2_000
    least_overlap: float = LEAST_OVERLAP
    evidence_tokens: int | None = EVIDENCE_TOKENS
    with_trace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What an answer rests on: the instructions, every span that was checked, and those that were taken out."""

    reflections: Reflections
    checked: tuple[Span, ...]
    removed: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, or the reason why there is none.

    Attributes:
        text: The statements, each with its handles and what has to stand beside it; in our words where there are none. Empty for a fallback.
        spans: The statements.
        measures: Of the check.
        removed, revised: Spans that were taken out, and that stand after a revision.
        calls: Every question to the model, failed ones too.
        latency_ms: Of all of it.
        fault: Why it is a fallback, in our words.
        trace: Where it was asked for.
        evidence: What became of each text that the caller gave beside memory, in the caller's order.
    """

    standing: Standing
    text: str
    spans: tuple[Span, ...] = ()
    measures: Measures
    removed: int = 0
    revised: int = 0
    calls: tuple[Call, ...]
    latency_ms: float
    fault: str | None = None
    trace: Trace | None = None
    evidence: tuple[Piece, ...] = ()

    @property
    def prompt_tokens(self) -> int:
        """Tokens that were sent."""
        return sum(call.prompt_tokens for call in self.calls)

    @property
    def completion_tokens(self) -> int:
        """Tokens that were answered."""
        return sum(call.completion_tokens for call in self.calls)


async def answer(
    admission: Admission,
    question: str,
    model: ChatModel,
    *,
    cards: Mapping[str, Card] | None = None,
    options: StageOptions | None = None,
    evidence: Sequence[Evidence] = (),
    on_call: Callable[[Call], None] | None = None,
) -> Answer:
    """Answer a question from what was admitted to it, and from what the caller has at hand besides.

    Args:
        admission: What `Calibrator.context` gave for this question. With nothing in it, and no evidence, nobody is asked.
        question: As it was asked.
        model: Mostly with the budget of the space.
        cards: Stored cards by handle, as `load_cards` gives them.
        options: How.
        evidence: Texts that the caller has beside memory, cited as S1, S2 and so on: the caller's word, and told as no memory.
        on_call: Told of each question to the model once it is over.

    Raises:
        ConfigError: The model will never answer.
    """
    chosen, started = options or StageOptions(), time.perf_counter()
    caller = Caller(model=model, max_tokens=chosen.max_tokens, on_call=on_call)
    hand = compile_evidence(evidence, token_budget=chosen.evidence_tokens)
    found = _Found()
    if admission.rendered or hand.block:
        await _run(found, admission, question, caller, chosen, cards=cards, hand=hand)
    fault, reasoned = found.fault, found.reasoned
    spans, standing = settle_standing(reasoned.spans, chosen.when_unverified)
    trace = Trace(reflections=found.reflections, checked=reasoned.checked, removed=reasoned.removed)
    return Answer(
        standing=standing if fault is None else Standing.FALLBACK,
        text=write_text(spans, standing) if fault is None else "",
        spans=spans,
        measures=measure(reasoned.checked),
        removed=len(reasoned.removed) + len(reasoned.spans) - len(spans),
        revised=reasoned.revised,
        calls=tuple(caller.calls),
        latency_ms=(time.perf_counter() - started) * 1000,
        fault=fault,
        trace=trace if chosen.with_trace else None,
        evidence=hand.pieces,
    )


@dataclass(slots=True)
class _Found:
    """What the stages came to, as far as they came."""

    reflections: Reflections = field(default_factory=Reflections)
    reasoned: Reasoned = field(default_factory=lambda: Reasoned(spans=()))
    fault: str | None = None


async def _run(
    found: _Found,
    admission: Admission,
    question: str,
    caller: Caller,
    chosen: StageOptions,
    *,
    cards: Mapping[str, Card] | None,
    hand: Hand,
) -> None:
    """Run the stages; a model that fails leaves what was found till then, and the reason."""
    try:
        if chosen.reflects:
            found.reflections = await reflect(admission, question, caller, cards=cards, hand=hand)
        found.reasoned = await reason(
            admission,
            found.reflections,
            question,
            caller,
            revises=chosen.revises,
            least_overlap=chosen.least_overlap,
            hand=hand,
        )
    except (DependencyError, RecordError, FaultyAnswerError) as exc:
        found.fault = f"its answer could not be used: {exc}" if isinstance(exc, FaultyAnswerError) else str(exc)
        log.warning("answer.fell_back", error=found.fault)


def settle_standing(spans: tuple[Span, ...], when_unverified: WhenUnverified) -> tuple[tuple[Span, ...], Standing]:
    """Settle what is said and what it is worth: statements of fact that rest on unverified records go by the policy."""
    open_facts = [span for span in spans if _is_open(span)]
    if open_facts and when_unverified is WhenUnverified.ABSTAIN:
        spans = tuple(span for span in spans if span not in open_facts)
        open_facts = []
    if not spans:
        return spans, Standing.ABSTAINED
    if not open_facts:
        is_given = any(span.claim is Claim.FACT and span.is_given for span in spans)
        return spans, Standing.GIVEN if is_given else Standing.SUPPORTED
    return spans, Standing.ASK if when_unverified is WhenUnverified.ASK else Standing.UNVERIFIED


def write_text(spans: tuple[Span, ...], standing: Standing) -> str:
    """Write the answer: each statement with its handles and with what has to be said of it."""
    if standing is Standing.ABSTAINED:
        return NOT_KNOWN
    lines = [f"{span.text} [{', '.join(_list_labels(span))}]" for span in spans]
    return "\n".join([*lines, CONFIRM] if standing is Standing.ASK else lines)


def _is_open(span: Span) -> bool:
    """Tell whether a statement of fact needs a record that nobody verified."""
    return span.claim is Claim.FACT and not span.is_verified and not span.is_given


def _list_labels(span: Span) -> list[str]:
    handles = list(dict.fromkeys(cite.handle for cite in span.support))
    label = [_LABELS[span.claim]] if span.claim in _LABELS else []
    open_fact = [Mark.UNVERIFIED.value] if _is_open(span) else []
    given = [NOT_MEMORY] if any(cite.given_by is not None for cite in span.support) else []
    marks = [mark.value.replace("_", " ") for mark in span.marks if mark is not Mark.UNVERIFIED]
    return [*handles, *label, *open_fact, *given, *marks]
