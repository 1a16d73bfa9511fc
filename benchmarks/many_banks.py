"""Many simulated banks at once: the loop of `guardian.trust.simulated_bank`, a column of arrays a bank, so that hundreds of seeds take seconds.

A bank begins with clean records that trusted authority verified; the oldest makes room for what the agent accepts. Some of the agent's episodes are
labelled, each by itself with a given chance; a channel judges every one, and errs by itself. What an episode retrieved is known as far as
those records are verified, labelled or judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guardian.trust.simulated_bank import BankModel
from guardian.trust.truth import StandIn

Bools = NDArray[np.bool_]
Counts = NDArray[np.int16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What happened, an array a figure: banks by steps. Of what an episode retrieved: `wrong_*` of `known_*` are wrong as far as that source says.

    Attributes:
        is_wrong, is_accepted, is_labelled, is_flagged: Of the episode: the truth, its own grade, whether it has a label, what the channel says.
        known_verified: Retrieved records that are verified, so right.
        known_gold, wrong_gold: Retrieved records of the agent that are labelled.
        flagged: Retrieved records of the agent that the channel flags.
        share: Corrupted share of the bank after the step.
        bank_known, bank_wrong: Records of the bank that are verified or labelled, and wrong by their labels.
        bank_flagged, bank_verified: Records of the agent in the bank that the channel flags; verified records.
    """

    is_wrong: Bools
    is_accepted: Bools
    is_labelled: Bools
    is_flagged: Bools
    known_verified: Counts
    known_gold: Counts
    wrong_gold: Counts
    flagged: Counts
    share: NDArray[np.float32]
    bank_known: Counts
    bank_wrong: Counts
    bank_flagged: Counts
    bank_verified: Counts


def play_banks(
    model: BankModel, *, seeds: int, steps: int, labelled: float, channel: StandIn, seed: int = 0, starts_clean: bool = True
) -> Steps:
    """Play as many banks as there are seeds.

    Args:
        model: Parameters; no countermeasure is played.
        seeds: Banks.
        steps: Episodes of each.
        labelled: Chance that an episode is labelled.
        channel: Its name is not used, only its errors.
        seed: Of all random numbers.
        starts_clean: Begin with verified records; else with records of the agent of which a share p0 is wrong.
    """
    banks = _Banks(model, seeds, labelled, channel, np.random.default_rng(seed), starts_clean=starts_clean)
    kept = [np.zeros((seeds, steps), dtype=np.float32 if field.name == "share" else np.int16) for field in fields(Steps)]
    for step in range(steps):
        for target, found in zip(kept, banks.play(), strict=True):
            target[:, step] = found
    named = dict(zip((field.name for field in fields(Steps)), kept, strict=True))
    return Steps(**{name: array.astype(bool) if name.startswith("is_") else array for name, array in named.items()})


class _Banks:
    """Owns the places of all banks and the random numbers."""

    def __init__(
        self, model: BankModel, seeds: int, labelled: float, channel: StandIn, random: np.random.Generator, *, starts_clean: bool
    ) -> None:
        self.model, self.labelled, self.channel, self.random = model, labelled, channel, random
        shape = (seeds, model.places)
        self.rows = np.arange(seeds)
        self.next = np.zeros(seeds, dtype=np.int64)
        accepted_wrong = model.base_error * model.leniency
        one_shot = accepted_wrong / (accepted_wrong + (1 - model.base_error) * model.sensitivity)
        self.verified = np.full(shape, starts_clean)
        self.wrong = np.zeros(shape, dtype=bool) if starts_clean else random.random(shape) < one_shot
        self.gold = np.zeros(shape, dtype=bool) if starts_clean else random.random(shape) < labelled
        self.flagged = np.zeros(shape, dtype=bool) if starts_clean else self._flag(self.wrong)
        # Of each bank, kept up to date place by place: to count whole banks at every step would take most of the time.
        self.counts = {name: array.sum(axis=1) for name, array in self._list_counted(slice(None), slice(None)).items()}

    def _list_counted(self, rows: Any, places: Any) -> dict[str, Bools]:
        wrong, gold, verified, flagged = (array[rows, places] for array in (self.wrong, self.gold, self.verified, self.flagged))
        return {
            "wrong": wrong,
            "known": verified | gold,
            "known_wrong": (verified | gold) & wrong,
            "flagged": flagged,
            "verified": verified,
        }

    def _flag(self, wrong: Bools) -> Bools:
        chance = np.where(wrong, self.channel.sensitivity, 1 - self.channel.specificity)
        return self.random.random(wrong.shape) < chance

    def play(self) -> Iterator[NDArray[Any]]:
        """Play an episode of each bank; yields the figures of `Steps` in their order."""
        model, random, rows = self.model, self.random, self.rows[:, None]
        places = random.integers(0, model.places, size=(len(self.rows), model.retrieved))
        wrong, verified, gold, flagged = (array[rows, places] for array in (self.wrong, self.verified, self.gold, self.flagged))
        error = np.minimum(1.0, model.base_error + model.kappa * wrong.mean(axis=1))
        is_wrong = random.random(len(self.rows)) < error
        is_accepted = random.random(len(self.rows)) < np.where(is_wrong, model.leniency, model.sensitivity)
        is_labelled = random.random(len(self.rows)) < self.labelled
        is_flagged = self._flag(is_wrong)
        self._write(is_accepted, is_wrong, is_labelled, is_flagged)
        yield from (is_wrong, is_accepted, is_labelled, is_flagged)
        yield from (verified.sum(axis=1), gold.sum(axis=1), (gold & wrong).sum(axis=1), flagged.sum(axis=1))
        yield self.counts["wrong"] / model.places
        yield from (self.counts[name] for name in ("known", "known_wrong", "flagged", "verified"))

    def _write(self, is_accepted: Bools, is_wrong: Bools, is_labelled: Bools, is_flagged: Bools) -> None:
        rows = self.rows[is_accepted]
        places = self.next[rows] % self.model.places
        self.next[rows] += 1
        before = self._list_counted(rows, places)
        new = {"wrong": is_wrong, "gold": is_labelled, "flagged": is_flagged, "verified": np.zeros_like(is_wrong)}
        for name, values in new.items():
            getattr(self, name)[rows, places] = values[rows]
        after = self._list_counted(rows, places)
        for name, count in self.counts.items():
            count[rows] += after[name].astype(np.int64) - before[name]
