"""Maps between wire and core: validated models become the core's events, and core events become wire data.

One function an event type each way. What may be refused on the way in is judged by `admission.Reading`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from typing import Any

from guardian.contracts import wire
from guardian.contracts.admission import Reading
from guardian.contracts.card import read_card, read_narrowing, write_induction
from guardian.contracts.reason import Reason, build_record_error
from guardian.core.model import (
    Audited,
    Calibrated,
    ChannelTrust,
    Corrected,
    Deleted,
    Episode,
    Erased,
    Event,
    EventRef,
    Induced,
    Linked,
    Rated,
    Read,
    Retracted,
    Scope,
    Source,
    Written,
)


def _unique(ids: tuple[str, ...] | None) -> tuple[str, ...]:
    """Give the ids in their order, each once."""
    return tuple(dict.fromkeys(ids)) if ids else ()


def _lineage(parents: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Give parents as a sorted set; None, which inherits, stays apart from none at all."""
    return None if parents is None else tuple(sorted(set(parents)))


def _scope(given: wire.ScopeWire | None) -> Scope | None:
    if given is None:
        return None
    return Scope(
        user_id=given.user_id,
        agent_id=given.agent_id,
        project_id=given.project_id,
        session_id=given.session_id,
        domain=given.domain,
        task_type=given.task_type,
    )


def _episode(given: wire.EpisodeWire | None) -> Episode | None:
    if given is None:
        return None
    return Episode(
        task=given.task,
        answer=given.answer,
        language=given.language,
        retrieved=_unique(given.retrieved),
        outcome=given.outcome,
    )


# Objects in a write whose own unknown fields are kept; a field of another name is unknown itself, whatever it holds.
_OPEN_OBJECTS = ("source", "scope", "episode")


def _extra(given: wire.WrittenData) -> dict[str, Any]:
    """Give the unknown fields; those inside source, scope and episode under the name of their object."""
    extra = dict(given.model_extra) if given.model_extra else {}
    for name in _OPEN_OBJECTS:
        nested = getattr(given, name)
        if nested is not None and nested.model_extra:
            extra[name] = dict(nested.model_extra)
    return extra


def _written(
    reading: Reading,
    given: wire.WrittenData,
    ref: EventRef,
    space: str,
    *,
    path: str = "data",
    default_observed_at: datetime | None = None,
    default_source: Source | None = None,
) -> Written:
    reading.check_text(given.text, f"{path}.text")
    if given.vector is not None:
        reading.check_vector(given.vector, f"{path}.vector")
    return Written(
        ref=ref,
        space=space,
        memory_id=given.memory_id,
        text=given.text,
        observed_at=reading.read_past_time(given.observed_at, default_observed_at or ref.time, f"{path}.observed_at"),
        kind=given.kind,
        source=reading.read_source(given.source) or default_source,
        parents=_lineage(given.parents),
        valid_from=given.valid_from and reading.read_time(given.valid_from),
        valid_until=given.valid_until and reading.read_time(given.valid_until),
        scope=_scope(given.scope),
        subject=given.subject or None,
        verified=bool(given.verified),
        supersedes=_unique(given.supersedes),
        confidence=given.confidence,
        self_grade=given.self_grade,
        episode=_episode(given.episode),
        vector=given.vector,
        metadata=given.metadata or {},
        extra=_extra(given),
    )


def _read(_: Reading, given: wire.ReadData, ref: EventRef, space: str) -> Read:
    return Read(
        ref=ref,
        space=space,
        retrieved=_unique(given.retrieved),
        used=_unique(given.used),
        session_id=given.session_id,
        task_id=given.task_id,
        query=given.query,
    )


def _corrected(reading: Reading, given: wire.CorrectedData, ref: EventRef, space: str) -> Corrected:
    if not given.targets and not given.subject:
        raise build_record_error(Reason.CORRECTION_WITHOUT_TARGET, "neither targets nor subject is named.", path="data.targets")
    effective_at = _read_effective(reading, given.effective_at, ref)
    authority = reading.read_source(given.authority)
    inline, replacement = None, given.replacement
    if isinstance(replacement, wire.WrittenData):
        # Whoever corrects states the replacement, unless it names another source.
        inline = _written(
            reading,
            replacement,
            ref,
            space,
            path="data.replacement",
            default_observed_at=effective_at,
            default_source=authority,
        )
        replacement = inline.memory_id
    return Corrected(
        ref=ref,
        space=space,
        targets=_unique(given.targets),
        subject=given.subject or None,
        replacement=replacement,
        inline=inline,
        extent=given.extent,
        authority=authority,
        effective_at=effective_at,
        reason=given.reason,
    )


def _read_effective(reading: Reading, given: datetime | None, ref: EventRef) -> datetime:
    """Give the time from which an event holds, which is never after the event itself."""
    effective_at = ref.time if given is None else reading.read_time(given)
    if effective_at > ref.time:
        detail = f"{effective_at.isoformat()} is later than the event, {ref.time.isoformat()}."
        raise build_record_error(Reason.EFFECTIVE_AFTER_EVENT, detail, path="data.effective_at")
    return effective_at


def _audited(_: Reading, given: wire.AuditedData, ref: EventRef, space: str) -> Audited:
    return Audited(
        ref=ref,
        space=space,
        memory_id=given.memory_id,
        channel=given.channel,
        value=given.value,
        revision=given.revision,
        evidence=given.evidence or {},
    )


def _retracted(reading: Reading, given: wire.RetractedData, ref: EventRef, space: str) -> Retracted:
    return Retracted(
        ref=ref,
        space=space,
        event_source=given.event.source,
        event_id=given.event.id,
        authority=reading.read_source(given.authority),
        reason=given.reason,
    )


def _deleted(reading: Reading, given: wire.DeletedData, ref: EventRef, space: str) -> Deleted:
    observed_at = reading.read_past_time(given.observed_at, ref.time, "data.observed_at")
    return Deleted(ref=ref, space=space, memory_id=given.memory_id, observed_at=observed_at)


def _linked(reading: Reading, given: wire.LinkedData, ref: EventRef, space: str) -> Linked:
    return Linked(
        ref=ref,
        space=space,
        memory_id=given.memory_id,
        add=_unique(given.add),
        remove=_unique(given.remove),
        authority=reading.read_source(given.authority),
        reason=given.reason,
    )


def _erased(reading: Reading, given: wire.ErasedData, ref: EventRef, space: str) -> Erased:
    return Erased(
        ref=ref,
        space=space,
        memory_id=given.memory_id,
        observed_at=reading.read_past_time(given.observed_at, ref.time, "data.observed_at"),
        cascade=bool(given.cascade),
        authority=reading.read_source(given.authority),
    )


def _induced(reading: Reading, given: wire.InducedData, ref: EventRef, space: str) -> Induced:
    card = None if given.card is None else read_card(given, given.card)
    return Induced(
        ref=ref,
        space=space,
        memory_id=given.memory_id,
        revision=given.revision,
        observed_at=reading.read_past_time(given.observed_at, ref.time, "data.observed_at"),
        digest=given.digest,
        inducer=given.inducer,
        version=given.version,
        confidence=given.confidence,
        card=card,
        narrowing={} if given.narrowing is None else read_narrowing(given.narrowing),
        authority=reading.read_source(given.authority),
    )


def _calibrated(reading: Reading, given: wire.CalibratedData, ref: EventRef, space: str) -> Calibrated:
    return Calibrated(
        ref=ref,
        space=space,
        calibration=given.calibration,
        channels={name: _channel_trust(one) for name, one in sorted(given.channels.items())},
        effective_at=_read_effective(reading, given.effective_at, ref),
        authority=reading.read_source(given.authority),
        reason=given.reason,
    )


def _channel_trust(given: wire.ChannelTrustWire) -> ChannelTrust:
    members = tuple(sorted(_unique(given.members)))
    return ChannelTrust(alpha=given.alpha, payoff=given.payoff, passes=given.passes, members=members, detects=given.detects)


def _rated(_: Reading, given: wire.RatedData, ref: EventRef, space: str) -> Rated:
    return Rated(ref=ref, space=space, memory_ids=_unique(given.memory_ids))


_TO_CORE: dict[str, Callable[[Reading, Any, EventRef, str], Event]] = {
    "memory.written": _written,
    "memory.read": _read,
    "memory.corrected": _corrected,
    "memory.audited": _audited,
    "memory.retracted": _retracted,
    "memory.deleted": _deleted,
    "memory.linked": _linked,
    "memory.erased": _erased,
    "memory.induced": _induced,
    "space.calibrated": _calibrated,
    "memory.rated": _rated,
}

EVENT_TYPES: dict[type[Event], str] = {
    Written: "memory.written",
    Read: "memory.read",
    Corrected: "memory.corrected",
    Audited: "memory.audited",
    Retracted: "memory.retracted",
    Deleted: "memory.deleted",
    Linked: "memory.linked",
    Erased: "memory.erased",
    Induced: "memory.induced",
    Calibrated: "space.calibrated",
    Rated: "memory.rated",
}


def to_core(reading: Reading, event: wire.WireEvent, digest: str) -> Event:
    """Give the core's event of a validated wire event.

    Raises:
        RecordError: A limit of the policy is broken.
    """
    time = reading.read_past_time(event.time, event.time, "time")
    ref = EventRef(time=time, source=event.source, id=event.id, digest=digest)
    return _TO_CORE[event.type](reading, event.data, ref, event.space)


def to_data(event: Event) -> dict[str, Any]:
    """Give the wire `data` of a core event: what is absent stays away, sets come sorted, times are explicit."""
    data = _named_fields(event)
    del data["ref"], data["space"]
    match event:
        case Retracted():
            data["event"] = {"source": data.pop("event_source"), "id": data.pop("event_id")}
        case Corrected(inline=Written() as inline):
            del data["inline"]
            data["replacement"] = to_data(inline)
        case Induced():
            data |= write_induction(event)
        case Calibrated():
            data["channels"] = {name: _channel_data(one) for name, one in event.channels.items()}
        case Written():
            for name, value in data.pop("extra", {}).items():
                data[name] = {**data.get(name, {}), **value} if name in _OPEN_OBJECTS else value
    return data


def _channel_data(trust: ChannelTrust) -> dict[str, Any]:
    named = {"alpha": trust.alpha, "payoff": trust.payoff, "passes": trust.passes}
    return named | ({"members": trust.members} if trust.members else {}) | ({"detects": True} if trust.detects else {})


# Fields that are objects of their own on the wire.
_OBJECTS = frozenset({"source", "scope", "episode", "authority"})
# Fields whose emptiness says something: `parents: []` denies parents, a read of nothing is still a read, and a source
# of which nothing is known is still a source.
_KEPT_EMPTY = _OBJECTS | {"parents", "retrieved", "memory_ids"}


def _named_fields(value: Any) -> dict[str, Any]:
    """Give the fields of a core dataclass that say something, those of nested objects too."""
    named: dict[str, Any] = {}
    for field in fields(value):
        content = getattr(value, field.name)
        if content is None or content is False or (content in ((), {}) and field.name not in _KEPT_EMPTY):
            continue
        named[field.name] = _named_fields(content) if isinstance(content, Source | Scope | Episode) else content
    return named
