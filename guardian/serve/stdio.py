"""Standard input for the MCP server: what the other end sends, until it closes, or until this process is told to stop.

The SDK reads standard input in a thread that nothing wakes: on a signal the process would hang until the other end closes, or die in
the midst of a write. So a pipe stands in for standard input, and ends on SIGTERM and SIGINT as well. What comes then is what the SDK
does when the other end closes.

A line with half a character, as a cut emoji leaves one, would get no answer at all, since the SDK passes over what it cannot parse; it
is passed on with a question mark in its place.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from guardian.errors import ConfigError

_STOPPING = (signal.SIGINT, signal.SIGTERM)
_CHUNK_BYTES = 65_536
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


@contextmanager
def stoppable_stdin() -> Iterator[None]:
    """Put a pipe in the place of standard input that ends on a signal, too; in a running loop of the main thread.

    Raises:
        ConfigError: Standard input is closed, so that nobody could ask.
    """
    if sys.stdin is None:
        raise ConfigError("standard input is closed.", mend="start it from a host that speaks MCP over its pipes.")
    loop, outside = asyncio.get_running_loop(), os.dup(0)
    reader, writer = os.pipe()
    waiting, waking = os.pipe()
    os.dup2(reader, 0)
    os.close(reader)
    for each in _STOPPING:
        loop.add_signal_handler(each, os.write, waking, b"\n")
    # A thread of its own, and no part of the loop: the SDK may leave the pipe full.
    threading.Thread(target=_pump, args=(outside, writer, waiting), name="guardian-stdin", daemon=True).start()
    try:
        yield
    finally:
        for each in _STOPPING:
            loop.remove_signal_handler(each)
        os.write(waking, b"\n")
        os.dup2(outside, 0)


def _pump(outside: int, writer: int, waiting: int) -> None:
    """Pass lines on until there is no more, or something wakes it."""
    parts: list[bytes] = []
    with suppress(BrokenPipeError), open(writer, "wb") as inside:
        while waiting not in select.select([outside, waiting], [], [])[0]:
            chunk = os.read(outside, _CHUNK_BYTES)
            *lines, rest = chunk.split(b"\n")
            if lines or not chunk:
                whole = [b"".join([*parts, *lines[:1]]), *lines[1:]]
                inside.write(b"".join(mend_line(line) + b"\n" for line in whole if line))
                inside.flush()
                parts = []
            if not chunk:
                return
            parts.append(rest)


def mend_line(line: bytes) -> bytes:
    """Give a line of JSON with every half of a character as a question mark; any other line as it is."""
    if not _HALF.search(line):
        return line
    try:
        return json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace")
    except (ValueError, RecursionError):
        return line
