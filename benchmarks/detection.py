"""Is a bank that is being corrupted alerted in time, and one that is not left in peace? Hundreds of simulated banks before the real alert engine.

*In time* is before the corrupted share of the bank has covered half the way from p0 to p*. *In peace* is a bank with the same e0, l and s
and kappa = 0 over the time the other takes. Alerts that count say that feedback compounds: near the attractor, attractor above one pass,
rising, collapse margin. A run that never knew enough counts as missed. Each setting is played with labels on a share of the episodes, and again
without any, with a channel that judges all of them and whose error rates are known from elsewhere (Rogan and Gladen 1978).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from statistics import median

import numpy as np

from benchmarks.laps import Advance
from benchmarks.many_banks import Steps, play_banks
from benchmarks.report import Report
from guardian.core.alert import AlertKind
from guardian.core.numbers.attractor import find_attractor, shoot_once
from guardian.core.numbers.interval import Estimate, estimate_share
from guardian.trust.alert.judge import BankFigures, TrendPoint, judge_bank
from guardian.trust.alert.policy import AlertPolicy
from guardian.trust.alert.standing import AlertState, decide_alerts
from guardian.trust.estimate import AuditedEpisode, estimate_drift, pool_wrong
from guardian.trust.feedback import bound_feedback, gather_evidence
from guardian.trust.simulated_bank import BankModel
from guardian.trust.truth import StandIn

COUNTED = frozenset({AlertKind.NEAR_ATTRACTOR, AlertKind.ATTRACTOR_ABOVE_ONE_SHOT, AlertKind.RISING, AlertKind.COLLAPSE_MARGIN})
CHANNEL = StandIn(channel="checker", sensitivity=0.85, specificity=0.92)
START = datetime(2026, 1, 1, tzinfo=UTC)
# A look a day, and this many episodes a day.
LOOK_EVERY = 100
# Resamples of an estimate: only whether a figure is known hangs on them here, and the ends of p0 and the margin.
_RESAMPLES = 100
# Times the bank's places: how long a bank with feedback is played; half the way takes it about one and a half.
_LONG = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Parameters of a bank, and why they are looked at."""

    name: str
    kappa: float
    leniency: float
    sensitivity: float
    base_error: float

    def build_model(self, *, places: int, kappa: float) -> BankModel:
        """Build the simulated bank, with this feedback."""
        return BankModel(
            kappa=kappa, leniency=self.leniency, sensitivity=self.sensitivity, base_error=self.base_error, places=places
        )

    @property
    def half_way(self) -> float:
        """The share in the middle between p0 and p*."""
        rates = {"leniency": self.leniency, "sensitivity": self.sensitivity, "base_error": self.base_error}
        return (find_attractor(kappa=self.kappa, **rates) + shoot_once(**rates)) / 2


SETTINGS = (
    Setting(name="the paper's", kappa=0.38, leniency=0.76, sensitivity=0.90, base_error=0.32),
    Setting(name="strong feedback", kappa=0.60, leniency=0.76, sensitivity=0.90, base_error=0.25),
    Setting(name="weak feedback", kappa=0.25, leniency=0.76, sensitivity=0.90, base_error=0.32),
    Setting(name="a grade that says nothing", kappa=0.38, leniency=0.95, sensitivity=0.95, base_error=0.30),
    Setting(name="few base errors", kappa=0.60, leniency=0.80, sensitivity=0.90, base_error=0.10),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large the study is.

    Attributes:
        seeds: Banks a setting, with feedback and as many without.
        places: Records of a bank.
        labelled: Share of the episodes that are labelled.
        starts_clean: Banks begin with verified records, which are known to be right; else at p0, with records of which only labels tell.
    """

    seeds: int = 200
    places: int = 2_000
    labelled: float = 0.5
    starts_clean: bool = True

    def play(self, model: BankModel, *, steps: int, seed: int) -> Steps:
        """Play the banks of a model."""
        return play_banks(
            model,
            seeds=self.seeds,
            steps=steps,
            labelled=self.labelled,
            channel=CHANNEL,
            seed=seed,
            starts_clean=self.starts_clean,
        )


# Other sizes that a setting is watched in: its number, places, share of labelled episodes, whether a channel judges in their place.
BUDGETS = ((0, 1_000, 0.5, False), (0, 2_000, 0.2, False), (0, 2_000, 1.0, False), (0, 5_000, 0.2, False))
# Places of the banks that a channel judges in every setting.
LARGE = 5_000


@dataclass(slots=True, kw_only=True)
class Outcome:
    """How one bank's watch ended.

    Attributes:
        alert: The first alert that counts; None where none was raised.
        at: Episode of the look that raised it.
        is_known: Feedback was known at the last look.
        labels: Episodes whose truth was told, by the end of the watch.
    """

    alert: AlertKind | None = None
    at: int | None = None
    is_known: bool = False
    labels: int = 0


@dataclass(slots=True)
class Watch:
    """Watches one bank of `Steps`, look after look, until an alert that counts.

    Args:
        row: The bank.
        stand_in: Judges every episode in place of labels; None for labels.
        is_gated: Leave out the costly part of a look that cannot raise an alert.
    """

    steps: Steps
    row: int
    model: BankModel
    stand_in: StandIn | None
    policy: AlertPolicy = field(default_factory=AlertPolicy)
    is_gated: bool = True
    episodes: list[AuditedEpisode] = field(default_factory=list)
    series: list[TrendPoint] = field(default_factory=list)

    def run(self, until: int) -> Outcome:
        """Look until an episode is reached, that one left out."""
        outcome, states, done = Outcome(), dict[str, AlertState](), 0
        for end in range(LOOK_EVERY, until + 1, LOOK_EVERY):
            self.episodes += self._iter_audited(done, end)
            done = end
            at = START + timedelta(days=end / LOOK_EVERY)
            corrupted = self._measure_corrupted(end - 1)
            raised, states = self._look(at, corrupted, states, outcome)
            self.series.append(TrendPoint(at=at, corrupted=corrupted))
            outcome.labels = len(self.episodes)
            if raised is not None:
                outcome.alert, outcome.at = raised, end
                break
        return outcome

    def _look(
        self, at: datetime, corrupted: Estimate, states: Mapping[str, AlertState], outcome: Outcome
    ) -> tuple[AlertKind | None, dict[str, AlertState]]:
        evidence = gather_evidence(self.episodes, stand_in=self.stand_in)
        feedback = bound_feedback(evidence, false_alarm=self.policy.false_alarm, typical=self.policy.typical_feedback)
        outcome.is_known = feedback.kappa.is_known
        if self.is_gated and not feedback.is_proven and not self._may_rise(corrupted):
            return None, {}
        drift = estimate_drift(self.episodes, stand_in=self.stand_in, resamples=_RESAMPLES)
        figures = BankFigures(episodes=drift, evidence=evidence, corrupted=corrupted, series=tuple(self.series), at=at)
        findings = judge_bank(figures, scope="bank", policy=self.policy)
        after, changes = decide_alerts(findings, states, now=at, policy=self.policy)
        raised = [state.kind for state in changes if state.is_standing and state.kind in COUNTED]
        return (raised[0] if raised else None), after

    def _may_rise(self, corrupted: Estimate) -> bool:
        """Tell whether the trend could be raised: p0 without its interval is the least it has to be above."""
        start = self.series[0].corrupted if self.series else None
        if corrupted.value is None or start is None or start.value is None or corrupted.low is None:
            return False
        if corrupted.value - min(one.corrupted.value or 0.0 for one in self.series[-8:]) < self.policy.rise_raise:
            return False
        p0 = estimate_drift(self.episodes, stand_in=self.stand_in, resamples=2).one_shot.value
        return p0 is None or corrupted.low > p0

    def _iter_audited(self, start: int, end: int) -> Iterator[AuditedEpisode]:
        """Yield what collecting would make of the episodes between two looks."""
        steps, row, of, stand_in = self.steps, self.row, self.model.retrieved, self.stand_in
        for at in range(start, end):
            if stand_in is None and not steps.is_labelled[row, at]:
                continue
            verified = int(steps.known_verified[row, at])
            if stand_in is None:
                known, wrong = verified + int(steps.known_gold[row, at]), float(steps.wrong_gold[row, at])
                is_wrong, is_clean = bool(steps.is_wrong[row, at]), known == of and not wrong
            else:
                flagged, known = int(steps.flagged[row, at]), of
                wrong = flagged * stand_in.weigh(says_wrong=True)
                wrong += (of - verified - flagged) * stand_in.weigh(says_wrong=False)
                is_wrong, is_clean = bool(steps.is_flagged[row, at]), not flagged
            is_accepted = bool(steps.is_accepted[row, at])
            yield AuditedEpisode(
                is_wrong=is_wrong,
                is_accepted=is_accepted,
                bias=(0.8 if is_accepted else 0.2) - (0.0 if stand_in is not None or is_wrong else 1.0),
                corrupted_share=wrong / known if known else None,
                is_clean=is_clean,
                reuse=None,
                is_stand_in=stand_in is not None,
                known_share=known / of,
                judged_share=0.0 if stand_in is None else (of - verified) / of,
                judged=0 if stand_in is None else of - verified,
            )

    def _measure_corrupted(self, at: int) -> Estimate:
        steps, row = self.steps, self.row
        if self.stand_in is None:
            return pool_wrong((int(steps.bank_wrong[row, at]), int(steps.bank_known[row, at])), (0, 0), None)
        verified = int(steps.bank_verified[row, at])
        judged = (int(steps.bank_flagged[row, at]), self.model.places - verified)
        return pool_wrong((0, verified), judged, self.stand_in)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What all banks of a setting gave.

    Attributes:
        in_time: Alerted before half the way, of the banks with feedback.
        false: Alerted, of those without.
        half_ways: Episode at which each bank with feedback was half the way.
        outcomes: Of the banks with feedback.
        peaceful: Of those without.
        horizon: Episodes over which those without were watched: the median of the half ways.
    """

    in_time: Estimate
    false: Estimate
    half_ways: Sequence[int]
    outcomes: Sequence[Outcome]
    peaceful: Sequence[Outcome]
    horizon: int


def study(setting: Setting, sizes: Sizes, *, stand_in: StandIn | None, advance: Advance) -> Cell:
    """Play the banks of a setting and watch them."""
    corrupted = setting.build_model(places=sizes.places, kappa=setting.kappa)
    length = int(_LONG * sizes.places)
    steps = sizes.play(corrupted, steps=length, seed=1)
    reached = steps.share >= setting.half_way
    half_ways = np.where(reached.any(axis=1), reached.argmax(axis=1), length).tolist()
    outcomes = []
    for row, half_way in enumerate(half_ways):
        advance(f"{setting.name}, bank {row + 1} of {sizes.seeds}")
        outcomes.append(Watch(steps, row, corrupted, stand_in).run(half_way))
    horizon = max(LOOK_EVERY, round(median(half_ways)))
    clean = setting.build_model(places=sizes.places, kappa=0.0)
    steps = sizes.play(clean, steps=horizon, seed=2)
    peaceful = []
    for row in range(sizes.seeds):
        advance(f"{setting.name} without feedback, bank {row + 1} of {sizes.seeds}")
        peaceful.append(Watch(steps, row, clean, stand_in).run(horizon))
    return Cell(
        in_time=estimate_share(sum(one.alert is not None for one in outcomes), len(outcomes)),
        false=estimate_share(sum(one.alert is not None for one in peaceful), len(peaceful)),
        half_ways=half_ways,
        outcomes=outcomes,
        peaceful=peaceful,
        horizon=horizon,
    )


async def measure_detection(*, sizes: Sizes, settings: int, budgets: int, advance: Advance) -> Report:
    """Measure detection and false alarms in the settings, then the paper's bank in other sizes."""
    report = Report(
        name="detection",
        title=f"{sizes.seeds} banks a row, {sizes.places:,} places, {sizes.labelled:.0%} of the episodes labelled, a look every {LOOK_EVERY} episodes",
    )
    for setting in SETTINGS[:settings]:
        for stand_in in (None, CHANNEL):
            cell = study(setting, sizes, stand_in=stand_in, advance=advance)
            _add(report, f"{setting.name}, {'labels' if stand_in is None else 'no labels, a channel'}", setting, cell)
    for stand_in in (None, CHANNEL) if budgets else ():
        cell = study(SETTINGS[0], replace(sizes, starts_clean=False), stand_in=stand_in, advance=advance)
        _add(report, f"the paper's from p0, {'labels' if stand_in is None else 'no labels, a channel'}", SETTINGS[0], cell)
    for setting in SETTINGS if budgets else ():
        cell = study(setting, replace(sizes, places=LARGE), stand_in=CHANNEL, advance=advance)
        _add(report, f"{setting.name}, {LARGE:,} places, a channel", setting, cell)
    for number, places, labelled, by_channel in BUDGETS[:budgets]:
        other, setting = Sizes(seeds=max(1, sizes.seeds // 2), places=places, labelled=labelled), SETTINGS[number]
        cell = study(setting, other, stand_in=CHANNEL if by_channel else None, advance=advance)
        judged = "a channel" if by_channel else f"{labelled:.0%} labelled"
        _add(report, f"{setting.name}, {places:,} places, {judged}", setting, cell)
    report.notes.append(
        f"the channel calls {CHANNEL.sensitivity:g} of the wrong ones wrong and {CHANNEL.specificity:g} of the right ones right, and judges every episode"
    )
    report.notes.append(
        "in time: before half the way from p0 to p*; false: alerted with kappa = 0 and all else alike over the same number of episodes"
    )
    return report


def _add(report: Report, name: str, setting: Setting, cell: Cell) -> None:
    report.add_estimate(f"{name}: alerted in time", cell.in_time)
    report.add_estimate(f"{name}: false alarm", cell.false)
    found = [one for one in cell.outcomes if one.at is not None]
    if found:
        report.add(f"{name}: episodes until the alert", [float(one.at or 0) for one in found], "episodes")
        report.add(f"{name}: judged episodes until the alert", [float(one.labels) for one in found], "episodes")
    report.add(f"{name}: episodes until half the way", [float(one) for one in cell.half_ways], "episodes")
    unknown = sum(not one.is_known for one in cell.outcomes)
    if unknown:
        report.notes.append(f"{name}: unknown to the end in {unknown} banks, counted as missed")
    kinds = Counter(one.alert.value for one in cell.outcomes if one.alert is not None)
    report.notes.append(
        f"{name}: kappa {setting.kappa:g}, l {setting.leniency:g}, s {setting.sensitivity:g}, e0 {setting.base_error:g}; "
        f"first alert {', '.join(f'{kind} {count}' for kind, count in kinds.most_common()) or 'none'}"
    )
