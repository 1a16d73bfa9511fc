"""Pictures of a calibration as SVG: a handful of shapes, drawn in place of a library that would be heavier than they are.

Every function gives one `<svg>` element. Lengths are in user units, colours are of the page's style; text that came from outside is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from guardian.core.numbers.interval import Estimate

# Plot area of a square picture, and the room for its labels.
_SIDE, _LEFT, _BOTTOM, _TOP = 200.0, 58.0, 34.0, 14.0
# Width of the rows of intervals and bars, of which the labels take a part.
_ROW, _LABELS, _VALUES = 22.0, 190.0, 250.0
_TICKS = (0.0, 0.5, 1.0)


def draw_square(*, title: str, across: str, up: str, marks: Sequence[str], top: float = 1.0) -> str:
    """Draw a square with axes: across from 0 to 1, up from 0 to `top`.

    Args:
        title: Told to screen readers.
        across: Label of the axis across.
        up: Label of the axis up.
        marks: Shapes in units of the plot, as `place_x` and `place_y` give them.
        top: Value at the upper edge.
    """
    width, height = _LEFT + _SIDE + 14, _TOP + _SIDE + _BOTTOM
    grid = [
        f'<line class="grid" x1="{place_x(tick):.1f}" x2="{place_x(tick):.1f}" y1="{_TOP}" y2="{_TOP + _SIDE}"/>'
        f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _SIDE}" y1="{place_y(tick):.1f}" y2="{place_y(tick):.1f}"/>'
        f'<text x="{place_x(tick):.1f}" y="{_TOP + _SIDE + 13}" text-anchor="middle">{tick:g}</text>'
        f'<text x="{_LEFT - 5}" y="{place_y(tick) + 3:.1f}" text-anchor="end">{tick * top:.3g}</text>'
        for tick in _TICKS
    ]
    names = (
        f'<text x="{_LEFT + _SIDE / 2}" y="{height - 6}" text-anchor="middle">{escape(across)}</text>'
        f'<text transform="translate(12 {_TOP + _SIDE / 2}) rotate(-90)" text-anchor="middle">{escape(up)}</text>'
    )
    return _wrap(width, height, title, "".join([*grid, names, *marks]))


def place_x(value: float) -> float:
    """Give the place across of a value in [0, 1]."""
    return _LEFT + _SIDE * value


def place_y(share: float) -> float:
    """Give the place up of a share of the picture's height."""
    return _TOP + _SIDE * (1 - share)


def draw_bubble(x: float, y: float, share: float) -> str:
    """Draw a disc whose area is a share of the largest."""
    return f'<circle class="cell" cx="{place_x(x):.1f}" cy="{place_y(y):.1f}" r="{1.5 + 12 * share**0.5:.2f}"/>'


def draw_line(points: Sequence[tuple[float, float]], *, kind: str) -> str:
    """Draw a line through points in shares of the picture; nothing for fewer than two."""
    if len(points) < 2:
        return ""
    path = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in points)
    return f'<polyline class="{escape(kind)}" points="{path}"/>'


def draw_dot(x: float, y: float) -> str:
    """Draw a small dot at shares of the picture."""
    return f'<circle class="dot" cx="{place_x(x):.1f}" cy="{place_y(y):.1f}" r="3"/>'


def draw_intervals(
    rows: Sequence[tuple[str, Estimate, bool]], *, title: str, low: float, high: float, bounds: Sequence[float]
) -> str:
    """Draw intervals under each other against bounds.

    Args:
        rows: Label, estimate, and whether its channel passes.
        title: Told to screen readers.
        low: Left end of the axis.
        high: Right end of it.
        bounds: Values that decide.
    """

    def place(value: float) -> float:
        return _LABELS + _VALUES * (min(high, max(low, value)) - low) / (high - low)

    height = _ROW * len(rows) + 22
    shapes = [f'<line class="bound" x1="{place(b):.1f}" x2="{place(b):.1f}" y1="0" y2="{height - 18}"/>' for b in bounds]
    shapes += [
        f'<text x="{place(value):.1f}" y="{height - 4}" text-anchor="middle">{value:g}</text>'
        for value in dict.fromkeys((low, *bounds, high))
    ]
    for number, (label, estimate, passes) in enumerate(rows):
        y = _ROW * (number + 0.5)
        shapes.append(f'<text x="{_LABELS - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(_cut(label))}</text>')
        if estimate.value is None or estimate.low is None or estimate.high is None:
            shapes.append(f'<text class="none" x="{place(low):.1f}" y="{y + 4:.1f}">unknown</text>')
            continue
        kind = "pass" if passes else "fail"
        shapes.append(
            f'<line class="{kind}" x1="{place(estimate.low):.1f}" x2="{place(estimate.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<circle class="{kind}" cx="{place(estimate.value):.1f}" cy="{y:.1f}" r="3.5"/>'
        )
    return _wrap(_LABELS + _VALUES + 20, height, title, "".join(shapes))


def draw_bars(rows: Sequence[tuple[str, Estimate, bool]], *, title: str) -> str:
    """Draw bars with the ends of their intervals, from 0 to the largest."""
    top = max([estimate.high or 0.0 for _, estimate, _ in rows], default=0.0) or 1.0
    shapes = []
    for number, (label, estimate, passes) in enumerate(rows):
        y = _ROW * number + 4
        shapes.append(f'<text x="{_LABELS - 8}" y="{y + 11:.1f}" text-anchor="end">{escape(_cut(label))}</text>')
        if estimate.value is None or estimate.low is None or estimate.high is None:
            shapes.append(f'<text class="none" x="{_LABELS}" y="{y + 11:.1f}">unknown</text>')
            continue
        width, ends = _VALUES * estimate.value / top, (_VALUES * estimate.low / top, _VALUES * estimate.high / top)
        shapes.append(
            f'<rect class="{"pass" if passes else "fail"}" x="{_LABELS}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="14"/>'
            f'<line class="whisker" x1="{_LABELS + ends[0]:.1f}" x2="{_LABELS + ends[1]:.1f}" y1="{y + 7:.1f}" y2="{y + 7:.1f}"/>'
            f'<text x="{_LABELS + ends[1] + 6:.1f}" y="{y + 11:.1f}">{estimate.value:.3f}</text>'
        )
    return _wrap(_LABELS + _VALUES + 60, _ROW * len(rows) + 8, title, "".join(shapes))


def _cut(label: str, most: int = 28) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _wrap(width: float, height: float, title: str, inside: str) -> str:
    name = escape(title)
    return (
        f'<svg role="img" aria-label="{name}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">'
        f"<title>{name}</title>{inside}</svg>"
    )
