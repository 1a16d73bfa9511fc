"""Deciding alone: no store, no decoding, one core. What is fetched for a batch is fetched before the clock starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.bank import MIX, Bank, Mix, decode_events
from benchmarks.laps import Advance, Lap, interleave, timed
from benchmarks.limit import BATCH_EVENTS
from benchmarks.report import Aim, Report
from guardian.core.asking import initial_needs
from guardian.core.decide import decide
from guardian.core.model import Event
from guardian.core.needs import Needs
from guardian.core.plan import Plan
from guardian.core.policy import Policy
from guardian.core.snapshot import Snapshot
from guardian.errors import InvariantError
from guardian.ports import Fence, Store
from guardian.settings import Settings
from guardian.store.layout import iter_slices
from guardian.store.memory import MemoryStore
from guardian.wiring import build_identity, build_pipeline, build_policy_of

PolicyOf = Callable[[str], Policy]
Prepared = tuple[Sequence[Event], list[Needs], Snapshot]  # a batch, what its rounds asked for, and the answers
AIM = Aim(value=10_000)
_MIXES = {
    "70 % leaves, 20 % roots, 10 % reads": MIX,
    "leaves alone": Mix(leaves=1, roots=0, reads=0),
    "roots alone": Mix(leaves=0, roots=1, reads=0),
}


async def measure_decide(*, seeded: int, batches: int, repetitions: int, advance: Advance) -> Report:
    """Measure `decide` over batches of 500 events on a bank that has had `seeded` events before."""
    report = Report(name="decide", title=f"decide alone, batches of {BATCH_EVENTS} after {seeded:,} events, one core")
    for name, mix in _MIXES.items():
        advance(f"preparing {name}")
        prepared = await _prepare(seeded, batches, mix)
        variants = {name: partial(_run_decide, prepared)}
        laps = (await interleave(variants, repetitions=repetitions, advance=advance))[name]
        aim = AIM if mix == MIX else None
        report.add(f"{name}, by processor time", [lap.cpu_rate for lap in laps], "events/s", aim=aim)
        report.add(f"{name}, by wall time", [lap.rate for lap in laps], "events/s")
        fetched = sum(snapshot.count() for _, _, snapshot in prepared)
        report.add(f"{name}, points fetched", fetched / laps[0].count, "per event")
        report.add(f"{name}, rounds of asking", sum(len(rounds) for _, rounds, _ in prepared) / len(prepared), "per batch")
    report.notes.append("one call of `decide` with all it needs at hand; a batch that asks again pays for each round")
    return report


async def _run_decide(prepared: Sequence[Prepared]) -> Lap:
    policy_of = build_policy_of(Settings())
    lap = Lap(count=sum(len(events) for events, _, _ in prepared))
    with timed(lap):
        for events, _, snapshot in prepared:
            decide(events, snapshot, policy_of)
    return lap


async def _prepare(seeded: int, batches: int, mix: Mix) -> list[Prepared]:
    """Give batches, each with what the rounds asked for and the snapshot that answers them."""
    store = MemoryStore(build_identity(None))
    await store.open()
    pipeline = build_pipeline(Settings(), store, None, None)
    bank = Bank()
    for batch in iter_slices(decode_events(bank.iter_events(seeded)), BATCH_EVENTS):
        await pipeline.process(batch, fence=Fence())
    later = decode_events(bank.iter_events(batches * BATCH_EVENTS, mix))
    prepared = []
    for events in iter_slices(later, BATCH_EVENTS):
        rounds, snapshot, plan = await _ask(store, events, pipeline.policy_of)
        prepared.append((events, rounds, snapshot))
        await store.apply(plan.phases, fence=Fence())
    return prepared


async def _ask(store: Store, events: Sequence[Event], policy_of: PolicyOf) -> tuple[list[Needs], Snapshot, Plan]:
    """Fetch for a batch until it can be decided, as the pipeline does."""
    snapshot, rounds, needs = Snapshot(), [], initial_needs(events)
    while needs:
        rounds.append(needs)
        snapshot.add(needs, await store.fetch(needs))
        answer = decide(events, snapshot, policy_of)
        if isinstance(answer, Plan):
            return rounds, snapshot, answer
        needs = answer.minus(snapshot.asked)
    raise InvariantError("the decision asks for what it was given already")
