"""Laws of the drawn curve: what is high is drawn high, levels are named, and any input fits the width."""

from __future__ import annotations

import itertools

import pytest

from guardian.cli.plot import draw_lines


def test_a_rising_curve_rises_to_its_level() -> None:
    """The first column has its dot at the bottom, the last at the level, whose name stands at that line's end."""
    lines = draw_lines([place / 99 for place in range(100)], levels={"goal": 1.0}, width=60, height=10)
    dots = [[place for place, mark in enumerate(line.split("┤", 1)[1]) if mark == "•"] for line in lines]
    assert dots[-1][0] == 0
    top = next(place for place, line in enumerate(lines) if line.endswith("goal"))
    assert max(dots[top]) == max(place for row in dots for place in row)
    assert all(min(lower) <= min(upper) for upper, lower in itertools.pairwise(dots) if upper and lower)


@pytest.mark.parametrize("count", [1, 2, 19, 1_000])
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_any_number_of_equal_values_fits(count: int, value: float) -> None:
    """A constant is drawn as one line, however many values there are, and no line is wider than it may be."""
    lines = draw_lines([value] * count, levels={"p*": value}, width=40)
    assert sum("•" in line for line in lines) == 1
    assert max(map(len, lines)) <= 40
