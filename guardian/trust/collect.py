"""Collect audited episodes and the counts of a bank from a store, space by space, in bounded memory.

An episode is a record of kind episode or skill, or any record that the agent graded; it is audited when something outside the agent says
whether it was right (see `truth`). What it retrieved is looked up in the store: of each memory the record in force when the episode was
written. Reads and records are streamed; kept are a bounded sample of audited episodes and bounded counts.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from guardian.core.fact import load_read
from guardian.core.needs import Needs
from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.point import Point, PointKind
from guardian.ports import Store
from guardian.trust.bank import BankCounter, BankCounts
from guardian.trust.calibrate import MAX_LABELLED, Labelled, read_labelled
from guardian.trust.estimate import AuditedEpisode
from guardian.trust.sample import KeySample
from guardian.trust.truth import ACCEPT_LEVEL, StandIn, Truth, is_episode, judge_episode, judge_memory, list_retrieved, read_grade

# Audited episodes kept of a space, and overall: resampling 2,000 takes a tenth of a second, 20,000 half a second, and an interval of a share is
# a hundredth wide by then. Some 10 MB.
MAX_EPISODES = 20_000
# Memories whose reads are counted apart, some 50 MB; of more a sample is.
MAX_READ_MEMORIES = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How gently a store is read.

    Attributes:
        page_points: Points read at once; None for the store's own pages. An embedded engine stops its process for 6 ms a hundred.
        episodes: Those whose retrieved memories are looked up at once.
        pause_s: Rest after each, in seconds, for whoever shares the store.
    """

    page_points: int | None = None
    episodes: int = 200
    pause_s: float = 0.0

    async def iter_points(self, store: Store, *, space: str | None, kinds: Collection[PointKind]) -> AsyncIterator[Point]:
        """Give points, with a rest after each page."""
        read = 0
        async for point in store.iter_points(space=space, kinds=kinds, page_points=self.page_points):
            yield point
            read += 1
            if self.page_points is not None and read % self.page_points == 0:
                await asyncio.sleep(self.pause_s)


HASTY = Pace()


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which episodes count, and how they are judged.

    Attributes:
        since: Episodes observed, and reads made, at or after it; None for all.
        accept_level: Self-grade in [0, 1] from which the agent takes its episode for good.
        stand_in: A channel that stands in for the truth where there is no `gold` verdict.
        recent: Refused claims count from it on; None for all.
    """

    since: datetime | None = None
    accept_level: float = ACCEPT_LEVEL
    stand_in: StandIn | None = None
    recent: datetime | None = None

    def holds(self, moment: datetime | None) -> bool:
        """Tell whether a time lies in it."""
        return self.since is None or (moment is not None and moment >= self.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceReading:
    """What one space holds.

    Attributes:
        episodes: Audited episodes by the id of their record, in that order.
        is_whole: Whether that is all of them, or a sample of `MAX_EPISODES`.
        bank: Counts of all its records.
        labelled: What its labelled records say of channels, by the id of their record; a sample of as many as a calibration looks at.
    """

    space: str
    episodes: Mapping[str, AuditedEpisode]
    is_whole: bool
    bank: BankCounts
    labelled: Mapping[str, Labelled] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """An audited episode before it is known what it retrieved."""

    memory_id: str
    observed_at: datetime
    truth: Truth
    grade: float | None
    retrieved: tuple[str, ...] | None


async def list_spaces(store: Store) -> list[str]:
    """List the spaces that have records."""
    return sorted(await store.count_values("space", kinds={PointKind.RECORD}))


async def iter_spaces(
    store: Store,
    window: Window,
    *,
    space: str | None = None,
    choose: Callable[[str], bool] = lambda _: True,
    pace: Pace = HASTY,
) -> AsyncIterator[SpaceReading]:
    """Read one space after the other; costs a pass over reads and records, and a lookup of what audited episodes retrieved.

    Args:
        store: Where they lie.
        window: Which episodes and reads count.
        space: Only this one.
        choose: Only those of which it says so.
        pace: How gently.

    Raises:
        DependencyError: The store is away.
    """
    for name in [space] if space is not None else await list_spaces(store):
        if choose(name):
            yield await _read_space(store, name, window, pace)


async def _read_space(store: Store, space: str, window: Window, pace: Pace) -> SpaceReading:
    reads = await count_reads(store, space, window, pace=pace)
    counter = BankCounter(reads=reads.values, stand_in=window.stand_in, accept_level=window.accept_level, recent=window.recent)
    found: KeySample[_Found] = KeySample(MAX_EPISODES)
    labelled: KeySample[Labelled] = KeySample(MAX_LABELLED)
    async for point in pace.iter_points(store, space=space, kinds={PointKind.RECORD}):
        node = load_node(point)
        counter.count(node)
        episode = _find(node, window)
        if episode is not None:
            found.put(point.id, episode)
        label = read_labelled(node)
        if label is not None:
            labelled.put(point.id, label)
    return SpaceReading(
        space=space,
        episodes=await _audit_all(store, space, found.values, reads, window, pace),
        is_whole=found.is_whole,
        bank=counter.finish(),
        labelled=labelled.values,
    )


async def _audit_all(
    store: Store, space: str, found: Mapping[str, _Found], reads: KeySample[int], window: Window, pace: Pace
) -> dict[str, AuditedEpisode]:
    episodes: dict[str, AuditedEpisode] = {}
    keys = sorted(found)
    for start in range(0, len(keys), pace.episodes):
        part = {key: found[key] for key in keys[start : start + pace.episodes]}
        memories = await fetch_memories(store, space, {name for one in part.values() for name in one.retrieved or ()})
        episodes |= {key: _audit(one, space, memories, reads, window) for key, one in part.items()}
        await asyncio.sleep(pace.pause_s)
    return episodes


async def count_reads(store: Store, space: str, window: Window, *, pace: Pace = HASTY) -> KeySample[int]:
    """Count how often the reads of a window returned each memory."""
    counts: KeySample[int] = KeySample(MAX_READ_MEMORIES)
    async for point in pace.iter_points(store, space=space, kinds={PointKind.READ}):
        read = load_read(point.id, point.payload)
        if window.holds(read.ref.time):
            for name in set(read.retrieved):
                counts.put(name, counts.values.get(name, 0) + 1)
    return counts


async def fetch_memories(store: Store, space: str, names: set[str]) -> dict[str, list[Node]]:
    """Fetch the records of memories, each memory's in order of time."""
    if not names:
        return {}
    points = await store.fetch(Needs(memories={(space, name) for name in names}))
    memories: dict[str, list[Node]] = defaultdict(list)
    for point in points:
        if point.payload["point"] == PointKind.RECORD:
            memories[point.payload["memory_id"]].append(load_node(point))
    return {name: sorted(nodes, key=lambda node: node.order) for name, nodes in memories.items()}


def find_in_force(nodes: Sequence[Node], moment: datetime) -> Node | None:
    """Give the latest record observed at or before a time, else the earliest: what a name stood for then."""
    upto = [node for node in nodes if node.order[0] <= moment]
    return upto[-1] if upto else next(iter(nodes), None)


def _find(node: Node, window: Window) -> _Found | None:
    if not window.holds(node.observed_at) or not is_episode(node):
        return None
    truth = judge_episode(node, window.stand_in)
    if truth is None:
        return None
    assert node.observed_at is not None
    return _Found(
        memory_id=node.memory_id,
        observed_at=node.observed_at,
        truth=truth,
        grade=read_grade(node),
        retrieved=list_retrieved(node),
    )


def _audit(
    found: _Found, space: str, memories: Mapping[str, Sequence[Node]], reads: KeySample[int], window: Window
) -> AuditedEpisode:
    nodes = [find_in_force(memories.get(name, ()), found.observed_at) for name in found.retrieved or ()]
    truths = [None if node is None else judge_memory(node, window.stand_in) for node in nodes]
    biases = [bias for node, truth in zip(nodes, truths, strict=True) if (bias := _find_bias(node, truth)) is not None]
    known = [truth for truth in truths if truth is not None]
    weights = [_weigh(truth, window.stand_in) for truth in known]
    grade, truth = found.grade, found.truth
    return AuditedEpisode(
        is_wrong=truth.is_wrong,
        is_accepted=None if grade is None else grade >= window.accept_level,
        bias=None if grade is None else grade - (0.0 if truth.is_stand_in else truth.value),
        corrupted_share=sum(weights) / len(weights) if weights else None,
        is_clean=found.retrieved is not None and all(one is not None and not one.is_wrong for one in truths),
        reuse=reads.values.get(found.memory_id, 0) if reads.keeps(found.memory_id) else None,
        is_stand_in=truth.is_stand_in,
        known_share=len(known) / len(truths) if truths else 1.0,
        judged_share=sum(one.is_stand_in for one in known) / len(truths) if truths else 0.0,
        judged=sum(one.is_stand_in for one in known),
        space=space,
        grade=grade,
        corrupted_bias=sum(biases) / len(biases) if biases else None,
    )


def _find_bias(node: Node | None, truth: Truth | None) -> float | None:
    """Give the bias of the grade of a wrong memory; None where it is not known, or not wrong."""
    grade = None if node is None or truth is None or not truth.is_wrong else read_grade(node)
    return None if grade is None or truth is None else grade - (0.0 if truth.is_stand_in else truth.value)


def _weigh(truth: Truth, stand_in: StandIn | None) -> float:
    if truth.is_stand_in and stand_in is not None:
        return stand_in.weigh(says_wrong=truth.is_wrong)
    return float(truth.is_wrong)
