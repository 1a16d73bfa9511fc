"""Judge what is not a figure of drift: refused claims, channels that confirm the agent, and Guardian's own work. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from guardian.core.alert import AlertKind
from guardian.trust.alert.finding import Finding, Reading, read, show
from guardian.trust.alert.policy import AlertPolicy
from guardian.trust.calibrate import Assessment
from guardian.trust.gate import Failure

# Failures that say something of a channel; the others say that too little is known.
_DEPENDENT = frozenset({Failure.TRUTH, Failure.BIAS, Failure.PRECISION})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFigures:
    """How Guardian's own work goes; None where that is not known.

    Attributes:
        lag: Records of the canonical topic that are not worked on yet, by whomever.
        letters_an_hour: Dead letters written, by whomever.
        is_store_up, is_model_up: Whether they answered when last asked.
    """

    lag: float | None = None
    letters_an_hour: float | None = None
    is_store_up: bool | None = None
    is_model_up: bool | None = None


def judge_refused(refused: int, *, scope: str, policy: AlertPolicy) -> Finding:
    """Judge how many claims to be verified a space refused within a day."""
    return Finding(
        kind=AlertKind.REFUSED_CLAIMS,
        scope=scope,
        reading=read(is_raised=refused >= policy.refused_raise, is_clear=refused < policy.refused_clear),
        reason=f"{refused} records of a day claim to be verified and are not believed: somebody without authority says so.",
        figures={"refused_a_day": float(refused)},
    )


def list_failing(channels: Sequence[Assessment]) -> list[Assessment]:
    """List the channels that are known to fail the error-independence test, not those of which too little is known."""
    return [one for one in channels if _DEPENDENT & set(one.failures) and one.corr_truth.is_known]


def judge_channels(channels: Sequence[Assessment], *, believes: Callable[[str], bool]) -> Finding:
    """Judge whether a channel that moves utilities fails the error-independence test."""
    failing = [one for one in list_failing(channels) if believes(one.channel)]
    known = [one for one in channels if one.corr_truth.is_known]
    reading = Reading.RAISE if failing else Reading.CLEAR if known else Reading.UNKNOWN
    told = "; ".join(
        f"{one.channel}: {', '.join(failure.value.replace('_', ' ') for failure in one.failures)} "
        f"(Corr(V, U) {show(one.corr_truth)}, Corr(ν, b) {show(one.corr_bias)})"  # noqa: RUF001 # the paper's letter
        for one in failing
    )
    return Finding(
        kind=AlertKind.CHANNEL_DEPENDENCE,
        scope=None,
        reading=reading,
        reason=f"channels that are believed fail the error-independence test: {told}."
        if failing
        else f"{len(known)} channels tested, none that is believed fails.",
        figures={"failing": float(len(failing))},
    )


def judge_work(work: WorkFigures, *, policy: AlertPolicy) -> list[Finding]:
    """Judge how Guardian's own work goes."""
    return [
        _judge_rate(AlertKind.LAG, work.lag, policy.lag_raise, policy.lag_clear, "records wait to be worked on"),
        _judge_rate(
            AlertKind.DEAD_LETTERS, work.letters_an_hour, policy.letters_raise, policy.letters_clear, "dead letters an hour"
        ),
        _judge_presence(AlertKind.STORE_AWAY, work.is_store_up, "the store"),
        _judge_presence(AlertKind.MODEL_AWAY, work.is_model_up, "the embedding model"),
    ]


def _judge_rate(kind: AlertKind, rate: float | None, raised_from: float, clear_below: float, what: str) -> Finding:
    reading = Reading.UNKNOWN if rate is None else read(is_raised=rate >= raised_from, is_clear=rate < clear_below)
    shown = "an unknown number of" if rate is None else f"{rate:,.0f}"
    return Finding(
        kind=kind,
        scope=None,
        reading=reading,
        reason=f"{shown} {what}; alerted from {raised_from:,.0f}.",
        figures={kind.value: rate},
    )


def _judge_presence(kind: AlertKind, is_up: bool | None, what: str) -> Finding:
    reading = Reading.UNKNOWN if is_up is None else Reading.CLEAR if is_up else Reading.RAISE
    return Finding(kind=kind, scope=None, reading=reading, reason=f"{what} {'answers' if is_up else 'does not answer'}.")
