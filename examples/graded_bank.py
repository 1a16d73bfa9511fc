"""Write the history of an agent that grades its own episodes and reads them again, with the truth about every one.

    python examples/graded_bank.py > graded.jsonl
    guardian replay graded.jsonl --store .guardian/graded
    guardian drift --store .guardian/graded

The agent is Guardian's simulated bank (the loop of "Memory Reward Inflation in Self-Improving LLM Agents"), so what `guardian drift` and
`guardian audit report` estimate can be held against what is true. Two channels judge each episode, too: `checker`, which errs by itself,
and `regrader`, which mostly repeats the agent's own word.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from guardian.trust.simulated_bank import BankModel, Episode, SimulatedBank

START = datetime(2026, 3, 1, tzinfo=UTC)
# P(checker says wrong | wrong), and P(it says right | right).
CHECKER_SENSITIVITY, CHECKER_SPECIFICITY = 0.85, 0.92
# P(regrader repeats the self-grade); else it says what is true.
REGRADER_ECHO = 0.8


def iter_events(
    model: BankModel, *, episodes: int, seed: int = 0, space: str = "graded", labelled: float = 1.0
) -> Iterator[dict[str, Any]]:
    """Give the events of a run: what was read and written, the verdicts of the channels, and `gold` for a share of the episodes."""
    random = np.random.default_rng(seed)
    for place in range(model.retrieved):
        source = {"kind": "document", "ref": f"manual:{place}"}
        data = {
            "memory_id": f"start-{place}",
            "text": f"Page {place} of the manual",
            "kind": "fact",
            "source": source,
            "verified": True,
        }
        yield _build("memory.written", f"start-{place}", START, space, data)
    for episode in SimulatedBank(model, seed=seed).run(episodes, keep_episodes=True).episodes:
        yield from _iter_episode(episode, model, space, random, is_labelled=random.random() < labelled)


def _iter_episode(
    episode: Episode, model: BankModel, space: str, random: np.random.Generator, *, is_labelled: bool
) -> Iterator[dict[str, Any]]:
    when = START + timedelta(minutes=episode.number + 1)
    # What the bank began with has no number: clean records, here the manual.
    named = [f"ep-{number}" for number in episode.retrieved]
    named += [f"start-{place}" for place in range(model.retrieved - len(named))]
    grade = round(float(random.uniform(0.6, 1.0) if episode.is_accepted else random.uniform(0.0, 0.4)), 3)
    yield _build(
        "memory.read", f"read-{episode.number}", when, space, {"retrieved": named, "session_id": f"run-{episode.number}"}
    )
    data = {
        "memory_id": f"ep-{episode.number}",
        "text": f"Episode {episode.number}: task {episode.number % 40} done",
        "kind": "episode",
        "source": {"kind": "agent"},
        "self_grade": grade,
        "parents": [],
        "episode": {"task": f"task {episode.number % 40}", "answer": f"answer {episode.number}", "retrieved": named},
    }
    yield _build("memory.written", f"write-{episode.number}", when + timedelta(seconds=1), space, data)
    right = not episode.is_wrong
    errs = random.random() >= (CHECKER_SPECIFICITY if right else CHECKER_SENSITIVITY)
    verdicts = {"checker": float(right != errs), "regrader": grade if random.random() < REGRADER_ECHO else float(right)}
    if is_labelled:
        verdicts["gold"] = float(right)
    for channel, value in verdicts.items():
        judged = {"memory_id": f"ep-{episode.number}", "channel": channel, "value": value}
        yield _build("memory.audited", f"{channel}-{episode.number}", when + timedelta(seconds=2), space, judged)


def _build(kind: str, event_id: str, when: datetime, space: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": "/graded-bank",
        "type": kind,
        "time": when.isoformat(),
        "space": space,
        "data": data,
    }


def main() -> None:
    """Write a history to stdout, one event a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=800)
    parser.add_argument("--labelled", type=float, default=1.0, help="share of episodes that get a gold verdict")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kappa", type=float, default=0.38)
    parser.add_argument("--leniency", type=float, default=0.76)
    parser.add_argument("--sensitivity", type=float, default=0.90)
    parser.add_argument("--base-error", type=float, default=0.32)
    given = parser.parse_args()
    model = BankModel(
        kappa=given.kappa, leniency=given.leniency, sensitivity=given.sensitivity, base_error=given.base_error, places=100
    )
    for event in iter_events(model, episodes=given.episodes, seed=given.seed, labelled=given.labelled):
        sys.stdout.write(json.dumps(event) + "\n")


if __name__ == "__main__":
    main()
