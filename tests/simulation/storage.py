"""The simulated store: one server that all workers share, on which a plan arrives write by write, late, in part, or without an answer.

It fences as the server store does: a batch marks its spaces before it first reads, and every write looks at the marks first; each point
carries the version of its last writer, a write touches only points with no higher one, says nothing of what it skipped, and the writer
then reads the versions back and takes a higher one for a conflict. A patch is one write, as the server store sends it. Between any two
writes others may write, and whoever writes may die.

The look at the marks and the write after it are one turn here. On a server they are two requests, and what comes between them is the
window that `guardian.store.qdrant.fence` tells of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from guardian.core.needs import Needs
from guardian.core.point import Patch, Phase, Point, Upsert
from guardian.errors import ConflictError, DependencyError
from guardian.pipeline import Pipeline
from guardian.ports import Fence, Hit, SearchQuery, StoreIdentity
from guardian.store.check import validate_fence, validate_phase
from guardian.store.memory import MemoryStore
from guardian.trust.recalibrate import iter_rated, load_calibrations
from tests.reference.forge import START
from tests.simulation.broker import DELAY_MS
from tests.simulation.faults import Fault, Faults
from tests.simulation.schedule import Pause

IDENTITY = StoreIdentity(schema_version=1, embedding="none", vector_size=0, bm25="simulated")
Write = Upsert | Patch | str


@dataclass(slots=True)
class Server:
    """What the server holds.

    Attributes:
        memory: The points.
        versions: Version of the last writer, by point id; a deleted point forgets it.
        marks: Version of the last batch that claimed it, by space.
        is_fenced: False takes the fence away, which the checks must notice.
        is_marked: False takes the marks away from it.
    """

    memory: MemoryStore
    is_fenced: bool = True
    is_marked: bool = True
    versions: dict[str, int] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)

    @classmethod
    def build(cls, *, is_fenced: bool = True, is_marked: bool = True) -> Server:
        """Begin empty."""
        return cls(MemoryStore(IDENTITY), is_fenced, is_fenced and is_marked)

    def claim(self, fence: Fence) -> None:
        """Mark spaces; a higher mark stays."""
        for space in fence.spaces if self.is_marked else ():
            self.marks[space] = max(self.marks.get(space, 0), fence.version)

    def check_marks(self, fence: Fence) -> None:
        """Refuse who is not the last to have marked its spaces.

        Raises:
            ConflictError: Names the space.
        """
        for space in sorted(fence.spaces):
            if self.marks.get(space, 0) > fence.version:
                raise ConflictError(f"space {space} has a newer owner")

    @property
    def payloads(self) -> dict[str, dict[str, Any]]:
        """All payloads by point id."""
        return self.memory.shelf.payloads

    async def write(self, write: Write, version: int) -> bool:
        """Carry out one write unless the fence stands against it; tells whether it did anything."""
        point_id = write if isinstance(write, str) else write.id
        if self.is_fenced and self.versions.get(point_id, 0) > version:
            return False
        if not isinstance(write, Upsert) and point_id not in self.payloads:
            return False
        await self.memory.apply([_wrap(write)], fence=Fence(version=version))
        if isinstance(write, str):
            self.versions.pop(point_id, None)
        else:
            self.versions[point_id] = version
        return True


def _wrap(write: Write) -> Phase:
    if isinstance(write, Upsert):
        return Phase(upserts=(write,))
    return Phase(patches=(write,)) if isinstance(write, Patch) else Phase(deletes=(write,))


class StoreClient:
    """One worker's way to the server, as a store of the pipeline.

    Attributes:
        on_fetch: Called before the store is read.
        on_write: Called after each write with the phases it is of and whether it did anything.
        on_applied: Called when all phases are written, before the writer knows of it.
    """

    def __init__(self, server: Server, faults: Faults) -> None:
        self.identity = server.memory.identity
        self.on_fetch: Callable[[], None] = lambda: None
        self.on_write: Callable[[Sequence[Phase], Write], None] = lambda *_: None
        self.on_applied: Callable[[], None] = lambda: None
        self._server = server
        self._faults = faults

    async def fetch(self, needs: Needs) -> list[Point]:
        """Read points, between the writes of others."""
        await self._wait("fetch")
        self._fail(Fault.FETCH_FAILS)
        self.on_fetch()
        return await self._server.memory.fetch(needs)

    async def search(self, query: SearchQuery) -> list[Hit]:
        """Search records."""
        await self._wait("search")
        self._fail(Fault.SEARCH_FAILS)
        return await self._server.memory.search(query)

    async def claim(self, fence: Fence) -> None:
        """Mark the spaces of a batch, and read the marks back.

        Raises:
            ConflictError: A later owner has marked one of them.
            DependencyError: The server is away; the marks may be set.
        """
        validate_fence(fence)
        await self._wait("claim")
        self._fail(Fault.WRITE_FAILS)
        self._server.claim(fence)
        await self._wait("marks")
        self._fail(Fault.FETCH_FAILS)
        self._server.check_marks(fence)

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write phases one write at a time.

        Raises:
            ConflictError: A later owner has marked one of the spaces, or written one of the points.
            DependencyError: The server is away; a beginning of the writes may be done, or all of them.
        """
        validate_fence(fence)
        for phase in phases:
            validate_phase(phase, vector_size=self.identity.vector_size)
        await self._wait("apply")
        for writes in iter_requests(phases):
            for write in writes:
                await self._wait(f"write:{_name(write)}")
                self._fail(Fault.WRITE_FAILS)
                self._server.check_marks(fence)
                if await self._server.write(write, fence.version):
                    self.on_write(phases, write)
            self._check_fence(writes, fence.version)
        self.on_applied()
        self._fail(Fault.WRITE_ANSWER_LOST)

    def _check_fence(self, writes: Sequence[Write], version: int) -> None:
        for write in writes:
            point_id = write if isinstance(write, str) else write.id
            if self._server.is_fenced and self._server.versions.get(point_id, 0) > version:
                raise ConflictError(f"point {point_id} has a newer owner")

    async def _wait(self, place: str) -> None:
        delay = self._faults.pick(DELAY_MS) if self._faults.strikes(Fault.DELAY) else 0
        await Pause(place, delay)

    def _fail(self, fault: Fault) -> None:
        if self._faults.strikes(fault):
            raise DependencyError(f"simulated: {fault}", dependency="store")


def iter_requests(phases: Sequence[Phase]) -> Iterator[Sequence[Write]]:
    """Give the writes of each request in order; the fence is looked at after each request."""
    for phase in phases:
        yield from (phase.upserts, phase.patches, phase.deletes)


def _name(write: Write) -> str:
    if isinstance(write, str):
        return "delete"
    return "patch" if isinstance(write, Patch) else f"upsert {write.payload['point']}"


async def recalibrate(store: MemoryStore, pipeline: Pipeline) -> None:
    """Bring utilities to the calibrations in force, as `guardian audit recompute` does; afterwards nothing is left to do."""
    calibrations = await load_calibrations(store, pipeline.policy_of)
    events = [event async for event in iter_rated(store, calibrations, START)]
    if events:
        await pipeline.process(events, fence=Fence())
    if [event async for event in iter_rated(store, calibrations, START)]:
        raise AssertionError("utilities of another calibration are left when all was recomputed")
