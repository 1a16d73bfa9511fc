"""Debezium's change events: one changed row, with what it was and what it is.

All shapes: the whole envelope (`before`, `after`, `op`), the flattened row (`ExtractNewRecordState`, with `__op`, `__deleted` and their
like), MongoDB's documents as JSON strings, and the converter to CloudEvents. What matters:

- The time is `source.ts_ms`, of the commit; the outer `ts_ms` is that of the connector.
- A change delivered again has the same place in the log, so its identity is a digest of `source`, `op` and both rows.
- `r` (a row that was there when the snapshot was taken) is no write. `t` and `m` (truncate, message) are about no row.
- `__debezium_unavailable_value` stands for a long column that did not change: it is taken from `before`, else it is unknown.
- After a deletion comes a tombstone under the same key; the deletion was counted already.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from guardian.errors import RecordError
from guardian.sources.live.arrival import Arrival
from guardian.sources.port import RowChange, RowOperation, Skipped
from guardian.sources.reading.envelope import digest_parts, dump_content
from guardian.sources.reason import SourceReason

UNAVAILABLE = "__debezium_unavailable_value"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OPERATIONS = {
    "c": RowOperation.CREATE,
    "u": RowOperation.UPDATE,
    "d": RowOperation.DELETE,
    "r": RowOperation.SNAPSHOT,
}
_ROWLESS = {"t": "a truncation", "m": "a logical message"}
_FLAT_MARKS = frozenset({"__deleted", "__op"})


def is_debezium(document: Mapping[str, Any]) -> bool:
    """Tell the whole envelope by its fields."""
    return "op" in document and bool({"before", "after"} & document.keys()) and isinstance(document.get("source"), dict | None)


def is_flattened(document: Mapping[str, Any]) -> bool:
    """Tell a flattened row by the marks that the transformation adds."""
    return bool(_FLAT_MARKS & document.keys())


def read_change(document: Mapping[str, Any], arrival: Arrival) -> RowChange | Skipped:
    """Give the change of an envelope.

    Raises:
        RecordError: `operation_unknown` or `shape_unknown`.
    """
    op = document["op"]
    if isinstance(op, str) and op in _ROWLESS:
        detail = f"{_ROWLESS[op]} of the database, about no row"
        return Skipped(position=arrival.position, reason=SourceReason.ROWLESS_CHANGE, detail=detail)
    operation = _OPERATIONS.get(op) if isinstance(op, str) else None
    if operation is None:
        raise RecordError(SourceReason.OPERATION_UNKNOWN, f"op {op!r:.40} is none of c, u, d, r, t, m", path="op")
    source = document.get("source") or {}
    before, after = (_read_row(document.get(side), side) for side in ("before", "after"))
    if after is None and operation is not RowOperation.DELETE:
        after = _read_description(document.get("updateDescription"), arrival)
    known, unavailable = _fill(after, before)
    return RowChange(
        position=arrival.position,
        identity=_digest(source, op, before, after),
        operation=operation,
        time=_read_ms(source.get("ts_ms")) or _read_ms(document.get("ts_ms")) or arrival.time,
        table=source.get("table") or source.get("collection"),
        before=before,
        after=known,
        unavailable=unavailable,
    )


def read_flattened(document: Mapping[str, Any], arrival: Arrival) -> RowChange:
    """Give the change of a flattened row: its own columns, without the marks."""
    row = {name: value for name, value in document.items() if not name.startswith("__")}
    marks = {name: value for name, value in document.items() if name.startswith("__")}
    is_deleted = str(marks.get("__deleted", "")).lower() == "true"
    operation = RowOperation.DELETE if is_deleted else _OPERATIONS.get(str(marks.get("__op")), RowOperation.STATE)
    known, unavailable = _fill(row, None)
    return RowChange(
        position=arrival.position,
        identity=_digest(marks, operation.value, None, row),
        operation=operation,
        time=_read_ms(marks.get("__source_ts_ms")) or _read_ms(marks.get("__ts_ms")) or arrival.time,
        table=marks.get("__table") if isinstance(marks.get("__table"), str) else None,
        before=row if operation is RowOperation.DELETE else None,
        after=None if operation is RowOperation.DELETE else known,
        unavailable=unavailable,
    )


def is_tombstone_of_a_row(arrival: Arrival) -> bool:
    """Tell by its key, a JSON object as connectors make it, that a record without a value follows a deletion."""
    try:
        key = orjson.loads(arrival.key or b"")
    except orjson.JSONDecodeError:
        return False
    return isinstance(key, dict)


def _read_row(value: Any, side: str) -> Mapping[str, Any] | None:
    """Give a row; MongoDB's is a string of extended JSON."""
    if isinstance(value, str):
        try:
            value = _simplify(orjson.loads(value))
        except orjson.JSONDecodeError as error:
            raise RecordError(SourceReason.SHAPE_UNKNOWN, f"{side} is a string that is no JSON", path=side) from error
    if value is None or isinstance(value, dict):
        return value
    raise RecordError(SourceReason.SHAPE_UNKNOWN, f"{side} is a {type(value).__name__}, not a row", path=side)


def _read_description(description: Any, arrival: Arrival) -> Mapping[str, Any] | None:
    """Give what MongoDB says of an update without a document: the id in the key, and the fields that changed."""
    if not isinstance(description, dict) or "updatedFields" not in description:
        return None
    changed = _read_row(description["updatedFields"], "updateDescription.updatedFields") or {}
    try:
        key = orjson.loads(arrival.key or b"null")
        key = key.get("payload", key) if isinstance(key, dict) else key
        document_id = _simplify(orjson.loads(key["id"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return changed
    return {"_id": document_id, **changed}


def _simplify(value: Any) -> Any:
    """Give extended JSON in plain values: ids and numbers as themselves, dates in milliseconds."""
    if isinstance(value, list):
        return [_simplify(part) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (name, inner), *_ = value.items()
        if name in {"$numberLong", "$numberInt"}:
            return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdigit() else inner
        if name in {"$oid", "$numberDecimal", "$date", "$uuid"}:
            return _simplify(inner)
        if name == "$numberDouble":
            return _to_float(inner)
    return {key: _simplify(part) for key, part in value.items()}


def _to_float(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _fill(after: Mapping[str, Any] | None, before: Mapping[str, Any] | None) -> tuple[Mapping[str, Any] | None, frozenset[str]]:
    """Put the columns that did not change in from the row before; give the names of those that stay unknown."""
    lacking = {name for name, value in (after or {}).items() if value == UNAVAILABLE}
    if after is None or not lacking:
        return after, frozenset()
    known = {name: value for name, value in (before or {}).items() if name in lacking and value not in (None, UNAVAILABLE)}
    row = {name: known.get(name) for name in after if name in known} | {
        name: value for name, value in after.items() if name not in lacking
    }
    return row, frozenset(lacking - known.keys())


def _read_ms(value: Any) -> datetime | None:
    """Give a time in milliseconds; connectors write 0 where they know none."""
    try:
        return _EPOCH + timedelta(milliseconds=int(value)) if value else None
    except (TypeError, ValueError, OverflowError):
        return None


def _digest(source: Mapping[str, Any], op: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    # The connector's own time differs when it reads the log again after a restart.
    place = {name: value for name, value in source.items() if name not in {"snapshot", "version", "__ts_ms"}}
    return digest_parts(dump_content([place, op, before, after]).decode("utf-8", "replace"))
