"""Builds events for tests as users send them: a CloudEvents mapping that goes through the real codec.

Ids are digests of what an event says, so the same call twice is the same event twice. Times are RFC 3339 strings, aware
datetimes, or minutes after 2026-03-01T00:00:00Z.
"""

# ruff: noqa: A002 - parameters bear the names of the wire, and an event's identity there is `id`

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import orjson

from guardian.contracts.codec import DecodePolicy, decode, encode_event
from guardian.core.claim import build_revision, digest_text
from guardian.core.induction import digest_content
from guardian.core.model import (
    Audited,
    Calibrated,
    Corrected,
    Deleted,
    Erased,
    Event,
    Induced,
    Linked,
    MemoryKind,
    Rated,
    Read,
    Retracted,
    SourceKind,
    Written,
)

START = datetime(2026, 3, 1, tzinfo=UTC)
# Later than any time a test uses, so that no event lies in the future.
RECEIVED_AT = datetime(2100, 1, 1, tzinfo=UTC)
POLICY = DecodePolicy()

When = int | float | str | datetime


def at(when: When) -> str:
    """Give the RFC 3339 string of a time, or of a number of minutes after `START`."""
    if isinstance(when, str):
        return when
    instant = START + timedelta(minutes=when) if isinstance(when, int | float) else when
    return instant.isoformat().replace("+00:00", "Z")


def envelope(
    kind: str,
    data: Mapping[str, Any],
    *,
    t: When = 0,
    space: str = "s",
    source: str = "/test",
    id: str | None = None,
) -> dict[str, Any]:
    """Build the CloudEvents mapping of an event."""
    time = at(t)
    digest = hashlib.sha256(orjson.dumps([kind, time, space, data], option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]
    return {
        "specversion": "1.0",
        "id": id or f"{kind.removeprefix('memory.')}-{digest}",
        "source": source,
        "type": kind,
        "time": time,
        "space": space,
        "data": dict(data),
    }


def event_of(wire: Mapping[str, Any], *, policy: DecodePolicy = POLICY) -> Event:
    """Decode a CloudEvents mapping with the real codec."""
    return decode(orjson.dumps(wire), policy=policy, received_at=RECEIVED_AT).event


def as_wire(event: Event) -> dict[str, Any]:
    """Give an event as the CloudEvents mapping that Guardian itself would send."""
    return cast("dict[str, Any]", orjson.loads(encode_event(event)))


def _named(**fields: Any) -> dict[str, Any]:
    """Give the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _origin(kind: str | None, ref: str | None = None, actor: str | None = None) -> dict[str, Any] | None:
    """Give a source or authority, or None when nothing of it is named."""
    return _named(kind=kind, ref=ref, actor=actor) or None


def _ids(ids: str | Iterable[str]) -> list[str]:
    """Give a list of ids; one id alone may be given as itself."""
    return [ids] if isinstance(ids, str) else list(ids)


def written_data(
    memory_id: str,
    text: str = "A text",
    *,
    src: str | None = "agent",
    ref: str | None = None,
    actor: str | None = None,
    parents: Iterable[str] | None = None,
    observed: When | None = None,
    verified: bool = False,
    supersedes: Sequence[str] = (),
    kind: str | None = None,
    subject: str | None = None,
    session: str | None = None,
    scope: Mapping[str, str] | None = None,
    grade: float | None = None,
    episode: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Build the data of `memory.written`; `more` are wire fields by their own names, also unknown ones."""
    scope = {**(scope or {}), **_named(session_id=session)}
    return _named(
        memory_id=memory_id,
        text=text,
        source=_origin(src, ref, actor),
        parents=None if parents is None else list(parents),
        observed_at=None if observed is None else at(observed),
        verified=verified or None,
        supersedes=list(supersedes) or None,
        kind=kind,
        subject=subject,
        scope=scope or None,
        self_grade=grade,
        episode=episode,
        **more,
    )


def written(
    memory_id: str,
    text: str = "A text",
    *,
    t: When = 0,
    space: str = "s",
    source: str = "/test",
    id: str | None = None,
    **fields: Any,
) -> Written:
    """Build a write; `fields` are those of `written_data`. `src=None` names no source."""
    data = written_data(memory_id, text, **fields)
    return cast("Written", event_of(envelope("memory.written", data, t=t, space=space, source=source, id=id)))


def read(
    retrieved: str | Iterable[str],
    *,
    session: str | None = "session",
    used: Iterable[str] | None = None,
    t: When = 0,
    space: str = "s",
    source: str = "/test",
    id: str | None = None,
    **more: Any,
) -> Read:
    """Build a read of a session."""
    data = _named(retrieved=_ids(retrieved), session_id=session, used=None if used is None else list(used), **more)
    return cast("Read", event_of(envelope("memory.read", data, t=t, space=space, source=source, id=id)))


def corrected(
    targets: str | Iterable[str] = (),
    replacement: str | Mapping[str, Any] | None = None,
    *,
    by: str | None = "user",
    actor: str | None = None,
    subject: str | None = None,
    extent: str | None = None,
    effective: When | None = None,
    t: When = 0,
    space: str = "s",
    source: str = "/test",
    id: str | None = None,
    **more: Any,
) -> Corrected:
    """Build a correction by an authority of kind `by`; `written_data(…, src=None)` makes an inline replacement."""
    data = _named(
        targets=_ids(targets) or None,
        subject=subject,
        replacement=replacement,
        extent=extent,
        authority=_origin(by, actor=actor),
        effective_at=None if effective is None else at(effective),
        **more,
    )
    return cast("Corrected", event_of(envelope("memory.corrected", data, t=t, space=space, source=source, id=id)))


def audited(
    memory_id: str,
    value: float,
    *,
    channel: str = "gold",
    revision: str | None = None,
    t: When = 0,
    space: str = "s",
    source: str = "/test",
    id: str | None = None,
    **more: Any,
) -> Audited:
    """Build a verdict."""
    data = _named(memory_id=memory_id, value=value, channel=channel, revision=revision, **more)
    return cast("Audited", event_of(envelope("memory.audited", data, t=t, space=space, source=source, id=id)))


def retracted(
    event: Event,
    *,
    by: str | None = "user",
    t: When | None = None,
    source: str = "/test",
    id: str | None = None,
    **more: Any,
) -> Retracted:
    """Build the retraction of an event, by default a minute after it and in its space."""
    data = _named(event={"source": event.ref.source, "id": event.ref.id}, authority=_origin(by), **more)
    when = event.ref.time + timedelta(minutes=1) if t is None else t
    wire = envelope("memory.retracted", data, t=when, space=event.space, source=source, id=id)
    return cast("Retracted", event_of(wire))


def deleted(
    memory_id: str,
    *,
    observed: When | None = None,
    t: When = 0,
    space: str = "s",
    source: str = "/test",
    id: str | None = None,
) -> Deleted:
    """Build a deletion."""
    data = _named(memory_id=memory_id, observed_at=None if observed is None else at(observed))
    return cast("Deleted", event_of(envelope("memory.deleted", data, t=t, space=space, source=source, id=id)))


def linked(
    memory_id: str,
    *,
    add: Iterable[str] = (),
    remove: Iterable[str] = (),
    by: str | None = "user",
    t: When = 0,
    space: str = "s",
    source: str = "/test",
    id: str | None = None,
    **more: Any,
) -> Linked:
    """Build a change of lineage by hand."""
    data = _named(memory_id=memory_id, add=list(add) or None, remove=list(remove) or None, authority=_origin(by), **more)
    return cast("Linked", event_of(envelope("memory.linked", data, t=t, space=space, source=source, id=id)))


def erased(
    memory_id: str,
    *,
    cascade: bool = False,
    by: str | None = "user",
    observed: When | None = None,
    t: When = 0,
    space: str = "s",
    source: str = "/test",
    id: str | None = None,
) -> Erased:
    """Build an erasure."""
    data = _named(
        memory_id=memory_id,
        cascade=cascade or None,
        authority=_origin(by),
        observed_at=None if observed is None else at(observed),
    )
    return cast("Erased", event_of(envelope("memory.erased", data, t=t, space=space, source=source, id=id)))


def induced(
    of: Written,
    *,
    card: Mapping[str, Any] | None = None,
    narrowing: Mapping[str, Any] | None = None,
    inducer: str = "stub",
    version: str = "card-1",
    confidence: float = 0.9,
    digest: str | None = None,
    by: str | None = "tool",
    t: When = 0,
    source: str = "/guardian/inducer",
    id: str | None = None,
) -> Induced:
    """Build what a model said of the revision that a write made; `digest` is that of its very content unless given."""
    parents = None if of.parents is None else [name for name in of.parents if name != of.memory_id]
    data = _named(
        memory_id=of.memory_id,
        revision=build_revision(observed_at=of.observed_at, text=of.text, parents=parents),
        observed_at=at(of.observed_at),
        digest=digest or content_digest(of),
        inducer=inducer,
        version=version,
        confidence=confidence,
        card=card,
        narrowing=narrowing,
        authority=_origin(by),
    )
    return cast("Induced", event_of(envelope("memory.induced", data, t=t, space=of.space, source=source, id=id)))


def content_digest(of: Written) -> str:
    """Digest what a write says by itself, as far as a card is made from it."""
    return digest_content(
        text_digest=digest_text(of.text),
        kind=of.kind or MemoryKind.OTHER,
        source_kind=of.source.kind if of.source is not None else SourceKind.UNKNOWN,
    )


def card_data(**more: Any) -> dict[str, Any]:
    """Build the card of an induction as it stands on the wire."""
    setting = {
        "request": "what the gate is",
        "evidence": "a newer notice",
        "support": "none",
        "scope": "the airport",
        "limitation": "gates change",
    }
    return {
        "task_types": ["question answering"],
        "settings": [setting],
        "distinctions": ["an announcement, not an observation"],
        "rules": [{"condition": "a newer notice disagrees", "influence": "no influence"}],
        "summary": "An announcement of a gate.",
    } | more


def trust(
    alpha: float, payoff: float = 0.1, *, passes: bool = True, members: Sequence[str] = (), detects: bool = False
) -> dict[str, Any]:
    """Build what a calibration says of a channel."""
    return _named(alpha=alpha, payoff=payoff, passes=passes, members=list(members) or None, detects=detects or None)


def calibrated(
    calibration: str = "cal-1",
    *,
    by: str | None = "human_review",
    effective: When | None = None,
    t: When = 0,
    space: str = "s",
    source: str = "/test",
    id: str | None = None,
    **channels: Mapping[str, Any],
) -> Calibrated:
    """Build the activation of a calibration; `channels` are what `trust` gives."""
    data = _named(
        calibration=calibration,
        channels=dict(channels),
        authority=_origin(by),
        effective_at=None if effective is None else at(effective),
    )
    return cast("Calibrated", event_of(envelope("space.calibrated", data, t=t, space=space, source=source, id=id)))


def rated(
    memory_ids: str | Iterable[str], *, t: When = 0, space: str = "s", source: str = "/test", id: str | None = None
) -> Rated:
    """Build the wish to rate memories again."""
    data = {"memory_ids": _ids(memory_ids)}
    return cast("Rated", event_of(envelope("memory.rated", data, t=t, space=space, source=source, id=id)))
