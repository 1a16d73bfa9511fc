"""`guardian compact`: what was deleted, erased or overwritten goes from disk, too."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from guardian.cli.console import err, out, print_json
from guardian.cli.migrate import build_table, observing
from guardian.cli.opening import JsonOption, StoreOption
from guardian.migration import MigrationReport, migrate
from guardian.settings import Settings, load_settings
from guardian.wiring import open_generations, place_store


def compact(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Make the store anew from what it holds now, and remove the old files with everything that was deleted, erased or overwritten.

    Needs about the size of the store once more. Start it again after an interrupt. Stop the worker of an embedded store first. On a
    server the collection is made anew under the same alias and the old one is removed: workers and readers open it again.
    """
    report = asyncio.run(_compact(load_settings(), store))
    if as_json:
        print_json(asdict(report))
        return
    out.print(build_table(report))
    if report.bytes_before is not None and report.bytes_after is not None:
        err.print(f"{report.bytes_before:,} bytes on disk before, {report.bytes_after:,} after.")
    else:
        err.print(f"removed: {', '.join(report.dropped)}. Start workers and readers again.")


async def _compact(settings: Settings, place: str | None) -> MigrationReport:
    async with open_generations(place_store(settings.store, place)) as generations:
        with observing() as observe:
            return await migrate(generations, None, drops_old=True, observe=observe)
