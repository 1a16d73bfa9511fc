"""A bank that writes its own self-graded episodes back: the loop of the Echo Gap, played with known truth.

Each step is one episode: it retrieves some records of the bank, is wrong with e(p) = min(1, e0 + kappa p) of the corrupted share p among
what it retrieved, grades itself, and is written back if the grade accepts it (l of the wrong ones, s of the right ones). Written into a
bank of a fixed number of places, the oldest making room, the bank's share moves to f(p) and so to the attractor ("Memory Reward
Inflation in Self-Improving LLM Agents", Theorems 1 and 2).

Policies against it: *none*; *demote*: a channel of given sensitivity and false alarm rate looks at each accepted episode, and what it
flags is not retrieved any more; *supersede*: now and then a verified correction fells a wrong record and all that descends from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

# Descent is followed no further; a chain that long is corrected again by the next correction.
_MAX_DESCENT = 64


class Countermeasure(StrEnum):
    """What is done against corruption."""

    NONE = "none"
    DEMOTE = "demote"
    SUPERSEDE = "supersede"


@dataclass(frozen=True, slots=True, kw_only=True)
class BankModel:
    """The parameters of a simulated bank.

    Attributes:
        kappa: Rise of the error rate with the corrupted share of what was retrieved.
        leniency: l = P(accepted | wrong).
        sensitivity: s = P(accepted | right).
        base_error: e0, error rate on clean memories.
        places: Records the bank holds.
        retrieved: Records an episode retrieves.
        countermeasure: What is done against corruption.
        catch: Demote: P(flagged | wrong). Supersede: P(a step brings a verified correction).
        false_alarm: Demote: P(flagged | right).
    """

    kappa: float
    leniency: float
    sensitivity: float
    base_error: float
    places: int = 400
    retrieved: int = 5
    countermeasure: Countermeasure = Countermeasure.NONE
    catch: float = 0.0
    false_alarm: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One episode as the simulation knows it; shares are those of what it retrieved.

    Attributes:
        is_wrong: The truth.
        is_accepted: By its own grade.
        corrupted_share: Of what it retrieved.
        retrieved: Numbers of the episodes it retrieved.
    """

    number: int
    is_wrong: bool
    is_accepted: bool
    corrupted_share: float
    retrieved: tuple[int, ...]


@dataclass(slots=True)
class Trajectory:
    """What a run left: the corrupted share of the usable bank after each step, and the episodes."""

    shares: list[float] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)


class SimulatedBank:
    """Owns one bank and its random numbers; the same seed is the same run.

    Args:
        model: Parameters.
        seed: Of all random numbers.
    """

    def __init__(self, model: BankModel, *, seed: int = 0) -> None:
        self.model = model
        self._random = np.random.default_rng(seed)
        # A new bank was filled by episodes that had nothing to retrieve: clean ones, so that the loop begins below its attractor.
        self._wrong = np.zeros(model.places, dtype=bool)
        self._usable = np.ones(model.places, dtype=bool)
        self._number = np.full(model.places, -1, dtype=np.int64)
        self._parents: dict[int, tuple[int, ...]] = {}
        self._next = 0
        self._count = 0

    def run(self, steps: int, *, keep_episodes: bool = False) -> Trajectory:
        """Play some episodes more."""
        trajectory = Trajectory()
        for _ in range(steps):
            episode = self._step()
            if keep_episodes:
                trajectory.episodes.append(episode)
            trajectory.shares.append(self.measure_share())
        return trajectory

    def measure_share(self) -> float:
        """Give the corrupted share of what can be retrieved."""
        usable = int(self._usable.sum())
        return float((self._wrong & self._usable).sum() / usable) if usable else 0.0

    def _step(self) -> Episode:
        model, random = self.model, self._random
        usable = np.flatnonzero(self._usable)
        places = random.choice(usable, size=min(model.retrieved, len(usable)), replace=False) if len(usable) else usable
        share = float(self._wrong[places].mean()) if len(places) else 0.0
        is_wrong = bool(random.random() < min(1.0, model.base_error + model.kappa * share))
        is_accepted = bool(random.random() < (model.leniency if is_wrong else model.sensitivity))
        retrieved = tuple(int(number) for number in self._number[places] if number >= 0)
        episode = Episode(
            number=self._count, is_wrong=is_wrong, is_accepted=is_accepted, corrupted_share=share, retrieved=retrieved
        )
        self._count += 1
        if is_accepted:
            self._write(episode)
        if model.countermeasure is Countermeasure.SUPERSEDE and random.random() < model.catch:
            self._supersede()
        return episode

    def _write(self, episode: Episode) -> None:
        place = self._next
        self._next = (place + 1) % self.model.places
        self._parents.pop(int(self._number[place]), None)
        self._wrong[place], self._number[place] = episode.is_wrong, episode.number
        self._parents[episode.number] = episode.retrieved
        flagged = self.model.catch if episode.is_wrong else self.model.false_alarm
        is_demoted = self.model.countermeasure is Countermeasure.DEMOTE and self._random.random() < flagged
        self._usable[place] = not is_demoted

    def _supersede(self) -> None:
        """Fell one wrong record and what descends from it, if there is one."""
        wrong = np.flatnonzero(self._wrong & self._usable)
        if not len(wrong):
            return
        felled = {int(self._number[self._random.choice(wrong)])}
        places = {int(number): place for place, number in enumerate(self._number) if number >= 0}
        for _ in range(_MAX_DESCENT):
            more = {number for number in places if number not in felled and felled.intersection(self._parents.get(number, ()))}
            # Only wrong descendants inherit the error; a right one that merely read it stands on other roots as well.
            more = {number for number in more if self._wrong[places[number]]}
            if not more:
                break
            felled |= more
        for number in felled & places.keys():
            self._usable[places[number]] = False
