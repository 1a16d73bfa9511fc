"""Drift of a store: what `collect` finds, estimated for each space and overall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from guardian.ports import Store
from guardian.trust.bank import BankCounts, BankEstimate
from guardian.trust.collect import MAX_EPISODES, SpaceReading, Window, iter_spaces
from guardian.trust.estimate import RESAMPLES, AuditedEpisode, DriftEstimate, estimate_drift
from guardian.trust.feedback import FeedbackEvidence, gather_evidence
from guardian.trust.sample import KeySample


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What a space, or all of them, say.

    Attributes:
        space: None for all together.
        evidence: What the episodes say of feedback, for looks that are repeated; of all together the sum over spaces.
        stand_in_episodes: Those whose truth is the stand-in's word.
        is_whole: Whether all audited episodes are in it, or a sample.
    """

    space: str | None
    episodes: DriftEstimate
    evidence: FeedbackEvidence
    bank: BankEstimate
    stand_in_episodes: int
    is_whole: bool


class Overall:
    """Gathers the readings of spaces into what all of them say together.

    Args:
        window: That of the readings.
        resamples: For intervals.
    """

    def __init__(self, window: Window, *, resamples: int = RESAMPLES) -> None:
        self._window, self._resamples = window, resamples
        self._episodes: KeySample[AuditedEpisode] = KeySample(MAX_EPISODES)
        self._bank = BankCounts()
        self._evidence = FeedbackEvidence()
        self._is_whole = True

    def add(self, reading: SpaceReading) -> None:
        """Add a space."""
        self._is_whole = self._is_whole and reading.is_whole
        self._bank.add(reading.bank)
        self._evidence += gather_evidence(list(reading.episodes.values()), stand_in=self._window.stand_in)
        for key, episode in reading.episodes.items():
            self._episodes.put(key, episode)

    def estimate(self) -> Drift:
        """Estimate the drift of all together."""
        is_whole = self._is_whole and self._episodes.is_whole
        found = _estimate(
            self._episodes.values, self._bank, self._window, self._resamples, evidence=self._evidence, is_whole=is_whole
        )
        return replace(found, space=None)


def estimate_space(reading: SpaceReading, window: Window, *, resamples: int = RESAMPLES) -> Drift:
    """Estimate the drift of one space."""
    evidence = gather_evidence(list(reading.episodes.values()), stand_in=window.stand_in)
    found = _estimate(reading.episodes, reading.bank, window, resamples, evidence=evidence, is_whole=reading.is_whole)
    return replace(found, space=reading.space)


async def measure_drift(
    store: Store, window: Window, *, space: str | None = None, resamples: int = RESAMPLES
) -> tuple[Drift, list[Drift]]:
    """Estimate the drift overall and of each space.

    Raises:
        DependencyError: The store is away.
    """
    overall, spaces = Overall(window, resamples=resamples), []
    async for reading in iter_spaces(store, window, space=space):
        spaces.append(estimate_space(reading, window, resamples=resamples))
        overall.add(reading)
    return (replace(spaces[0], space=None) if len(spaces) == 1 else overall.estimate()), spaces


def _estimate(
    episodes: Mapping[str, AuditedEpisode],
    bank: BankCounts,
    window: Window,
    resamples: int,
    *,
    evidence: FeedbackEvidence,
    is_whole: bool,
) -> Drift:
    ordered = [episodes[key] for key in sorted(episodes)]
    return Drift(
        space=None,
        episodes=estimate_drift(ordered, stand_in=window.stand_in, resamples=resamples),
        evidence=evidence,
        bank=bank.estimate(window.stand_in),
        stand_in_episodes=sum(one.is_stand_in for one in ordered),
        is_whole=is_whole,
    )
