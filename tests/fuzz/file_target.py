"""Targets on files: imports of every format end to end, dead letters and checkpoints of replays, and settings."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path

from guardian.contracts.codec import decode
from guardian.contracts.letter import build_dead_letter
from guardian.contracts.reason import Reason
from guardian.dead_letter_file import FILE_NAME, DeadLetterFile, redrive_file
from guardian.errors import ConfigError, RecordError
from guardian.replay import Checkpoint, Replay, ReplaySummary
from guardian.settings import TOML_NAME, load_settings
from guardian.sources.formats.mcp_memory import McpMemorySource
from guardian.sources.formats.mem0_history import Mem0HistorySource
from guardian.sources.formats.native import NativeSource
from guardian.sources.port import Skipped, Source, SourceOptions
from guardian.wiring import build_decode_policy, build_kafka_options, build_policy_of
from tests.fuzz.frame import build_database
from tests.fuzz.law import POLICY, RECEIVED_AT, World, check_decoded, check_import, check_refusal, check_rows, settle
from tests.fuzz.mutate import SEPARATOR
from tests.fuzz.sample import unpack_sample
from tests.fuzz.seeds import BLANK, ROWS

BARE = SourceOptions()
FULL = SourceOptions(space="given", scope={"user_id": "u"})
# Files of a series that are read; more tell nothing new.
MAX_VERSIONS = 6
LETTER_TIME = RECEIVED_AT.replace(year=1970)


@cache
def scratch() -> Path:
    """Give the one folder of this process; who starts the process sets its place by TMPDIR, or removes it by `clear_scratch`."""
    return Path(tempfile.mkdtemp(prefix="guardian-fuzz-"))


def clear_scratch() -> None:
    """Remove the folder of this process."""
    if scratch.cache_info().currsize:
        shutil.rmtree(scratch(), ignore_errors=True)
        scratch.cache_clear()


def run_cloudevents(data: bytes) -> None:
    """A file of events, whatever its framing: what a caller adds changes no count."""
    path = scratch() / "events.jsonl"
    path.write_bytes(data)
    items = check_import(NativeSource(), [path], BARE, scratch() / FILE_NAME)
    filled = check_import(NativeSource(), [path], FULL, scratch() / FILE_NAME)
    assert [type(item) for item in filled] == [type(item) for item in items], "a given space makes other items"


def run_mcp(data: bytes) -> None:
    """A series of versions of a graph; a part may begin with a line `name: …` for its file."""
    paths = []
    for number, part in enumerate(data.split(SEPARATOR)[:MAX_VERSIONS]):
        head, _, rest = part.partition(b"\n")
        is_named = head.startswith(b"name: ")
        name = f"{number}-{_clean(head[6:])}" if is_named else f"{number}"
        path = scratch() / "mcp" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(rest if is_named else part)
        os.utime(path, (1_770_000_000 + number, 1_770_000_000 + number))
        paths.append(path)
    try:
        check_import(McpMemorySource(), paths, FULL, scratch() / FILE_NAME)
    finally:
        shutil.rmtree(scratch() / "mcp")


def _clean(name: bytes) -> str:
    return "".join(chr(byte) for byte in name[:40] if chr(byte).isalnum() or byte in b"-_.")


def run_mem0(data: bytes) -> None:
    """A database as described: every row of its history is accounted for, whatever its columns hold."""
    built = build_database(data)
    if built is None:
        return
    raw, counts = built
    path = scratch() / "history.db"
    path.write_bytes(raw)
    items = check_import(Mem0HistorySource(), [path], FULL, scratch() / FILE_NAME)
    if counts.get("history") and not any(item.rows == 0 for item in items):
        notes = sum(item.rows for item in items if isinstance(item, Skipped) and item.reason != "metadata_only")
        assert sum(item.rows for item in items) - notes == counts["history"], "a row of the history is not accounted for"


def run_mem0_file(data: bytes) -> None:
    """Any bytes in place of a database."""
    path = scratch() / "history.db"
    path.write_bytes(data)
    check_import(Mem0HistorySource(), [path], FULL, scratch() / FILE_NAME)


def build_sample_run(source: Source) -> Callable[[bytes], None]:
    """Build the target of a format: the files of its sample, however they are changed, are accounted for."""

    def run(data: bytes) -> None:
        folder = scratch() / "sample"
        folder.mkdir()
        try:
            paths = unpack_sample(data, folder)
            if paths:
                check_import(source, paths, FULL, scratch() / FILE_NAME)
        finally:
            shutil.rmtree(folder)

    return run


def run_letter_file(data: bytes) -> None:
    """A file of dead letters with anything in it: letters and torn lines are all its lines, and it can be added to and re-driven."""
    path = scratch() / "letters.jsonl"
    path.write_bytes(data)
    file = DeadLetterFile(path)
    letters = [letter for _, letter in file.iter_letters()]
    lines = data.split(b"\n")
    assert len(letters) + len(file.torn) == len(lines) - (not lines[-1]), "a line is neither a letter nor torn"
    fresh = build_dead_letter(
        RecordError(Reason.TEXT_BLANK, "fresh"), BLANK, topic="file:fuzz", partition=0, offset=2**40, timestamp=LETTER_TIME
    )
    for _ in range(2):
        file.append([fresh])
        assert [letter for _, letter in file.iter_letters()] == [*letters, *([] if fresh in letters else [fresh])]
    world = World()
    driven, left = settle(redrive_file(file, world.pipeline, POLICY, received_at=RECEIVED_AT, selects=lambda _: True))
    kept = [letter for _, letter in file.iter_letters()]
    assert len(kept) == left, "a letter that is refused again does not stay"
    assert driven + left == len({*range(len(letters))}) + (fresh not in letters)
    check_rows(world.export())


def run_checkpoint(data: bytes) -> None:
    """A replay with any bytes in its checkpoint counts every item, and goes on."""
    path = scratch() / "events.jsonl"
    path.write_bytes(b"\n".join(ROWS[:4]))
    checkpoint = Checkpoint(scratch(), [path], "fuzz")
    checkpoint.write(ReplaySummary(items=1))
    checkpoint.path.write_bytes(data)
    (scratch() / FILE_NAME).unlink(missing_ok=True)
    world = World()
    world.process([decode(ROWS[0], policy=POLICY, received_at=RECEIVED_AT).event])
    replay = Replay(
        source=NativeSource(),
        paths=[path],
        options=BARE,
        decode_policy=POLICY,
        received_at=RECEIVED_AT,
        dead_letters=DeadLetterFile(scratch() / FILE_NAME),
        pipeline=world.pipeline,
        checkpoint=checkpoint,
        batch_events=2,
    )
    summary = settle(replay.run())
    assert summary.items == summary.rows == summary.events == 4
    assert summary.resumed_at >= 0
    assert not checkpoint.path.exists(), "a finished replay leaves its checkpoint"


def run_settings(data: bytes) -> None:
    """A settings file works, or the error names what is wrong; what works is good for an event."""
    (scratch() / TOML_NAME).write_bytes(data)
    try:
        with chdir(scratch()):
            settings = load_settings()
            options = build_kafka_options(settings)
    except ConfigError:
        return
    for duration_s in (
        options.session_timeout_s,
        options.rebalance_timeout_s,
        options.request_timeout_s,
        options.metadata_max_age_s,
    ):
        assert round(1000 * duration_s) < 2**31, "Kafka counts milliseconds in 32 bits"
    assert 4 * options.max_fetch_bytes < 2**31
    policy = build_decode_policy(settings, 2)
    world = World()
    world.pipeline.policy_of = build_policy_of(settings)
    for row in ROWS:
        try:
            decoded = decode(row, policy=policy, received_at=RECEIVED_AT, ingress="agent.notes")
        except RecordError as error:
            check_refusal(error)
        else:
            check_decoded(decoded, policy=policy)
            world.process([decoded.event])
    check_rows(world.export())
