"""`guardian cards`: what a record's boundary card says, and cards made anew by today's model and prompt."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

import orjson
import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from guardian.cli.console import clean, out, print_json, say_error
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.cli.progress import build_progress
from guardian.cli.sending import ToTopicOption, goes_to_topic
from guardian.contracts.codec import encode_event
from guardian.core.model import Induced
from guardian.core.narrowing import Mark
from guardian.core.needs import Needs
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.induce.refresh import Estimate, Refresh, estimate, iter_due
from guardian.ports import Fence, Store
from guardian.settings import Settings, load_settings
from guardian.wiring import build_author, build_budget, build_card_chat, build_pipeline, forward_events, open_producer

cards = typer.Typer(no_args_is_help=True, help="Boundary cards: look at one, make them anew by a model.")

Send = Callable[[Sequence[Induced]], Awaitable[None]]


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """What a refresh did: records by what became of them, those it did not come to, and why it stopped early."""

    counts: dict[str, int]
    left: int
    stopped_by: str | None


@cards.command()
def show(
    space: Annotated[str, typer.Argument(help="Memory bank.")],
    memory_id: Annotated[str, typer.Argument(help="Memory, as the writer named it.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show the cards of a memory's revisions: conditions and influences, what it may be used for, who says so, how surely."""
    rows = asyncio.run(_read_cards(load_settings(), store, space, memory_id))
    if not rows:
        say_error(f"no memory '{memory_id}' in space '{space}'. Mend: `guardian export` lists what there is.")
        return 2
    if as_json:
        print_json(rows)
    else:
        out.print(Group(*(part for row in rows for part in build_card(clean(row)))))
    return 0


@cards.command()
def refresh(
    space: Annotated[str | None, typer.Argument(help="Only this memory bank.", show_default=False)] = None,
    store: StoreOption = None,
    to_topic: ToTopicOption = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Records at most.", show_default=False)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate what it would take; asks nobody.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Make anew the cards that are not of today's model and prompt.

    It can be interrupted and started again: what remains is visible in the store.
    """
    settings = load_settings()
    if dry_run:
        found = asyncio.run(_estimate(settings, store, space))
        print_json(dataclasses.asdict(found)) if as_json else out.print(describe_estimate(found))
        return 0
    done = asyncio.run(_refresh(settings, store, space, limit=limit, to_topic=goes_to_topic(settings, store, to_topic=to_topic)))
    print_json(dataclasses.asdict(done)) if as_json else out.print(describe_done(done))
    return 0


async def _estimate(settings: Settings, place: str | None, space: str | None) -> Estimate:
    async with opened_store(settings, place) as store:
        prices = build_budget(settings.induce).limits
        return await estimate(store, build_author(settings.induce, store), space=space, prices=prices)


async def _refresh(settings: Settings, place: str | None, space: str | None, *, limit: int | None, to_topic: bool) -> Done:
    open_chat = build_card_chat(settings.induce)
    async with opened_store(settings, place) as store, _open_sender(settings, store, to_topic=to_topic) as send:
        author = build_author(settings.induce, store, patience=1)
        due = [(node.space, node.id) async for node in iter_due(store, author, space)]
        part = due if limit is None else due[:limit]
        with build_progress() as progress:
            task = progress.add_task("cards", total=len(part))
            run = Refresh(
                author,
                open_chat=open_chat,
                send=send,
                at_once=settings.induce.concurrency,
                advance=lambda count: progress.advance(task, count),
            )
            try:
                await run.run(part)
            finally:
                await open_chat("").close()
    stopped_by = None if run.stopped_by is None else str(run.stopped_by)
    return Done(counts=dict(run.counts), left=len(due) - sum(run.counts.values()), stopped_by=stopped_by)


@asynccontextmanager
async def _open_sender(settings: Settings, store: Store, *, to_topic: bool) -> AsyncIterator[Send]:
    """Give what takes events to the canonical topic, or straight into the store."""
    if not to_topic:
        pipeline = build_pipeline(settings, store, None, None)

        async def carry_out(events: Sequence[Induced]) -> None:
            await pipeline.process(events, fence=Fence())

        yield carry_out
        return
    async with open_producer(settings) as producer:

        async def forward(events: Sequence[Induced]) -> None:
            await forward_events(settings, producer, [(encode_event(event), event.space) for event in events])

        yield forward


async def _read_cards(settings: Settings, place: str | None, space: str, memory_id: str) -> list[dict[str, Any]]:
    async with opened_store(settings, place) as store:
        points = await store.fetch(Needs(memories={(space, memory_id)}))
    rows = []
    for point in points:
        if point.payload["point"] != PointKind.RECORD:
            continue
        node = load_node(point)
        rows.append(
            {
                "revision": node.revision,
                "current": node.is_current,
                "status": node.status.value,
                "card": orjson.loads(point.payload["card"]) if "card" in point.payload else None,
                "permission": orjson.loads(point.payload["permission"]),
                "induced": None if node.induced is None else _describe_mark(node.induced),
            }
        )
    return sorted(rows, key=lambda row: (not row["current"], row["revision"]))


def _describe_mark(mark: Mark) -> dict[str, Any]:
    return {
        "inducer": mark.inducer,
        "version": mark.version,
        "confidence": mark.confidence,
        "card": mark.card_digest is not None,
        "narrowing": mark.narrowing.to_json(),
    }


def build_card(row: dict[str, Any]) -> list[Any]:
    """Draw the card of one revision."""
    card, permission = row["card"] or {}, row["permission"]
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    table.add_row("status", row["status"] + ("" if row["current"] else "  (not the current revision)"))
    table.add_row("made by", describe_maker(row))
    table.add_row("summary", card.get("summary", "no card"))
    table.add_row("tasks", ", ".join(card.get("tasks", ())))
    for request, evidence, support, scope, limitation in card.get("settings", ()):
        table.add_row("asked", f"{request}, beside {evidence}: {support}; {scope}; {limitation}")
    for distinction in card.get("distinctions", ()):
        table.add_row("tells apart", distinction)
    for condition, influence in card.get("rules", ()):
        table.add_row("rule", f"{condition} → {influence}")
    table.add_row("slots", ", ".join(permission.get("slots", ())) or "none")
    for name, label in (("never", "never"), ("must_use", "must"), ("must_not", "must not")):
        if permission.get(name):
            table.add_row(label, "; ".join(permission[name]))
    table.add_row("conflict", permission["conflict"])
    return [Text(f"revision {row['revision']}", style="bold dim"), table]


def describe_maker(row: dict[str, Any]) -> str:
    """Say who made a card and how surely, and what a model took where the rules' card stands."""
    card, mark = row["card"] or {}, row["induced"]
    maker = f"{card.get('by', 'nobody')} {card.get('version', '')}".strip()
    if mark is None:
        return maker
    if mark["card"]:
        return f"{maker}, agreement {mark['confidence']:.2f}"
    return f"{maker}; samples of {mark['inducer']} {mark['version']} agreed to {mark['confidence']:.2f} only"


def describe_estimate(found: Estimate) -> str:
    """Say what a refresh would take."""
    return (
        f"{found.records} records without a card of today's model and prompt, {found.contents} different contents: "
        f"{found.questions} questions, about {found.prompt_tokens} tokens to send, at most {found.completion_tokens} to receive, "
        f"cost at most {found.cost:g} by the prices set"
    )


def describe_done(done: Done) -> str:
    """Say what a refresh did."""
    counts = ", ".join(f"{count} {name}" for name, count in sorted(done.counts.items())) or "nothing to do"
    stop = f"; stopped: {done.stopped_by}" if done.stopped_by else ""
    return f"{counts}; {done.left} left{stop}"
