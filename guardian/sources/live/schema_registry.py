"""Decode what is coded with a schema registry's schemas: Avro, JSON Schema, Protobuf. Needs the extra `schema-registry`.

Fetching and decoding are apart: `fetch` asks the registry for the schemas of a batch, `decode` needs nobody. A schema never changes under
its id, so it is fetched once; one that the registry does not have is asked for again with the next batch, as it may be registered by then.

The registry is spoken to with Confluent's client, Avro is read with fastavro, Protobuf with Google's runtime over the descriptors that the
registry gives (`format=serialized`). Values become plain JSON: times RFC 3339 in UTC, decimals text, bytes base64.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import httpx2
import orjson
from confluent_kafka.schema_registry import AsyncSchemaRegistryClient, Schema, SchemaReference, SchemaRegistryError
from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.json_format import MessageToDict

from guardian.errors import ConfigError, DependencyError, RecordError
from guardian.sources.live.arrival import Arrival
from guardian.sources.live.schema_frame import Frame, find_frame
from guardian.sources.reason import SourceReason

Decode = Callable[[bytes], Any]
_DEPENDENCY = "schema_registry"
_NOT_FOUND, _UNAUTHORIZED, _FORBIDDEN = 404, 401, 403
# References in references; more is a circle.
_MAX_LEVELS = 20
# Files that schemas import without registering them.
_WELL_KNOWN = {
    module.DESCRIPTOR.name: module.DESCRIPTOR
    for module in (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
}


class RegistrySchemas:
    """The schemas of one registry that were needed so far.

    Args:
        url: Of the registry.
        user: For basic authentication, with `password`.
        timeout_s: Longest wait for one answer, seconds.
    """

    def __init__(self, url: str, *, user: str | None = None, password: str | None = None, timeout_s: float = 10.0) -> None:
        settings: dict[str, Any] = {"url": url, "timeout": timeout_s, "max.retries": 0}
        if user is not None:
            settings["basic.auth.user.info"] = f"{user}:{password or ''}"
        self._url = url
        self._client = AsyncSchemaRegistryClient(settings)
        # Its cache does not tell formats apart, and Protobuf's descriptors come in one of their own.
        self._descriptors = AsyncSchemaRegistryClient(settings)
        self._decoders: dict[int | str, Decode] = {}
        self._unknown: dict[int | str, str] = {}

    async def fetch(self, arrivals: Iterable[Arrival]) -> None:
        """Fetch the schemas of framed records that are not known yet.

        Raises:
            DependencyError: The registry is away.
            ConfigError: It does not let us in.
        """
        self._unknown.clear()
        for frame in filter(None, map(find_frame, arrivals)):
            if frame.schema not in self._decoders and frame.schema not in self._unknown:
                await self._fetch_one(frame.schema)

    def decode(self, frame: Frame) -> Any:
        """Give the plain value of a frame.

        Raises:
            RecordError: `schema_unknown`, `schema_misfit`.
        """
        decoder = self._decoders.get(frame.schema)
        if decoder is None:
            reason = self._unknown.get(frame.schema, "it was not fetched")
            raise RecordError(SourceReason.SCHEMA_UNKNOWN, f"schema {frame.schema} is not known to {self._url}: {reason}")
        try:
            return _simplify(decoder(frame.body))
        # Codecs raise whatever their format does with bytes that are not theirs.
        except Exception as error:
            raise RecordError(SourceReason.SCHEMA_MISFIT, f"the body does not fit schema {frame.schema}: {error}") from error

    async def close(self) -> None:
        """Release the connections."""
        for client in (self._client, self._descriptors):
            await client.aclose()

    async def _fetch_one(self, key: int | str) -> None:
        try:
            self._decoders[key] = await self._build_decoder(key)
        except SchemaRegistryError as error:
            if error.http_status_code in {_UNAUTHORIZED, _FORBIDDEN}:
                raise ConfigError(
                    f"the schema registry at {self._url} refuses us: {error}.",
                    setting="GUARDIAN_KAFKA__SCHEMA_REGISTRY_USER",
                    mend="set its user and password.",
                ) from error
            if error.http_status_code != _NOT_FOUND:
                raise DependencyError(f"the schema registry at {self._url} failed: {error}", dependency=_DEPENDENCY) from error
            self._unknown[key] = str(error)
        except (httpx2.HTTPError, OSError) as error:
            raise DependencyError(f"the schema registry at {self._url} is away: {error!r}", dependency=_DEPENDENCY) from error
        # A schema that no codec understands is as good as none; a registry may hold anything.
        except (ValueError, TypeError, KeyError, fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
            self._unknown[key] = f"it cannot be used: {error}"

    async def _build_decoder(self, key: int | str) -> Decode:
        schema = await _get(self._client, key)
        match schema.schema_type or "AVRO":
            case "AVRO":
                return await self._build_avro(schema)
            case "JSON":
                return orjson.loads
            case "PROTOBUF":
                return await self._build_protobuf(await _get(self._descriptors, key, fmt="serialized"))
            case other:
                raise ValueError(f"its type {other!r} is none of AVRO, JSON, PROTOBUF")

    async def _build_avro(self, schema: Schema) -> Decode:
        named: dict[str, Any] = {}
        await self._add_avro(schema, named, 0)
        parsed = fastavro.parse_schema(orjson.loads(schema.schema_str or ""), named_schemas=named)
        return lambda body: fastavro.schemaless_reader(io.BytesIO(body), parsed, None)

    async def _add_avro(self, schema: Schema, named: dict[str, Any], level: int) -> None:
        """Parse what a schema refers to before it."""
        _check_level(level)
        for _, subject, version in map(_read_reference, schema.references or ()):
            found = (await self._client.get_version(subject, version)).schema
            await self._add_avro(found, named, level + 1)
            fastavro.parse_schema(orjson.loads(found.schema_str or ""), named_schemas=named)

    async def _build_protobuf(self, schema: Schema) -> Decode:
        pool = descriptor_pool.DescriptorPool()
        await self._add_protobuf(schema, "root.proto", pool, 0)
        root = pool.FindFileByName("root.proto")
        messages = [root.message_types_by_name[message.name] for message in _read_file(schema).message_type]
        return lambda body: _decode_protobuf(body, messages)

    async def _add_protobuf(self, schema: Schema, name: str, pool: descriptor_pool.DescriptorPool, level: int) -> None:
        _check_level(level)
        file = _read_file(schema)
        file.name = name
        for file_name, subject, version in map(_read_reference, schema.references or ()):
            found = (await self._descriptors.get_version(subject, version, fmt="serialized")).schema
            await self._add_protobuf(found, file_name, pool, level + 1)
        for dependency in file.dependency:
            if dependency in _WELL_KNOWN:
                known = descriptor_pb2.FileDescriptorProto()
                _WELL_KNOWN[dependency].CopyToProto(known)
                pool.Add(known)
        pool.Add(file)


async def _get(client: AsyncSchemaRegistryClient, key: int | str, *, fmt: str | None = None) -> Schema:
    return await (client.get_schema(key, fmt=fmt) if isinstance(key, int) else client.get_schema_by_guid(key, fmt=fmt))


def _read_reference(reference: SchemaReference) -> tuple[str, str, int]:
    if reference.name is None or reference.subject is None or reference.version is None:
        raise ValueError("a reference names no schema")
    return reference.name, reference.subject, reference.version


def _check_level(level: int) -> None:
    if level > _MAX_LEVELS:
        raise ValueError(f"its references go more than {_MAX_LEVELS} deep")


def _read_file(schema: Schema) -> descriptor_pb2.FileDescriptorProto:
    return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema.schema_str or ""))


def _decode_protobuf(body: bytes, messages: list[Any]) -> Any:
    """Decode a body that begins with the path to its message: a count and indexes, zigzag varints; a single 0 is the first."""
    stream = io.BytesIO(body)
    count = _read_varint(stream)
    path = [_read_varint(stream) for _ in range(count)] if count else [0]
    descriptor = messages[path[0]]
    for index in path[1:]:
        descriptor = descriptor.nested_types[index]
    message = message_factory.GetMessageClass(descriptor).FromString(stream.read())
    return MessageToDict(message, preserving_proto_field_name=True)


def _read_varint(stream: io.BytesIO) -> int:
    value = shift = 0
    while True:
        byte = stream.read(1)
        if not byte or shift > 63:
            raise ValueError("the message index is cut or too long")
        value |= (byte[0] & 0x7F) << shift
        if not byte[0] & 0x80:
            return (value >> 1) ^ -(value & 1)
        shift += 7


def _simplify(value: Any) -> Any:
    """Give a value in what JSON has."""
    match value:
        case Mapping():
            return {str(key): _simplify(part) for key, part in value.items()}
        case list() | tuple():
            return [_simplify(part) for part in value]
        case bytes():
            return base64.b64encode(value).decode()
        case datetime():
            aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return aware.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal() | UUID():
            return str(value)
        case _:
            return value
