"""Lines over time, drawn with characters: one value a column, levels as dashes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

# Least sizes at which a curve can still be told from its levels.
MIN_WIDTH, MIN_HEIGHT = 20, 6
_DOT, _DASH = "•", "┄"


def draw_lines(values: Sequence[float], *, levels: Mapping[str, float], width: int, height: int = 14) -> list[str]:
    """Draw values against levels, from top to bottom; the scale holds all of them.

    Args:
        values: In order of time, each finite; a column shows the mean of those that fall into it.
        levels: Name -> value of a line across; its name stands at the right end.
        width: Characters a line may take.
        height: Lines.
    """
    names = max((len(name) for name in levels), default=0)
    columns = _condense(values, max(MIN_WIDTH, width - names - 10))
    scale = _Scale.over([*columns, *levels.values()], max(MIN_HEIGHT, height))
    rows = [[" "] * len(columns) for _ in range(scale.height)]
    ends: dict[int, list[str]] = {}
    for name, level in levels.items():
        row = scale.find_row(level)
        rows[row] = [_DASH] * len(columns)
        ends.setdefault(row, []).append(name)
    for column, value in enumerate(columns):
        rows[scale.find_row(value)][column] = _DOT
    return [
        f"{scale.give_value(row):6.3f} ┤{''.join(cells)} {' '.join(ends.get(row, []))}".rstrip() for row, cells in enumerate(rows)
    ]


class _Scale:
    """Rows of a picture, the first on top."""

    def __init__(self, low: float, high: float, height: int) -> None:
        self.low, self.high, self.height = low, high, height

    @classmethod
    def over(cls, values: Sequence[float], height: int) -> _Scale:
        """Give the scale that holds all values, with a little air."""
        low, high = min(values, default=0.0), max(values, default=1.0)
        air = max(0.01, (high - low) * 0.05)
        # A share has no room below 0.
        return cls(max(0.0, low - air) if low >= 0 else low - air, high + air, height)

    def find_row(self, value: float) -> int:
        """Give the row of a value."""
        share = (self.high - value) / (self.high - self.low)
        return min(self.height - 1, max(0, round(share * (self.height - 1))))

    def give_value(self, row: int) -> float:
        """Give the value in the middle of a row."""
        return self.high - row / (self.height - 1) * (self.high - self.low)


def _condense(values: Sequence[float], width: int) -> list[float]:
    """Give at most `width` means of equal runs."""
    count = min(width, len(values))
    edges = [round(place * len(values) / count) for place in range(count + 1)] if count else []
    return [math.fsum(values[start:end]) / (end - start) for start, end in itertools.pairwise(edges)]
