"""`guardian migrate`: brings a store to the model, layout and BM25 that the settings and this version ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import Progress, TaskID
from rich.table import Table

from guardian.cli.console import err, out, print_json, say_error
from guardian.cli.opening import JsonOption, StoreOption
from guardian.cli.progress import build_progress
from guardian.migration import MigrationReport, Observe, Step, examine
from guardian.migration import migrate as migrate_store
from guardian.settings import Settings, load_settings
from guardian.wiring import open_aim, open_generations, place_store


def migrate(  # one parameter an option
    store: StoreOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what differs and change nothing.")] = False,
    fill_only: Annotated[
        bool, typer.Option("--fill-only", help="Fill the new one while workers go on, and switch at the next call without this.")
    ] = False,
    drop_old: Annotated[
        bool, typer.Option("--drop-old", help="On a server: remove the old collection after the switch, also of an earlier one.")
    ] = False,
    drop_vectors: Annotated[
        bool, typer.Option("--drop-vectors", help="Allow a store with vectors to become one without.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring the store to the embedding model, vector size, layout and BM25 of the settings and this version.

    The store in use is only read until a new one is complete, then replaced in one step. Start it again after an interrupt: what is
    done is not done twice. On a server readers go on all the time; workers are stopped by the switch and are to be started with the
    new settings. An embedded store has one owner, so stop its worker first.
    """
    settings = load_settings()
    report = asyncio.run(
        _migrate(settings, store, dry_run=dry_run, fill_only=fill_only, drop_old=drop_old, drop_vectors=drop_vectors)
    )
    if as_json:
        print_json(asdict(report))
        return
    out.print(build_table(report))
    say_next(report, dry_run=dry_run)


async def _migrate(
    settings: Settings, place: str | None, *, dry_run: bool, fill_only: bool, drop_old: bool, drop_vectors: bool
) -> MigrationReport:
    async with (
        open_aim(settings, drops_vectors=drop_vectors) as aim,
        open_generations(place_store(settings.store, place)) as generations,
    ):
        if dry_run:
            return await examine(generations, aim)
        with observing() as observe:
            return await migrate_store(generations, aim, drops_old=drop_old, stops_before_switch=fill_only, observe=observe)


@contextmanager
def observing() -> Iterator[Observe]:
    """Show the steps of a migration, each with its progress."""
    with build_progress() as progress:
        shown: dict[Step, TaskID] = {}
        try:
            yield lambda step, done, total: _show(progress, shown, step, done, total)
        except asyncio.CancelledError:
            say_error("interrupted; the store in use is whole. Start the same command again to go on from here.")
            raise


def _show(progress: Progress, shown: dict[Step, TaskID], step: Step, done: int, total: int) -> None:
    if step not in shown:
        shown[step] = progress.add_task(step.value, total=total or None)
    progress.update(shown[step], completed=done, total=total or None)
    for earlier, task in shown.items():
        if earlier is not step or not total:
            progress.update(task, total=progress.tasks[task].completed or 1, completed=progress.tasks[task].completed or 1)


def say_next(report: MigrationReport, *, dry_run: bool = False) -> None:
    """Say what is still to be done by hand."""
    if report.is_switched:
        err.print("the new store is in use; start workers with the settings of this call.")
    elif report.changes:
        err.print(
            "nothing was changed." if dry_run else "the new store is filled and not in use yet; `guardian migrate` switches."
        )
    elif report.discarded:
        err.print("the store is as the settings ask; an attempt that had been begun was removed.")
    if report.kept:
        err.print(
            f"still there, for readers that opened it before: {', '.join(report.kept)}; `guardian migrate --drop-old` removes it."
        )


def build_table(report: MigrationReport) -> Table:
    """Draw what was done."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(overflow="fold")
    for change in report.changes or ("nothing",):
        table.add_row("differs", change)
    for name in ("points", "written", "replaced", "removed", "embedded", "unembedded", "bytes_before", "bytes_after"):
        value = getattr(report, name)
        if value or name == "points":
            table.add_row(name.replace("_", " "), f"{value:,}")
    for name in report.dropped:
        table.add_row("dropped", name)
    return table
