"""`guardian dead-letters`: what was refused, and its second chance."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from guardian.cli.console import clean, out, print_json, say_error, shorten
from guardian.cli.opening import JsonOption, StoreOption, opened_for_writing
from guardian.contracts.letter import DeadLetter
from guardian.dead_letter_file import FILE_NAME, DeadLetterFile, redrive_file
from guardian.settings import Settings, load_settings
from guardian.stream.dead_letter import StoredLetter, iter_dead_letters, redrive
from guardian.wiring import build_decode_policy, build_kafka_options, build_pipeline, locate_state

dead_letters = typer.Typer(
    no_args_is_help=True, help="List what was refused and why, and send it again after the cause is mended."
)

FINISHED_WITH_DEAD_LETTERS = 1
TOPIC = "guardian.dead-letters"

FileOption = Annotated[bool, typer.Option("--file", help="Those of replays into the store, instead of the topic's.")]
ReasonOption = Annotated[str | None, typer.Option(help="Only those refused for this reason.", show_default=False)]
SpaceOption = Annotated[str | None, typer.Option(help="Only those of this space.", show_default=False)]


def open_file(settings: Settings, place: str | None) -> DeadLetterFile:
    """Open the file that replays into a store put their dead letters into."""
    return DeadLetterFile(locate_state(settings, place)[0] / FILE_NAME)


@dead_letters.command("list")
def list_letters(
    store: StoreOption = None,
    file: FileOption = False,
    reason: ReasonOption = None,
    space: SpaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List dead letters: where each came from, why it was refused, and the mend."""
    settings = load_settings()
    selects = _select(reason, space)
    letters = _read_file(open_file(settings, store)) if file else asyncio.run(_read_topic(settings))
    rows = [_build_row(letter) for letter in letters if selects(letter)]
    if as_json:
        print_json(rows)
    else:
        out.print(_build_table(rows) if rows else "no dead letters")


@dead_letters.command("redrive")
def redrive_letters(
    file: FileOption = False,
    reason: ReasonOption = None,
    space: SpaceOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Send dead letters again, byte for byte: the topic's to where they came from, a replay's (--file) into the store.

    What is refused again stays, or comes back, as a dead letter; the exit code is then 1.
    """
    settings = load_settings()
    selects = _select(reason, space)
    if file:
        driven, left = asyncio.run(_redrive_file(settings, store, selects))
        report: dict[str, Any] = {"driven": driven, "left": left}
    else:
        report = asyncio.run(_redrive_topic(settings, selects))
    if as_json:
        print_json(report)
    else:
        out.print(", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in report.items()))
    return FINISHED_WITH_DEAD_LETTERS if any(count for name, count in report.items() if name != "driven") else 0


def _select(reason: str | None, space: str | None) -> Callable[[DeadLetter], bool]:
    return lambda letter: (reason is None or letter.reason == reason) and (space is None or letter.space == space)


def _read_file(file: DeadLetterFile) -> list[DeadLetter]:
    letters = [letter for _, letter in file.iter_letters()]
    if file.torn:
        say_error(f"{file.path}: lines {', '.join(map(str, file.torn))} are torn and passed over.")
    return letters


async def _read_topic(settings: Settings) -> list[DeadLetter]:
    topic = settings.kafka.topic_prefix + TOPIC
    async with aclosing(iter_dead_letters(build_kafka_options(settings), topic=topic)) as letters:
        return [stored.letter async for stored in letters]


async def _redrive_topic(settings: Settings, selects: Callable[[DeadLetter], bool]) -> dict[str, Any]:
    prefix = settings.kafka.topic_prefix

    def selects_stored(stored: StoredLetter) -> bool:
        return selects(stored.letter)

    report = await redrive(
        build_kafka_options(settings),
        topic=prefix + TOPIC,
        events_topic=prefix + settings.kafka.events_topic,
        selects=selects_stored,
    )
    return {
        "driven": len(report.driven),
        "cut": len(report.cut),
        "too_large": len(report.too_large),
        "without_topic": len(report.without_topic),
    }


async def _redrive_file(settings: Settings, place: str | None, selects: Callable[[DeadLetter], bool]) -> tuple[int, int]:
    letters = open_file(settings, place)
    if not any(selects(letter) for letter in _read_file(letters)):
        return 0, 0
    async with opened_for_writing(settings, place) as (store, embedder):
        return await redrive_file(
            letters,
            build_pipeline(settings, store, embedder, None),
            build_decode_policy(settings, store.identity.vector_size),
            received_at=datetime.now(UTC),
            selects=selects,
        )


def _build_row(letter: DeadLetter) -> dict[str, Any]:
    return {
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "reason": letter.reason,
        "message": letter.message,
        "path": letter.path,
        "space": letter.space,
        "memory_id": letter.memory_id,
        "raw": letter.raw,
    }


def _build_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("topic", "partition", "offset", "reason", "message", "path"):
        table.add_column(name, overflow="fold")
    for row in clean(rows):
        table.add_row(
            row["topic"], str(row["partition"]), str(row["offset"]), row["reason"], shorten(row["message"], 120), row["path"]
        )
    return table
