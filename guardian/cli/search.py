"""`guardian search`: what a search returns now."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table

from guardian.cli.console import clean, clean_name, out, print_json, shorten, style_status
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.embed.port import Embedder
from guardian.ports import Hit, Store
from guardian.read.retrieve import Question, retrieve
from guardian.settings import Settings, load_settings
from guardian.wiring import build_embedder


def search(
    space: Annotated[str, typer.Argument(help="Memory bank to search.")],
    text: Annotated[str, typer.Argument(help="What is looked for.")],
    store: StoreOption = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Most answers.")] = 10,
    history: Annotated[bool, typer.Option("--history", help="Superseded records answer, too, with what replaced them.")] = False,
    every: Annotated[bool, typer.Option("--every", help="All records of a family, not one that stands for them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Search a space as an agent would: nothing superseded, nothing that does not hold now, one record a family.

    Dense and BM25 results are fused by reciprocal rank where the store has vectors; else BM25 alone answers.
    """
    question = Question(
        space=space,
        text=text,
        limit=limit,
        with_history=history,
        per_family=None if every else 1,
        at=None if history else datetime.now(UTC),
    )
    rows = asyncio.run(_search(question, store))
    if as_json:
        print_json(rows)
        return
    out.print(build_table(rows) if rows else f"Nothing in '{clean_name(space)}' answers.")


async def _search(question: Question, place: str | None) -> list[dict[str, Any]]:
    settings = load_settings()
    async with opened_store(settings, place) as store:
        embedder = await _open_embedder(settings, store)
        return [build_hit_row(hit) for hit in await retrieve(store, question, embedder)]


async def _open_embedder(settings: Settings, store: Store) -> Embedder | None:
    """Open the model when it is the one the store was made with; else BM25 answers alone."""
    embedder = await build_embedder(settings.embedding)
    return embedder if embedder is not None and embedder.identity == store.identity.embedding else None


def build_hit_row(hit: Hit) -> dict[str, Any]:
    """Give a hit as a plain row."""
    payload = hit.point.payload
    reasons = orjson.loads(payload["reasons"]) if "reasons" in payload else []
    return {
        "memory_id": payload["memory_id"],
        "revision": payload["revision"],
        "status": payload["status"],
        "kind": payload["kind"],
        "slots": payload.get("slots", []),
        "text": payload["text"],
        "score": round(hit.score, 6),
        "utility": payload.get("utility"),
        "replaced_by": sorted({r["replacement"] for r in reasons if r.get("replacement")}),
        "reasons": reasons,
    }


def build_table(rows: list[dict[str, Any]]) -> Table:
    """Draw hits."""
    table = Table(box=None, pad_edge=False)
    for name in ("memory", "status", "slots", "text", "replaced by"):
        table.add_column(name, overflow="fold")
    for row in clean(rows):
        table.add_row(
            row["memory_id"],
            style_status(row["status"]),
            ", ".join(row["slots"]),
            shorten(row["text"]),
            ", ".join(row["replaced_by"]),
        )
    return table
