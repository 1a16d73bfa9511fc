"""Answers by a model, as bodies: what is asked, and what is given back. Statements were checked; texts of memories and callers are data."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool, StringConstraints

from guardian.read.stage.answer import Answer, Standing
from guardian.read.stage.call import Call, CallFault
from guardian.read.stage.check import Fault, Span
from guardian.read.stage.evidence import Piece
from guardian.read.stage.form import Claim, Use
from guardian.serve.body import Body, ContextAnswer, ContextRequest

# Texts beside one question; what is longer than a prompt is cut anyway.
MAX_EVIDENCE = 50
MAX_EVIDENCE_CHARS = 100_000


class EvidenceBody(Body):
    """One text that the caller has at hand: the caller's word, and no memory."""

    source: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(
        description="What the caller calls it: a tool, a document."
    )
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_EVIDENCE_CHARS)] = Field(
        description="What it says: data, never an instruction."
    )


class AnswerRequest(ContextRequest):
    """A question that a model is to answer from memory."""

    evidence: tuple[EvidenceBody, ...] = Field(
        (), max_length=MAX_EVIDENCE, description="Texts at hand beside memory, cited as S1, S2 and so on; they verify no memory."
    )
    trace: StrictBool = Field(False, description="Give what each statement rests on in full, and what was taken out.")


class CiteBody(Body):
    """What a statement rests on."""

    handle: str = Field(description="Its name in the prompt: E1 and the like for memory, S1 for what the caller gave.")
    memory_id: str | None = Field(None, description="The memory; null for what the caller gave, and for what does not exist.")
    given_by: str | None = Field(None, description="What the caller calls it; null for a memory.")
    quote: str = Field(description="Words of it.")
    fault: Fault | None = Field(None, description="Why it carries nothing, if so.")


class StatementBody(Body):
    """One statement, checked word by word against what it cites."""

    text: str = Field(description="On one line.")
    claim: Claim = Field(description="What it claims.")
    verified: bool = Field(description="It stands on verified records alone.")
    given: bool = Field(description="It does not, and stands on them and on what the caller gave.")
    marks: tuple[str, ...] = Field((), description="What must be seen beside it.")
    support: tuple[CiteBody, ...] = Field(description="What it cites.")
    faults: tuple[Fault, ...] = Field((), description="Why it was taken out, if so.")


class EvidenceAnswer(Body):
    """What became of one text that the caller gave."""

    handle: str = Field(description="Its name in the prompt.")
    source: str = Field(description="What the caller calls it.")
    shown: bool = Field(description="Whether it fitted into its budget; else it could not be cited.")
    cut: int = Field(description="Characters that were left out of it.")


class CallBody(Body):
    """One question to the model."""

    stage: str = Field(description="reflect, reason or revise.")
    prompt_tokens: int = Field(description="As the endpoint counts; 0 where it does not say.")
    completion_tokens: int = Field(description="Likewise.")
    latency_ms: float = Field(description="How long it took.")
    fault: CallFault | None = Field(None, description="Why its answer could not be used, if so.")


class InstructionBody(Body):
    """How one record was to be used."""

    handle: str = Field(description="Its name in the prompt.")
    use: Use = Field(description="Its use; its role is the ceiling.")
    instruction: str = Field(description="By the model: data.")


class TraceBody(Body):
    """What an answer rests on."""

    instructions: tuple[InstructionBody, ...] = Field(description="Of the reflection.")
    checked: tuple[StatementBody, ...] = Field(description="Every statement that was checked.")
    removed: tuple[StatementBody, ...] = Field(description="What failed, and was taken out.")


class AnswerReply(Body):
    """An answer, or the reason why there is none; the context that it rests on in either case."""

    standing: Standing = Field(
        description="supported, given (rests on what the caller gave), unverified, ask, abstained, or fallback: no answer."
    )
    text: str = Field(description="The statements with their handles; empty for a fallback, whose prompt is in `context`.")
    statements: tuple[StatementBody, ...] = Field(description="The same one by one.")
    fault: CallFault | None = Field(None, description="Why it is a fallback.")
    removed: int = Field(description="Statements that were taken out.")
    revised: int = Field(description="Statements that stand after a revision.")
    evidence: tuple[EvidenceAnswer, ...] = Field((), description="What became of each text that the caller gave, in order.")
    calls: tuple[CallBody, ...] = Field(description="Every question to the model, failed ones too.")
    latency_ms: float = Field(description="Of all of them.")
    trace: TraceBody | None = Field(None, description="If it was asked for.")
    context: ContextAnswer = Field(description="What memory may say to the question; its id takes the outcome.")


def build_answer(found: Answer, context: ContextAnswer) -> AnswerReply:
    """Give an answer."""
    is_fallback = found.standing is Standing.FALLBACK
    return AnswerReply(
        standing=found.standing,
        text=found.text,
        statements=tuple(map(_build_statement, () if is_fallback else found.spans)),
        fault=found.calls[-1].fault if is_fallback and found.calls else None,
        removed=found.removed,
        revised=found.revised,
        evidence=tuple(map(_build_piece, found.evidence)),
        calls=tuple(map(_build_call, found.calls)),
        latency_ms=round(found.latency_ms, 3),
        trace=_build_trace(found),
        context=context,
    )


def _build_statement(span: Span) -> StatementBody:
    return StatementBody(
        text=span.text,
        claim=span.claim,
        verified=span.is_verified,
        given=span.is_given,
        marks=tuple(mark.value for mark in span.marks),
        support=tuple(
            CiteBody(
                handle=cite.handle,
                memory_id=cite.memory_id or None,
                given_by=cite.given_by,
                quote=cite.quote,
                fault=cite.fault,
            )
            for cite in span.cites
        ),
        faults=span.faults,
    )


def _build_piece(piece: Piece) -> EvidenceAnswer:
    return EvidenceAnswer(handle=piece.handle, source=piece.source, shown=piece.is_shown, cut=piece.cut)


def _build_call(call: Call) -> CallBody:
    return CallBody(
        stage=call.stage,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        latency_ms=round(call.latency_ms, 3),
        fault=call.fault,
    )


def _build_trace(found: Answer) -> TraceBody | None:
    if found.trace is None:
        return None
    return TraceBody(
        instructions=tuple(
            InstructionBody(handle=one.handle, use=one.use, instruction=one.text)
            for one in found.trace.reflections.instructions.values()
        ),
        checked=tuple(map(_build_statement, found.trace.checked)),
        removed=tuple(map(_build_statement, found.trace.removed)),
    )
