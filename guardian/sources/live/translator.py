"""Turn a record of an agent's topic into canonical events: opened, matched with a format or a map, translated.

A topic may be bound to a map or a format by settings; else each row is matched with the formats whose rows can arrive alone, and
exactly one must fit. Nothing is guessed: what fits none, or several, is refused with the mend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import orjson

from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.live.arrival import Arrival, Headers, Native
from guardian.sources.live.mapping import CompiledMap
from guardian.sources.live.opening import open_arrival
from guardian.sources.live.schema_frame import SchemaDecoder
from guardian.sources.port import Broken, Item, RowChange, RowOperation, RowSource, Skipped, SourceOptions
from guardian.sources.reason import SourceReason

# Of a row's fields, in a message.
_MAX_NAMES, _MAX_NAME_CHARS = 12, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What is known of a topic.

    Attributes:
        map: Turns its rows into events; None to match each row with the formats.
        row_source: The format of its rows; None to tell it by content.
        options: Space, scope and kind of source that the rows do not state.
    """

    map: CompiledMap | None = None
    row_source: RowSource | None = None
    options: SourceOptions = field(default_factory=SourceOptions)


@dataclass(slots=True)
class Translation:
    """What a record turned out to hold.

    Attributes:
        events: Bytes and headers of events, in the record's order.
        skipped: Rows that deliberately become no event, by reason.
        error: The first refusal; the record as a whole goes to the dead letters, what was right goes on.
    """

    events: list[tuple[bytes | None, Headers]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    error: RecordError | None = None

    def refuse(self, error: RecordError) -> None:
        """Keep the first refusal."""
        self.error = self.error or error


class Translator:
    """Owns the bindings of topics.

    Args:
        bindings: Topic pattern (of the shell) → binding; the first that matches holds.
        row_sources: Formats that are told by content.
        schemas: Those of a registry, or None.
    """

    def __init__(
        self,
        bindings: Mapping[str, Binding] | None = None,
        *,
        row_sources: Sequence[RowSource] = (),
        schemas: SchemaDecoder | None = None,
    ) -> None:
        self._bindings = dict(bindings or {})
        self._row_sources = tuple(row_sources)
        self._schemas = schemas

    def translate(self, arrival: Arrival) -> Translation:
        """Translate one record; never raises for what it holds."""
        translation = Translation()
        binding = self._find_binding(arrival.topic)
        if arrival.value is None and binding.map is not None:
            self._take(binding.map.read_tombstone(arrival, binding.options), translation)
            return translation
        for piece in open_arrival(arrival, schemas=self._schemas):
            match piece:
                case RecordError():
                    translation.refuse(piece)
                case Native():
                    translation.events.append((piece.value, piece.headers))
                case Skipped():
                    self._take(piece, translation)
                case RowChange():
                    self._translate_row(piece, binding, translation)
        return translation

    def _find_binding(self, topic: str) -> Binding:
        return next((binding for pattern, binding in self._bindings.items() if fnmatchcase(topic, pattern)), Binding())

    def _translate_row(self, change: RowChange, binding: Binding, translation: Translation) -> None:
        try:
            items = (binding.map or binding.row_source or self._choose(change)).iter_row(change, binding.options)
            for item in items:
                self._take(_excuse(item, change), translation)
        except RecordError as error:
            translation.refuse(error)

    def _choose(self, change: RowChange) -> RowSource:
        matching = [source for source in self._row_sources if source.matches_row(change)]
        if not matching and change.unavailable:
            # A format is told by its columns, and those that the log leaves out are there.
            whole = replace(change, after={**dict.fromkeys(change.unavailable, ""), **(change.after or {})})
            matching = [source for source in self._row_sources if source.matches_row(whole)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            names = ", ".join(source.name for source in matching)
            raise RecordError(SourceReason.FORMAT_AMBIGUOUS, f"the row could be of {names}. Mend: name the format of the topic.")
        left_out = f" (and {_list_names(change.unavailable)}, which the change log leaves out)" if change.unavailable else ""
        fields = _list_names(change.after or change.before or {})
        raise RecordError(
            SourceReason.FORMAT_UNKNOWN,
            f"a row with the fields {fields or '(none)'}{left_out} is of no known format. Mend: map the topic in guardian.toml, and try the map with "
            "`guardian sources try`.",
        )

    def _take(self, item: Item, translation: Translation) -> None:
        match item:
            case Skipped():
                translation.skipped[item.reason] += max(1, item.rows)
            case Broken():
                translation.refuse(RecordError(item.reason, f"{item.position}: {item.message}"))
            case _:
                try:
                    raw = item.raw if item.raw is not None else orjson.dumps(item.event)
                except orjson.JSONEncodeError as error:
                    translation.refuse(
                        RecordError(Reason.NESTED_TOO_DEEP, f"{item.position}: the event cannot be written: {error}")
                    )
                else:
                    translation.events.append((raw, ()))


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(sorted(name[:_MAX_NAME_CHARS] for name in names)[:_MAX_NAMES])


def _excuse(item: Item, change: RowChange) -> Item:
    """Skip a row that lacks its text because the change log left it out: it did not change, so nothing new is stated."""
    is_lacking = isinstance(item, Broken) and item.reason in {SourceReason.TEXT_MISSING, SourceReason.SHAPE_UNKNOWN}
    if not (is_lacking and change.unavailable and change.operation is RowOperation.UPDATE):
        return item
    detail = f"{_list_names(change.unavailable)} did not change, and the change log does not repeat it"
    return Skipped(position=item.position, reason=SourceReason.TEXT_UNAVAILABLE, detail=detail, rows=item.rows)
