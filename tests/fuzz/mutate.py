"""Change inputs: trees of JSON with words of the contract and values that break readers, rows of files, and plain bytes.

Every function takes an input and a `Random` and gives another input; equal arguments give equal results. Nothing here knows what is
right: laws are judged by the targets.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, get_args

from pydantic import BaseModel

from guardian.contracts.wire import EVENT_MODELS
from guardian.core.model import Confidence, Extent, MemoryKind, SourceKind

Mutate = Callable[[bytes, Random], bytes]

# Stands between the parts of one input: records, files of a series.
SEPARATOR = b"\n%%\n"
# Inputs that grow beyond this cost time and find nothing new.
MAX_BYTES = 64 * 1024

# Characters that stand for literals JSON writers do not write; put in after the tree is written.
_MARK = "\ue000"
LITERALS: tuple[bytes, ...] = (
    b"1e999",
    b"-1e999",
    b"NaN",
    b"-Infinity",
    b"-0",
    b"1" * 5000,
    b"-" + b"9" * 40,
    b"0." + b"0" * 400 + b"1",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1e-400",
    b"01",
    b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'"\\u0000"',
    b"\xff",
    b'"\xed\xa0\x80"',
    b"[" * 240 + b"]" * 240,
    b"[" * 300 + b"]" * 300,
    b'{"a":' * 249 + b"1" + b"}" * 249,
    b'{"a":' * 3000 + b"1" + b"}" * 3000,
    b'{"a":1,"a":2}',
    b"",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    0.5,
    -0.0,
    5e-324,
    1e-17,
    1e17,
    1.7e308,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    -(2**63),
    "",
    " ",
    "\u200b",
    "\x00",
    "a\x00b",
    "\u202eabc\u202c",
    "e\u0301",
    "\u0344\u0301\u0323" * 40,
    "\ufdfa" * 20,
    "\U0001f469\u200d\U0001f469",
    "\ufffe",
    "x" * 1024,
    "x" * 1025,
    "x" * 33_000,
    "\u00e9" * 17_000,
    "#",
    "…",
    "null",
    "{}",
    [],
    {},
    [[]],
    [None],
    [""],
    ["m1", "m1", "m2"],
    [0.0, 0.0],
    [3.0, 4.0],
    [1e-17, 0.0],
    [1e17, 1.0],
    [1e300, 1e300],
    {"": ""},
    {"kind": "human_review", "ref": "r", "actor": "a"},
    "1.0",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59:59-23:59",
    "2026-02-29T12:00:00Z",
    "2026-03-01T24:00:00Z",
    "2026-03-01T00:00:00",
    "2026-03-01t00:00:00z",
    "2026-03-01 00:00:00.123456789+01:00",
    "2026-06-30T23:59:60Z",
    "2026-W10-1",
    "٢٠٢٦-03-01T00:00:00Z",
)


def _iter_names(model: type[BaseModel]) -> Iterator[str]:
    """Yield the names of a model's fields and of the models in it."""
    for name, field in model.model_fields.items():
        yield name
        for part in _iter_parts(field.annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from _iter_names(part)


def _iter_parts(annotation: Any) -> Iterator[Any]:
    """Yield an annotation and all that it is made of."""
    yield annotation
    for part in get_args(annotation):
        yield from _iter_parts(part)


# Names that outside formats use, beside those of the contract, which are read off the models.
_OUTSIDE_NAMES = [
    "name",
    "entityType",
    "observations",
    "from",
    "to",
    "relationType",
    "type",
    "_type",
    "_savedAt",
    "createdAt",
    "updatedAt",
    "createdBy",
    "updatedBy",
    "validFrom",
    "validTo",
    "timestamp",
    "text",
    "content",
    "version",
    "datacontenttype",
    "data_base64",
    "subject",
    "dataschema",
    "topic",
    "partition",
    "offset",
    "headers",
    "raw",
    "reason",
    "message",
    "path",
    "items",
    "tables",
    "columns",
    "rows",
    "patches",
    "cut",
]
NAMES: tuple[str, ...] = tuple(
    sorted({*_OUTSIDE_NAMES, *(name for model in EVENT_MODELS.values() for name in _iter_names(model))})
)
WORDS: tuple[str, ...] = (
    *EVENT_MODELS,
    *SourceKind,
    *MemoryKind,
    *Extent,
    *Confidence,
    *NAMES,
    "m1",
    "m2",
    "m3",
    "s",
    "gold",
    "self",
)


def mutate_bytes(data: bytes, random: Random) -> bytes:
    """Change some bytes without knowing what they mean."""
    buffer = bytearray(data)
    for _ in range(1 << random.randrange(4)):
        at = random.randrange(len(buffer) + 1)
        match random.randrange(6):
            case 0:
                buffer[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                del buffer[at : at + 1 + random.randrange(1 << random.randrange(1, 9))]
            case 2:
                piece = _slice(buffer, random)
                buffer[at:at] = piece * (1 + random.randrange(3))
            case 3:
                buffer[at:at] = random.choice(
                    (b"\x00", b"\xff", b'"', b"\\", b"[", b"]", b"{", b"}", b",", b"\n", b"\r", *LITERALS)
                )
            case 4 if at < len(buffer):
                buffer[at] ^= 1 << random.randrange(8)
            case _:
                buffer[at:at] = random.choice(WORDS).encode()
    return bytes(buffer[:MAX_BYTES])


def mutate_json(data: bytes, random: Random) -> bytes:
    """Change a document of JSON as a tree; what is none, and now and then any, as bytes."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(data, random)
    if random.random() < 0.1:
        return mutate_bytes(data, random)
    for _ in range(1 + random.randrange(3)):
        tree = mutate_tree(tree, random)
    return dump(tree, random)


def dump(tree: Any, random: Random) -> bytes:
    """Write a tree as JSON, with the literals that are marked in it."""
    try:
        text = json.dumps(tree, ensure_ascii=random.random() < 0.3, separators=random.choice(((",", ":"), (", ", ": "))))
    except (ValueError, RecursionError):
        return b"null"
    raw = text.encode(errors="surrogatepass")
    for number, literal in enumerate(LITERALS):
        mark = f"{_MARK}{number}{_MARK}"
        for written in (f'"{mark}"'.encode(), json.dumps(mark).encode()):
            raw = raw.replace(written, literal)
    return raw[:MAX_BYTES] if len(raw) > MAX_BYTES else raw


def mutate_tree(tree: Any, random: Random) -> Any:
    """Change one place of a tree: another value, a value from elsewhere in it, one more, one less, another name."""
    places = list(_iter_places(tree, ()))
    path = random.choice(places)
    return _replace(tree, path, lambda value: _change(value, tree, places, random))


def _change(value: Any, tree: Any, places: list[tuple[Any, ...]], random: Random) -> Any:
    if isinstance(value, dict) and random.random() < 0.8:
        return _change_object(value, tree, places, random)
    if isinstance(value, list) and random.random() < 0.8:
        return _change_list(value, tree, places, random)
    return draw_value(tree, places, random, value)


def _change_object(value: dict[str, Any], tree: Any, places: list[tuple[Any, ...]], random: Random) -> dict[str, Any]:
    changed = dict(value)
    name = random.choice(list(changed)) if changed else ""
    match random.randrange(4):
        case 0:
            changed.pop(name, None)
        case 1 if name:
            changed[random.choice(NAMES)] = changed.pop(name)
        case 2:
            changed[random.choice((*NAMES, "", "\x00", "\u202e", "x" * 1025))] = draw_value(tree, places, random, None)
        case _:
            changed[random.choice(NAMES)] = draw_value(tree, places, random, None)
    return changed


def _change_list(value: list[Any], tree: Any, places: list[tuple[Any, ...]], random: Random) -> list[Any]:
    changed = list(value)
    at = random.randrange(len(changed) + 1)
    match random.randrange(4):
        case 0:
            del changed[at : at + 1 + random.randrange(3)]
        case 1:
            changed[at:at] = changed[at : at + 1] * (1 << random.randrange(5))
        case 2:
            random.shuffle(changed)
        case _:
            changed.insert(at, draw_value(tree, places, random, changed[0] if changed else None))
    return changed


def draw_value(tree: Any, places: list[tuple[Any, ...]], random: Random, old: Any) -> Any:
    """Draw a value: a nasty one, a word of the contract, a literal, a copy from the tree, or the old one bent a little."""
    match random.randrange(7):
        case 0 | 1:
            return random.choice(VALUES)
        case 2:
            return random.choice(WORDS)
        case 3:
            return f"{_MARK}{random.randrange(len(LITERALS))}{_MARK}"
        case 4:
            return _find(tree, random.choice(places))
        case 5:
            nested: Any = old
            for _ in range(1 << random.randrange(9)):
                nested = [nested] if random.random() < 0.5 else {random.choice(("a", "data", "metadata")): nested}
            return nested
        case _:
            return _bend(old, random)


def _bend(value: Any, random: Random) -> Any:
    if isinstance(value, str):
        at = random.randrange(len(value) + 1)
        piece = random.choice((chr(random.randrange(0x110000)), *(some for some in VALUES if isinstance(some, str))))
        return value[:at] + piece + value[at + random.randrange(3) :]
    if isinstance(value, int | float) and abs(value) < 1e18:
        return random.choice((value + 1, -value, value * 10, value / 3, int(value), str(value)))
    return [value]


def mutate_rows(data: bytes, random: Random) -> bytes:
    """Change a file of rows: one row as JSON, or which rows there are, how they end, and how the file is framed."""
    rows = data.split(b"\n")
    at = random.randrange(len(rows))
    match random.randrange(12):
        case 0:
            rows.insert(at, rows[random.randrange(len(rows))])
        case 1:
            del rows[at]
        case 2:
            random.shuffle(rows)
        case 3:
            rows[at] += random.choice((b"\r", b" ", b"\n", b"\xef\xbb\xbf", b"\x00", b","))
        case 4:
            return b"[" + b",".join(row for row in rows if row.strip()) + random.choice((b"]", b"", b"]x", b",]", b"]]"))
        case 5:
            return _squeeze(data, random)
        case _:
            rows[at] = mutate_json(rows[at], random)
    return b"\n".join(rows)[:MAX_BYTES]


def _squeeze(data: bytes, random: Random) -> bytes:
    """Pack a file, perhaps with a fault in the packed bytes; unpack one that is packed."""
    if data.startswith(b"\x1f\x8b"):
        try:
            return gzip.decompress(data)[:MAX_BYTES]
        except (OSError, EOFError, zlib.error):
            return mutate_bytes(data, random)
    packed = gzip.compress(data, mtime=0)
    return packed if random.random() < 0.5 else mutate_bytes(packed, random)


# Values of TOML that settings do not expect.
_TOML_VALUES: tuple[bytes, ...] = (
    b"0",
    b"-1",
    b"1e300",
    b"1e18",
    b"4e9",
    b"inf",
    b"-inf",
    b"nan",
    b"5e-324",
    b"1e-7",
    b"9223372036854775807",
    b"1" * 5000,
    b"true",
    b'""',
    b'"\\u0000"',
    b'"\\ud800"',
    b'"("',
    b'"(a+)+$"',
    b"[]",
    b"{}",
    b'["", "a", "a"]',
    b"1979-05-27T07:32:00Z",
    b'{ a = 1e300, "*" = 0.5 }',
    b"[" * 400 + b"]" * 400,
    b'"""' + b"x" * 5000 + b'"""',
)


def mutate_toml(data: bytes, random: Random) -> bytes:
    """Change a settings file: the value or name of a line, which lines there are, or bytes."""
    rows = data.split(b"\n")
    at = random.randrange(len(rows))
    name, equals, value = rows[at].partition(b"=")
    match random.randrange(6):
        case 0:
            return mutate_bytes(data, random)
        case 1:
            rows.insert(at, rows[random.randrange(len(rows))])
        case 2:
            del rows[at]
        case 3:
            rows[at] = name + equals + rows[random.randrange(len(rows))].partition(b"=")[2]
        case _ if equals:
            rows[at] = name + equals + random.choice((*_TOML_VALUES, mutate_bytes(value, random)))
        case _:
            rows[at] = mutate_bytes(rows[at], random)
    return b"\n".join(rows)[:MAX_BYTES]


def in_parts(mutate: Mutate) -> Mutate:
    """Give a mutation of inputs made of parts: mostly one part with `mutate`, else which parts there are."""

    def mutate_parts(data: bytes, random: Random) -> bytes:
        parts = data.split(SEPARATOR)
        at = random.randrange(len(parts))
        match random.randrange(8):
            case 0:
                parts.insert(at, parts[random.randrange(len(parts))])
            case 1 if len(parts) > 1:
                del parts[at]
            case 2:
                random.shuffle(parts)
            case _:
                parts[at] = mutate(parts[at], random)
        return SEPARATOR.join(parts)[:MAX_BYTES]

    return mutate_parts


def mutate_record(data: bytes, random: Random) -> bytes:
    """Change a record: its headers as lines, or its value as JSON; `frame` says how it is written."""
    head, gap, value = data.partition(b"\n\n")
    if gap and random.random() < 0.6:
        return head + gap + mutate_json(value, random)
    lines = head.split(b"\n")
    at = random.randrange(len(lines))
    match random.randrange(6):
        case 0:
            lines.insert(at, lines[random.randrange(len(lines))])
        case 1:
            del lines[at]
        case 2:
            name = random.choice((*NAMES, "specversion", "time", "space"))
            lines.insert(at, f"header {random.choice(('ce_', 'CE_', 'ce-', ''))}{name}: {random.choice(WORDS)}".encode())
        case 3:
            content_type = random.choice(
                ("application/cloudevents+json", "APPLICATION/CloudEvents", "application/json", "avro/binary")
            )
            lines.insert(at, f"header Content-Type: {content_type}".encode())
        case 4:
            named, separator, _ = lines[at].partition(b": " if b": " in lines[at] else b" ")
            lines[at] = named + separator + str(random.choice(VALUES)).encode(errors="surrogatepass").replace(b"\n", b" ")
        case _:
            lines[at] = mutate_bytes(lines[at], random)
    return b"\n".join(lines) + (gap + value if random.random() < 0.95 else b"")


def _iter_places(tree: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all nodes of a tree, down to a depth that no recursion limit minds."""
    yield path
    if len(path) > 60:
        return
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from _iter_places(value, (*path, name))
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from _iter_places(value, (*path, number))


def _find(tree: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def _replace(tree: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """Give a tree with the value at a path changed; the old one stays as it is."""
    if not path:
        return change(tree)
    copied = dict(tree) if isinstance(tree, dict) else list(tree)
    copied[path[0]] = _replace(copied[path[0]], path[1:], change)
    return copied


def _slice(buffer: bytearray, random: Random) -> bytes:
    start = random.randrange(len(buffer) + 1)
    return bytes(buffer[start : start + 1 + random.randrange(64)])
