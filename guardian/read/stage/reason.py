"""Evidence-Based Reasoning (MemAdapter, arXiv 2610.05162): an answer in spans, each with its support, each checked before it is said.

What fails is asked for once more, all of it in one call, or taken out. The check is `guardian.read.stage.check`; the model has no say in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from guardian.chat.port import ChatMessage
from guardian.chat.structured import FaultyAnswerError
from guardian.errors import DependencyError, RecordError
from guardian.read.calibrator import Admission
from guardian.read.stage.call import Caller
from guardian.read.stage.check import LEAST_OVERLAP, Ground, Span, check_span
from guardian.read.stage.evidence import NO_EVIDENCE, Hand, list_sources
from guardian.read.stage.form import ReasonedAnswer, SpanAnswer
from guardian.read.stage.prompt import build_reason_messages, build_revise_messages
from guardian.read.stage.reflect import Reflections
from guardian.read.stage.source import list_rejected

log = structlog.stdlib.get_logger(__name__)
STAGE, REVISION = "reason", "revise"
# Spans of one answer that are looked at; an answer of more is no answer to one question.
MAX_SPANS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoned:
    """What became of an answer.

    Attributes:
        spans: What stands, in the order of the answer, revised spans behind the others.
        removed: What failed, as it was first said, or as it was revised in vain.
        checked: Every span that was checked, in order.
        revised: Spans that stand after a revision.
    """

    spans: tuple[Span, ...]
    removed: tuple[Span, ...] = ()
    checked: tuple[Span, ...] = ()
    revised: int = 0


async def reason(
    admission: Admission,
    reflections: Reflections,
    question: str,
    caller: Caller,
    *,
    revises: bool = True,
    least_overlap: float = LEAST_OVERLAP,
    hand: Hand = NO_EVIDENCE,
) -> Reasoned:
    """Ask for an answer, check it, and have what failed revised once.

    Raises:
        FaultyAnswerError: No answer can be used.
        DependencyError: The model is away, or a budget is used up.
        RecordError: It refuses this question.
        ConfigError: It will never answer.
    """
    ground = build_ground(admission, reflections, question, least_overlap=least_overlap, hand=hand)
    messages = build_reason_messages(admission.prompt, question, reflections.notes, hand=hand)
    said = await caller.ask(STAGE, messages, ReasonedAnswer)
    checked = check_spans(said.spans, ground)
    fallen = [span for span in checked if not span.stands]
    if not fallen or not revises:
        return Reasoned(spans=_keep(checked), removed=tuple(fallen), checked=tuple(checked))
    kept = _keep(checked)
    known = {(span.text, span.claim) for span in kept}
    revision = build_revise_messages(admission.prompt, question, reflections.notes, fallen, hand=hand)
    again = check_spans(await _revise(revision, caller), ground)
    again = [span for span in again if (span.text, span.claim) not in known][: len(fallen)]
    return Reasoned(
        spans=(*kept, *(mended := _keep(again))),
        removed=(*(span for span in again if not span.stands), *fallen[len(again) :]),
        checked=(*checked, *again),
        revised=len(mended),
    )


def build_ground(
    admission: Admission,
    reflections: Reflections,
    question: str,
    *,
    least_overlap: float = LEAST_OVERLAP,
    hand: Hand = NO_EVIDENCE,
) -> Ground:
    """Build what spans are checked against: what was rendered or given, with the use that a reflection left of it."""
    sources = list_sources(admission, hand)
    used = {
        handle: replace(source, use=reflections.instructions[handle].use) if handle in reflections.instructions else source
        for handle, source in sources.items()
    }
    return Ground(
        question=question,
        task=admission.task,
        sources=used,
        rejected=list_rejected(admission, sources),
        least_overlap=least_overlap,
    )


def check_spans(said: list[SpanAnswer], ground: Ground) -> list[Span]:
    """Check the spans of an answer, as many as an answer may have."""
    return [check_span(span, ground) for span in said[:MAX_SPANS]]


async def _revise(messages: Sequence[ChatMessage], caller: Caller) -> list[SpanAnswer]:
    """Ask once for new spans; with a model that fails here, what failed is taken out and the rest stands."""
    try:
        return (await caller.ask(REVISION, messages, ReasonedAnswer, repairs=0)).spans
    except (DependencyError, RecordError, FaultyAnswerError) as exc:
        log.warning("answer.not_revised", error=str(exc))
        return []


def _keep(spans: list[Span]) -> tuple[Span, ...]:
    """Keep what stands, each statement once."""
    return tuple({(span.text, span.claim): span for span in spans if span.stands}.values())
