"""Evidence: what shows that an event is in the store, once, and that the rows of its space are those of the reference.

Told from the points as they lie there, the reference in `tests/reference/` and the contract's words; the core decides nothing here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from guardian.core.export import EXPORTED, build_row, dump_row, sort_rows
from guardian.core.model import (
    Audited,
    Calibrated,
    Corrected,
    Deleted,
    Erased,
    Event,
    EventRef,
    Induced,
    Linked,
    Read,
    Retracted,
    Written,
)
from guardian.core.point import OPERATIONAL, Phase, Point, PointKind, Upsert
from guardian.core.policy import Policy
from guardian.pipeline import Pipeline
from guardian.ports import Fence, Store, StoreIdentity
from guardian.store.memory import MemoryStore
from tests.chaos.ledger import Fate, Place, Space
from tests.reference.corrections import build_corrections
from tests.reference.facts import gather_facts
from tests.reference.policy import ReferencePolicy
from tests.reference.revisions import build_revisions, format_time, revision_of
from tests.reference.state import compute_state
from tests.simulation.storage import recalibrate
from tests.simulation.truth import describe_difference, key_of, normalise, read_rows

Payloads = Mapping[str, Mapping[str, Any]]
Trace = tuple[str, ...]

# The point that each sort of event leaves; a write leaves a record or a tombstone, which many events may share.
_POINT_OF: Mapping[type[Event], PointKind] = {
    Read: PointKind.READ,
    Corrected: PointKind.CORRECTION,
    Audited: PointKind.VERDICT,
    Retracted: PointKind.RETRACTION,
    Deleted: PointKind.DELETION,
    Linked: PointKind.LINK,
    Erased: PointKind.ERASURE,
    Calibrated: PointKind.CALIBRATION,
    Induced: PointKind.INDUCTION,
}
_FACTS = frozenset(_POINT_OF.values())


async def fetch_payloads(store: Store, space: str) -> dict[str, dict[str, Any]]:
    """Give the payloads of all points of a space that are state, by point id."""
    kinds = frozenset(PointKind) - OPERATIONAL
    return {point.id: dict(point.payload) async for point in store.iter_points(space=space, kinds=kinds)}


async def recalibrate_payloads(payloads: Payloads, identity: StoreIdentity) -> dict[str, dict[str, Any]]:
    """Give the payloads as they are once utilities are brought to the calibrations in force, which an activation does not do by itself."""
    store = MemoryStore(identity)
    await store.apply([Phase(upserts=tuple(Upsert(id=key, payload=payload) for key, payload in payloads.items()))], fence=Fence())
    await recalibrate(store, Pipeline(store=store, policy_of=lambda _: Policy(), decide_in_thread=1 << 30))
    return store.shelf.payloads


def find_lost(space: Space, payloads: Payloads, *, is_due: Mapping[Place, bool] | None = None) -> Iterator[str]:
    """Tell of every event that ought to be in the store and is not, and of every one that is there twice.

    Args:
        space: What the topic holds of it.
        payloads: All points of the space.
        is_due: Places that are committed, while a test runs; at the end, when None, all are due, and what was withdrawn must be gone.
    """
    traces = Counter(trace for payload in payloads.values() if (trace := _read_trace(payload)) is not None)
    rows = [payload for payload in payloads.values() if payload["point"] in EXPORTED]
    revisions = {(row["memory_id"], row.get("revision")) for row in rows}
    tombstones = {(row["memory_id"], row.get("observed_at")) for row in rows if row["point"] == PointKind.TOMBSTONE}
    withdrawn, erased = space.list_withdrawn(), space.list_erased()
    for event, place in zip(space.events, space.places, strict=True):
        if is_due is not None and not is_due.get(place):
            continue
        fate = space.choose_fate(event, withdrawn, erased)
        if isinstance(event, Written):
            named = (event.memory_id, revision_of(event))
            if named not in revisions and (event.memory_id, format_time(event.observed_at)) not in tombstones:
                yield f"the write at {place} of {event.space} has no record"
            continue
        if fate is Fate.RATED:
            continue
        found = traces[_build_trace(event)]
        if fate is Fate.STORED and found != 1:
            yield f"the {type(event).__name__} at {place} of {event.space} is in the store {found} times"
        elif found and (
            _is_disputed_alone(event, fate, withdrawn)
            or (fate in {Fate.WITHDRAWN, Fate.FORGOTTEN, Fate.REPLACED} and is_due is None)
        ):
            yield f"the {fate} {type(event).__name__} at {place} of {event.space} is in the store"


def _is_disputed_alone(event: Event, fate: Fate, withdrawn: set[tuple[str, str]]) -> bool:
    """Tell whether an event was disputed, and no other may have left what it asked for: of retractions one with authority may."""
    is_shared = isinstance(event, Retracted) and (event.event_source, event.event_id) in withdrawn
    return fate is Fate.DISPUTED and not is_shared


def _build_trace(event: Event) -> Trace:
    if isinstance(event, Retracted):  # several of one event are one fact
        return PointKind.RETRACTION.value, event.event_source, event.event_id
    return _POINT_OF[type(event)].value, *_dump_ref(event.ref)


def _dump_ref(ref: EventRef) -> tuple[str, str, str, str]:
    return format_time(ref.time), ref.source, ref.id, ref.digest


def _read_trace(payload: Mapping[str, Any]) -> Trace | None:
    kind = payload["point"]
    if kind not in _FACTS:
        return None
    facts = orjson.loads(payload["facts"])
    return kind, *(facts if kind == PointKind.RETRACTION else facts["o"])


def compare_with_reference(space: str, events: Iterable[Event], payloads: Payloads) -> str | None:
    """Tell how the rows of a space differ from the reference's, byte for byte in all that the reference fixes; None when they do not."""
    expected = {key_of(row): normalise(row) for row in compute_state(events)}
    # What searches filter on is a field of its own; the export works the status out from the reasons.
    statuses = {(row["memory_id"], row["revision"]): row["status"] for row in payloads.values() if row["point"] in EXPORTED}
    found = {
        key: {name: value for name, value in row.items() if name in expected.get(key, row)} | {"status": statuses[key[1:]]}
        for key, row in read_rows(payloads, space).items()
    }
    if _dump(expected.values()) == _dump(found.values()):
        return None
    return describe_difference(expected, found) or f"{space}: rows are equal and their bytes are not"


def _dump(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(sorted(dump_row(dict(row)) for row in rows))


async def compare_with_clean_run(space: str, events: Iterable[Event], payloads: Payloads, identity: StoreIdentity) -> str | None:
    """Tell how the points of a space differ from those of an empty store given all its events at once, byte for byte, export and all."""
    clean = MemoryStore(identity)
    await Pipeline(store=clean, policy_of=lambda _: Policy(), decide_in_thread=1 << 30).process(list(events), fence=Fence())
    shelf = clean.shelf.payloads
    if export_rows(shelf) == export_rows(payloads) and _dump_points(shelf) == _dump_points(payloads):
        return None
    return (
        describe_difference(_by_key(shelf), _by_key(payloads), is_whole=True)
        or f"{space}: points are equal and their bytes are not"
    )


def _by_key(payloads: Payloads) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(str(p["space"]), str(p["point"]), point_id): dict(p) for point_id, p in payloads.items()}


def _dump_points(payloads: Payloads) -> bytes:
    return orjson.dumps(dict(payloads), option=orjson.OPT_SORT_KEYS)


def export_rows(payloads: Payloads) -> bytes:
    """Give the export of a space: the bytes that `guardian export` gives."""
    points = [Point(point_id, payload) for point_id, payload in payloads.items() if payload["point"] in EXPORTED]
    return b"".join(map(dump_row, sort_rows(map(build_row, points))))


def list_waiting(space: Space) -> list[Place]:
    """Give the places of the corrections that name nothing that has been seen."""
    facts = gather_facts(space.events, ReferencePolicy())
    corrections = build_corrections(facts, build_revisions(facts))
    refs = {each.ref for each in corrections if each.form == 0 and not any(each.named.values())}
    return [
        place
        for event, place in zip(space.events, space.places, strict=True)
        if isinstance(event, Corrected) and event.ref in refs
    ]
