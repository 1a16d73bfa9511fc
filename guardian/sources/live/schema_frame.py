"""The framing of schema registries: which schema a record is coded with, and where its body begins.

Confluent's wire format: a zero byte and a schema id of four bytes, or a one byte and a GUID of sixteen; the GUID may also come in the
header `__value_schema_id`, the body then stands alone. What the body is coded with (Avro, JSON Schema, Protobuf) only the registry
knows: without one such a record is refused, never guessed at.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from guardian.errors import RecordError
from guardian.sources.live.arrival import Arrival
from guardian.sources.reason import SourceReason

HEADER = "__value_schema_id"
_ID, _GUID = 0, 1
_ID_BYTES, _GUID_BYTES = 4, 16


@dataclass(frozen=True, slots=True)
class Frame:
    """A coded body and the key of its schema: an id, or a GUID."""

    schema: int | str
    topic: str
    body: bytes


class SchemaDecoder(Protocol):
    """Decodes with schemas that were fetched before."""

    def decode(self, frame: Frame) -> Any:
        """Give the plain value of a frame.

        Raises:
            RecordError: `schema_unknown`, `schema_misfit`.
        """


class SchemaCache(SchemaDecoder, Protocol):
    """Fetches schemas, so that decoding needs nobody."""

    async def fetch(self, arrivals: Iterable[Arrival]) -> None:
        """Fetch the schemas of framed records that are not known yet; one that the registry does not have is remembered as such.

        Raises:
            DependencyError: The registry is away.
        """

    async def close(self) -> None:
        """Release the connections."""


def find_frame(arrival: Arrival) -> Frame | None:
    """Give the frame of a record, or None where it has none."""
    value = arrival.value
    if value is None:
        return None
    for name, given in arrival.headers:
        if name == HEADER and given is not None and len(given) == 1 + _GUID_BYTES and given[0] == _GUID:
            return Frame(str(uuid.UUID(bytes=given[1:])), arrival.topic, value)
    if len(value) > _ID_BYTES and value[0] == _ID:
        return Frame(int.from_bytes(value[1 : 1 + _ID_BYTES], "big"), arrival.topic, value[1 + _ID_BYTES :])
    if len(value) > _GUID_BYTES and value[0] == _GUID:
        return Frame(str(uuid.UUID(bytes=value[1 : 1 + _GUID_BYTES])), arrival.topic, value[1 + _GUID_BYTES :])
    return None


def decode_frame(frame: Frame, schemas: SchemaDecoder | None) -> Any:
    """Give the plain value of a frame.

    Raises:
        RecordError: There is no registry, it does not know the schema, or the body does not fit it.
    """
    if schemas is None:
        raise RecordError(
            SourceReason.SCHEMA_REGISTRY_UNSET,
            f"coded with schema {frame.schema}, which only a registry knows. Mend: set GUARDIAN_KAFKA__SCHEMA_REGISTRY_URL.",
        )
    return schemas.decode(frame)
