"""Mutants: the write path with one promise of its making left out, to see that the checks notice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

import pytest

from guardian.contracts.message import build_messages
from guardian.core import chain, intake, world
from guardian.core.calibration import Calibration, overlay
from guardian.core.card import Permission
from guardian.core.chain import Standing
from guardian.core.induction import Induction, build_induction_id
from guardian.core.intake import Disposition
from guardian.core.model import ChannelTrust, Event, Induced
from guardian.core.needs import Key
from guardian.core.node import Node
from guardian.core.permission import merge_permissions
from guardian.core.plan import Plan
from guardian.core.point import Phase
from guardian.core.policy import Policy
from guardian.core.rules import induction, lineage, utility
from guardian.errors import ConflictError
from guardian.pipeline import BatchReport, Pipeline
from guardian.ports import Fence, Store
from guardian.stream.letter_index import LetterIndex
from guardian.stream.plane.batch import Batch
from guardian.stream.plane.origin import Record
from guardian.trust import recalibrate
from tests.simulation.faults import Fault
from tests.simulation.storage import StoreClient
from tests.simulation.worker import Worker
from tests.simulation.world import Parts


class _CommitsFirst(Worker):
    """Acknowledges a batch before its plan is durable."""

    async def _take_to_commit(self, chunk: Mapping[int, Sequence[Record]], batch: Batch, begun_in: int) -> bool:
        if await self._choose_version({partition: read[0].offset for partition, read in chunk.items()}) is None:
            return False
        return await self._commit(chunk) and await self._carry_out(chunk, batch)


class _ForgetsLetters(Worker):
    """Drops what cannot be decoded."""

    async def _carry_out(self, chunk: Mapping[int, Sequence[Record]], batch: Batch) -> bool:
        batch.refused = []
        return await super()._carry_out(chunk, batch)


class _BlindIndex(LetterIndex):
    """Knows no letter of an erased memory."""

    async def erase(self, erased: Mapping[Key, datetime]) -> None:
        """Find nothing."""

    async def look_after(self, store: Store) -> None:
        """Find nothing."""


class _KeepsLetters(Worker):
    """Leaves the dead letters of an erased memory where they are."""

    index_class = _BlindIndex


class _PatchesFirst(StoreClient):
    """Lets statuses fall before what replaces the fallen is stored."""

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write all patches, then the rest."""
        patches = [Phase(patches=phase.patches) for phase in phases if phase.patches]
        rest = [replace(phase, patches=()) for phase in phases]
        await super().apply([*patches, *(phase for phase in rest if phase)], fence=fence)


class _ParentsFirst(StoreClient):
    """Writes the change that others follow from before them."""

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write the patches in the opposite order."""
        await super().apply([replace(phase, patches=phase.patches[::-1]) for phase in phases], fence=fence)


class _IgnoresConflicts(StoreClient):
    """Takes a write that the fence refused for done."""

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write what the fence lets through."""
        try:
            await super().apply(phases, fence=fence)
        except ConflictError:
            self.on_applied()


class _PublishesFirst(Pipeline):
    """Announces what it has decided before it is durable."""

    async def process(self, events: Sequence[Event], *, fence: Fence) -> BatchReport:
        """Decide and publish, then do it properly."""
        if events and self.publisher is not None:
            plan = await self.plan(events, BatchReport())
            await self._announce(plan)
        return await super().process(events, fence=fence)

    async def _announce(self, plan: Plan) -> None:
        publisher, self.publisher = self.publisher, None
        try:
            assert publisher is not None
            await publisher.publish([message for outcome in plan.outcomes for message in build_messages(outcome)])
        finally:
            self.publisher = publisher


class _SkipsKnown(Pipeline):
    """Takes an event whose own point is stored for done, though a crash may have come between it and what follows from it."""

    async def process(self, events: Sequence[Event], *, fence: Fence) -> BatchReport:
        """Work on the events that leave no trace yet."""
        fresh = [event for event in events if not await self._is_known(event)]
        report = await super().process(fresh, fence=fence)
        if not fresh:
            await self.store.apply([], fence=fence)
            if self.publisher is not None:
                await self.publisher.publish([])
        return report

    async def _is_known(self, event: Event) -> bool:
        report = BatchReport()
        plan = await self.plan([event], report)
        return bool(report.fetched) and all(outcome.disposition.value == "duplicate" for outcome in plan.outcomes)


@contextmanager
def _without_exemption() -> Iterator[None]:
    """Let a correction exempt its own replacement alone, and fell those of the later corrections of its chain."""

    def collect(component: list[Standing]) -> None:
        for standing in component:
            standing.exempting = set(standing.replacing)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "_collect_exempting", collect)
        yield


@contextmanager
def _by_first_calibration() -> Iterator[None]:
    """Rate by the calibration that took effect first, not by the one that did last."""

    def overlay_first(policy: Policy, calibrations: Iterable[Calibration]) -> Policy:
        first = min(calibrations, key=lambda one: one.order, default=None)
        return overlay(policy, [] if first is None else [first])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "overlay", overlay_first)
        patch.setattr(recalibrate, "overlay", overlay_first)
        yield


@contextmanager
def _with_silence_heard() -> Iterator[None]:
    """Take detectors for scores: what they do not flag is believed, too."""
    list_voices = utility._list_voices

    def list_all(said: Mapping[str, float], trusts: Mapping[str, ChannelTrust]) -> object:
        return list_voices(said, {name: replace(trust, detects=False) for name, trust in trusts.items()})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utility, "_list_voices", list_all)
        yield


@contextmanager
def _with_any_induction() -> Iterator[None]:
    """Take what a model said of a revision for what it says of every content that the revision has, now or later."""

    def find(world_: world.World, node: Node) -> Induction | None:
        if node.revision is None:
            return None
        return world_.inductions(node.memory_id).get(build_induction_id(world_.space, node.memory_id, node.revision))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(induction, "find_induction", find)
        yield


@contextmanager
def _with_the_first_card() -> Iterator[None]:
    """Keep what a model said first of a revision, whatever another prompt says later."""
    take = intake._take_induced

    def take_first(world_: world.World, event: Induced, intake_: intake.Intake) -> Disposition:
        key = build_induction_id(event.space, event.memory_id, event.revision)
        return Disposition.DUPLICATE if key in world_.inductions(event.memory_id) else take(world_, event, intake_)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake, "_take_induced", take_first)
        yield


@contextmanager
def _narrowing_no_descendants() -> Iterator[None]:
    """Take from a record alone what a model takes, and from nothing that derives from it."""

    def merge(own: Permission, parents: Sequence[Permission], *, has_unseen_parent: bool = False) -> Permission:
        return merge_permissions(own, [], has_unseen_parent=has_unseen_parent)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lineage, "merge_permissions", merge)
        yield


def _with_pipeline(pipeline: type[Pipeline]) -> type[Worker]:
    return type(f"With{pipeline.__name__}", (Worker,), {"pipeline_class": pipeline})


# What the fence is there for, and nothing that would make good for it: some seed of five then tells whether there is one.
_TAKEOVERS = dict.fromkeys(Fault, 0.0) | {Fault.TAKEOVER: 0.05}

MUTANTS: dict[str, Parts] = {
    "no_fence": Parts(is_fenced=False, rates=_TAKEOVERS),
    "commits_before_apply": Parts(worker=_CommitsFirst),
    "forgets_dead_letters": Parts(worker=_ForgetsLetters),
    "keeps_erased_letters": Parts(worker=_KeepsLetters),
    "patches_before_records": Parts(store=_PatchesFirst),
    "parents_before_children": Parts(store=_ParentsFirst),
    "ignores_conflicts": Parts(store=_IgnoresConflicts, rates=_TAKEOVERS),
    "publishes_before_apply": Parts(worker=_with_pipeline(_PublishesFirst)),
    "skips_duplicates": Parts(worker=_with_pipeline(_SkipsKnown)),
    "fells_later_replacements": Parts(crippled=_without_exemption),
    "rates_by_the_first_calibration": Parts(crippled=_by_first_calibration),
    "hears_silent_detectors": Parts(crippled=_with_silence_heard),
    "narrows_another_content": Parts(crippled=_with_any_induction),
    "keeps_the_first_card": Parts(crippled=_with_the_first_card),
    "narrows_no_descendants": Parts(crippled=_narrowing_no_descendants),
}
