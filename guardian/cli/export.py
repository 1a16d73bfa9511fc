"""`guardian export`: one JSON record a line, the same bytes for the same state."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.opening import StoreOption, opened_store
from guardian.core.export import EXPORTED, build_row, dump_row, sort_rows
from guardian.settings import load_settings


def export(
    store: StoreOption = None,
    space: Annotated[str | None, typer.Option(help="Only this space.", show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: stdout.", show_default=False)
    ] = None,
) -> None:
    """Write every record as one line of JSON, sorted by space, memory, time and revision.

    Equal states give equal bytes, whatever store they lie in and in whatever order the events came: compare exports to compare states.
    """
    lines = asyncio.run(_collect(store, space))
    if output is None:
        sys.stdout.buffer.write(b"".join(lines))
        sys.stdout.buffer.flush()
    else:
        output.write_bytes(b"".join(lines))


async def _collect(place: str | None, space: str | None) -> list[bytes]:
    async with opened_store(load_settings(), place) as store:
        rows = [build_row(point) async for point in store.iter_points(space=space, kinds=EXPORTED)]
    return [dump_row(row) for row in sort_rows(rows)]
