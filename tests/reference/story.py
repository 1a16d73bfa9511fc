"""Tell a set of events in few words, and ask the reference what came of it.

A time is a number of minutes after a fixed start; a source or an authority is the name of its kind.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from guardian.core.model import (
    Audited,
    Corrected,
    Deleted,
    Erased,
    Event,
    EventRef,
    Extent,
    Induced,
    Linked,
    MemoryKind,
    Read,
    Retracted,
    Scope,
    Source,
    SourceKind,
    Written,
)
from tests.reference.forge import sign
from tests.reference.inductions import digest_of
from tests.reference.revisions import revision_of
from tests.reference.state import Row, compute_state

START = datetime(2026, 3, 14, 9, tzinfo=UTC)


def word_overlap(text: str, earlier: str) -> float | None:
    """Give the share of the shorter text's words that the longer has, from 0.75 on and only with equal numbers."""
    one, other = (set(re.findall(r"\w+", each.lower())) for each in (text, earlier))
    similarity = len(one & other) / min(len(one), len(other))
    has_same_numbers = not any(re.search(r"\d|^not$", word) for word in one ^ other)
    return similarity if has_same_numbers and similarity >= 0.75 else None


def minute(number: float) -> datetime:
    """Give the instant so many minutes after the start."""
    return START + timedelta(minutes=number)


class Story:
    """Events of one set, told in order; ids are e1, e2, … unless named."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def tell(self, event_type: type[Any], t: float, /, **named: Any) -> str:
        """Add an event at its time and give its id."""
        event_id = named.pop("id", None) or f"e{len(self.events) + 1}"
        ref = EventRef(time=minute(t), source="/desk", id=event_id, digest="")
        named.setdefault("space", "S1")
        for word in ("source", "authority"):
            if isinstance(named.get(word), str):
                named[word] = Source(kind=SourceKind(named[word]))
        self.events.append(sign(event_type(ref=ref, **named)))
        return event_id

    def write(self, memory_id: str, text: str | None = None, *, t: float = 0, **named: Any) -> str:
        """Write a memory; its text says its own name where none is given."""
        named.setdefault("observed_at", minute(t))
        if isinstance(named.get("parents"), list):
            named["parents"] = tuple(named["parents"])
        if "kind" in named:
            named["kind"] = MemoryKind(named["kind"])
        if "session" in named:
            named["scope"] = Scope(session_id=named.pop("session"))
        return self.tell(Written, t, memory_id=memory_id, text=text or f"says {memory_id}", **named)

    def correct(self, old: str | None, new: str | None = None, *, t: float = 100, by: str | None = "user", **more: Any) -> str:
        """Correct an old memory to a new one by an authority; effective at its own time unless named."""
        more.setdefault("effective_at", minute(t))
        if "extent" in more:
            more["extent"] = Extent(more["extent"])
        targets = () if old is None else tuple(old.split("+"))
        return self.tell(Corrected, t, targets=targets, replacement=new, authority=by, **more)

    def retract(self, event_id: str, *, t: float = 200, by: str = "user") -> str:
        """Withdraw what an event corrected or judged."""
        return self.tell(Retracted, t, event_source="/desk", event_id=event_id, authority=by)

    def delete(self, memory_id: str, *, t: float) -> str:
        """Delete a memory up to the time told."""
        return self.tell(Deleted, t, memory_id=memory_id, observed_at=minute(t))

    def read(self, *retrieved: str, t: float, session: str) -> str:
        """Retrieve memories in a session."""
        return self.tell(Read, t, retrieved=retrieved, session_id=session)

    def erase(self, memory_id: str, *, t: float, cascade: bool = False, by: str | None = "user") -> str:
        """Erase a memory up to the time told."""
        return self.tell(Erased, t, memory_id=memory_id, observed_at=minute(t), cascade=cascade, authority=by)

    def link(self, memory_id: str, *, t: float, add: str = "", remove: str = "", by: str = "user") -> str:
        """Set lineage by hand; parents are words of one text."""
        named = {"add": tuple(add.split()), "remove": tuple(remove.split())}
        return self.tell(Linked, t, memory_id=memory_id, authority=by, **named)

    def induce(self, of: str, *, t: float, kind: str | None = None, by: str | None = "tool", **named: Any) -> str:
        """Have a model speak of the text that an event wrote, as of a kind; `origin` is the event's source."""
        (written,) = (event for event in self.events if isinstance(event, Written) and event.ref.id == of)
        speaker = written.source.kind if written.source is not None else SourceKind.UNKNOWN
        summary, origin = named.pop("card", None), named.pop("origin", "/guardian/inducer")
        fields = {"memory_id": written.memory_id, "revision": revision_of(written), "observed_at": written.observed_at}
        fields |= {"digest": digest_of(written.text, kind or written.kind, speaker), "inducer": "stub", "version": "card-1"}
        fields |= {"confidence": 0.5, "card": None if summary is None else {"summary": summary}, "authority": by}
        event_id = self.tell(Induced, t, **{**fields, **named})
        event = self.events.pop()
        self.events.append(sign(replace(event, ref=replace(event.ref, source=origin))))
        return event_id

    def audit(self, memory_id: str, value: float, *, t: float, channel: str = "execution", **named: Any) -> str:
        """Give a verdict."""
        return self.tell(Audited, t, memory_id=memory_id, channel=channel, value=value, **named)

    def rows(self, **named: Any) -> list[Row]:
        """Give the state of the set."""
        return compute_state(self.events, **{"restates": word_overlap, **named})

    def row(self, memory_id: str, *, space: str = "S1", **named: Any) -> Row:
        """Give the row of the latest revision of a memory."""
        return [row for row in self.rows(**named) if (row["space"], row["memory_id"]) == (space, memory_id)][-1]

    def statuses(self) -> dict[str, list[str]]:
        """Give the status of every revision of each memory, oldest first."""
        found: dict[str, list[str]] = {}
        for row in self.rows():
            found.setdefault(row["memory_id"], []).append(row["status"])
        return found
