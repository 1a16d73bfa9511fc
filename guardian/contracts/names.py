"""Names: of which space and memory a refused record speaks, as far as its bytes tell.

Whoever keeps refused records asks this, so that an erasure finds those of its memory. Nothing here judges the rest of the record.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError

from guardian.contracts.envelope import Headers, open_envelope
from guardian.contracts.wire import parse_time
from guardian.errors import RecordError


class Names(NamedTuple):
    """What could be read of a refused record.

    Attributes:
        space: The memory bank.
        memory_id: The memory whose text it holds: its own, or that of the text inside a correction; of one without, its only target.
        observed_at: The time it claims for that text.
    """

    space: str | None = None
    memory_id: str | None = None
    observed_at: datetime | None = None

    @property
    def memory(self) -> tuple[str, str] | None:
        """Space and memory id, when both could be read."""
        return None if self.space is None or self.memory_id is None else (self.space, self.memory_id)


def read_names(value: bytes | None, headers: Headers = ()) -> Names:
    """Give the names in a refused record, as far as they can be read."""
    try:
        attributes = open_envelope(value, headers).attributes
    except RecordError:
        return Names()
    data = attributes.get("data")
    written = _find_written(data) if isinstance(data, dict) else {}
    observed_at = written.get("observed_at")
    return Names(
        _read_id(attributes.get("space")),
        _read_id(written.get("memory_id")),
        _read_time(attributes.get("time") if observed_at is None else observed_at),
    )


def _find_written(data: dict[str, Any]) -> dict[str, Any]:
    """Give the part that names a memory: the data, or the text inside a correction, or what else it corrects alone."""
    if "memory_id" in data:
        return data
    inside, targets = data.get("replacement"), data.get("targets")
    if isinstance(inside, dict):
        return inside
    return {"memory_id": targets[0]} if isinstance(targets, list) and len(targets) == 1 else data


def _read_id(given: object) -> str | None:
    return given if isinstance(given, str) else None


def _read_time(given: object) -> datetime | None:
    try:
        time = parse_time(given)
    except PydanticCustomError:
        return None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
