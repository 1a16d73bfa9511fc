"""Read files of records as they stood on a topic: JSON lines or an array of message values, or what `kcat -J` writes.

Each record goes through the same opening, maps and formats as on the topic itself, so a file of a topic gives the events that the topic
gives. What `kcat -J` keeps (topic, key, headers, timestamp) is used; a bare value has the time of `SourceOptions.default_time`, else
the file's, and no key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import orjson

from guardian.contracts.envelope import open_envelope
from guardian.errors import RecordError
from guardian.sources.live import connect, debezium
from guardian.sources.live.arrival import Arrival, Headers
from guardian.sources.live.translator import Translator
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.envelope import dump_content
from guardian.sources.reading.framing import Fault, Row, iter_rows, sniff_objects
from guardian.sources.reading.stamp import fetch_file_time
from guardian.sources.reason import SourceReason

TOPIC = "file"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# No record is taken for later, on a topic as in a file; so that what is added to its time stays in the calendar.
_LATEST_MS = round((datetime(9000, 1, 1, tzinfo=UTC) - _EPOCH) / timedelta(milliseconds=1))
_KCAT = frozenset({"topic", "partition", "offset", "payload"})


class RowsSource:
    """Records of a topic, in a file.

    Args:
        build_translator: Gives what a topic's records are translated with, for the caller's options.
    """

    name: ClassVar[str] = "rows"
    title: ClassVar[str] = "records of a topic (Debezium, Kafka Connect, by map) as JSON lines, an array, or of kcat -J"

    def __init__(self, build_translator: Callable[[SourceOptions], Translator]) -> None:
        self._build_translator = build_translator

    def detect(self, path: Path) -> bool:
        """Tell by the first JSON object: an envelope of Debezium or Connect, or a message of `kcat -J`."""
        first = next(sniff_objects(path), {})
        return first.keys() >= _KCAT or debezium.is_debezium(first) or connect.is_connect(first)

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield what each record holds, file after file as given."""
        translator = self._build_translator(options)
        for path in paths:
            time = options.default_time or fetch_file_time(path)
            for row in iter_rows(path):
                position = f"{path.name} line {row.number}"
                if isinstance(row, Fault):
                    yield Broken(position=position, reason=row.reason, message=row.message, raw=row.raw)
                else:
                    yield from _iter_record(translator, row, position, time)


def _iter_record(translator: Translator, row: Row, position: str, time: datetime) -> Iterator[Item]:
    try:
        arrival = _build_arrival(row.raw, position, time)
    except RecordError as fault:
        yield Broken(position=position, reason=fault.reason, message=str(fault), raw=row.raw)
        return
    translation = translator.translate(arrival)
    rows = 1
    for value, headers in translation.events:
        try:
            yield SourceEvent(position=position, raw=_to_structured(value, headers), rows=rows)
        except RecordError as fault:
            yield Broken(position=position, reason=fault.reason, message=str(fault), raw=row.raw, rows=rows)
        rows = 0
    for reason, count in translation.skipped.items():
        for _ in range(count):
            yield Skipped(position=position, reason=reason, detail="as on the topic", rows=rows)
            rows = 0
    if translation.error is not None:
        error: RecordError = translation.error
        message = str(error).removeprefix(f"{arrival.position}: ")
        yield Broken(position=position, reason=error.reason, message=message, raw=row.raw, rows=rows)
    elif rows:
        yield Skipped(position=position, reason=SourceReason.EMPTY_RECORD, detail="the record holds no row", rows=rows)


def _to_structured(value: bytes | None, headers: Headers) -> bytes:
    """Give an event whose attributes came as headers as one document, for a file keeps no headers.

    Raises:
        RecordError: The record is no CloudEvent in JSON.
    """
    if value is None:
        return b"null"
    if not headers:
        return value
    opened = open_envelope(value, headers)
    return dump_content(opened.attributes) if opened.is_binary else value


def _build_arrival(raw: bytes, position: str, time: datetime) -> Arrival:
    try:
        message = orjson.loads(raw)
    except orjson.JSONDecodeError:
        message = None
    if not isinstance(message, Mapping) or not message.keys() >= _KCAT:
        return Arrival(topic=TOPIC, position=position, time=time, key=None, value=raw)
    stamp = message.get("ts")
    return Arrival(
        topic=str(message["topic"]),
        position=f"{message['topic']}/{message['partition']}/{message['offset']}",
        time=_EPOCH + timedelta(milliseconds=min(stamp, _LATEST_MS)) if isinstance(stamp, int) and stamp >= 0 else time,
        key=_to_bytes(message.get("key")),
        value=_to_bytes(message["payload"]),
        headers=_read_headers(message.get("headers")),
    )


def _read_headers(given: Any) -> list[tuple[str, bytes | None]]:
    """Read kcat's flat list of names and values."""
    flat = given if isinstance(given, list) else []
    return [(str(name), _to_bytes(value)) for name, value in zip(flat[::2], flat[1::2], strict=False)]


def _to_bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else dump_content(value)
