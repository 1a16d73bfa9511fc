"""`guardian sources`: which formats are known, what a file is, and what it would become. Nothing is written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table

from guardian.cli.console import out, print_json
from guardian.cli.opening import JsonOption
from guardian.cli.replay import choose_source
from guardian.contracts.codec import decode
from guardian.errors import RecordError
from guardian.replay import read_event_bytes
from guardian.settings import Settings, load_settings
from guardian.sources.port import Broken, Item, Skipped, Source, SourceEvent, SourceOptions
from guardian.sources.registry import detect, load_row_sources, load_sources
from guardian.wiring import build_decode_policy

sources = typer.Typer(no_args_is_help=True, help="What can be imported, what a file is, and what would become of it.")


@sources.command("list")
def list_sources(as_json: JsonOption = False) -> None:
    """List the formats that are known, built in and installed."""
    live = {source.name for source in load_row_sources()}
    rows = [{"format": source.name, "reads": source.title, "also_on_topics": source.name in live} for source in load_sources()]
    if as_json:
        print_json(rows)
        return
    table = Table(box=None, pad_edge=False)
    for column in ("format", "reads", "on topics, too"):
        table.add_column(column)
    for row in rows:
        table.add_row(str(row["format"]), str(row["reads"]), "yes" if row["also_on_topics"] else "")
    out.print(table)


@sources.command("detect")
def detect_source(
    file: Annotated[Path, typer.Argument(help="File or folder.", exists=True)],
    as_json: JsonOption = False,
) -> None:
    """Tell by its content what format FILE is in."""
    source = detect(file)
    if as_json:
        print_json({"format": source.name, "reads": source.title})
    else:
        out.print(f"{source.name}: {source.title}", markup=False, soft_wrap=True)


@dataclass(slots=True)
class _Trial:
    """What the items of a file would become."""

    rows: int = 0
    events: int = 0
    first: list[dict[str, Any]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def note(self, reason: str, position: str, detail: str) -> None:
        """Keep the first example of each reason."""
        self.examples.setdefault(str(reason), f"{position}: {detail}")


@sources.command("try")
def try_source(
    file: Annotated[Path, typer.Argument(help="File or folder.", exists=True)],
    map_name: Annotated[str | None, typer.Option("--map", help="Map of guardian.toml.", show_default=False)] = None,
    format_name: Annotated[
        str | None, typer.Option("--format", help="Format; default: told by content.", show_default=False)
    ] = None,
    space: Annotated[str | None, typer.Option(help="Memory bank for events that name none.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(help="Events shown.", min=0)] = 5,
    rows: Annotated[int, typer.Option(help="Rows looked at; 0 for all.", min=0)] = 10_000,
    as_json: JsonOption = False,
) -> int:
    """Show the first events that FILE would give, and what would be dropped and why. Writes nothing.

    The exit code is 1 when something would be refused.
    """
    settings = load_settings()
    source = choose_source(settings, [file], format_name, map_name)
    items = source.iter_items([file], SourceOptions(space=space))
    trial = _try_items(islice(items, rows or None), settings, limit)
    if as_json:
        print_json(
            {
                "format": source.name,
                "rows": trial.rows,
                "events": trial.events,
                "skipped": _name_counts(trial.skipped),
                "refused": _name_counts(trial.refused),
                "examples": trial.examples,
                "first": trial.first,
            }
        )
    else:
        _print(trial, source)
    return 1 if trial.refused else 0


def _try_items(items: Any, settings: Settings, limit: int) -> _Trial:
    policy, now, trial = build_decode_policy(settings, 0), datetime.now(UTC), _Trial()
    item: Item
    for item in items:
        trial.rows += item.rows
        match item:
            case Skipped():
                trial.skipped[item.reason] += item.rows
                trial.note(item.reason, item.position, item.detail)
            case Broken():
                trial.refused[item.reason] += 1
                trial.note(item.reason, item.position, item.message)
            case SourceEvent():
                raw = read_event_bytes(item)
                try:
                    decode(raw, policy=policy, received_at=now)
                except RecordError as error:
                    trial.refused[error.reason] += 1
                    trial.note(error.reason, item.position, str(error))
                else:
                    trial.events += 1
                    if len(trial.first) < limit:
                        trial.first.append(orjson.loads(raw))
    return trial


def _name_counts(counts: Counter[str]) -> dict[str, int]:
    """Give counts by plain text: a reason is a word of an enumeration, which no JSON writer takes as a key."""
    return {str(reason): count for reason, count in counts.items()}


def _print(trial: _Trial, source: Source) -> None:
    for event in trial.first:
        print_json(event)
    out.print(f"read as {source.name}: {trial.rows} rows, {trial.events} events", markup=False, soft_wrap=True)
    for title, counts in (("skipped", trial.skipped), ("refused", trial.refused)):
        for reason, count in sorted(counts.items()):
            out.print(f"{title} {count} {reason}; first {trial.examples[reason]}", markup=False, highlight=False, soft_wrap=True)
