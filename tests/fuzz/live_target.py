"""Targets on records of other programs: opening, formats and maps; a file of the same records gives the same events."""

from __future__ import annotations

from collections import Counter
from contextlib import chdir
from functools import cache

import orjson

from guardian.contracts.codec import decode
from guardian.contracts.reason import Reason
from guardian.errors import ConfigError, RecordError
from guardian.settings import TOML_NAME, load_settings
from guardian.sources.formats.rows import RowsSource
from guardian.sources.live.arrival import Arrival, Headers
from guardian.sources.live.mapping import CompiledMap
from guardian.sources.live.translator import Binding, Translation, Translator
from guardian.sources.port import Broken, Skipped, SourceEvent, SourceOptions
from guardian.sources.reason import SourceReason
from guardian.sources.registry import load_row_sources
from guardian.stream.plane.origin import Record, to_time
from guardian.wiring import build_map, build_translator
from tests.fuzz.file_target import scratch
from tests.fuzz.frame import unpack_record
from tests.fuzz.law import POLICY, REASONS, check_decoded, check_refusal
from tests.fuzz.live_seeds import LIVE_MAP
from tests.fuzz.mutate import SEPARATOR
from tests.kcat import dump_kcat

MAX_RECORDS = 12


@cache
def _build_translator() -> Translator:
    """Build a translator that knows a mapped topic, and tells the rows of all others by their content."""
    mapped = CompiledMap("notes", LIVE_MAP)
    options = SourceOptions(space="given")
    bindings = {"mapped*": Binding(map=mapped, options=options), "*": Binding(options=options)}
    return Translator(bindings, row_sources=load_row_sources())


def run_live(data: bytes) -> None:
    """Records of a topic: each becomes events, skips and at most one refusal, and is in a file what it is on the topic."""
    for number, part in enumerate(data.split(SEPARATOR)[:MAX_RECORDS]):
        _check_record(unpack_record(part), number, _build_translator())


def run_maps(data: bytes) -> None:
    """A settings file with maps, then records: a map is refused when it is wrong itself, and a record when it does not fit."""
    declared, *records = data.split(SEPARATOR)[:MAX_RECORDS]
    (scratch() / TOML_NAME).write_bytes(declared)
    try:
        with chdir(scratch()):
            settings = load_settings()
        for name in settings.maps:
            build_map(settings, name, setting="--map")
        translator = build_translator(settings, None)
    except ConfigError:
        return
    for number, part in enumerate(records):
        _check_record(unpack_record(part), number, translator)


def _check_record(record: Record, number: int, translator: Translator) -> None:
    try:
        time = to_time(record.timestamp_ms)
    except RecordError as error:
        check_refusal(error)
        return
    place = f"{record.topic}/{record.partition}/{record.offset}"
    arrival = Arrival(topic=record.topic, position=place, time=time, key=record.key, value=record.value, headers=record.headers)
    translation = translator.translate(arrival)
    again = translator.translate(arrival)
    assert again.events == translation.events, "a record gives other events the second time"
    assert (again.skipped, str(again.error)) == (translation.skipped, str(translation.error))
    assert set(translation.skipped) <= REASONS
    if translation.error is not None:
        check_refusal(translation.error)
    told = [tell(value, headers) for value, headers in translation.events]
    try:
        line = dump_kcat(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            timestamp_ms=record.timestamp_ms,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
    except (UnicodeDecodeError, orjson.JSONEncodeError):
        return  # kcat cannot write it as text
    if record.timestamp_ms >= 0:
        _check_file(line, number, translator, translation, told)


def _check_file(line: bytes, number: int, translator: Translator, translation: Translation, told: list[object]) -> None:
    path = scratch() / "topic.jsonl"
    path.write_bytes(line + b"\n")
    items = list(RowsSource(lambda _: translator).iter_items([path], SourceOptions()))
    read = [tell(item.raw) for item in items if isinstance(item, SourceEvent)]
    read += [item.reason for item in items if isinstance(item, Broken)]
    told = told if translation.error is None else [*told, translation.error.reason]
    assert sum(item.rows for item in items) == 1, f"record {number} of a file is not one row"
    if Reason.NESTED_TOO_DEEP in (*read, *told):  # either reader may be the first to find it
        read, told = ([Reason.NESTED_TOO_DEEP if isinstance(one, str) else one for one in side] for side in (read, told))
    assert _split(read) == _split(told), "a file gives other events than the topic"
    skipped = Counter(item.reason for item in items if isinstance(item, Skipped))
    assert skipped == (translation.skipped if read or translation.skipped else {SourceReason.EMPTY_RECORD: 1})


def _split(told: list[object]) -> tuple[list[object], list[str]]:
    """Part events from reasons of refusal, whose order is the reader's own."""
    return [one for one in told if not isinstance(one, str)], sorted(one for one in told if isinstance(one, str))


def tell(value: bytes | None, headers: Headers = ()) -> object:
    """Give what an event is after decoding: itself, or the reason of its refusal."""
    try:
        decoded = decode(value, headers, policy=POLICY, received_at=to_time(1_798_761_600_000))
    except RecordError as error:
        check_refusal(error)
        return error.reason
    check_decoded(decoded, received_at=to_time(1_798_761_600_000))
    return decoded.event
