"""Numbers on the command line."""

from __future__ import annotations

import math

import typer


def require_finite(value: float | None) -> float | None:
    """Refuse what is no number: a range may let it through, as it compares with nothing."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no finite number.")
    return value
