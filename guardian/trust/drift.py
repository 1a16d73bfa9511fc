"""Drift of a store: what `collect` finds, estimated for each space and overall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from guardian.ports import Store
from guardian.trust.bank import BankCounts, BankEstimate
from guardian.trust.collect import MAX_EPISODES, Window, iter_spaces
from guardian.trust.estimate import RESAMPLES, AuditedEpisode, DriftEstimate, estimate_drift
from guardian.trust.sample import KeySample


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What a space, or all of them, say.

    Attributes:
        space: None for all together.
        stand_in_episodes: Those whose truth is the stand-in's word.
        is_whole: Whether all audited episodes are in it, or a sample.
    """

    space: str | None
    episodes: DriftEstimate
    bank: BankEstimate
    stand_in_episodes: int
    is_whole: bool


async def measure_drift(
    store: Store, window: Window, *, space: str | None = None, resamples: int = RESAMPLES
) -> tuple[Drift, list[Drift]]:
    """Estimate the drift overall and of each space.

    Raises:
        DependencyError: The store is away.
    """
    overall: KeySample[AuditedEpisode] = KeySample(MAX_EPISODES)
    bank, is_whole, spaces = BankCounts(), True, []
    async for reading in iter_spaces(store, window, space=space):
        spaces.append(_estimate(reading.space, reading.episodes, reading.bank, window, resamples, is_whole=reading.is_whole))
        is_whole = is_whole and reading.is_whole
        bank.add(reading.bank)
        for key, episode in reading.episodes.items():
            overall.put(key, episode)
    if len(spaces) == 1:
        return replace(spaces[0], space=None), spaces
    is_whole = is_whole and overall.is_whole
    return _estimate(None, overall.values, bank, window, resamples, is_whole=is_whole), spaces


def _estimate(
    space: str | None,
    episodes: Mapping[str, AuditedEpisode],
    bank: BankCounts,
    window: Window,
    resamples: int,
    *,
    is_whole: bool,
) -> Drift:
    ordered = [episodes[key] for key in sorted(episodes)]
    return Drift(
        space=space,
        episodes=estimate_drift(ordered, stand_in=window.stand_in, resamples=resamples),
        bank=bank.estimate(window.stand_in),
        stand_in_episodes=sum(one.is_stand_in for one in ordered),
        is_whole=is_whole,
    )
