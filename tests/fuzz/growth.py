"""How the time of a reader grows with its input: `python -m tests.fuzz.growth`. Each shape is run at two sizes, the second four times the first.

A factor of four is linear, of sixteen quadratic. Sizes are near what a broker takes (4 MiB); nothing is asserted, since clocks are not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from guardian.contracts.codec import decode
from guardian.errors import RecordError
from tests.builders import as_wire, corrected, read, written
from tests.fuzz.file_target import clear_scratch, run_cloudevents, run_mcp, run_mem0
from tests.fuzz.frame import unpack_record
from tests.fuzz.law import POLICY, RECEIVED_AT, World
from tests.fuzz.mutate import SEPARATOR
from tests.fuzz.stream_target import run_stream

TIMES = 4


def _write(**fields: Any) -> bytes:
    event = as_wire(written("m1", "x"))
    return orjson.dumps({**event, "data": {**event["data"], **fields}})


def _with(event: dict[str, Any], **fields: Any) -> bytes:
    return orjson.dumps({**event, "data": {**event["data"], **fields}})


def _ids(number: int) -> list[str]:
    return [f"m{n}" for n in range(number)]


def _decode(value: bytes) -> None:
    """Decode a value, and decide it where it is good."""
    try:
        decoded = decode(value, policy=POLICY, received_at=RECEIVED_AT)
    except RecordError:
        return
    World().process([decoded.event])


def _decode_headers(data: bytes) -> None:
    record = unpack_record(data)
    try:
        decode(record.value, record.headers, policy=POLICY, received_at=RECEIVED_AT)
    except RecordError:
        return


def _fill(unit: str, size: int) -> str:
    """Repeat a text up to a number of bytes."""
    return unit * (size // len(unit.encode()))


# Texts are at most 32 KiB; a second text beside them restates or follows.
TEXT_BYTES = 8_000
TEXT_UNITS = {
    "words": "oat milk ",
    "one word": "a",
    "digits": "1",
    "dates": "2026-03-01 ",
    "quotes": '"',
    "brackets": "([{",
    "conditions": "if unless only when ",
    "negations": "not never no ",
    "sentences": "A b. ",
    "lines": "\n",
    "spaces": "x ",
    "hyphens": "a-",
    "marks in disorder": "\u0301\u0323",
    "ligatures": "\ufdfa",
    "joiners": "\U0001f469\u200d",
    "urls": "http://a.b/c?d=e ",
    "mails": "a@b.c ",
    "commas": "a,",
    "colons": "a: ",
}


def _pair(text: str) -> bytes:
    """Write two records whose second restates the first in the same session."""
    first, second = written("a", text, session="s", src="agent"), written("b", text + " b", session="s", src="agent", t=2)
    rows = (as_wire(first), as_wire(read(["a"], session="s", t=1)), as_wire(second))
    return SEPARATOR.join(b"topic guardian.events\n\n" + orjson.dumps(row) for row in rows)


Shape = tuple[Callable[[bytes], None], Callable[[int], bytes], int]

SHAPES: dict[str, Shape] = {
    "event: parents": (_decode, lambda n: _write(parents=_ids(n)), 5_000),
    "event: supersedes": (_decode, lambda n: _write(supersedes=_ids(n), verified=True), 5_000),
    "event: episode retrieved": (_decode, lambda n: _write(episode={"retrieved": _ids(n)}), 20_000),
    "event: retrieved": (_decode, lambda n: _with(as_wire(read(["a"], session="s")), retrieved=_ids(n)), 20_000),
    "event: targets": (_decode, lambda n: _with(as_wire(corrected("a")), targets=_ids(n)), 5_000),
    "event: unknown fields": (_decode, lambda n: _write(**{f"f{i}": i for i in range(n)}), 50_000),
    "event: metadata": (_decode, lambda n: _write(metadata={f"f{i}": [i] for i in range(n)}), 50_000),
    "event: bad ids": (_decode, lambda n: _write(parents=[1] * n), 200_000),
    "event: bad vector": (_decode, lambda n: _write(vector=["x"] * n), 200_000),
    "event: vector": (_decode, lambda n: _write(vector=[0.5] * n), 100_000),
    "event: subject of marks in disorder": (_decode, lambda n: _write(subject="\u0301\u0323" * n), 5_000),
    "event: scope of marks in disorder": (_decode, lambda n: _write(scope={"user_id": "\u0301\u0323" * n}), 5_000),
    "event: query of marks in disorder": (_decode, lambda n: _with(as_wire(read(["a"])), query="\u0301\u0323" * n), 5_000),
    "event: reason of marks in disorder": (_decode, lambda n: _with(as_wire(corrected("a")), reason="\u0301\u0323" * n), 5_000),
    "event: text too large, of marks in disorder": (_decode, lambda n: _write(text="\u0301\u0323" * n), 50_000),
    "no JSON: quotes": (_decode, lambda n: b'"' * n, 500_000),
    "no JSON: backslashes": (_decode, lambda n: b'"' + b"\\" * n, 500_000),
    "no JSON: escapes": (_decode, lambda n: b'"' + b"\\ud800" * n, 100_000),
    "no JSON: digits": (_decode, lambda n: b"1" * n + b"x", 500_000),
    "no JSON: brackets": (_decode, lambda n: b"[" * n, 500_000),
    "no JSON: objects": (_decode, lambda n: b'{"a":' * n, 100_000),
    "no JSON: numbers": (_decode, lambda n: b"[" + b"1e999," * n, 100_000),
    "no JSON: NaN": (_decode, lambda n: b"[" + b"NaN," * n + b"1]", 100_000),
    "headers: many": (_decode_headers, lambda n: b"\n".join(b"header ce_a%d: x" % i for i in range(n)) + b"\n\n{}", 20_000),
    "headers: long": (_decode_headers, lambda n: b"header ce_id: " + b"x" * n + b"\n\n{}", 500_000),
    "file: events": (run_cloudevents, lambda n: b"\n".join(_with(as_wire(written(f"m{i}", f"Text {i}"))) for i in range(n)), 100),
    "file: one row": (run_cloudevents, lambda n: b"{" * n, 500_000),
    "file: array of quotes": (run_cloudevents, lambda n: b'[{"' + b'","' * n, 200_000),
    "file: array of commas": (run_cloudevents, lambda n: b"[{}" + b"," * n + b"]", 200_000),
    "file: blank lines": (run_cloudevents, lambda n: b"\n" * n, 500_000),
    "graph: observations": (
        run_mcp,
        lambda n: orjson.dumps({"name": "a", "entityType": "t", "observations": [f"o {i}" for i in range(n)]}),
        200,
    ),
    "graph: the same entity": (
        run_mcp,
        lambda n: b"\n".join([b'{"_type":"entity","name":"a","entityType":"t","observations":["x"]}'] * n),
        500,
    ),
    "graph: name of marks in disorder": (
        run_mcp,
        lambda n: orjson.dumps({"name": "\u0301\u0323" * n, "entityType": "t", "observations": ["x"]}),
        5_000,
    ),
    "database: one memory": (run_mem0, lambda n: _describe_history(n, lambda _: "m"), 40),
    "database: leftovers": (run_mem0, lambda n: _describe_history(n, str, leftover=True), 40),
    **{
        f"text: {name}": (run_stream, lambda n, unit=unit: _pair("x" + _fill(unit, n)), TEXT_BYTES // TIMES)
        for name, unit in TEXT_UNITS.items()
    },
}


def _describe_history(number: int, name: Callable[[int], str], *, leftover: bool = False) -> bytes:
    columns = ["id TEXT", "memory_id", "prev_value", "new_value", "event", "timestamp"]
    rows = [[str(n), name(n), None, f"text {n}", "ADD", "2026-01-03 03:04:05"] for n in range(number)]
    tables = [{"name": "history", "columns": columns, "rows": rows}]
    if leftover:
        tables.append({"name": "history_old", "columns": columns, "rows": rows})
    return orjson.dumps({"tables": tables})


def measure(shape: Shape) -> tuple[float, float]:
    """Give the processor's seconds at the first size and at the second."""
    run, build, size = shape
    spent = []
    for number in (size, size * TIMES):
        data = build(number)
        started = time.process_time()
        run(data)
        spent.append(time.process_time() - started)
    return spent[0], spent[1]


def iter_lines(wanted: str) -> Iterator[str]:
    """Measure the shapes whose name begins with a word and tell of each."""
    for name, shape in SHAPES.items():
        if name.startswith(wanted):
            first, second = measure(shape)
            yield f"{name:<45} {first:8.3f} s  {second:8.3f} s  x{second / max(first, 1e-6):.1f}"


if __name__ == "__main__":
    for line in iter_lines(sys.argv[1] if len(sys.argv) > 1 else ""):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    clear_scratch()
