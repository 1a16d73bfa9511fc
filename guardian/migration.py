"""Migration: the next generation of a store, filled from the one in use, then put in its place.

```
open as it is ─▶ what differs? ─▶ fill the next generation ─▶ bar writers, carry over what they wrote meanwhile ─▶ switch
```

Filling is a comparison: a page of the store in use, what the next generation has of it, and only what differs is written. So an attempt
that was cut off, at whatever point and however long ago, is gone on with by doing the same again; a record whose vector was made is not
embedded twice; and points written or removed meanwhile are found. The store in use is only read until the switch.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol, cast

from guardian.core.needs import Needs
from guardian.core.point import Phase, Point, PointKind, Upsert
from guardian.embed.bm25 import bm25_document
from guardian.embed.fill import embed_texts
from guardian.embed.port import Embedder, Vector
from guardian.errors import ConfigError
from guardian.ports import Fence, Store, StoreIdentity, Vectors
from guardian.store.check import build_payload
from guardian.store.layout import PENDING, SCHEMA_VERSION
from guardian.store.schema import UPCASTERS, Upcaster, Upcasters, find_upcasters, list_kinds, upcast

# Points compared at once: what a death costs at most, and what is embedded in one go.
PAGE_POINTS = 500
# How far components of one vector may lie apart after engines made it a 32-bit unit vector, perhaps twice.
_TOLERANCE = 1e-5


class Step(StrEnum):
    """What a migration is doing."""

    FILLING = "filling the new one"
    WAITING = "waiting for writes under way"
    CATCHING_UP = "carrying over what was written meanwhile"
    SWITCHING = "switching"
    SWITCHED = "switched"


Observe = Callable[[Step, int, int], None]
"""Told of each step, with the points done and of how many."""


class ReadAsItIs(Store, Protocol):
    """A store that was opened whatever it was made for; `faults` are the indexes it lacks."""

    faults: tuple[str, ...]


class Generations(Protocol):
    """The generations of one store: the one in use, and the next one.

    Attributes:
        place: For messages.
        is_shared: Others may write to the one in use until it is retired.
    """

    place: str
    is_shared: bool

    async def open_current(self) -> ReadAsItIs:
        """Open the one in use as it is."""

    async def open_next(self, identity: StoreIdentity) -> Store:
        """Open what an earlier attempt was filling for the same identity, or make it; anything else that was begun goes."""

    def check_switch(self, *, drops_old: bool) -> None:
        """Refuse what the switch would have to remove unasked."""

    async def retire_current(self) -> None:
        """Bar writers from the one in use, for good; when it returns none is in the midst of a write. Readers go on."""

    async def switch(self) -> None:
        """Put the next one in use, in one step."""

    async def discard_next(self) -> bool:
        """Remove what was begun, and let writers back in; tells whether there was anything."""

    async def list_old(self) -> list[str]:
        """List what was given up and is still there."""

    async def drop_old(self) -> list[str]:
        """Remove what was given up; gives the names."""

    async def check_room(self) -> None:
        """Refuse to begin what would not fit."""

    async def measure_bytes(self) -> int | None:
        """Give the bytes on disk, where they can be seen."""

    async def close(self) -> None:
        """Close what is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What a store is to become.

    Attributes:
        identity: From the settings.
        embedder: Makes the vectors; None for BM25 alone.
        is_rebuilt: Also when nothing differs, and so that nothing stays of what the store no longer holds.
        drops_vectors: Vectors may go without others in their place.
        upcasters: Steps between layouts.
    """

    identity: StoreIdentity
    embedder: Embedder | None = None
    is_rebuilt: bool = False
    drops_vectors: bool = False
    upcasters: Upcasters = field(default_factory=lambda: UPCASTERS)


@dataclass(slots=True, kw_only=True)
class MigrationReport:
    """What a migration did, or found.

    Attributes:
        changes: What differs between the store and the aim, in words.
        points: In the store.
        written, replaced, removed: Points of the next generation, over all passes of this attempt.
        embedded: Records whose vector was made.
        unembedded: Records that the model cannot embed; found by BM25.
        is_switched: The store in use is the new one.
        discarded: An earlier attempt was given up.
        kept: Old generations that are still there; dropped: those that were removed.
    """

    changes: tuple[str, ...] = ()
    points: int = 0
    written: int = 0
    replaced: int = 0
    removed: int = 0
    embedded: int = 0
    unembedded: int = 0
    is_switched: bool = False
    discarded: bool = False
    kept: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    bytes_before: int | None = None
    bytes_after: int | None = None


def list_changes(kept: StoreIdentity, wanted: StoreIdentity, faults: Sequence[str] = ()) -> tuple[str, ...]:
    """Say what differs, one thing each."""
    names = ("schema_version", "embedding", "vector_size", "bm25")
    changes = [
        f"{name.replace('_', ' ')}: {getattr(kept, name)} becomes {getattr(wanted, name)}"
        for name in names
        if getattr(kept, name) != getattr(wanted, name)
    ]
    return (*changes, *faults)


def check_aim(kept: StoreIdentity, aim: Aim) -> None:
    """Refuse what cannot be done, or would lose vectors unasked.

    Raises:
        ConfigError: Names the mend.
    """
    find_upcasters(kept.schema_version, aim.identity.schema_version, aim.upcasters)
    if _keeps_dense(kept, aim.identity):
        return
    if not aim.identity.vector_size:
        if not aim.drops_vectors:
            raise ConfigError(
                f"the store has vectors of {kept.embedding} and the settings name no model: they would be lost.",
                setting="GUARDIAN_EMBEDDING__PROVIDER",
                mend="set the provider and model that the store is to have, or say --drop-vectors.",
            )
    elif aim.embedder is None or not aim.embedder.embeds:
        raise ConfigError(
            f"vectors of {aim.identity.embedding} come with the events, nothing here can make them for the records that are there.",
            setting="GUARDIAN_EMBEDDING__PROVIDER",
            mend="set a provider that makes vectors, or replay your logs, with their vectors, into a new store.",
        )


async def migrate(
    generations: Generations, aim: Aim | None, *, drops_old: bool = False, stops_before_switch: bool = False, observe: Observe
) -> MigrationReport:
    """Bring a store to the aim; doing it again goes on with what was begun, and does nothing when all is done.

    Args:
        generations: Closed by the caller.
        aim: What the store is to become; None for what it is already, made anew from what it holds now: a compaction.
        drops_old: Remove the old generation after the switch, where it would stay for its readers.
        stops_before_switch: Fill only; where others write meanwhile, the later switch is then short.
        observe: Told of progress.

    Raises:
        ConfigError: It cannot be done; nothing was changed.
        DependencyError: Store or model is away, or the disk is too small; do it again later.
    """
    current = await generations.open_current()
    aim = aim or Aim(identity=replace(current.identity, schema_version=SCHEMA_VERSION), is_rebuilt=True)
    report = MigrationReport(changes=list_changes(current.identity, aim.identity, current.faults))
    report.bytes_before = await generations.measure_bytes()
    report.points = await current.count(kinds=_list_kinds(current, aim))
    if report.changes or aim.is_rebuilt:
        check_aim(current.identity, aim)
        generations.check_switch(drops_old=drops_old)
        await generations.check_room()
        await _fill(generations, current, aim, report, observe)
        if not stops_before_switch:
            await _switch(generations, current, aim, report, observe)
    else:
        report.discarded = await generations.discard_next()
    report.dropped = await generations.drop_old() if drops_old else []
    report.kept = await generations.list_old()
    report.bytes_after = await generations.measure_bytes()
    return report


async def examine(generations: Generations, aim: Aim) -> MigrationReport:
    """Say what a migration would change, and refuse what it would refuse. Changes nothing."""
    current = await generations.open_current()
    report = MigrationReport(changes=list_changes(current.identity, aim.identity, current.faults))
    if report.changes:
        check_aim(current.identity, aim)
    report.points = await current.count(kinds=_list_kinds(current, aim))
    report.bytes_before = await generations.measure_bytes()
    report.kept = await generations.list_old()
    return report


async def _fill(generations: Generations, current: Store, aim: Aim, report: MigrationReport, observe: Observe) -> None:
    following = await generations.open_next(aim.identity)
    before = report.replaced + report.removed
    await Copy(current, following, aim).run(report, lambda done, total: observe(Step.FILLING, done, total))
    if aim.is_rebuilt and not generations.is_shared and report.replaced + report.removed > before:
        # An earlier attempt had copied what the store no longer holds: its bytes would stay in the new shard.
        await generations.discard_next()
        following = await generations.open_next(aim.identity)
        await Copy(current, following, aim).run(report, lambda done, total: observe(Step.FILLING, done, total))


async def _switch(generations: Generations, current: Store, aim: Aim, report: MigrationReport, observe: Observe) -> None:
    if generations.is_shared:
        observe(Step.WAITING, 0, 0)
        await generations.retire_current()
        following = await generations.open_next(aim.identity)
        await Copy(current, following, aim).run(report, lambda done, total: observe(Step.CATCHING_UP, done, total))
    observe(Step.SWITCHING, 0, 0)
    await generations.switch()
    report.is_switched = True
    observe(Step.SWITCHED, 0, 0)


class Copy:
    """Makes one store hold what another holds, changed as the aim says.

    Args:
        source: Only read.
        target: Made for the aim's identity; nobody else writes it.
        page_points: Points compared at once.
    """

    def __init__(self, source: Store, target: Store, aim: Aim, *, page_points: int = PAGE_POINTS) -> None:
        kept, wanted = source.identity, aim.identity
        self._source, self._target = source, target
        self._embedder = aim.embedder
        self._page_points = page_points
        self._steps: tuple[Upcaster, ...] = find_upcasters(kept.schema_version, wanted.schema_version, aim.upcasters)
        self._kinds = _list_kinds(source, aim)
        self._has_dense = wanted.vector_size > 0
        self._keeps_dense = _keeps_dense(kept, wanted)
        self._keeps_sparse = kept.bm25 == wanted.bm25

    async def run(self, report: MigrationReport, advance: Callable[[int, int], None]) -> None:
        """Take one pass over the source, then remove what it does not hold."""
        report.unembedded = done = 0
        total = await self._source.count(kinds=self._kinds)
        advance(0, total)
        async for page in _iter_pages(self._source.iter_points(kinds=self._kinds), self._page_points):
            await self._carry(page, report)
            done += len(page)
            advance(done, max(done, total))
        if await self._target.count() != await self._source.count(kinds=self._kinds):
            await self._remove_strays(report)

    async def _carry(self, page: Sequence[Point], report: MigrationReport) -> None:
        payloads = {point.id: build_payload(upcast(point.payload, self._steps)) for point in page}
        there = {point.id: point.payload for point in await self._target.fetch(Needs(ids=set(payloads)))}
        there_vectors = await self._target.fetch_vectors(list(there))
        vectors = await self._choose_vectors(payloads, there, there_vectors, report)
        upserts: list[Upsert] = []
        for point_id, upcasted in payloads.items():
            chosen = vectors.get(point_id, Vectors())
            payload = self._mark_pending(upcasted, chosen)
            report.unembedded += PENDING in payload
            if there.get(point_id) == payload and _is_same(there_vectors[point_id], chosen):
                continue
            upserts.append(Upsert(id=point_id, payload=payload, dense=chosen.dense, sparse=chosen.sparse))
            report.replaced += point_id in there
            report.written += point_id not in there
        await self._target.apply([Phase(upserts=tuple(upserts))], fence=Fence())

    async def _choose_vectors(
        self,
        payloads: Mapping[str, Mapping[str, Any]],
        there: Mapping[str, Mapping[str, Any]],
        there_vectors: Mapping[str, Vectors],
        report: MigrationReport,
    ) -> dict[str, Vectors]:
        """Choose each record's vectors: those of the source, else those that were made already, else new ones."""
        texts = {point_id: payload["text"] for point_id, payload in payloads.items() if payload["point"] == PointKind.RECORD}
        given = await self._source.fetch_vectors(list(texts)) if self._keeps_dense or self._keeps_sparse else {}
        dense: dict[str, Vector | None] = {}
        if self._keeps_dense:
            dense = {point_id: given.get(point_id, Vectors()).dense for point_id in texts}
        elif self._has_dense:
            dense = {
                point_id: there_vectors[point_id].dense
                for point_id in texts
                if point_id in there and there[point_id].get("text") == texts[point_id]
            }
            made = await self._embed({point_id: text for point_id, text in texts.items() if dense.get(point_id) is None})
            report.embedded += len(made)
            dense |= made
        return {
            point_id: Vectors(dense=dense.get(point_id), sparse=self._choose_sparse(given.get(point_id), text))
            for point_id, text in texts.items()
        }

    async def _embed(self, texts: dict[str, str]) -> dict[str, Vector]:
        if not texts:
            return {}
        assert self._embedder is not None, "checked before"
        return await embed_texts(self._embedder, texts)

    def _choose_sparse(self, given: Vectors | None, text: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
        if self._keeps_sparse and given is not None and given.sparse is not None:
            return given.sparse
        return bm25_document(text)

    def _mark_pending(self, payload: dict[str, Any], chosen: Vectors) -> dict[str, Any]:
        if payload["point"] != PointKind.RECORD:
            return payload
        payload = {name: value for name, value in payload.items() if name != PENDING}
        return {**payload, PENDING: "dense"} if self._has_dense and chosen.dense is None else payload

    async def _remove_strays(self, report: MigrationReport) -> None:
        async for page in _iter_pages(self._target.iter_points(), self._page_points):
            ids = {point.id for point in page}
            strays = ids - {point.id for point in await self._source.fetch(Needs(ids=ids))}
            report.removed += len(strays)
            await self._target.apply([Phase(deletes=tuple(sorted(strays)))], fence=Fence())


def _keeps_dense(kept: StoreIdentity, wanted: StoreIdentity) -> bool:
    return (kept.embedding, kept.vector_size) == (wanted.embedding, wanted.vector_size)


def _list_kinds(source: Store, aim: Aim) -> Collection[PointKind]:
    """Give the kinds to read; those of an older layout are only text."""
    steps = find_upcasters(source.identity.schema_version, aim.identity.schema_version, aim.upcasters)
    return cast("Collection[PointKind]", list_kinds(steps))


def _is_same(there: Vectors, wanted: Vectors) -> bool:
    if (there.dense is None) != (wanted.dense is None) or (there.sparse or ((), ())) != (wanted.sparse or ((), ())):
        return False
    if there.dense is None or wanted.dense is None or there.dense == wanted.dense:
        return True
    norm = math.hypot(*wanted.dense)
    return all(abs(kept - number / norm) < _TOLERANCE for kept, number in zip(there.dense, wanted.dense, strict=True))


async def _iter_pages(points: AsyncIterator[Point], size: int) -> AsyncIterator[list[Point]]:
    page: list[Point] = []
    async for point in points:
        page.append(point)
        if len(page) == size:
            yield page
            page = []
    if page:
        yield page
