"""`guardian replay`: logs and exports that agents kept, through the guard."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from guardian.cli.console import err, out, print_json, say_error
from guardian.cli.opening import JsonOption, StoreOption, opened_for_writing
from guardian.core.model import Scope, SourceKind
from guardian.dead_letter_file import FILE_NAME, DeadLetterFile
from guardian.errors import ConfigError
from guardian.replay import Checkpoint, Replay, ReplaySummary
from guardian.settings import Settings, load_settings
from guardian.sources.formats.rows import RowsSource
from guardian.sources.port import Order, Source, SourceOptions
from guardian.sources.registry import by_name, detect
from guardian.wiring import (
    build_decode_policy,
    build_pipeline,
    build_publisher,
    build_rows_source,
    forward_events,
    locate_state,
    open_producer,
)

FINISHED_WITH_DEAD_LETTERS = 1


class FileOrder(StrEnum):
    """How several files of one history are ordered."""

    TIME = "time"
    GIVEN = "given"


def replay(  # one parameter an option
    files: Annotated[
        list[Path], typer.Argument(help="Files or folders of one format; several are versions or parts of one history.")
    ],
    store: StoreOption = None,
    to_topic: Annotated[
        bool, typer.Option("--to-topic", help="Send the events to the canonical topic, for a worker, instead of a store.")
    ] = False,
    space: Annotated[str | None, typer.Option(help="Memory bank for events that name none.", show_default=False)] = None,
    format_name: Annotated[
        str | None, typer.Option("--format", help="Format of the files; default: told by their content.", show_default=False)
    ] = None,
    map_name: Annotated[
        str | None,
        typer.Option(
            "--map", help="Map of guardian.toml ([maps.NAME]) that turns rows of plain JSON into events.", show_default=False
        ),
    ] = None,
    source_kind: Annotated[
        SourceKind | None, typer.Option(help="Source kind where the files name none.", show_default=False)
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Scope put on every write without one, as user_id=ann. Repeatable.", show_default=False),
    ] = None,
    order: Annotated[FileOrder, typer.Option(help="Order of several files: by their times, or as given.")] = FileOrder.TIME,
    publish: Annotated[bool, typer.Option("--publish", help="Publish outcomes to Kafka, too.")] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin at the first row, not where an interrupted replay stopped.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Replay FILES into a store (or, with --to-topic, onto the canonical topic).

    An interrupted replay goes on where it was when it is started again. A second replay changes nothing. What cannot be read or
    believed goes whole to the dead letters (`guardian dead-letters list --file`); the exit code is then 1.
    """
    settings = load_settings()
    source = choose_source(settings, files, format_name, map_name)
    if source.name == "cloudevents" and (source_kind is not None or scope):
        raise ConfigError("native events say their source and scope themselves.", mend="leave out --source-kind and --scope.")
    options = SourceOptions(space=space, source_kind=source_kind, scope=read_scope(scope or []), order=Order(order.value))
    job = _Job(settings, source, files, options, store, to_topic=to_topic, publish=publish, restart=restart)
    summary = asyncio.run(job.run())
    if as_json:
        print_json(describe(summary))
    else:
        out.print(build_table(summary, source))
        if summary.dead_letters:
            place = "" if store is None else f" --store {store}"
            err.print(f"the dead letters are in {job.dead_letters.path}: guardian dead-letters list --file{place}")
    return FINISHED_WITH_DEAD_LETTERS if summary.dead_letters else 0


def choose_source(settings: Settings, files: list[Path], format_name: str | None, map_name: str | None = None) -> Source:
    """Choose the format by name, by a map, or by the content of the first file.

    Raises:
        ConfigError: A file is missing, or no format fits.
    """
    for path in files:
        if not (path.is_file() or path.is_dir()):
            raise ConfigError(f"{path} is no file or folder.", mend="name what exists.")
    if map_name is not None and format_name is not None:
        raise ConfigError("--map and --format both say what the files are.", mend="leave one of them out.")
    if map_name is not None:
        return build_rows_source(settings, map_name)
    source = detect(files[0]) if format_name is None else by_name(format_name)
    return build_rows_source(settings, None) if source.name == RowsSource.name else source


def read_scope(pairs: list[str]) -> dict[str, str]:
    """Read `user_id=ann` pairs.

    Raises:
        ConfigError: One is no pair.
    """
    scope = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator:
            raise ConfigError(f"--scope {pair} is no pair.", mend="write it as --scope user_id=ann.")
        if name not in Scope.__slots__:
            raise ConfigError(f"--scope {name} is no part of a scope.", mend=f"use one of {', '.join(Scope.__slots__)}.")
        scope[name] = value
    return scope


class _Job:
    """One replay with all that it opens."""

    def __init__(
        self,
        settings: Settings,
        source: Source,
        files: list[Path],
        options: SourceOptions,
        store: str | None,
        *,
        to_topic: bool,
        publish: bool,
        restart: bool,
    ) -> None:
        self.settings, self.source, self.files, self.options, self.store = settings, source, files, options, store
        self.to_topic, self.publish, self.restart = to_topic, publish, restart

    async def run(self) -> ReplaySummary:
        """Open what is needed, replay, close."""
        async with AsyncExitStack() as stack:
            replay_job = await self._build(stack)
            total = await asyncio.to_thread(count_items, self.source, self.files, self.options)
            with build_progress() as progress:
                task = progress.add_task(f"replaying {self.source.name}", total=total)

                def advance(items: int, rows: int) -> None:
                    progress.update(task, completed=items, rows=rows)

                try:
                    return await replay_job.run(advance)
                except asyncio.CancelledError:
                    say_error("interrupted; start the same command again to go on from here.")
                    raise

    async def _build(self, stack: AsyncExitStack) -> Replay:
        folder, target = locate_state(self.settings, self.store)
        if self.to_topic:
            folder, target = self.settings.state_dir, f"{self.settings.kafka.bootstrap} {self.settings.kafka.topic_prefix}"
        checkpoint = Checkpoint(folder, self.files, self.source.name, repr(self.options), target)
        self.dead_letters = DeadLetterFile(folder / FILE_NAME)
        if self.restart:
            checkpoint.clear()
        pipeline = forward = None
        vector_size = 0
        if self.to_topic:
            producer = await stack.enter_async_context(open_producer(self.settings))
            forward = functools.partial(forward_events, self.settings, producer)
        else:
            opened, embedder = await stack.enter_async_context(opened_for_writing(self.settings, self.store))
            vector_size = opened.identity.vector_size
            publisher = None
            if self.publish:
                producer = await stack.enter_async_context(open_producer(self.settings))
                publisher = build_publisher(self.settings, producer)
            pipeline = build_pipeline(self.settings, opened, embedder, publisher)
        return Replay(
            source=self.source,
            paths=self.files,
            options=self.options,
            decode_policy=build_decode_policy(self.settings, vector_size),
            received_at=datetime.now(UTC),
            dead_letters=self.dead_letters,
            pipeline=pipeline,
            forward=forward,
            checkpoint=checkpoint,
            batch_events=self.settings.limits.batch_events,
        )


def count_items(source: Source, files: list[Path], options: SourceOptions) -> int:
    """Count the items of a replay beforehand, for its progress; reading is a small part of the work."""
    return sum(1 for _ in source.iter_items(files, options))


class RateColumn(ProgressColumn):
    """Items a second."""

    def render(self, task: Task) -> Text:
        """Give the rate, once there is one."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


def build_progress() -> Progress:
    """Build the progress bar: items, rate, time left."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=err,
        transient=False,
    )


def describe(summary: ReplaySummary) -> dict[str, object]:
    """Give the summary for programs."""
    return {
        "rows": summary.rows,
        "events": summary.events,
        "records": summary.records,
        "families": summary.families,
        "superseded": summary.superseded,
        "felled": summary.felled,
        "born_superseded": summary.born_superseded,
        "inferred_parents": summary.inferred,
        "refused_verification_claims": summary.refused_claims,
        "pending_vectors": summary.pending,
        "naive_times": summary.naive_times,
        "dead_letters_erased": summary.letters_erased,
        "dispositions": _plain(summary.dispositions),
        "skipped": _plain(summary.skipped),
        "dead_letters": _plain(summary.dead_letters),
        "resumed_at": summary.resumed_at,
    }


def _plain(counts: Counter[str]) -> dict[str, int]:
    return {str(reason): count for reason, count in sorted(counts.items())}


def build_table(summary: ReplaySummary, source: Source) -> Table:
    """Draw the summary."""
    table = Table(box=None, show_header=False, pad_edge=False, title=f"replayed as {source.name}", title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    for name, value in describe(summary).items():
        label = name.replace("_", " ")
        if isinstance(value, dict):
            for reason, count in value.items():
                table.add_row(f"{label}: {reason}", str(count))
        elif value or (name in {"rows", "events", "records", "families", "superseded"} and value is not None):
            table.add_row(label, str(value))
    return table
