"""Change inputs: documents of JSON, rows of files, records with their headers, settings, and plain bytes.

Every function takes an input and a `Random` and gives another input; equal arguments give equal results. Nothing here knows what is
right: laws are judged by the targets.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from random import Random

from tests.fuzz.tree import LITERALS, MAX_BYTES, NAMES, VALUES, WORDS, dump, mutate_tree

Mutate = Callable[[bytes, Random], bytes]

# Stands between the parts of one input: records, files of a series.
SEPARATOR = b"\n%%\n"


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


def mutate_file(data: bytes, random: Random) -> bytes:
    """Change a file of a sample by its form: a document or description of JSON, rows, or bytes; `sample` says how it is written."""
    head, gap, content = data.partition(b"\n") if data.startswith((b"file: ", b"database: ")) else (b"", b"", data)
    is_document = head.startswith(b"database: ") or (content.lstrip()[:1] in (b"[", b"{") and _is_json(content))
    if is_document:
        content = mutate_json(content, random)
    elif content.lstrip()[:1] in (b"[", b"{"):
        content = mutate_rows(content, random)
    else:
        content = mutate_bytes(content, random)
    return head + gap + content


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def mutate_mapped(data: bytes, random: Random) -> bytes:
    """Change a record, or a settings file that stands before records."""
    return mutate_record(data, random) if data.startswith(b"topic ") else mutate_toml(data, random)


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


def _slice(buffer: bytearray, random: Random) -> bytes:
    start = random.randrange(len(buffer) + 1)
    return bytes(buffer[start : start + 1 + random.randrange(64)])
