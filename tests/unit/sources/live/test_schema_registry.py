"""Laws of schema registries: what is coded with a registered schema is read, what is not is refused, and an absent registry is waited for."""

from __future__ import annotations

import base64
import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import fastavro
import orjson
import pytest
from aiohttp import web
from google.protobuf import descriptor_pb2

from guardian.errors import ConfigError, DependencyError, RecordError
from guardian.sources.live.arrival import Arrival
from guardian.sources.live.opening import open_arrival
from guardian.sources.live.schema_registry import RegistrySchemas

AT = datetime(2026, 5, 1, tzinfo=UTC)
OWNER = {"type": "record", "name": "Owner", "namespace": "n", "fields": [{"name": "id", "type": "string"}]}
NOTE = {
    "type": "record",
    "name": "Note",
    "namespace": "n",
    "fields": [
        {"name": "text", "type": "string"},
        {"name": "owner", "type": "n.Owner"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "raw", "type": "bytes"},
    ],
}
GUID = "00010203-0405-0607-0809-0a0b0c0d0e0f"


def build_descriptor() -> str:
    """Build a file with two messages, one of them nested, that imports a well-known type."""
    file = descriptor_pb2.FileDescriptorProto(name="default", package="p", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    file.message_type.add(name="Other")
    note = file.message_type.add(name="Note")
    text = descriptor_pb2.FieldDescriptorProto
    note.field.add(name="text", number=1, type=text.TYPE_STRING, label=text.LABEL_OPTIONAL)
    inner = note.nested_type.add(name="Inner")
    inner.field.add(name="kind_of", number=1, type=text.TYPE_STRING, label=text.LABEL_OPTIONAL)
    return base64.b64encode(file.SerializeToString()).decode()


class Registry:
    """A registry on loopback."""

    def __init__(self) -> None:
        self.status = 200
        self.asked: list[str] = []
        references = [{"name": "n.Owner", "subject": "owner", "version": 1}]
        avro = {"schema": orjson.dumps(NOTE).decode(), "references": references}
        self.schemas: dict[str, dict[str, Any]] = {
            "/schemas/ids/1": avro,
            f"/schemas/guids/{GUID}": avro,
            "/subjects/owner/versions/1": {"schema": orjson.dumps(OWNER).decode(), "subject": "owner", "version": 1, "id": 9},
            "/schemas/ids/2": {"schema": '{"type":"object"}', "schemaType": "JSON"},
            "/schemas/ids/3": {"schema": build_descriptor(), "schemaType": "PROTOBUF"},
            "/schemas/ids/4": {"schema": '{"type":"record"}'},
        }

    async def answer(self, request: web.Request) -> web.Response:
        """Answer as a registry does."""
        self.asked.append(request.path_qs)
        if self.status != 200:
            return web.json_response({"error_code": self.status, "message": "no"}, status=self.status)
        found = self.schemas.get(request.path)
        if found is None:
            return web.json_response({"error_code": 40403, "message": "Schema not found"}, status=404)
        return web.json_response(found)


@pytest.fixture
async def registry() -> AsyncIterator[tuple[Registry, RegistrySchemas]]:
    """Run a registry and give it with what asks it."""
    served = Registry()
    application = web.Application()
    application.router.add_get("/{path:.*}", served.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    schemas = RegistrySchemas(f"http://{host}:{port}")
    try:
        yield served, schemas
    finally:
        await schemas.close()
        await runner.cleanup()


def frame(schema: int, body: bytes) -> Arrival:
    """Build a record in Confluent's framing."""
    return Arrival(topic="t", position="t/0/0", time=AT, key=None, value=b"\x00" + schema.to_bytes(4, "big") + body)


def encode_note() -> bytes:
    """Encode a note with Avro."""
    named: dict[str, Any] = {}
    fastavro.parse_schema(OWNER, named_schemas=named)
    stream = io.BytesIO()
    note = {"text": "Desk 3", "owner": {"id": "ann"}, "at": AT, "price": b"\x06\x72", "raw": b"\xff"}
    fastavro.schemaless_writer(stream, fastavro.parse_schema(NOTE, named_schemas=named), note)
    return stream.getvalue()


async def read(schemas: RegistrySchemas, arrival: Arrival) -> Any:
    """Fetch and open; gives the row, or the refusal."""
    await schemas.fetch([arrival])
    (piece,) = open_arrival(arrival, schemas=schemas)
    return piece if isinstance(piece, RecordError) else getattr(piece, "after", piece)


async def test_avro_is_read_with_what_its_schema_refers_to(registry: tuple[Registry, RegistrySchemas]) -> None:
    """Times, decimals and bytes become plain JSON."""
    expected = {"text": "Desk 3", "owner": {"id": "ann"}, "at": "2026-05-01T00:00:00Z", "price": "16.50", "raw": "/w=="}
    assert await read(registry[1], frame(1, encode_note())) == expected
    guid = Arrival(topic="t", position="t/0/0", time=AT, key=None, value=b"\x01" + bytes(range(16)) + encode_note())
    assert await read(registry[1], guid) == expected


async def test_json_schema_is_plain_json(registry: tuple[Registry, RegistrySchemas]) -> None:
    """The body after the prefix."""
    assert await read(registry[1], frame(2, b'{"text":"x"}')) == {"text": "x"}


@pytest.mark.parametrize(
    ("path", "body", "row"),
    [
        (b"\x02\x02", b"\x0a\x01x", {"text": "x"}),  # the second message
        (b"\x04\x02\x00", b"\x0a\x01y", {"kind_of": "y"}),  # the first one nested in it
        (b"\x00", b"", {}),  # a single 0 is the first message
    ],
)
async def test_protobuf_is_read_by_the_path_to_its_message(
    registry: tuple[Registry, RegistrySchemas], path: bytes, body: bytes, row: dict[str, Any]
) -> None:
    """Message indexes as zigzag varints; well-known imports are there."""
    assert await read(registry[1], frame(3, path + body)) == row


@pytest.mark.parametrize(
    ("arrival", "reason"),
    [
        (frame(5, b"x"), "schema_unknown"),
        (frame(4, b"x"), "schema_unknown"),
        (frame(1, b"\xff\xff"), "schema_misfit"),
        (frame(3, b"\x02\x63x"), "schema_misfit"),
        (frame(2, b"{"), "schema_misfit"),
    ],
)
async def test_what_cannot_be_read_is_refused_alone(
    registry: tuple[Registry, RegistrySchemas], arrival: Arrival, reason: str
) -> None:
    """An unknown or broken schema, a body that does not fit."""
    refusal = await read(registry[1], arrival)
    assert isinstance(refusal, RecordError)
    assert refusal.reason == reason


async def test_a_schema_is_fetched_once_and_one_that_lacked_is_asked_for_again(
    registry: tuple[Registry, RegistrySchemas],
) -> None:
    """It may be registered by then; a re-drive passes."""
    served, schemas = registry
    for _ in range(3):
        await read(schemas, frame(2, b"{}"))
    assert len(served.asked) == 1
    assert isinstance(await read(schemas, frame(6, b"{}")), RecordError)
    served.schemas["/schemas/ids/6"] = served.schemas["/schemas/ids/2"]
    assert await read(schemas, frame(6, b"{}")) == {}


async def test_a_registry_that_is_away_is_waited_for(registry: tuple[Registry, RegistrySchemas]) -> None:
    """The batch is tried again; nothing is refused for it."""
    served, schemas = registry
    served.status = 503
    with pytest.raises(DependencyError):
        await schemas.fetch([frame(1, b"x")])
    absent = RegistrySchemas("http://127.0.0.1:9")
    with pytest.raises(DependencyError):
        await absent.fetch([frame(1, b"x")])
    await absent.close()
    served.status = 401
    with pytest.raises(ConfigError):
        await schemas.fetch([frame(1, b"x")])
