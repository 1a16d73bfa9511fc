"""Thresholds of the alerts: from where one is raised, from where it is resolved, and after how many looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from guardian.core.alert import AlertKind

# Looks in a row that an alert takes to be raised, and to be resolved. Bounds of drift allow for repeated looks by themselves; a lag or an
# outage of one look is a restart or a rebalance.
LOOKS_TO_RAISE: Mapping[AlertKind, int] = {
    AlertKind.CORRUPTED_SHARE: 1,
    AlertKind.NEAR_ATTRACTOR: 1,
    AlertKind.ATTRACTOR_ABOVE_ONE_SHOT: 1,
    AlertKind.COLLAPSE_MARGIN: 1,
    AlertKind.ECHO: 1,
    AlertKind.REFUSED_CLAIMS: 1,
    AlertKind.DEAD_LETTERS: 1,
}
LOOKS_TO_RESOLVE: Mapping[AlertKind, int] = {AlertKind.STORE_AWAY: 1, AlertKind.MODEL_AWAY: 1}
_OTHERWISE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertPolicy:
    """What is alerted.

    Attributes:
        false_alarm: Chance that a bank without feedback (kappa 0) is ever said to have some, in (0, 0.5), for each bank. With 0.025 and a bank of
            400 all of whose episodes are audited, the paper's bank is told from it in time in three runs of four, one of 1,000 in all of 100; `benchmarks.detection` has more.
        typical_feedback: A kappa worth finding, in (0, 1]; the paper's bank has 0.38.
        corrupted_raise, corrupted_clear: Share p of wrong ones among trusted records, in [0, 1]: raised where its low end is at or above the one,
            resolved where its value is below the other. Half of what is trusted being wrong is beyond what e0 alone makes of common agents.
        compounding_raise, compounding_clear: p*/p0, at least 1: raised where feedback is proven and the ratio at or above the one; resolved
            where it falls below the other, or half the proof is gone. A tenth more than one pass is what is worth a look.
        way_raise, way_clear: Share of the way from p0 to p* that p has gone, in [0, 1]; raised only where feedback is proven, and p is above p0 for sure.
        rise_raise, rise_clear: Rise of p over `rise_window`, in [0, 1]; raised where both ends' intervals are apart and p is above p0 for sure, for a
            young bank rises to p0 by itself.
        rise_window: How far back the rise is taken.
        margin_raise, margin_clear: kappa* - kappa: raised where feedback is proven and the low end at or below the one, resolved where it
            is above the other. At 0 the bank may be taken over whatever its base error.
        echo_raise, echo_clear: Share of what reads returned that a correction fells by now, in [0, 1]: low end and value.
        refused_raise, refused_clear: Verification claims of a space that were refused within a day.
        letters_raise, letters_clear: Dead letters an hour.
        lag_raise, lag_clear: Records behind.
        looks_to_raise, looks_to_resolve: Looks in a row, at least 1; two where a kind is not named.
    """

    false_alarm: float = 0.025
    typical_feedback: float = 0.35
    corrupted_raise: float = 0.5
    corrupted_clear: float = 0.45
    compounding_raise: float = 1.1
    compounding_clear: float = 1.05
    way_raise: float = 0.4
    way_clear: float = 0.25
    rise_raise: float = 0.05
    rise_clear: float = 0.02
    rise_window: timedelta = timedelta(days=7)
    margin_raise: float = 0.1
    margin_clear: float = 0.2
    echo_raise: float = 0.05
    echo_clear: float = 0.02
    refused_raise: float = 20.0
    refused_clear: float = 5.0
    letters_raise: float = 60.0
    letters_clear: float = 6.0
    lag_raise: float = 10_000.0
    lag_clear: float = 1_000.0
    looks_to_raise: Mapping[AlertKind, int] = field(default_factory=lambda: LOOKS_TO_RAISE)
    looks_to_resolve: Mapping[AlertKind, int] = field(default_factory=lambda: LOOKS_TO_RESOLVE)

    def count_looks(self, kind: AlertKind, *, to_raise: bool) -> int:
        """Give how many looks in a row a change takes."""
        return (self.looks_to_raise if to_raise else self.looks_to_resolve).get(kind, _OTHERWISE)
