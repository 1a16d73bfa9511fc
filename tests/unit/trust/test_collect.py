"""Laws of collecting: figures from a store are those of the history that was written, and nobody's silence counts as good news."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from guardian.core.numbers.attractor import find_attractor
from guardian.trust import collect as module
from guardian.trust.bank import BankCounts
from guardian.trust.collect import SpaceReading, Window, iter_spaces
from guardian.trust.drift import measure_drift
from guardian.trust.estimate import AuditedEpisode
from guardian.trust.truth import StandIn
from tests.builders import START, audited, corrected, linked, read, written
from tests.property.bank import Bank
from tests.unit.trust.history import MODEL, write_history

CHECKER = StandIn(channel="checker", sensitivity=0.85, specificity=0.92)


async def collect(bank: Bank, window: Window | None = None) -> SpaceReading:
    """Read the one space of a bank."""
    (reading,) = [reading async for reading in iter_spaces(bank.store, window or Window())]
    return reading


async def audit_one(bank: Bank, window: Window | None = None) -> AuditedEpisode:
    """Give the one audited episode of a bank."""
    (episode,) = (await collect(bank, window)).episodes.values()
    return episode


async def test_figures_are_those_of_the_history() -> None:
    """Shares, slope, reuse and p of a labelled run, from the store, equal what the run itself counts."""
    bank = Bank()
    run = await write_history(bank, episodes=400)
    found, (space,) = await measure_drift(bank.store, Window(), resamples=100)
    assert (space.space, space.episodes) == ("graded", found.episodes)
    wrong = np.array([one.is_wrong for one in run])
    accepted = np.array([one.is_accepted for one in run])
    share = np.array([one.corrupted_share for one in run])
    assert found.episodes.episodes == len(run)
    assert found.episodes.leniency.value == pytest.approx(accepted[wrong].mean())
    assert found.episodes.sensitivity.value == pytest.approx(accepted[~wrong].mean())
    assert found.episodes.base_error.value == pytest.approx(wrong[share == 0].mean())
    assert found.episodes.kappa.value == pytest.approx(np.polyfit(share, wrong, 1)[0])
    # Trusted is what the agent accepted, and the five verified pages that it began with.
    assert found.bank.corrupted.value == pytest.approx(wrong[accepted].sum() / (accepted.sum() + 5))
    assert found.bank.corrupted.n == accepted.sum() + 5
    truth = find_attractor(kappa=MODEL.kappa, leniency=0.76, sensitivity=0.90, base_error=0.32)
    assert found.episodes.attractor.low is not None
    assert found.episodes.attractor.low <= truth <= found.episodes.attractor.high
    reuse = {f"ep-{one.number}": 0 for one in run}
    for one in run:
        for number in one.retrieved:
            reuse[f"ep-{number}"] += 1
    reading = await collect(bank)
    assert sorted(one.reuse for one in reading.episodes.values()) == sorted(reuse.values())
    assert reading.bank.slots == 5 * len(run)


async def test_a_stand_in_is_corrected_for_its_errors() -> None:
    """Without any label: the checker's own count of wrong ones is off, the corrected figures hold the truth of the run."""
    bank = Bank()
    run = await write_history(bank, episodes=900, seed=3, labelled=0.0)
    nothing, _ = await measure_drift(bank.store, Window(), resamples=100)
    assert nothing.episodes.episodes == 0
    assert not nothing.episodes.attractor.is_known
    found, _ = await measure_drift(bank.store, Window(stand_in=CHECKER), resamples=200)
    assert found.stand_in_episodes == len(run)
    wrong = np.array([one.is_wrong for one in run])
    accepted = np.array([one.is_accepted for one in run])
    truths = {
        "leniency": accepted[wrong].mean(),
        "sensitivity": accepted[~wrong].mean(),
    }
    for name, truth in truths.items():
        estimate = getattr(found.episodes, name)
        assert estimate.low <= truth <= estimate.high, (name, truth, estimate)
    corrupted = found.bank.corrupted
    assert corrupted.low <= wrong[accepted].mean() <= corrupted.high
    raw, _ = await measure_drift(
        bank.store, Window(stand_in=StandIn(channel="checker", sensitivity=1, specificity=1)), resamples=20
    )
    # Taken at its word it calls right ones wrong, and these dilute the leniency's complement: s and l move together.
    assert raw.episodes.leniency.value > found.episodes.leniency.value


async def test_gold_beats_the_stand_in_and_both_pool() -> None:
    """Half labelled: gold decides where it is, the checker elsewhere, and p still holds the truth."""
    bank = Bank()
    run = await write_history(bank, episodes=500, seed=5, labelled=0.5)
    found, _ = await measure_drift(bank.store, Window(stand_in=CHECKER), resamples=50)
    assert 150 < found.stand_in_episodes < 350
    wrong = np.array([one.is_wrong for one in run])
    accepted = np.array([one.is_accepted for one in run])
    assert found.bank.corrupted.low <= wrong[accepted].mean() <= found.bank.corrupted.high


async def test_what_was_retrieved_is_judged_by_correction_verdict_or_authority() -> None:
    """A corrected memory is wrong, a verified or rightly judged one right, and one of which nobody said anything is left out."""
    bank = Bank()
    await bank.send(
        written("old", "Beans cost 16.50", t=0, src="document", ref="a"),
        written("good", "Beans are brown", t=0, src="document", ref="b", verified=True),
        written("dim", "Beans come by ship", t=0, src="document", ref="c"),
        written(
            "e", "Ordered", t=5, kind="episode", grade=0.9, episode={"task": "order", "retrieved": ["old", "good", "dim", "gone"]}
        ),
        audited("e", 0.0, t=6),
        corrected("old", extent="record", t=7),
        read("e", t=8),
        read(["e", "old"], t=9),
    )
    episode = await audit_one(bank)
    assert (episode.is_wrong, episode.is_accepted, episode.bias, episode.reuse) == (True, True, 0.9, 2)
    # Of four retrieved memories two are known; a stand-in that judged a third adds its reach.
    assert (episode.corrupted_share, episode.known_share, episode.judged_share) == (0.5, 0.5, 0.0)
    assert episode.is_clean is False
    await bank.send(audited("dim", 1.0, channel="checker", t=10))
    judged = await audit_one(bank, Window(stand_in=CHECKER))
    assert (judged.known_share, judged.judged_share) == (0.75, 0.25)
    reading = await collect(bank)
    assert (reading.bank.records, reading.bank.standing, reading.bank.felled) == (4, 3, 1)
    # `good` is verified, `e` is labelled wrong and the agent trusts it; `dim` is unknown.
    assert reading.bank.gold == (1, 2)
    assert (reading.bank.slots, reading.bank.felled_slots) == (3, 1)


async def test_silence_is_unknown() -> None:
    """An episode that names nothing it retrieved is not clean; one that says it had none is; without a grade nothing is accepted."""
    bank = Bank()
    await bank.send(written("e", "Done", kind="episode", grade=0.2, episode={"task": "t"}), audited("e", 1.0, t=1))
    silent = await audit_one(bank)
    assert (silent.is_clean, silent.corrupted_share, silent.is_accepted) == (False, None, False)
    assert silent.bias == pytest.approx(-0.8)
    bank = Bank()
    await bank.send(written("e", "Done", kind="episode", parents=[]), audited("e", 1.0, t=1))
    bare = await audit_one(bank)
    assert (bare.is_clean, bare.corrupted_share, bare.is_accepted, bare.bias) == (True, None, None, None)
    bank = Bank()
    await bank.send(
        written("dim", "Somebody said so"),
        written("e", "Done", t=1, grade=0.9, parents=["dim"]),
        audited("e", 1.0, t=2),
    )
    unknowing = await audit_one(bank)
    assert (unknowing.is_clean, unknowing.corrupted_share) == (False, None)


async def test_a_correction_says_nothing_of_what_stands_on_other_roots_too() -> None:
    """A merge felled over one of its two roots is for revalidation, not known to be wrong."""
    bank = Bank()
    await bank.send(
        written("a", "One", t=0, src="document", ref="a"),
        written("b", "Two", t=0, src="document", ref="b"),
        written("both", "One and two", t=1, parents=["a", "b"]),
        written("e", "Done", t=2, grade=0.9, episode={"retrieved": ["both"]}),
        audited("e", 0.0, t=3),
        corrected("a", extent="descendants", t=4),
    )
    assert (await audit_one(bank)).corrupted_share is None
    await bank.send(audited("both", 0.0, t=5))
    assert (await audit_one(bank)).corrupted_share == 1.0


async def test_a_name_means_the_revision_in_force_then() -> None:
    """An episode read the first text of a memory; that the second was verified later does not make what it read right."""
    bank = Bank()
    await bank.send(
        written("m", "Sixteen", t=0, src="document", ref="x"),
        written("e", "Done", t=1, grade=0.9, episode={"retrieved": ["m"]}),
        audited("e", 0.0, t=2),
        written("m", "Twenty", t=3, src="document", ref="x", verified=True),
    )
    assert (await audit_one(bank)).corrupted_share == 1.0


async def test_the_window_leaves_older_episodes_and_reads_out() -> None:
    """Only what was observed since counts; the level moves what counts as accepted; a `self` verdict is part of the grade."""
    bank = Bank()
    await bank.send(
        written("old", "Done", t=0, grade=0.9), audited("old", 1.0, t=1), read("old", t=2),
        written("new", "Done again", t=60, grade=0.5), audited("new", 0.0, t=61), audited("new", 0.9, channel="self", t=62),
    )  # fmt: skip
    window = Window(since=START + timedelta(minutes=30), accept_level=0.7)
    episode = await audit_one(bank, window)
    assert (episode.is_wrong, episode.is_accepted) == (True, True)
    assert episode.bias == pytest.approx(0.7)
    assert (await collect(bank, window)).bank.slots == 0
    assert len((await collect(bank)).episodes) == 2
    assert (await audit_one(bank, Window(since=window.since, accept_level=0.71))).is_accepted is False


async def test_spaces_are_told_apart_and_added_up() -> None:
    """Each space has its own figures, all together are their sum; a retraction takes a label back."""
    bank = Bank()
    label = audited("e", 0.0, t=1, space="one")
    await bank.send(
        written("e", "Done", grade=0.9, space="one"), label,
        written("e", "Done", grade=0.9, space="two"), audited("e", 1.0, t=1, space="two"),
        written("f", "Heard", t=2, parents=["e"], space="two"), linked("f", add=["g"], t=3, space="two"),
    )  # fmt: skip
    overall, spaces = await measure_drift(bank.store, Window(), resamples=10)
    assert [(one.space, one.episodes.episodes, one.bank.records) for one in spaces] == [("one", 1, 1), ("two", 1, 2)]
    assert (overall.space, overall.episodes.episodes, overall.bank.records) == (None, 2, 3)
    assert overall.bank.depth_max == 1
    only, (space,) = await measure_drift(bank.store, Window(), space="two", resamples=10)
    assert (only.episodes.episodes, space.space) == (1, "two")


async def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more episodes than there is room for a sample is kept, said to be one, whatever the order they lie in."""
    monkeypatch.setattr(module, "MAX_EPISODES", 30)
    bank = Bank()
    await write_history(bank, episodes=100, seed=2)
    reading = await collect(bank)
    assert not reading.is_whole
    assert 0 < len(reading.episodes) <= 30


def test_families_written_by_the_agent_are_counted_without_the_unknown() -> None:
    """Counts of several spaces add up; shares of too few are unknown."""
    total = BankCounts(records=10, members=30, self_written=15, gold=(1, 10), depth_max=2)
    total.add(BankCounts(records=10, members=10, self_written=9, gold=(3, 30), depth_max=1))
    found = total.estimate(None)
    assert found.self_written.value == pytest.approx(0.6)
    assert (found.corrupted.value, found.corrupted.n, found.depth_max) == (0.1, 40, 2)
    assert not found.superseded_of_top_k.is_known
