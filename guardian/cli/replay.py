"""`guardian replay`: logs and exports that agents kept, through the guard."""

from __future__ import annotations

import asyncio
import functools
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.console import err, out, print_json, say_error
from guardian.cli.opening import JsonOption, StoreOption, opened_for_writing
from guardian.cli.progress import build_progress
from guardian.cli.replay_account import build_examples, build_table, describe
from guardian.core.model import Scope, SourceKind
from guardian.dead_letter_file import FILE_NAME, DeadLetterFile
from guardian.errors import ConfigError, RecordError
from guardian.pipeline import Pipeline
from guardian.replay import Checkpoint, Forward, Rehearsal, Replay, ReplaySummary, Selection
from guardian.settings import Settings, load_settings
from guardian.sources.formats.rows import RowsSource
from guardian.sources.port import Order, Source, SourceOptions
from guardian.sources.reading.archive import is_zip
from guardian.sources.reading.position import metered
from guardian.sources.reading.sqlite import is_sqlite
from guardian.sources.reading.stamp import read_time
from guardian.sources.registry import by_name, detect
from guardian.wiring import (
    build_decode_policy,
    build_embedder,
    build_identity,
    build_pipeline,
    build_publisher,
    build_rows_source,
    forward_events,
    locate_state,
    open_producer,
)

FINISHED_WITH_DEAD_LETTERS = 1
# Bytes of input up to which its items are counted beforehand, for an exact progress; reading these twice takes a second or two.
MAX_COUNTED_BYTES = 64 * 1024 * 1024


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
            "--map", help="Map of guardian.toml (maps.NAME) that turns rows of plain JSON into events.", show_default=False
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
    default_time: Annotated[
        str | None,
        typer.Option(
            help="Time of rows that nothing dates, RFC 3339 or a date; default: the file's modification time, which a copy may change.",
            show_default=False,
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin at the first row, not where an interrupted replay stopped.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(help="Only events from this time on (RFC 3339, or a date: its midnight, UTC).", show_default=False),
    ] = None,
    until: Annotated[str | None, typer.Option(help="Only events before this time.", show_default=False)] = None,
    only_space: Annotated[
        list[str] | None, typer.Option("--only-space", help="Only events of this memory bank. Repeatable.", show_default=False)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and judge everything, write nothing, and say what would be refused.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes that decode; more than 1 rarely gains, see docs/sources.md.", min=1)] = 1,
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
    options = SourceOptions(
        space=space,
        source_kind=source_kind,
        scope=read_scope(scope or []),
        default_time=_read_moment("--default-time", default_time),
        order=Order(order.value),
    )
    choice = _Choice(
        to_topic=to_topic,
        publish=publish,
        restart=restart,
        dry_run=dry_run,
        jobs=jobs,
        selection=read_selection(since, until, only_space),
    )
    job = _Job(settings, source, files, options, store, choice)
    summary = asyncio.run(job.run())
    examples = job.rehearsal.examples if job.rehearsal is not None else {}
    if as_json:
        print_json(describe(summary) | ({"examples": examples} if dry_run else {}))
        return FINISHED_WITH_DEAD_LETTERS if summary.dead_letters else 0
    out.print(build_table(summary, source))
    out.print(summary.reconcile(), soft_wrap=True)
    if examples:
        out.print(build_examples(examples))
    if dry_run:
        err.print("a dry run: nothing was written.")
    elif summary.dead_letters:
        place = "" if store is None else f" --store {store}"
        err.print(f"the dead letters are in {job.letters}: guardian dead-letters list --file{place}")
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


def read_selection(since: str | None, until: str | None, spaces: list[str] | None) -> Selection:
    """Read which events are replayed.

    Raises:
        ConfigError: A time is none, or the window is empty.
    """
    first, end = _read_moment("--since", since), _read_moment("--until", until)
    if first is not None and end is not None and first >= end:
        raise ConfigError(f"no event is from {since} on and before {until}.", mend="give --until a later time than --since.")
    return Selection(since=first, until=end, spaces=frozenset(spaces) if spaces else None)


def _read_moment(option: str, value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        return read_time(value).time
    except RecordError as exc:
        raise ConfigError(f"{option} {value} is no time.", mend="write it as 2026-03-01 or 2026-03-01T08:00:00Z.") from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """What is to be done with the events."""

    to_topic: bool
    publish: bool
    restart: bool
    dry_run: bool
    jobs: int
    selection: Selection


class _Job:
    """One replay with all that it opens.

    Attributes:
        letters: File of the refused items.
        rehearsal: Takes them instead in a dry run; None else.
    """

    def __init__(
        self, settings: Settings, source: Source, files: list[Path], options: SourceOptions, store: str | None, choice: _Choice
    ) -> None:
        self.settings, self.source, self.files, self.options, self.store = settings, source, files, options, store
        self.choice = choice
        self.rehearsal = Rehearsal() if choice.dry_run else None
        folder, self.target = locate_state(settings, store)
        if choice.to_topic:
            folder, self.target = settings.state_dir, f"{settings.kafka.bootstrap} {settings.kafka.topic_prefix}"
        self.folder, self.letters = folder, folder / FILE_NAME

    async def run(self) -> ReplaySummary:
        """Open what is needed, replay, close."""
        async with AsyncExitStack() as stack:
            replay_job = await self._build(stack)
            meter = stack.enter_context(metered())
            total, by_bytes = await asyncio.to_thread(measure_input, self.source, self.files, self.options)
            with build_progress(by_bytes=by_bytes) as progress:
                task = progress.add_task(f"replaying {self.source.name}", total=total)

                def advance(items: int, rows: int) -> None:
                    progress.update(task, completed=meter.count_bytes() if by_bytes else items, rows=rows)

                try:
                    return await replay_job.run(advance)
                except asyncio.CancelledError:
                    say_error(_say_interrupted(dry_run=self.choice.dry_run))
                    raise

    async def _build(self, stack: AsyncExitStack) -> Replay:
        if self.choice.dry_run:
            return self._replay(await self._fetch_vector_size())
        checkpoint = Checkpoint(self.folder, self.files, self.source.name, *self._list_marks())
        if self.choice.restart:
            checkpoint.clear()
        if self.choice.to_topic:
            producer = await stack.enter_async_context(open_producer(self.settings))
            return self._replay(0, checkpoint, forward=functools.partial(forward_events, self.settings, producer))
        opened, embedder = await stack.enter_async_context(opened_for_writing(self.settings, self.store))
        publisher = None
        if self.choice.publish:
            producer = await stack.enter_async_context(open_producer(self.settings))
            publisher = build_publisher(self.settings, producer)
        pipeline = build_pipeline(self.settings, opened, embedder, publisher)
        return self._replay(opened.identity.vector_size, checkpoint, pipeline=pipeline)

    def _list_marks(self) -> list[str]:
        selected = [] if self.choice.selection.takes_all else [self.choice.selection.describe()]
        return [repr(self.options), self.target, *selected]

    async def _fetch_vector_size(self) -> int:
        """Give the size that vectors in events would have to have, without opening a store."""
        if self.choice.to_topic:
            return 0
        embedder = await build_embedder(self.settings.embedding)
        try:
            return build_identity(embedder).vector_size
        finally:
            if embedder is not None:
                await embedder.close()

    def _replay(
        self,
        vector_size: int,
        checkpoint: Checkpoint | None = None,
        *,
        pipeline: Pipeline | None = None,
        forward: Forward | None = None,
    ) -> Replay:
        return Replay(
            source=self.source,
            paths=self.files,
            options=self.options,
            decode_policy=build_decode_policy(self.settings, vector_size),
            received_at=datetime.now(UTC),
            dead_letters=self.rehearsal or DeadLetterFile(self.letters),
            pipeline=pipeline,
            forward=forward,
            checkpoint=checkpoint,
            batch_events=self.settings.limits.batch_events,
            selection=self.choice.selection,
            jobs=self.choice.jobs,
        )


def _say_interrupted(*, dry_run: bool) -> str:
    return "interrupted; nothing was written." if dry_run else "interrupted; start the same command again to go on from here."


def measure_input(source: Source, files: list[Path], options: SourceOptions) -> tuple[int | None, bool]:
    """Give how much there is to do, and whether it is in bytes of the files rather than in items.

    A small input is read once more to count its items. A large one is measured in bytes where its reading can be followed, else
    (a database, an archive, a folder) nobody knows.
    """
    size = sum(_measure(path) for path in files)
    if size <= MAX_COUNTED_BYTES:
        return sum(1 for _ in source.iter_items(files, options)), False
    can_follow = not any(path.is_dir() or is_sqlite(path) or is_zip(path) for path in files)
    return (size, True) if can_follow else (None, False)


def _measure(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if file.is_file())
