"""Generated events that look like those of real agents: sentences with names and figures, sessions, documents, derivations.

The same seed gives the same events. Nothing is random but by the seed, and no time comes from the clock.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import decode
from guardian.core.model import Event

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
# Later than any time in a generated event.
RECEIVED_AT = datetime(2100, 1, 1, tzinfo=UTC)
SPACES = 20
# Records that a new one may derive from, the latest of its space.
WINDOW = 60
# Derivation steps below a root: a recap of a recap is common, a recap of that is not.
MAX_DEPTH = 3
# Events of one session before the next begins.
SESSION_EVENTS = 18

_WORD_LIST = (
    "account address agreed airport already although amount answer applied approved arrives asked available average "
    "before began below better billing blocked booked branch budget build bulk called cancelled carrier change "
    "charged checked city claims client closed cloud coffee colour company complaint confirmed contact contract copy "
    "cost could customer daily data deadline deal delayed delivered delivery deploy desk details discount docs double "
    "dropped due during early email engineer error evening every exported failed fee feedback finished first flight "
    "floor for from gave green group has held high hotel hours however import including inside installed instead "
    "invoice issue item joined kept key kitchen language larger last late launch left less letter level library likes "
    "limit line list local long lower machine mailed main manager market meeting member message migrated minutes "
    "missing mobile model moment monthly morning moved must near needs network new next night noted number offer "
    "office old only open option order other over package paid parcel part partner password payment phone plan please "
    "pool port prefers price priority process product project promised provider purchase quality quarter query "
    "question quick quote rate reached ready reason received record refund region release reminder renewed report "
    "request reserved result return review room route runs sales same sample saved schedule screen second sent server "
    "service shift shipped short shop should signed since site size slow small sold some south stable staff stage "
    "standard started station status step still stock stored street supplier support system table team terms test "
    "than that their they ticket timeout today told took total train travel trial tried unit until update urgent used "
    "user vendor version visit waiting warehouse was week weekly when which will window with without work would "
    "yearly yesterday yet zone "
)
_WORDS = _WORD_LIST.split()
_SYLLABLE_LIST = "ba bel cor da dor el fen gra hal in jo kel lor ma mor nel or pra quin ral sa ster ta tor ul van wes yor zan "
_SYLLABLES = _SYLLABLE_LIST.split()
_UNITS = ("euro", "kg", "units", "hours", "%", "km", "boxes", "days")
_OUTSIDE = ("document", "tool", "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Shares of what agents do; they need not sum to 1."""

    leaves: float = 0.7
    roots: float = 0.2
    reads: float = 0.1


MIX = Mix()


@dataclass(slots=True)
class _Space:
    """What one memory bank has had so far, as far as later events refer to it."""

    name: str
    recent: list[tuple[str, int]] = field(default_factory=list)  # (memory id, depth)
    sessions: int = 0
    session_events: int = 0
    documents: int = 0

    def next_session(self) -> str:
        """Give the session of the next event."""
        self.session_events += 1
        if self.session_events > SESSION_EVENTS:
            self.sessions, self.session_events = self.sessions + 1, 1
        return f"{self.name}-session-{self.sessions}"


class Bank:
    """The memory banks of some teams and what happens in them, event after event, 2 seconds apart.

    Args:
        seed: Of all that is drawn.
        spaces: Memory banks, drawn evenly.
        vector_size: Components of the vector that each write carries; 0 for none.
    """

    def __init__(self, *, seed: int = 1, spaces: int = SPACES, vector_size: int = 0) -> None:
        self._draw = random.Random(seed)
        self._names = ["".join(self._draw.choices(_SYLLABLES, k=self._draw.choice((2, 3)))).capitalize() for _ in range(2_000)]
        self._spaces = [_Space(f"team-{number:02}") for number in range(spaces)]
        self._vector_size = vector_size
        self._number = 0

    def iter_events(self, count: int, mix: Mix = MIX) -> Iterator[dict[str, Any]]:
        """Give the next events as CloudEvents mappings."""
        for _ in range(count):
            self._number += 1
            space = self._draw.choice(self._spaces)
            (what,) = self._draw.choices(("leaf", "root", "read"), (mix.leaves, mix.roots, mix.reads))
            session = space.next_session()
            if what == "read" and space.recent:
                yield wrap(space.name, "memory.read", self._number, self._read(space, session))
                continue
            content = self._write(space, session, is_leaf=what == "leaf")
            if self._vector_size:
                content["vector"] = [round(self._draw.gauss(0, 0.05), 6) for _ in range(self._vector_size)]
            yield wrap(space.name, "memory.written", self._number, content)

    def _read(self, space: _Space, session: str) -> dict[str, Any]:
        found = [memory_id for memory_id, _ in self._draw.sample(space.recent, min(5, len(space.recent)))]
        query = " ".join(self._draw.choices(_WORDS, k=6))
        return {"retrieved": found, "used": found[:2], "session_id": session, "query": query}

    def _write(self, space: _Space, session: str, *, is_leaf: bool) -> dict[str, Any]:
        draw = self._draw
        above = [entry for entry in space.recent if entry[1] < MAX_DEPTH] if is_leaf else []
        parents = draw.sample(above, min(len(above), draw.choice((1, 1, 1, 2))))
        kind = "summary" if parents else draw.choice(("fact", "fact", "preference", "belief"))
        memory_id = f"mem-{self._number:07}"
        content = describe(draw, memory_id, draw_text(draw, self._names), kind=kind, session=session)
        if parents:
            content |= {"source": {"kind": "agent", "actor": "assistant"}, "parents": [entry[0] for entry in parents]}
        else:
            space.documents += draw.random() < 0.8  # some documents give several facts
            content["source"] = {"kind": draw.choice(_OUTSIDE), "ref": f"{space.name}/doc-{space.documents}"}
            if draw.random() < 0.1:
                content["subject"] = f"supplier:{draw.choice(self._names)}"
        space.recent.append((memory_id, 1 + max((entry[1] for entry in parents), default=-1)))
        del space.recent[:-WINDOW]
        return content


def iter_events(count: int, *, vector_size: int = 0) -> Iterator[dict[str, Any]]:
    """Give the first events of a bank, always the same."""
    return Bank(vector_size=vector_size).iter_events(count)


def draw_text(draw: random.Random, names: list[str]) -> str:
    """Give a sentence of 8 to 25 words, with names and figures among them."""
    words = draw.choices(_WORDS, k=draw.randint(8, 25))
    words[0] = draw.choice(names)
    words[len(words) // 2] = f"{draw.randint(2, 9_999)} {draw.choice(_UNITS)}"
    if draw.random() < 0.4:
        words[-1] = f"by 2026-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
    return " ".join(words) + "."


def describe(draw: random.Random, memory_id: str, text: str, *, kind: str, session: str) -> dict[str, Any]:
    """Give what every write carries, about 150 bytes of metadata included."""
    return {
        "memory_id": memory_id,
        "text": text,
        "kind": kind,
        "scope": {"user_id": f"user-{draw.randint(1, 40)}", "agent_id": "assistant", "session_id": session},
        "metadata": {
            "run_id": f"{draw.getrandbits(64):016x}",
            "model": "assistant-2026-01",
            "tags": draw.sample(_WORDS, 3),
            "channel": draw.choice(("chat", "mail", "ticket")),
            "latency_ms": draw.randint(40, 4_000),
        },
    }


def wrap(space: str, kind: str, number: int, content: dict[str, Any]) -> dict[str, Any]:
    """Give the CloudEvents mapping of the event of this number."""
    return {
        "specversion": "1.0",
        "id": f"{number:08}",
        "source": "/bench/agents",
        "type": kind,
        "time": (START + timedelta(seconds=2 * number)).isoformat().replace("+00:00", "Z"),
        "space": space,
        "data": content,
    }


def build_write(memory_id: str, number: int, *, space: str, parents: Iterable[str] = ()) -> dict[str, Any]:
    """Build one write of a given lineage: a root from a document, or an agent's record of its parents."""
    draw = random.Random(number)
    names = [f"{draw.choice(_SYLLABLES)}{draw.choice(_SYLLABLES)}".capitalize() for _ in range(8)]
    above = list(parents)
    content = describe(draw, memory_id, draw_text(draw, names), kind="summary" if above else "fact", session=f"s-{number // 20}")
    content["source"] = {"kind": "agent", "actor": "assistant"} if above else {"kind": "document", "ref": f"doc-{number}"}
    content["parents"] = above
    return wrap(space, "memory.written", number, content)


def build_correction(target: str, number: int, *, space: str) -> dict[str, Any]:
    """Build the correction of one memory by a reviewer, with its replacement inside."""
    inline = {"memory_id": f"{target}-corrected-{number}", "text": f"What was said of {target} is wrong; {number} euro hold."}
    authority = {"kind": "human_review", "actor": "reviewer"}
    content = {"targets": [target], "replacement": inline, "authority": authority, "reason": "checked at the source"}
    return wrap(space, "memory.corrected", number, content)


def build_retraction(correction: dict[str, Any], number: int) -> dict[str, Any]:
    """Build what takes a correction back."""
    named = {"source": correction["source"], "id": correction["id"]}
    content = {"event": named, "authority": {"kind": "human_review", "actor": "reviewer"}}
    return wrap(correction["space"], "memory.retracted", number, content)


def decode_events(events: Iterable[dict[str, Any]], policy: DecodePolicy | None = None) -> list[Event]:
    """Decode mappings with the real codec."""
    limits = policy or DecodePolicy()
    return [decode(orjson.dumps(event), policy=limits, received_at=RECEIVED_AT).event for event in events]


def write_lines(path: Path, events: Iterable[dict[str, Any]]) -> None:
    """Write events as JSON lines."""
    with path.open("wb") as file:
        for batch in batched(events, 1_000):
            file.write(b"".join(orjson.dumps(event) + b"\n" for event in batch))


def batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Give lists of at most `size` items."""
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
