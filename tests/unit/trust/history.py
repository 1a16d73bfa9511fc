"""A bank of known truth for tests of what is estimated: the simulated agent of `examples/graded_bank.py`, through the real pipeline."""

from __future__ import annotations

from examples.graded_bank import iter_events
from guardian.trust.simulated_bank import BankModel, Episode, SimulatedBank
from tests.builders import event_of
from tests.property.bank import Bank

MODEL = BankModel(kappa=0.38, leniency=0.76, sensitivity=0.90, base_error=0.32, places=60)


async def write_history(
    bank: Bank, *, episodes: int, seed: int = 1, labelled: float = 1.0, space: str = "graded"
) -> list[Episode]:
    """Write a run into a bank; gives its episodes with their truth."""
    events = [event_of(wire) for wire in iter_events(MODEL, episodes=episodes, seed=seed, labelled=labelled, space=space)]
    for start in range(0, len(events), 500):
        await bank.send(*events[start : start + 500])
    return SimulatedBank(MODEL, seed=seed).run(episodes, keep_episodes=True).episodes
