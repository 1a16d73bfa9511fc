"""Facts beside the records: corrections, retractions, verdicts, reads, deletions, links, erasures; and their payloads.

Each is a point of its own kind with an id made of its event, so that a redelivery writes the same point again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from guardian.core.claim import digest_subject, dump_ref, dump_source, load_ref, load_source
from guardian.core.model import (
    Audited,
    Authority,
    Corrected,
    Deleted,
    Erased,
    EventRef,
    Extent,
    Linked,
    Read,
    Retracted,
)
from guardian.core.moment import format_time, parse_time
from guardian.core.point import PointKind, build_point_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A correction in force: an explicit one, or one by `supersedes`, or one in place by a verified revision.

    Attributes:
        key: Point id; `verified:<record id>` for one in place, which is no point of its own.
        ref: Its event; for one in place the least believed event of the revision.
        targets: Memory ids named as targets; of one in place its memory.
        revision_id: Of one in place: the record that replaces what was before it.
        chain: Label of its chain as last stored.
        mentions: Targets, replacement and memories found by subject, as last stored.
        family_roots: Root ids from which its family extent starts, as last stored.
    """

    key: str
    space: str
    ref: EventRef
    targets: tuple[str, ...]
    effective_at: datetime
    subject: str | None = None
    replacement: str | None = None
    extent: Extent | None = None
    authority: Authority | None = None
    reason: str | None = None
    revision_id: str | None = None
    chain: str = ""
    mentions: tuple[str, ...] = ()
    family_roots: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[datetime, str, str, str, str]:
        """Place among corrections: effective time, then event source and id."""
        return (self.effective_at, self.ref.source, self.ref.id, self.ref.digest, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A standing verdict of a channel on a memory."""

    id: str
    ref: EventRef
    memory_id: str
    channel: str
    value: float
    revision: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFact:
    """One read of a session."""

    id: str
    ref: EventRef
    session_id: str | None
    retrieved: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFact:
    """Lineage set by hand."""

    id: str
    ref: EventRef
    memory_id: str
    add: tuple[str, ...]
    remove: tuple[str, ...]
    authority: Authority | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A deletion or an erasure of a memory up to a time."""

    id: str
    point: PointKind
    ref: EventRef
    memory_id: str
    observed_at: datetime
    cascade: bool = False


Fact = Correction | Verdict | ReadFact | LinkFact | Ending


def build_event_key(source: str, event_id: str) -> str:
    """Name an event in reasons and in the payload field `events`."""
    return f"{source}#{event_id}"


def build_retraction_id(space: str, source: str, event_id: str) -> str:
    """Build the id of the point that says: this event is retracted."""
    return build_point_id(space, PointKind.RETRACTION, source, event_id)


def build_fact_id(space: str, kind: PointKind, ref: EventRef) -> str:
    """Build the id of a fact point; time and digest belong to the identity of an event."""
    return build_point_id(space, kind, format_time(ref.time), ref.source, ref.id, ref.digest)


def build_correction(event: Corrected) -> Correction:
    """Build the fact of an explicit correction."""
    return Correction(
        key=build_fact_id(event.space, PointKind.CORRECTION, event.ref),
        space=event.space,
        ref=event.ref,
        targets=tuple(sorted(set(event.targets))),
        effective_at=event.effective_at,
        subject=event.subject,
        replacement=event.replacement,
        extent=event.extent,
        authority=event.authority,
        reason=event.reason,
    )


def dump_correction(correction: Correction) -> dict[str, Any]:
    """Give the payload of a correction's point."""
    facts = {
        "o": dump_ref(correction.ref),
        "t": list(correction.targets),
        "e": format_time(correction.effective_at),
        "r": correction.replacement,
        "x": correction.extent,
        "a": dump_source(correction.authority),
        "y": correction.reason,
        "f": list(correction.family_roots),
    }
    payload = {
        "point": PointKind.CORRECTION.value,
        "space": correction.space,
        "subject": None if correction.subject is None else [correction.subject, digest_subject(correction.subject)],
        "mentions": list(correction.mentions) or None,
        "chain": correction.chain or None,
        "events": [build_event_key(correction.ref.source, correction.ref.id)],
        "facts": orjson.dumps(facts).decode(),
    }
    return {name: value for name, value in payload.items() if value is not None}


def load_correction(point_id: str, payload: Any) -> Correction:
    """Read a correction from its payload."""
    facts = orjson.loads(payload["facts"])
    return Correction(
        key=point_id,
        space=payload["space"],
        ref=load_ref(facts["o"]),
        targets=tuple(facts["t"]),
        effective_at=parse_time(facts["e"]),
        subject=payload["subject"][0] if "subject" in payload else None,
        replacement=facts["r"],
        extent=Extent(facts["x"]) if facts["x"] else None,
        authority=load_source(facts["a"]),
        reason=facts["y"],
        chain=payload.get("chain", ""),
        mentions=tuple(payload.get("mentions", ())),
        family_roots=tuple(facts["f"]),
    )


def place_in_chain(correction: Correction, *, chain: str, mentions: tuple[str, ...], family_roots: tuple[str, ...]) -> Correction:
    """Give the correction with its chain, mentions and family roots as they are now."""
    return replace(correction, chain=chain, mentions=mentions, family_roots=family_roots)


def build_verdict(event: Audited) -> Verdict:
    """Build the fact of a verdict."""
    return Verdict(
        id=build_fact_id(event.space, PointKind.VERDICT, event.ref),
        ref=event.ref,
        memory_id=event.memory_id,
        channel=event.channel,
        value=event.value,
        revision=event.revision,
    )


def dump_verdict(event: Audited) -> dict[str, Any]:
    """Give the payload of a verdict's point."""
    facts = {"o": dump_ref(event.ref), "c": event.channel, "v": event.value, "r": event.revision}
    payload: dict[str, Any] = {
        "point": PointKind.VERDICT.value,
        "space": event.space,
        "memory_id": event.memory_id,
        "events": [build_event_key(event.ref.source, event.ref.id)],
        "facts": orjson.dumps(facts).decode(),
    }
    if event.evidence:
        payload["rest"] = orjson.dumps(dict(event.evidence)).decode()
    return payload


def load_verdict(point_id: str, payload: Any) -> Verdict:
    """Read a verdict from its payload."""
    facts = orjson.loads(payload["facts"])
    return Verdict(
        id=point_id,
        ref=load_ref(facts["o"]),
        memory_id=payload["memory_id"],
        channel=facts["c"],
        value=facts["v"],
        revision=facts["r"],
    )


def build_read(event: Read) -> ReadFact:
    """Build the fact of a read."""
    read_id = build_fact_id(event.space, PointKind.READ, event.ref)
    return ReadFact(id=read_id, ref=event.ref, session_id=event.session_id, retrieved=event.retrieved)


def dump_read(event: Read) -> dict[str, Any]:
    """Give the payload of a read's point. Its query is not kept: no rule asks for it, and an erasure could not find it."""
    facts = {"o": dump_ref(event.ref), "r": list(event.retrieved), "u": list(event.used), "t": event.task_id}
    payload: dict[str, Any] = {
        "point": PointKind.READ.value,
        "space": event.space,
        "mentions": sorted(set(event.retrieved)) or None,
        "session_id": event.session_id,
        "facts": orjson.dumps(facts).decode(),
    }
    return {name: value for name, value in payload.items() if value is not None}


def load_read(point_id: str, payload: Any) -> ReadFact:
    """Read a read from its payload."""
    facts = orjson.loads(payload["facts"])
    return ReadFact(id=point_id, ref=load_ref(facts["o"]), session_id=payload.get("session_id"), retrieved=tuple(facts["r"]))


def build_link(event: Linked) -> LinkFact:
    """Build the fact of a link."""
    return LinkFact(
        id=build_fact_id(event.space, PointKind.LINK, event.ref),
        ref=event.ref,
        memory_id=event.memory_id,
        add=event.add,
        remove=event.remove,
        authority=event.authority,
        reason=event.reason,
    )


def dump_link(link: LinkFact, space: str) -> dict[str, Any]:
    """Give the payload of a link's point."""
    facts = {
        "o": dump_ref(link.ref),
        "a": list(link.add),
        "d": list(link.remove),
        "u": dump_source(link.authority),
        "y": link.reason,
    }
    return {
        "point": PointKind.LINK.value,
        "space": space,
        "memory_id": link.memory_id,
        "facts": orjson.dumps(facts).decode(),
    }


def load_link(point_id: str, payload: Any) -> LinkFact:
    """Read a link from its payload."""
    facts = orjson.loads(payload["facts"])
    return LinkFact(
        id=point_id,
        ref=load_ref(facts["o"]),
        memory_id=payload["memory_id"],
        add=tuple(facts["a"]),
        remove=tuple(facts["d"]),
        authority=load_source(facts["u"]),
        reason=facts["y"],
    )


def build_ending(event: Deleted | Erased) -> Ending:
    """Build the fact of a deletion or an erasure."""
    point = PointKind.ERASURE if isinstance(event, Erased) else PointKind.DELETION
    return Ending(
        id=build_fact_id(event.space, point, event.ref),
        point=point,
        ref=event.ref,
        memory_id=event.memory_id,
        observed_at=event.observed_at,
        cascade=isinstance(event, Erased) and event.cascade,
    )


def dump_ending(event: Deleted | Erased) -> dict[str, Any]:
    """Give the payload of a deletion's or an erasure's point."""
    ending = build_ending(event)
    authority = dump_source(event.authority) if isinstance(event, Erased) else None
    facts = {"o": dump_ref(event.ref), "e": format_time(event.observed_at), "c": ending.cascade, "a": authority}
    return {
        "point": ending.point.value,
        "space": event.space,
        "memory_id": event.memory_id,
        "facts": orjson.dumps(facts).decode(),
    }


def load_ending(point_id: str, payload: Any) -> Ending:
    """Read a deletion or an erasure from its payload."""
    facts = orjson.loads(payload["facts"])
    return Ending(
        id=point_id,
        point=PointKind(payload["point"]),
        ref=load_ref(facts["o"]),
        memory_id=payload["memory_id"],
        observed_at=parse_time(facts["e"]),
        cascade=facts["c"],
    )


def dump_retraction(event: Retracted) -> dict[str, Any]:
    """Give the payload of a retraction's point: what is withdrawn. Who withdrew it goes into the outcome."""
    return {
        "point": PointKind.RETRACTION.value,
        "space": event.space,
        "facts": orjson.dumps([event.event_source, event.event_id]).decode(),
    }
