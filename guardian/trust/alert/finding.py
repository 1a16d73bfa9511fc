"""What one look says about one thing that may be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from guardian.core.alert import SEVERITIES, AlertKind, Severity
from guardian.core.numbers.interval import Estimate


class Reading(StrEnum):
    """Which side of its thresholds a figure is on."""

    RAISE = "raise"
    BETWEEN = "between"
    CLEAR = "clear"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One kind of alert, at one look.

    Attributes:
        scope: The space; None where it is not about one.
        reading: Unknown neither raises nor resolves.
        reason: In words, with the figures.
        figures: The figures behind it, by name; None where unknown.
    """

    kind: AlertKind
    scope: str | None
    reading: Reading
    reason: str
    figures: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return SEVERITIES[self.kind]


def read(*, is_raised: bool, is_clear: bool) -> Reading:
    """Read a figure that is known: raised wins where both hold."""
    return Reading.RAISE if is_raised else Reading.CLEAR if is_clear else Reading.BETWEEN


def list_figures(**estimates: Estimate | float | None) -> dict[str, float | None]:
    """Flatten estimates to figures: `name`, `name_low`, `name_high`, `name_n`."""
    figures: dict[str, float | None] = {}
    for name, found in estimates.items():
        if isinstance(found, Estimate):
            figures |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high, f"{name}_n": found.n}
        else:
            figures[name] = found
    return figures


def show(found: Estimate) -> str:
    """Write an estimate for people."""
    if found.value is None or found.low is None or found.high is None:
        return f"unknown (n={found.n})"
    return f"{found.value:.3f} ({found.low:.3f} .. {found.high:.3f}, n={found.n})"
