"""`guardian answer`: an answer from memory by a model, each statement checked against what was rendered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, Field
from rich.table import Table
from rich.text import Text

from guardian.cli.console import clean, err, out, print_json, say_error
from guardian.cli.context import clean_prompt, describe
from guardian.cli.opening import JsonOption, StoreOption, TurnOption, open_own_embedder, opened_store
from guardian.errors import ConfigError
from guardian.read import Admission, Task
from guardian.read.stage.answer import Answer, Standing
from guardian.read.stage.answer import answer as answer_from
from guardian.read.stage.call import Call
from guardian.read.stage.check import SENTENCES, Span
from guardian.read.stage.evidence import Evidence
from guardian.read.stage.reflect import load_cards
from guardian.read.task.turn import resolve_question
from guardian.settings import Settings, load_settings
from guardian.wiring import build_answer_chat, build_calibrator, build_stage_options

# The model failed and only the prompt is given: something Guardian leans on is away.
_FELL_BACK = 69
_LINES = ".jsonl"


class _Line(BaseModel):
    """One text of a file of JSON lines."""

    source: str = Field(min_length=1)
    text: str


def answer(
    question: Annotated[str, typer.Argument(help="What is asked.")],
    space: Annotated[str, typer.Option("--space", "-s", help="Memory bank.")],
    store: StoreOption = None,
    objective: Annotated[
        bool | None,
        typer.Option("--objective/--not-objective", help="The answer is right or wrong whoever asks.", show_default=False),
    ] = None,
    personal: Annotated[
        bool | None, typer.Option("--personal/--not-personal", help="The person's own memories may shape it.", show_default=False)
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Asks what was believed before.")] = False,
    user: Annotated[str | None, typer.Option(help="Who asks.", show_default=False)] = None,
    project: Annotated[str | None, typer.Option(help="Project it belongs to.", show_default=False)] = None,
    session: Annotated[str | None, typer.Option(help="Session of the read.", show_default=False)] = None,
    turn: TurnOption = None,
    evidence: Annotated[
        list[Path] | None,
        typer.Option(
            help="A text at hand beside memory: a file, named by its name, or .jsonl with `source` and `text` a line. Repeatable.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show what each statement rests on, and what was taken out.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Answer a question from memory by the model of GUARDIAN_ANSWER__MODEL: two calls, at most one more to revise what fails the check.

    Evidence is your word: it is cited as S1, S2 and so on, and told as no memory. Where the model fails, the calibrated prompt is printed instead, and the exit code is 69.
    """
    task = Task(
        requires_objective_fact=objective,
        personalization_allowed=personal,
        is_history=history or None,
        user=user,
        project=project,
        session=session,
    )
    given = load_evidence(evidence or ())
    admission, found = asyncio.run(
        _ask(load_settings(), question, task, space=space, place=store, with_trace=trace, evidence=given, turns=turn or ())
    )
    if as_json:
        print_json({"answer": describe_answer(found), "context": describe(admission)})
    else:
        _print(admission, found)
    return _FELL_BACK if found.standing is Standing.FALLBACK else 0


def load_evidence(files: Sequence[Path]) -> list[Evidence]:
    """Load texts at hand: a file is one, named as it is; of JSON lines each is one.

    Raises:
        ConfigError: A file is no UTF-8, or a line has no source and text.
    """
    return [one for file in files for one in _read_evidence(file)]


def _read_evidence(file: Path) -> list[Evidence]:
    try:
        content = file.read_bytes()
        if file.suffix != _LINES:
            return [Evidence(source=file.name, text=content.decode("utf-8"))]
        rows = [_Line.model_validate_json(line) for line in content.splitlines() if line.strip()]
    except ValueError as exc:
        mend = "give UTF-8; of JSON lines each is an object with the texts `source` and `text`."
        raise ConfigError(f"{file} cannot be read as evidence.", setting="--evidence", mend=mend) from exc
    return [Evidence(source=row.source, text=row.text) for row in rows]


async def _ask(
    settings: Settings,
    question: str,
    task: Task,
    *,
    space: str,
    place: str | None,
    with_trace: bool,
    evidence: Sequence[Evidence],
    turns: Sequence[str],
) -> tuple[Admission, Answer]:
    model = build_answer_chat(settings, space=space)  # first: without one nothing has to be opened
    try:
        async with opened_store(settings, place) as store, open_own_embedder(settings, store) as embedder:
            calibrator = build_calibrator(settings, store, embedder=embedder)
            admission = await calibrator.context(question, task, space=space, turns=turns)
            cards = await load_cards(store, admission)
        options = build_stage_options(settings, with_trace=with_trace)
        meant = resolve_question(question, turns)
        return admission, await answer_from(admission, meant, model, cards=cards, options=options, evidence=evidence)
    finally:
        await model.close()


def _print(admission: Admission, found: Answer) -> None:
    if found.standing is Standing.FALLBACK:
        say_error(f"no answer: {found.fault} What follows is the calibrated prompt, which no model has read.")
        out.print(Text(clean_prompt(admission.prompt.text)), soft_wrap=True)
    else:
        out.print(Text("\n".join(map(clean, found.text.split("\n")))), soft_wrap=True)
    if found.trace is not None:
        for item in found.trace.reflections.instructions.values():
            err.print(Text(clean(f"{item.handle}: {item.use.value}. {item.text}")), soft_wrap=True)
        err.print(build_spans_table([*found.spans, *found.trace.removed]))
    err.print(
        f"{found.standing.value}; {len(found.calls)} calls, {found.prompt_tokens} + {found.completion_tokens} tokens,"
        f" {found.latency_ms:.0f} ms; {found.removed} statements taken out, {found.revised} revised"
    )


def build_spans_table(spans: list[Span]) -> Table:
    """Draw spans with what they rest on, or with what is wrong with them."""
    table = Table(box=None, pad_edge=False)
    for name in ("statement", "claim", "rests on", "wrong"):
        table.add_column(name, overflow="fold")
    for span in spans:
        support = "; ".join(f"{cite.handle} ({cite.memory_id or cite.given_by}): {cite.quote}" for cite in span.support)
        wrong = "" if span.stands else "; ".join(SENTENCES[fault] for fault in span.all_faults)
        table.add_row(clean(span.text), span.claim.value, clean(support), wrong)
    return table


def describe_answer(found: Answer) -> dict[str, Any]:
    """Give an answer for programs."""
    return {
        "standing": found.standing.value,
        "text": found.text,
        "fault": found.fault,
        "spans": [describe_span(span) for span in found.spans],
        "removed": found.removed,
        "revised": found.revised,
        "latency_ms": found.latency_ms,
        "evidence": [
            {"handle": piece.handle, "source": piece.source, "cut": piece.cut, "is_shown": piece.is_shown}
            for piece in found.evidence
        ],
        "calls": [_describe_call(call) for call in found.calls],
        "trace": None
        if found.trace is None
        else {
            "instructions": found.trace.reflections.notes,
            "checked": [describe_span(span) for span in found.trace.checked],
            "removed": [describe_span(span) for span in found.trace.removed],
        },
    }


def _describe_call(call: Call) -> dict[str, Any]:
    return {
        "stage": call.stage,
        "prompt_tokens": call.prompt_tokens,
        "completion_tokens": call.completion_tokens,
        "latency_ms": call.latency_ms,
        "is_usable": call.is_usable,
        "fault": None if call.fault is None else call.fault.value,
    }


def describe_span(span: Span) -> dict[str, Any]:
    """Give a span for programs."""
    return {
        "text": span.text,
        "claim": span.claim.value,
        "is_verified": span.is_verified,
        "is_given": span.is_given,
        "marks": [mark.value for mark in span.marks],
        "faults": [fault.value for fault in span.faults],
        "support": [
            {
                "handle": cite.handle,
                "memory_id": cite.memory_id,
                "given_by": cite.given_by,
                "quote": cite.quote,
                "fault": None if cite.fault is None else cite.fault.value,
            }
            for cite in span.cites
        ],
    }
