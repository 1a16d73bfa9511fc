"""`guardian context`: what memory may say to a question, as an agent is given it, and why each record is in or out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from guardian.cli.console import clean, clean_name, err, out, print_json, shorten
from guardian.cli.opening import JsonOption, StoreOption, TurnOption, open_own_embedder, opened_store
from guardian.read import Admission, Task
from guardian.settings import load_settings
from guardian.wiring import build_calibrator, build_read_policy


def context(
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
    others: Annotated[
        bool | None, typer.Option("--others/--alone", help="The choice is somebody else's, too.", show_default=False)
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Asks what was believed before.")] = False,
    turn: TurnOption = None,
    user: Annotated[str | None, typer.Option(help="Who asks.", show_default=False)] = None,
    project: Annotated[str | None, typer.Option(help="Project it belongs to.", show_default=False)] = None,
    agent: Annotated[str | None, typer.Option(help="Which agent asks.", show_default=False)] = None,
    session: Annotated[str | None, typer.Option(help="Session of the read.", show_default=False)] = None,
    domain: Annotated[str | None, typer.Option(help="Field of knowledge.", show_default=False)] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=100, help="Most records. Default: the settings'.", show_default=False)
    ] = None,
    at: Annotated[str | None, typer.Option(help="Time asked about (RFC 3339). Default: now.", show_default=False)] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the prompt that memory gives to a question, then every record that was found, with its role and the reason.

    What is not said of the question is read on the careful side: as a question of fact, without anybody's preferences.
    """
    task = Task(
        requires_objective_fact=objective,
        personalization_allowed=personal,
        concerns_others=others,
        is_history=history or None,
        user=user,
        project=project,
        agent=agent,
        session=session,
        domain=domain,
    )
    admission = asyncio.run(_ask(question, task, space=space, place=store, limit=limit, at=_read_time(at), turns=turn or ()))
    if as_json:
        print_json(describe(admission))
        return
    out.print(Text(clean_prompt(admission.prompt.text)), soft_wrap=True)
    err.print(build_table(admission) if admission.decisions else f"nothing in '{clean_name(space)}' was found.")
    for conflict in admission.ruling.conflicts:
        err.print(Text(f"{clean_name(', '.join(conflict.memory_ids))}: {conflict.sentence}"))
    err.print(f"{admission.prompt.tokens} tokens, {admission.searches} searches, {admission.latency_ms:.1f} ms")


async def _ask(
    question: str, task: Task, *, space: str, place: str | None, limit: int | None, at: datetime | None, turns: Sequence[str]
) -> Admission:
    settings = load_settings()
    async with opened_store(settings, place) as store, open_own_embedder(settings, store) as embedder:
        policy = build_read_policy(settings, limit=limit, at=at)
        calibrator = build_calibrator(settings, store, policy=policy, embedder=embedder)
        return await calibrator.context(question, task, space=space, turns=turns)


def _read_time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise typer.BadParameter(f"{clean_name(text)} is no RFC 3339 time of the years 1 to 9999 in UTC.") from exc


def clean_prompt(text: str) -> str:
    """Make a prompt safe to print: its lines are ours and its texts are quoted already, so this changes nothing today."""
    return "\n".join(clean(line) for line in text.split("\n"))


def describe(admission: Admission) -> dict[str, Any]:
    """Give an admission for programs."""
    return {
        "id": admission.id,
        "prompt": admission.prompt.text,
        "messages": admission.prompt.messages,
        "handles": dict(admission.prompt.handles),
        "tokens": admission.prompt.tokens,
        "conflict_policy": admission.ruling.conflict_policy.value,
        "advice": None if admission.ruling.advice is None else admission.ruling.advice.value,
        "conflicts": [
            {"memory_ids": list(item.memory_ids), "policy": item.policy.value, "sentence": item.sentence}
            for item in admission.ruling.conflicts
        ],
        "decisions": [
            {
                "memory_id": item.candidate.memory_id,
                "revision": item.candidate.revision,
                "text": item.candidate.text,
                "role": item.role,
                "reason": item.reason,
                "sentence": item.sentence,
                "slot": item.slot,
                "slots": sorted(item.candidate.slots),
                "marks": list(item.marks),
                "instead": list(item.instead),
                "rendered": item.is_rendered,
            }
            for item in admission.decisions
        ],
    }


def build_table(admission: Admission) -> Table:
    """Draw every decision."""
    handles = {record_id: handle for handle, record_id in admission.prompt.records.items()}
    table = Table(box=None, pad_edge=False)
    for name in ("", "memory", "role", "why", "text"):
        table.add_column(name, overflow="fold")
    for item in admission.decisions:
        assert item.role is not None
        instead = f"; see {', '.join(item.instead)}" if item.instead else ""
        table.add_row(
            handles.get(item.candidate.record_id, ""),
            clean_name(item.candidate.memory_id),
            item.role.value,
            clean(f"{item.reason}: {item.sentence}{instead}"),
            shorten(item.candidate.text, 50),
        )
    return table
