"""Do the intervals of drift cover as they claim? Simulated banks whose parameters are known, each estimated from its own history.

Unlike episodes drawn one by one, those of a bank hang together: what it retrieves is what it wrote. A 95 % interval should hold the truth in
95 of 100 banks; with 200 banks, chance alone leaves 92 to 98.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from benchmarks.detection import CHANNEL, SETTINGS, Setting
from benchmarks.laps import Advance
from benchmarks.report import Report
from guardian.core.numbers.attractor import find_attractor, find_collapse, shoot_once
from guardian.core.numbers.interval import Estimate, estimate_share
from guardian.trust.alert.policy import AlertPolicy
from guardian.trust.estimate import AuditedEpisode, estimate_drift
from guardian.trust.feedback import bound_feedback, gather_evidence
from guardian.trust.simulated_bank import SimulatedBank
from guardian.trust.truth import StandIn

_RESAMPLES = 300


async def measure_coverage(*, banks: int, episodes: int, settings: int, advance: Advance) -> Report:
    """Measure how often each interval holds the truth, with labels and with a channel in their place."""
    report = Report(name="coverage", title=f"{banks} banks a row, {episodes:,} episodes each, all of them judged")
    for setting in SETTINGS[:settings]:
        for stand_in in (None, CHANNEL):
            held: Counter[str] = Counter()
            known: Counter[str] = Counter()
            for seed in range(banks):
                advance(f"{setting.name}, bank {seed + 1} of {banks}")
                found = _estimate(setting, seed, episodes, stand_in)
                for name, truth in _list_truths(setting).items():
                    known[name] += found[name].is_known
                    held[name] += _holds(found[name], truth)
            by = "labels" if stand_in is None else "a channel"
            for name in _list_truths(setting):
                report.add_estimate(f"{setting.name}, {by}: {name.replace('_', ' ')}", estimate_share(held[name], known[name]))
    report.notes.append("shares of 95 % intervals that hold the truth, of the banks where the figure is known")
    report.notes.append("kappa at all looks: the interval of `trust.feedback`, wider on purpose")
    return report


def _holds(found: Estimate, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def _list_truths(setting: Setting) -> Mapping[str, float]:
    rates = {"leniency": setting.leniency, "sensitivity": setting.sensitivity, "base_error": setting.base_error}
    attractor = find_attractor(kappa=setting.kappa, **rates)
    collapse = find_collapse(leniency=setting.leniency, sensitivity=setting.sensitivity)
    return {
        **rates,
        "kappa": setting.kappa,
        "kappa_at_all_looks": setting.kappa,
        "attractor": attractor,
        "one_shot": shoot_once(**rates),
        "ratio": attractor / shoot_once(**rates),
        "margin": collapse - setting.kappa,
    }


def _estimate(setting: Setting, seed: int, episodes: int, stand_in: StandIn | None) -> dict[str, Estimate]:
    audited = _audit(setting, seed, episodes, stand_in)
    drift = estimate_drift(audited, stand_in=stand_in, resamples=_RESAMPLES)
    policy = AlertPolicy()
    evidence = gather_evidence(audited, stand_in=stand_in)
    feedback = bound_feedback(evidence, false_alarm=policy.false_alarm, typical=policy.typical_feedback)
    found = {name: getattr(drift, name) for name in _list_truths(setting) if hasattr(drift, name)}
    return {**found, "kappa_at_all_looks": feedback.kappa}


def _audit(setting: Setting, seed: int, episodes: int, stand_in: StandIn | None) -> list[AuditedEpisode]:
    """Play a bank and audit every episode; with a stand-in what it says in place of the truth, of the memories that are retrieved too."""
    model = setting.build_model(places=episodes // 3, kappa=setting.kappa)
    run = SimulatedBank(model, seed=seed).run(episodes, keep_episodes=True).episodes
    random = np.random.default_rng(seed)
    says = [one.is_wrong if stand_in is None else _judge(stand_in, random, is_wrong=one.is_wrong) for one in run]
    audited = []
    for one in run:
        # What the bank began with is verified: known to be right, whoever judges the rest.
        flags = [says[number] for number in one.retrieved]
        weights = [float(flag) if stand_in is None else stand_in.weigh(says_wrong=flag) for flag in flags]
        audited.append(
            AuditedEpisode(
                is_wrong=says[one.number],
                is_accepted=one.is_accepted,
                bias=None,
                corrupted_share=sum(weights) / model.retrieved,
                is_clean=not any(flags),
                reuse=None,
                is_stand_in=stand_in is not None,
                judged_share=0.0 if stand_in is None else len(flags) / model.retrieved,
                judged=0 if stand_in is None else len(flags),
            )
        )
    return audited


def _judge(stand_in: StandIn, random: np.random.Generator, *, is_wrong: bool) -> bool:
    return bool(random.random() < (stand_in.sensitivity if is_wrong else 1 - stand_in.specificity))
