"""Calibrate evidence channels on records whose truth is known: may a channel demote, and how far is it to be believed?

Of a record: r the self-grade, V a channel's verdict, U the `gold` verdict; b = r - U, nu = V - U (see `core.numbers.lucid`). A channel passes
as a score, all of whose verdicts are believed (the Error-Independence Assumption), when three things hold at the cautious end of their
95 % intervals:

- Corr(V, U) is high: it knows something of the truth;
- |Corr(nu, b)| is low: its errors are not the agent's own, or it would confirm what it should correct;
- the precision of its flags (V below one half) exceeds rho* = h / (g + h): demoting by it helps more than it harms.

As a detector, of which only flags are heard, the last is enough (see `trust.detector`). One that passes both ways is taken as what removes more squared
error. A channel that passes neither way, or of which too little is known, gets alpha 0 and demotes nothing; of those that pass, the largest
payoff is used. The mean of several channels is tested as a score; as detectors several need no mean, for each flag counts by itself. Intervals of correlations come from resampling records (percentile bootstrap, a fixed seed), those of shares are Wilson's.
Source: "Memory Reward Inflation in Self-Improving LLM Agents", EIA and LUCID; capability is no evidence of independence there.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase

import numpy as np
import orjson
from numpy.typing import NDArray

from guardian.core.model import ChannelTrust
from guardian.core.node import Node
from guardian.core.numbers.interval import Estimate, estimate_share, unknown
from guardian.core.numbers.lucid import choose_alpha, measure, pay_off, require_precision
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.core.policy import WRONG_BELOW
from guardian.core.rules.utility import GOLD, SELF
from guardian.ports import Store
from guardian.trust.detector import Detection, detect
from guardian.trust.estimate import RESAMPLES
from guardian.trust.gate import LEAST_FLAGS, LEAST_LABELLED, LEAST_TRUTH, MOST_BIAS, Failure, decide
from guardian.trust.sample import KeySample
from guardian.trust.truth import read_grade, read_verdict

Sample = NDArray[np.float64]

# Labelled records that are looked at; of more a sample is.
MAX_LABELLED = 5_000
# Channels that are combined, those with most labelled records; 8 of them make 28 pairs.
MAX_COMBINED = 8
EVERYWHERE = "*"
# Begins the id of a calibration that was measured.
MEASURED = "cal-"
# Decimals of the figures that the id is a digest of, and of an alpha in the settings.
_ID_DECIMALS, ALPHA_DECIMALS = 6, 4
_SEED = 20_260_502
_TAIL = 2.5
# Into which verdicts and truths are sorted for a picture.
TENTHS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One record whose truth is known."""

    space: str
    grade: float
    truth: float
    verdicts: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What labelled records say of a channel, or of the mean of several (`a+b`).

    Attributes:
        n: Records with its verdict, a self-grade and the truth.
        corr_truth, corr_bias: Corr(V, U) and Corr(nu, b).
        var_bias, var_noise: Var(b), Var(eta); None where n is too small.
        alpha: alpha*, what LUCID would use if the channel passes.
        payoff: Variance of the bias that alpha* removes.
        error_removed: Mean squared error that alpha* removes: the payoff, and what it does to the mean of the bias; None as above.
        precision: P(wrong | flagged). recall: P(flagged | wrong). specificity: P(not flagged | right).
        failures: What keeps it from demoting as a score; empty when it passes.
        detector: What it is as a detector; None for a mean.
    """

    channel: str
    members: tuple[str, ...]
    n: int
    corr_truth: Estimate
    corr_bias: Estimate
    beta: Estimate
    var_bias: float | None
    var_noise: float | None
    alpha: Estimate
    payoff: Estimate
    error_removed: float | None
    precision: Estimate
    recall: Estimate
    specificity: Estimate
    failures: tuple[Failure, ...]
    detector: Detection | None

    @property
    def passes(self) -> bool:
        """Whether it may demote, as a score or as a detector."""
        return not self.failures or self.detects

    @property
    def detects(self) -> bool:
        """Whether it is taken as a detector: it passes as one, and not as a score, or less squared error is removed by that."""
        if self.detector is None or not self.detector.passes:
            return False
        return bool(self.failures) or (self.detector.payoff.value or 0.0) > (self.error_removed or 0.0)

    @property
    def usable_alpha(self) -> float:
        """How far it is to be believed: as what it passes, else not at all."""
        alpha = self._used.alpha.value
        return round(alpha, ALPHA_DECIMALS) if self.passes and alpha is not None else 0.0

    @property
    def trust(self) -> ChannelTrust:
        """What an activation says of it; a payoff is a variance, or a mean square, of what lies in [-1, 1]."""
        payoff = min(1.0, max(0.0, round(self._used.payoff.value or 0.0, ALPHA_DECIMALS))) if self.passes else 0.0
        members = self.members if len(self.members) > 1 else ()
        return ChannelTrust(alpha=self.usable_alpha, payoff=payoff, passes=self.passes, members=members, detects=self.detects)

    @property
    def _used(self) -> Assessment | Detection:
        return self.detector if self.detects and self.detector is not None else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Labelled records whose verdicts lie in one tenth and whose truths in one; both are their means."""

    verdict: float
    truth: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """All channels over the spaces of one pattern.

    Attributes:
        labelled: Records with a `gold` verdict and a self-grade.
        required_precision: rho*.
        channels: By name.
        ensembles: Pairs of channels, and all of them, on the records that all their members judged.
        is_whole: Whether all labelled records are in it, or a sample.
        cells: Of each channel and ensemble the counts of (verdict, truth), for a picture; no part of the id.
    """

    spaces: str
    labelled: int
    required_precision: float
    channels: tuple[Assessment, ...]
    ensembles: tuple[Assessment, ...]
    is_whole: bool
    cells: Mapping[str, tuple[Cell, ...]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Digest of the figures: the same labels, rules and thresholds give the same id."""
        figures = {
            "spaces": self.spaces,
            "rules": [LEAST_LABELLED, LEAST_TRUTH, MOST_BIAS, LEAST_FLAGS, _shorten(self.required_precision)],
            "channels": [_shorten(asdict(one)) for one in self.channels],
        }
        return MEASURED + hashlib.sha256(orjson.dumps(figures, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]

    @property
    def trusts(self) -> dict[str, ChannelTrust]:
        """Give what an activation says of every channel, and of each ensemble that passes."""
        return {one.channel: one.trust for one in (*self.channels, *(one for one in self.ensembles if one.passes))}

    @property
    def payoffs(self) -> dict[str, float]:
        """Give the payoff of every channel that may demote."""
        return {one.channel: one.trust.payoff for one in self.channels if one.passes}

    @property
    def alphas(self) -> dict[str, float]:
        """Give the alpha of every channel, 0 for one that may not demote: what is left out would be believed by default."""
        return {one.channel: one.usable_alpha for one in self.channels}

    @property
    def detectors(self) -> list[str]:
        """Give the channels that may demote by their flags alone."""
        return [one.channel for one in self.channels if one.detects]


async def calibrate(
    store: Store, *, patterns: Sequence[str] = (), gain: float = 1.0, harm: float = 1.0, resamples: int = RESAMPLES
) -> list[Calibration]:
    """Calibrate over all spaces, then over those of each pattern; one pass over the records.

    Args:
        store: Where records and verdicts lie.
        patterns: Of space names, as in the setting `spaces`.
        gain: g, of demoting a wrong record, above 0.
        harm: h, of demoting a right one, at least 0.
        resamples: For intervals.

    Raises:
        DependencyError: The store is away.
    """
    sample: KeySample[Labelled] = KeySample(MAX_LABELLED)
    async for point in store.iter_points(kinds={PointKind.RECORD}):
        labelled = read_labelled(load_node(point))
        if labelled is not None:
            sample.put(point.id, labelled)
    records = [sample.values[key] for key in sorted(sample.values)]
    required = require_precision(gain=gain, harm=harm)
    return [
        assess_all(
            [one for one in records if fnmatchcase(one.space, pattern)],
            spaces=pattern,
            required_precision=required,
            is_whole=sample.is_whole,
            resamples=resamples,
        )
        for pattern in dict.fromkeys((EVERYWHERE, *patterns))
    ]


def read_labelled(node: Node) -> Labelled | None:
    """Read what a record says about channels; None without a `gold` verdict or a self-grade."""
    truth, grade = read_verdict(node, GOLD), read_grade(node)
    if truth is None or grade is None:
        return None
    verdicts = {name: float(found[0]) for name, found in (node.verdicts or {}).items() if name not in {GOLD, SELF}}
    return Labelled(space=node.space, grade=grade, truth=truth, verdicts=verdicts)


def assess_all(
    records: Sequence[Labelled],
    *,
    spaces: str = EVERYWHERE,
    required_precision: float = 0.5,
    is_whole: bool = True,
    resamples: int = RESAMPLES,
) -> Calibration:
    """Assess every channel that judged any of the records, and their ensembles."""
    counts = Counter(name for one in records for name in one.verdicts)

    def assess_each(groups: Sequence[tuple[str, ...]]) -> tuple[Assessment, ...]:
        return tuple(assess(records, members, required_precision=required_precision, resamples=resamples) for members in groups)

    combined = sorted(sorted(counts, key=lambda name: (-counts[name], name))[:MAX_COMBINED])
    ensembles = [*itertools.combinations(combined, 2), *([tuple(combined)] if len(combined) > 2 else [])]
    return Calibration(
        spaces=spaces,
        labelled=len(records),
        required_precision=required_precision,
        channels=assess_each([(name,) for name in sorted(counts)]),
        ensembles=assess_each(ensembles),
        is_whole=is_whole,
        cells={
            "+".join(members): count_cells(records, members) for members in [*((name,) for name in sorted(counts)), *ensembles]
        },
    )


def assess(
    records: Sequence[Labelled], members: tuple[str, ...], *, required_precision: float, resamples: int = RESAMPLES
) -> Assessment:
    """Assess one channel, or the mean of several, on the records that all of them judged."""
    table = _tabulate(records, members)
    n = len(table)
    moments = measure(*table.T.tolist()) if n >= LEAST_LABELLED else None
    flagged, wrong = table[:, 1] < WRONG_BELOW, table[:, 2] < WRONG_BELOW
    figures = {name: _estimate(table, figure, resamples) for name, figure in _FIGURES.items()}
    precision = _share(wrong[flagged])
    return Assessment(
        channel="+".join(members),
        members=members,
        n=n,
        **figures,
        var_bias=None if moments is None else moments.var_bias,
        var_noise=None if moments is None else moments.var_noise,
        error_removed=None if moments is None else _remove_error(table, figures["alpha"].value or 0.0),
        precision=precision,
        recall=_share(flagged[wrong]),
        specificity=_share(~flagged[~wrong]),
        failures=decide(n, figures["corr_truth"], figures["corr_bias"], precision, required_precision=required_precision),
        detector=detect(table, precision, required_precision=required_precision, least=LEAST_LABELLED, resamples=resamples)
        if len(members) == 1
        else None,
    )


def _remove_error(table: Sample, alpha: float) -> float:
    """Give the mean squared error that moving every grade by alpha towards its verdict removes."""
    grade, verdict, truth = table.T
    left = grade - alpha * (grade - verdict) - truth
    return float(np.mean((grade - truth) ** 2 - left**2))


def count_cells(records: Sequence[Labelled], members: tuple[str, ...]) -> tuple[Cell, ...]:
    """Count the records that all members judged by tenths of verdict and truth."""
    table = _tabulate(records, members)[:, 1:]
    tenths = np.minimum((table * TENTHS).astype(int), TENTHS - 1)
    places, which = np.unique(tenths, axis=0, return_inverse=True)
    groups = [table[which.reshape(-1) == number] for number in range(len(places))]
    return tuple(Cell(verdict=float(group[:, 0].mean()), truth=float(group[:, 1].mean()), count=len(group)) for group in groups)


def _tabulate(records: Sequence[Labelled], members: tuple[str, ...]) -> Sample:
    """Give r, V and U of the records that all members judged."""
    return np.array(
        [
            (one.grade, math.fsum(one.verdicts[name] for name in members) / len(members), one.truth)
            for one in records
            if all(name in one.verdicts for name in members)
        ],
        dtype=np.float64,
    ).reshape(-1, 3)


def _share(hits: NDArray[np.bool_]) -> Estimate:
    return estimate_share(int(hits.sum()), len(hits))


def _estimate(table: Sample, figure: Callable[[Sample], float], resamples: int) -> Estimate:
    """Estimate a figure of the records with the interval of its resamples; unknown where there are too few or it is undefined."""
    n = len(table)
    value = figure(table) if n >= LEAST_LABELLED else math.nan
    if not math.isfinite(value):
        return unknown(n)
    random = np.random.default_rng(_SEED)
    found = np.array([figure(table[random.integers(0, n, n)]) for _ in range(resamples)])
    found = found[np.isfinite(found)]
    # A figure that most resamples cannot give is not known, whatever this one sample says.
    if len(found) < 0.9 * resamples:
        return unknown(n)
    low, high = np.percentile(found, [_TAIL, 100 - _TAIL])
    return Estimate(value, float(low), float(high), n)


# Columns of a table: r, V, U.


def _correlate(a: Sample, b: Sample) -> float:
    spread = float(a.std() * b.std())
    return float(((a - a.mean()) * (b - b.mean())).mean()) / spread if spread > 1e-12 else math.nan


def _corr_truth(table: Sample) -> float:
    return _correlate(table[:, 1], table[:, 2])


def _corr_bias(table: Sample) -> float:
    """Give Corr(nu, b); 0 for a channel whose errors do not vary: they follow nothing."""
    error = table[:, 1] - table[:, 2]
    return 0.0 if float(error.std()) < 1e-12 else _correlate(error, table[:, 0] - table[:, 2])


def _moments(table: Sample) -> dict[str, float]:
    bias, error = table[:, 0] - table[:, 2], table[:, 1] - table[:, 2]
    bias, error = bias - bias.mean(), error - error.mean()
    var_bias = float(bias @ bias) / len(table)
    beta = float(error @ bias) / len(table) / var_bias if var_bias > 1e-12 else 0.0
    noise = error - beta * bias
    return {"beta": beta, "var_bias": var_bias, "var_noise": float(noise @ noise) / len(table)}


_FIGURES: Mapping[str, Callable[[Sample], float]] = {
    "corr_truth": _corr_truth,
    "corr_bias": _corr_bias,
    "beta": lambda table: _moments(table)["beta"],
    "alpha": lambda table: choose_alpha(**_moments(table)),
    "payoff": lambda table: pay_off(**_moments(table)),
}


def _shorten(value: object) -> object:
    """Round the numbers in a plain value, so that a digest does not hang on the last bits of a sum."""
    if isinstance(value, float):
        return round(value, _ID_DECIMALS)
    if isinstance(value, Mapping):
        return {key: _shorten(inner) for key, inner in value.items()}
    return [_shorten(inner) for inner in value] if isinstance(value, list | tuple) else value
