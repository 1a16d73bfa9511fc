"""Judge a bank's figures: which of the things that may be wrong with it are. Pure: figures in, findings out.

    figures = BankFigures(episodes=estimate_drift(audited, resamples=200), evidence=gather_evidence(audited), corrupted=share_of_p)
    findings = judge_bank(figures, scope="team-a", policy=AlertPolicy())
    states, changes = decide_alerts(findings, states, now=moment, policy=policy)      # of `standing`
    states = mark_announced(states, states)                                           # once `changes` are told to people

`audited` are the `AuditedEpisode`s of the window so far; `states` is what the look before left, `{}` at first. Feedback is *proven* where the
interval of kappa that holds at all looks at once (`trust.feedback`) lies above 0. It gates what would else be raised for noise: a bank without
feedback moves from nothing to p0 by itself, with grades that flatter it, and that is no attractor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from guardian.core.alert import AlertKind
from guardian.core.numbers.interval import Estimate, unknown
from guardian.trust.alert.finding import Finding, Reading, list_figures, read, show
from guardian.trust.alert.policy import AlertPolicy
from guardian.trust.estimate import DriftEstimate
from guardian.trust.feedback import Feedback, FeedbackEvidence, bound_feedback

_NOTHING = unknown(0)


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """p at an earlier look."""

    at: datetime
    corrupted: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class BankFigures:
    """What is known of a bank, or of all together.

    Attributes:
        episodes: What its audited episodes say.
        evidence: What they say of feedback; of several spaces the sum.
        corrupted: p, share of wrong ones among the trusted records whose truth is known.
        superseded_of_top_k: Share of what reads returned that a correction fells by now.
        series: Earlier looks, in order of time.
        at: When this look was.
    """

    episodes: DriftEstimate
    evidence: FeedbackEvidence
    corrupted: Estimate = _NOTHING
    superseded_of_top_k: Estimate = _NOTHING
    series: Sequence[TrendPoint] = ()
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Look:
    """A bank's figures with what follows from them once."""

    figures: BankFigures
    scope: str | None
    policy: AlertPolicy
    feedback: Feedback = field(init=False)

    def __post_init__(self) -> None:
        policy = self.policy
        found = bound_feedback(self.figures.evidence, false_alarm=policy.false_alarm, typical=policy.typical_feedback)
        object.__setattr__(self, "feedback", found)

    def find(self, kind: AlertKind, reading: Reading, reason: str, **figures: Estimate | float | None) -> Finding:
        """Give a finding about this bank."""
        return Finding(kind=kind, scope=self.scope, reading=reading, reason=reason, figures=list_figures(**figures))

    @property
    def proof(self) -> str:
        """How sure it is that what is retrieved raises the error rate, for people."""
        found = self.feedback
        if found.strength is None or found.needed is None:
            return f"feedback unknown (n={found.kappa.n})"
        return f"κ {show(found.kappa)}, {found.strength:.1f} standard errors above 0 where {found.needed:.1f} prove it"

    @property
    def is_half_proven(self) -> bool:
        """Whether half the proof of feedback stands: a proven one is held to that."""
        strength, needed = self.feedback.strength, self.feedback.needed
        return strength is not None and needed is not None and strength >= needed / 2


def judge_bank(figures: BankFigures, *, scope: str | None, policy: AlertPolicy) -> list[Finding]:
    """Judge one bank, or all together: one finding for each kind that drift can raise."""
    look = _Look(figures, scope, policy)
    return [judge(look) for judge in _JUDGES]


def _judge_level(look: _Look) -> Finding:
    p, policy = look.figures.corrupted, look.policy
    reading = (
        Reading.UNKNOWN
        if p.value is None or p.low is None
        else read(is_raised=p.low >= policy.corrupted_raise, is_clear=p.value < policy.corrupted_clear)
    )
    reason = f"of the trusted records whose truth is known {show(p)} are wrong; alerted from {policy.corrupted_raise:g} for sure."
    return look.find(AlertKind.CORRUPTED_SHARE, reading, reason, corrupted_share=p)


def _judge_compounding(look: _Look) -> Finding:
    found, policy = look.figures.episodes, look.policy
    ratio = found.ratio.value
    reading = (
        Reading.UNKNOWN
        if ratio is None or look.feedback.strength is None
        else read(
            is_raised=look.feedback.is_proven and ratio >= policy.compounding_raise,
            is_clear=ratio < policy.compounding_clear or not look.is_half_proven,
        )
    )
    reason = (
        f"wrong memories make more wrong memories: the bank is heading for p* {show(found.attractor)}, one pass alone would leave "
        f"p0 {show(found.one_shot)}; p*/p0 {show(found.ratio)}; {look.proof}."
    )
    figures = {"attractor": found.attractor, "one_shot": found.one_shot, "compounding": found.ratio, "kappa": look.feedback.kappa}
    return look.find(AlertKind.ATTRACTOR_ABOVE_ONE_SHOT, reading, reason, **figures, strength=look.feedback.strength)


def _judge_way(look: _Look) -> Finding:
    found, policy, p = look.figures.episodes, look.policy, look.figures.corrupted
    way = measure_way(p, found)
    is_known = p.low is not None and found.one_shot.value is not None and look.feedback.strength is not None
    is_above = p.low is not None and found.one_shot.value is not None and p.low > found.one_shot.value
    reading = (
        Reading.UNKNOWN
        if not is_known
        else read(
            is_raised=look.feedback.is_proven and is_above and way is not None and way >= policy.way_raise,
            is_clear=way is None or way < policy.way_clear or not look.is_half_proven,
        )
    )
    gone = "unknown" if way is None else f"{way:.0%}"
    reason = (
        f"the share of wrong memories {show(p)} has gone {gone} of the way from p0 {show(found.one_shot)} "
        f"to p* {show(found.attractor)}; {look.proof}."
    )
    figures = {"corrupted_share": p, "one_shot": found.one_shot, "attractor": found.attractor, "kappa": look.feedback.kappa}
    return look.find(AlertKind.NEAR_ATTRACTOR, reading, reason, **figures, way=way)


def measure_way(corrupted: Estimate, found: DriftEstimate) -> float | None:
    """Give the share of the way from p0 to p* that p has gone; None where unknown, or where there is no way to go."""
    p, p0, p_star = corrupted.value, found.one_shot.value, found.attractor.value
    if p is None or p0 is None or p_star is None or p_star <= p0:
        return None
    return (p - p0) / (p_star - p0)


def _judge_trend(look: _Look) -> Finding:
    figures, policy, p, p0 = look.figures, look.policy, look.figures.corrupted, look.figures.episodes.one_shot
    start = _find_start(figures, policy)
    if start is None or not (p.is_known and p0.is_known) or p.value is None or start.corrupted.value is None:
        return look.find(AlertKind.RISING, Reading.UNKNOWN, f"no trend yet: p {show(p)}, p0 {show(p0)}.", corrupted_share=p)
    rise = p.value - start.corrupted.value
    is_apart = p.low is not None and start.corrupted.high is not None and p.low > start.corrupted.high
    is_above = p.low is not None and p0.high is not None and p.low > p0.high
    reading = read(is_raised=rise >= policy.rise_raise and is_apart and is_above, is_clear=rise < policy.rise_clear)
    reason = (
        f"the share of wrong memories rose by {rise:.3f} since {start.at:%Y-%m-%d %H:%M} to {show(p)}, "
        f"above p0 {show(p0)}, which a bank comes to by itself."
    )
    return look.find(AlertKind.RISING, reading, reason, corrupted_share=p, corrupted_share_before=start.corrupted, rise=rise)


def _find_start(figures: BankFigures, policy: AlertPolicy) -> TrendPoint | None:
    since = None if figures.at is None else figures.at - policy.rise_window
    known = (one for one in figures.series if one.corrupted.is_known and (since is None or one.at >= since))
    return next(known, None)


def _judge_margin(look: _Look) -> Finding:
    found, policy = look.figures.episodes, look.policy
    margin = found.margin
    reading = (
        Reading.UNKNOWN
        if margin.low is None or look.feedback.strength is None
        else read(
            is_raised=look.feedback.is_proven and margin.low <= policy.margin_raise,
            is_clear=margin.low > policy.margin_clear or not look.is_half_proven,
        )
    )
    reason = (
        f"feedback is close to where even a vanishing base error takes the bank over: κ* - κ {show(margin)}, "
        f"alerted while {policy.margin_raise:g} cannot be ruled out; {look.proof}."
    )
    return look.find(
        AlertKind.COLLAPSE_MARGIN, reading, reason, collapse_margin=margin, kappa=found.kappa, collapse=found.collapse
    )


def _judge_echo(look: _Look) -> Finding:
    found, policy, top_k = look.figures.episodes, look.policy, look.figures.superseded_of_top_k
    is_open = _is_gap_open(look)
    is_back = top_k.low is not None and top_k.low >= policy.echo_raise
    if is_open is None and not is_back:
        reading = Reading.UNKNOWN
    else:
        is_quiet = top_k.value is None or top_k.value < policy.echo_clear
        reading = read(is_raised=is_back or is_open is True, is_clear=is_quiet and not is_open)
    lead = "what was corrected still answers" if is_back or not is_open else "the bank echoes what its own grades inflate"
    reason = (
        f"{lead}: superseded families hold {show(top_k)} of what reads returned; "
        f"the Echo Gap's conditions E[b | wrong] {show(found.bias_of_wrong)} and Cov(b, n | wrong) {show(found.bias_with_reuse)}"
        f"{' are both above 0 and feedback is proven' if is_open else ''}."
    )
    figures = {
        "superseded_top_k": top_k,
        "bias_of_wrong": found.bias_of_wrong,
        "bias_with_reuse": found.bias_with_reuse,
        "kappa": look.feedback.kappa,
    }
    return look.find(AlertKind.ECHO, reading, reason, **figures)


def _is_gap_open(look: _Look) -> bool | None:
    """Tell whether the Echo Gap is open and feeds back; None while that is unknown.

    Any bank that reuses what its own grades accept meets both conditions; they do harm where what is read makes more errors.
    """
    found = look.figures.episodes
    low, with_reuse = found.bias_of_wrong.low, found.bias_with_reuse.low
    if low is None or with_reuse is None or look.feedback.strength is None:
        return None
    return low > 0 and with_reuse > 0 and look.feedback.is_proven


def _judge_knowledge(look: _Look) -> Finding:
    found = look.figures.episodes
    parts = {
        "leniency": found.leniency,
        "sensitivity": found.sensitivity,
        "base error": found.base_error,
        "kappa": found.kappa,
        "corrupted share": look.figures.corrupted,
    }
    missing = [name for name, estimate in parts.items() if not estimate.is_known]
    reason = (
        f"{found.episodes} audited episodes: too few, or too much alike, to know {', '.join(missing)}. That is no sign of health; "
        f"draw some with `guardian audit sample` and label them."
        if missing
        else f"{found.episodes} audited episodes tell all that drift is made of."
    )
    reading = Reading.RAISE if missing else Reading.CLEAR
    return look.find(AlertKind.DRIFT_UNKNOWN, reading, reason, episodes=float(found.episodes))


_JUDGES: tuple[Callable[[_Look], Finding], ...] = (
    _judge_level,
    _judge_compounding,
    _judge_way,
    _judge_trend,
    _judge_margin,
    _judge_echo,
    _judge_knowledge,
)
