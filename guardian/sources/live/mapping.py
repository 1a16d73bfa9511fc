"""Carry out a map of `guardian.toml`: a row of any JSON becomes a canonical event, or a refusal that names the field.

Paths are JMESPath (https://jmespath.org). Grades are normalised by the converter that the map declares, never guessed: `grade_1_5` is
`(g - 1) / 4`, `grade_0_100` is `g / 100`, `grade_word` reads the words that people and judges use for right and wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, cast

import jmespath
import orjson
from jmespath.exceptions import JMESPathError

from guardian.contracts.wire import EVENT_MODELS, SourceWire
from guardian.errors import ConfigError, RecordError
from guardian.mapping import Converter, EventMap, Rule
from guardian.sources.live.arrival import Arrival
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.envelope import DELETED, build_event, digest_parts, dump_content
from guardian.sources.reading.fields import render
from guardian.sources.reading.stamp import Stamp, format_time, read_time
from guardian.sources.reason import SourceReason

_WORDS_RIGHT = frozenset({"positive", "true", "success", "succeeded", "correct", "right", "pass", "passed", "yes", "good", "up"})
_WORDS_WRONG = frozenset(
    {"negative", "very_negative", "false", "fail", "failed", "failure", "incorrect", "wrong", "no", "bad", "down"}
)
# Some of JMESPath's functions leave errors of Python as they are: max_by of a number and a text does.
_SEARCH_ERRORS = (JMESPathError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
# Of what a library says of a value, which it may repeat.
_MAX_CAUSE_CHARS = 300
# Stands for every field, among the names that a path reads.
_WHOLE = "@"
_TEXT = "data.text"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Path(Protocol):
    parsed: Mapping[str, Any]

    def search(self, value: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class _Field:
    """A rule with its path compiled; `place` is for messages."""

    place: str
    rule: Rule
    path: _Path | None
    names: frozenset[str] = frozenset()

    def reads(self, columns: frozenset[str]) -> frozenset[str]:
        """Give those of the columns that the path may read; one that reads the whole row reads all."""
        return columns if _WHOLE in self.names else columns & self.names

    def read(self, row: Any) -> Any:
        """Give the field's value, None where there is none.

        Raises:
            RecordError: `map_misfit`.
        """
        found = self.search(row)
        if found is None:
            return self.rule.default
        if self.rule.convert is not None:
            found = self._convert(self.rule.convert, found)
        if self.rule.values is None:
            return found
        word = str(found).lower() if isinstance(found, bool) else str(found)
        return self.rule.values.get(word, found if self.rule.default is None else self.rule.default)

    def search(self, row: Any) -> Any:
        """Give what stands in the row, before anything is done with it.

        Raises:
            RecordError: `map_misfit`.
        """
        if self.path is None:
            return self.rule.const
        try:
            return self.path.search(row)
        except _SEARCH_ERRORS as error:
            raise self._misfit(f"the path {self.rule.path!r} does not fit: {str(error)[:_MAX_CAUSE_CHARS]}") from error

    def _convert(self, converter: Converter, value: Any) -> Any:
        try:
            return _CONVERT[converter](value)
        except (TypeError, ValueError, OverflowError, RecordError) as error:
            raise self._misfit(
                f"{str(value)[:80]!r} cannot be read as {converter.value}: {str(error)[:_MAX_CAUSE_CHARS]}"
            ) from error

    def _misfit(self, detail: str) -> RecordError:
        return RecordError(SourceReason.MAP_MISFIT, f"{self.place}: {detail}", path=self.place)


class CompiledMap:
    """A map ready for rows.

    Args:
        name: As it stands in `guardian.toml`.

    Raises:
        ConfigError: A path is no JMESPath.
    """

    def __init__(self, name: str, declared: EventMap) -> None:
        _check_names(name, declared)
        self.name = name
        self.declared = declared
        self._source = declared.source or f"map:{name}"
        self._rows = None if declared.rows is None else _compile(declared.rows, name, "rows")
        self._space, self._id, self._time = (
            None if rule is None else _build_field(rule, name, place)
            for rule, place in ((declared.space, "space"), (declared.id, "id"), (declared.time, "time"))
        )
        self._type = _build_field(declared.type, name, "type")
        self._data = _build_fields(declared.data, name, "data")

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the events of a record, one for each row in it.

        Raises:
            RecordError: `map_misfit`: the rows cannot be found in the record.
        """
        record = change.before if change.operation is RowOperation.DELETE and change.after is None else change.after
        rows = [record] if self._rows is None else self._find_rows(self._rows, record)
        rows = rows if isinstance(rows, list) else [] if rows is None else [rows]
        if change.unavailable and (lacking := self._find_lacking(change.unavailable)) is not None:
            yield _tell_lacking(change, lacking, record)
            return
        for index, row in enumerate(rows):
            position = change.position if len(rows) == 1 else f"{change.position}[{index}]"
            try:
                event = self._build(row, change, options)
            except RecordError as error:
                rows_told = int(index == 0)
                yield Broken(position=position, reason=error.reason, message=str(error), raw=render(row), rows=rows_told)
            else:
                yield SourceEvent(position=position, event=event, rows=int(index == 0))

    def _find_rows(self, path: _Path, record: Any) -> Any:
        try:
            return path.search(record)
        except _SEARCH_ERRORS as error:
            detail = f"rows: the path {self.declared.rows!r} does not fit: {str(error)[:_MAX_CAUSE_CHARS]}"
            raise RecordError(SourceReason.MAP_MISFIT, detail, path="rows") from error

    def _find_lacking(self, unavailable: frozenset[str]) -> _Field | None:
        """Give a field that cannot be filled from what the change log left out; the text before any other."""
        own = (field for field in (self._space, self._id, self._time, self._type) if field is not None)
        lacking = [field for field in (*_iter_leaves(self._data), *own) if field.reads(unavailable)]
        return next((field for field in lacking if field.place == _TEXT), next(iter(lacking), None))

    def read_tombstone(self, arrival: Arrival, options: SourceOptions) -> Item:
        """Give what a record without a value means: the deletion of the memory that its key names, or nothing."""
        if not self.declared.deletes_by_tombstone or arrival.key is None:
            detail = "the map of its topic gives records without a value no meaning"
            return Skipped(position=arrival.position, reason=SourceReason.TOMBSTONE, detail=detail)
        if options.space is None:
            message = "a tombstone names no space. Mend: give the topic a space in guardian.toml."
            return Broken(position=arrival.position, reason=SourceReason.MAP_MISFIT, message=message, raw=arrival.key)
        memory_id = _read_key(arrival.key)
        event = build_event(
            event_id=digest_parts(memory_id, arrival.time.isoformat()),
            source=self._source,
            event_type=DELETED,
            time=arrival.time,
            space=options.space,
            data={"memory_id": memory_id},
        )
        return SourceEvent(position=arrival.position, event=event)

    def _build(self, row: Any, change: RowChange, options: SourceOptions) -> dict[str, Any]:
        if not isinstance(row, Mapping):
            raise RecordError(SourceReason.MAP_MISFIT, f"rows: a row is a {type(row).__name__}, not an object", path="rows")
        space = (self._space.read(row) if self._space is not None else None) or options.space
        if not isinstance(space, str):
            raise RecordError(
                SourceReason.MAP_MISFIT, "space: nothing names it. Mend: map it, or give the topic one.", path="space"
            )
        is_deletion = change.operation is RowOperation.DELETE
        kind = DELETED if is_deletion else self._type.read(row)
        stamp = self._read_time(row, change)
        data = _read_fields(self._data, row) if not is_deletion else {"memory_id": _read_one(self._data, "memory_id", row)}
        if stamp.raw != "" and not is_deletion:
            data["metadata"] = {**_as_mapping(data.get("metadata")), "time_raw": stamp.raw, "tz_assumed": stamp.is_zone_assumed}
        if options.source_kind is not None and kind == "memory.written":
            data.setdefault("source", {"kind": options.source_kind.value})
        if options.scope and kind == "memory.written":
            data.setdefault("scope", dict(options.scope))
        stated = self._id.read(row) if self._id is not None else None
        return build_event(
            event_id=str(stated) if stated is not None else self._digest(row, stamp, kind, is_deletion=is_deletion),
            source=self._source,
            event_type=str(kind),
            time=stamp.time,
            space=space,
            data=data,
        )

    def _read_time(self, row: Any, change: RowChange) -> Stamp:
        found = self._time.read(row) if self._time is not None and change.operation is not RowOperation.DELETE else None
        if found is None:
            return Stamp("", change.time)
        if not isinstance(found, str):
            raise RecordError(SourceReason.MAP_MISFIT, "time: a number needs convert = unix_s, unix_ms or unix_us", path="time")
        stamp = read_time(found)
        assert self._time is not None
        is_converted = self._time.rule.convert in _TIMES
        return Stamp(self._time.search(row), stamp.time) if is_converted else stamp

    def _digest(self, row: Any, stamp: Stamp, kind: Any, *, is_deletion: bool) -> str:
        """Identify a row without an id: what it says; where nothing dates it, by its record's time."""
        content = dump_content(row).decode("utf-8", "replace")
        dated = stamp.time.isoformat() if stamp.raw == "" or is_deletion else ""
        return digest_parts(self.name, str(kind), dated, content)


def _tell_lacking(change: RowChange, lacking: _Field, record: Any) -> Item:
    """Give what becomes of a row of which the change log left a column out: without its text it states nothing new."""
    columns = ", ".join(sorted(lacking.reads(change.unavailable)))[:_MAX_CAUSE_CHARS]
    if lacking.place == _TEXT:
        detail = f"{columns} did not change, and the change log does not repeat it"
        return Skipped(position=change.position, reason=SourceReason.TEXT_UNAVAILABLE, detail=detail)
    message = (
        f"{lacking.place}: {columns} did not change, and the change log does not repeat it. Mend: set REPLICA IDENTITY FULL."
    )
    return Broken(position=change.position, reason=SourceReason.COLUMN_UNAVAILABLE, message=message, raw=render(record))


def _read_key(key: bytes) -> str:
    """Give the id in a key: a JSON string, or the text itself."""
    try:
        loaded = orjson.loads(key)
    except orjson.JSONDecodeError:
        loaded = None
    return loaded if isinstance(loaded, str) else key.decode("utf-8", "replace")


def _check_names(name: str, declared: EventMap) -> None:
    """Refuse fields that no event of the map's type has: a misspelt one would be passed over in silence.

    Raises:
        ConfigError: Names the field, and those there are.
    """
    kind = declared.type.const
    models = [EVENT_MODELS[kind]] if isinstance(kind, str) and kind in EVENT_MODELS else list(EVENT_MODELS.values())
    known = {field for model in models for field in model.model_fields["data"].annotation.model_fields}  # type: ignore[union-attr] # a model's data is a model
    for place, fields, names in (
        ("data", declared.data, known),
        ("data.source", declared.data.get("source"), set(SourceWire.model_fields)),
        ("data.authority", declared.data.get("authority"), set(SourceWire.model_fields)),
    ):
        unknown = sorted(fields.keys() - names) if isinstance(fields, Mapping) else []
        if unknown:
            raise ConfigError(
                f"maps.{name}.{place}.{unknown[0]}: no event has this field.",
                setting=f"maps.{name}.{place}.{unknown[0]}",
                mend=f"use one of {', '.join(sorted(names))}; what is not among them goes into metadata.",
            )


def _compile(path: str, name: str, place: str) -> _Path:
    try:
        return cast("_Path", jmespath.compile(path))
    except JMESPathError as error:
        raise ConfigError(
            f"maps.{name}.{place}: the path {path!r} is no JMESPath: {error}.",
            setting=f"maps.{name}.{place}",
            mend="see https://jmespath.org/tutorial.html.",
        ) from error


def _build_field(rule: Rule, name: str, place: str) -> _Field:
    path = None if rule.path is None else _compile(rule.path, name, place)
    return _Field(place, rule, path, frozenset() if path is None else frozenset(_iter_names(path.parsed)))


def _iter_names(node: Any) -> Iterator[str]:
    """Yield the fields that a parsed path names, at any level."""
    if node["type"] == "field":
        yield node["value"]
    elif node["type"] == "current":
        yield _WHOLE
    for child in node["children"]:
        if isinstance(child, dict):
            yield from _iter_names(child)


def _build_fields(declared: Mapping[str, Any], name: str, place: str) -> dict[str, Any]:
    return {
        field: _build_field(rule, name, f"{place}.{field}")
        if isinstance(rule, Rule)
        else _build_fields(rule, name, f"{place}.{field}")
        for field, rule in declared.items()
    }


def _iter_leaves(fields: Mapping[str, Any]) -> Iterator[_Field]:
    for field in fields.values():
        if isinstance(field, _Field):
            yield field
        else:
            yield from _iter_leaves(field)


def _read_fields(fields: Mapping[str, Any], row: Any) -> dict[str, Any]:
    """Give the values that were found; an object of which nothing was found is left out."""
    read = {name: field.read(row) if isinstance(field, _Field) else _read_fields(field, row) for name, field in fields.items()}
    return {name: value for name, value in read.items() if value is not None and value != {}}


def _read_one(fields: Mapping[str, Any], name: str, row: Any) -> Any:
    field = fields.get(name)
    return field.read(row) if isinstance(field, _Field) else None


def _as_mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _grade(low: float, high: float) -> Callable[[Any], float]:
    def normalise(value: Any) -> float:
        number = _to_number(value)
        if not low <= number <= high:
            raise ValueError(f"it lies outside {low:g} to {high:g}")
        return (number - low) / (high - low)

    return normalise


def _to_number(value: Any) -> int | float:
    number = value if isinstance(value, int) else float(value)
    if not math.isfinite(number):
        raise ValueError("it is not finite")
    return number


def _grade_word(value: Any) -> float:
    word = str(value).strip().lower()
    if word in _WORDS_RIGHT:
        return 1.0
    if word in _WORDS_WRONG:
        return 0.0
    raise ValueError("it is no known word for right or wrong")


def _unix(unit: timedelta) -> Callable[[Any], str]:
    return lambda value: format_time(_EPOCH + _to_number(value) * unit)


def _load(value: Any) -> Any:
    return orjson.loads(value) if isinstance(value, str) else value


_TIMES = frozenset({Converter.UNIX_S, Converter.UNIX_MS, Converter.UNIX_US})
_CONVERT: dict[Converter, Callable[[Any], Any]] = {
    Converter.TEXT: lambda value: value if isinstance(value, str) else orjson.dumps(value).decode(),
    Converter.NUMBER: _to_number,
    Converter.JSON: _load,
    Converter.SPLIT: lambda value: [part for part in (one.strip() for one in str(value).split(",")) if part],
    Converter.LOWER: lambda value: str(value).lower(),
    Converter.UNIX_S: _unix(timedelta(seconds=1)),
    Converter.UNIX_MS: _unix(timedelta(milliseconds=1)),
    Converter.UNIX_US: _unix(timedelta(microseconds=1)),
    Converter.GRADE_0_1: _grade(0, 1),
    Converter.GRADE_1_5: _grade(1, 5),
    Converter.GRADE_0_100: _grade(0, 100),
    Converter.GRADE_WORD: _grade_word,
}
