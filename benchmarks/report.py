"""What a benchmark found: figures, drawn as a table for people, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from rich.table import Table

from guardian.core.numbers.interval import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What a figure should reach. It is printed beside the figure; nothing fails by it."""

    value: float
    is_ceiling: bool = False

    def is_met(self, value: float) -> bool:
        """Tell whether a value reaches it."""
        return value <= self.value if self.is_ceiling else value >= self.value

    def describe(self, value: float) -> str:
        """Give the aim and whether it was met."""
        sign = "≤" if self.is_ceiling else "≥"
        return f"{sign} {format_number(self.value)}, {'met' if self.is_met(value) else 'missed'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured thing.

    Attributes:
        values: One a repetition; the median is quoted, the least and the greatest stand beside.
        unit: `events/s`, `ms`, `MB`, `ratio`, …
        aim: What it should reach, or None.
        estimate: The interval and the sample of a share that was counted once, or None.
    """

    what: str
    values: Sequence[float]
    unit: str
    aim: Aim | None = None
    estimate: Estimate | None = None

    @property
    def middle(self) -> float:
        """The median over the repetitions."""
        return median(self.values)

    def cells(self) -> tuple[str, str, str, str, str]:
        """Give what a table shows: what, median, unit, range, aim."""
        spread = ""
        if self.estimate is not None and self.estimate.low is not None and self.estimate.high is not None:
            spread = f"{self.estimate.low:.3f} .. {self.estimate.high:.3f} (n={self.estimate.n})"
        elif len(self.values) > 1:
            spread = f"{format_number(min(self.values))} to {format_number(max(self.values))}"
        return (
            self.what,
            format_number(self.middle),
            self.unit,
            spread,
            "" if self.aim is None else self.aim.describe(self.middle),
        )


@dataclass(slots=True, kw_only=True)
class Report:
    """All figures of one benchmark, and what has to be known to read them."""

    name: str
    title: str
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, what: str, values: float | Sequence[float], unit: str, *, aim: Aim | None = None) -> None:
        """Add one figure; a single value is a single repetition."""
        listed = list(values) if isinstance(values, Sequence) else [values]
        self.figures.append(Figure(what=what, values=listed, unit=unit, aim=aim))

    def add_estimate(self, what: str, estimate: Estimate, unit: str = "share", *, aim: Aim | None = None) -> None:
        """Add an estimate with its 95 % interval; what is unknown is said in a note and has no figure."""
        if estimate.value is None:
            self.notes.append(f"{what}: unknown (n={estimate.n})")
        else:
            self.figures.append(Figure(what=what, values=[estimate.value], unit=unit, aim=aim, estimate=estimate))

    def table(self) -> Table:
        """Draw it for a terminal."""
        table = Table(title=f"{self.name}: {self.title}", title_justify="left", box=None, pad_edge=False)
        for name, justify in zip(_COLUMNS, ("left", "right", "left", "left", "left"), strict=True):
            table.add_column(name, justify=justify)  # type: ignore[arg-type] # rich names the words as literals
        for figure in self.figures:
            table.add_row(*figure.cells())
        return table

    def markdown(self) -> str:
        """Draw it as Markdown."""
        rows = [_COLUMNS, ("---", "---:", "---", "---", "---"), *(figure.cells() for figure in self.figures)]
        lines = [f"### {self.name}: {self.title}", "", *(f"| {' | '.join(row)} |" for row in rows)]
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes), ""])

    def as_json(self) -> dict[str, Any]:
        """Give it for programs."""
        figures = [
            {"what": item.what, "unit": item.unit, "median": item.middle, "values": list(item.values)}
            | ({} if item.estimate is None else {"interval": [item.estimate.low, item.estimate.high], "n": item.estimate.n})
            | ({} if item.aim is None else {"aim": asdict(item.aim), "is_met": item.aim.is_met(item.middle)})
            for item in self.figures
        ]
        return {"name": self.name, "title": self.title, "figures": figures, "notes": self.notes}


_COLUMNS = ("measured", "median", "unit", "least to greatest, or 95 % interval", "aim")


def format_number(value: float) -> str:
    """Give two or three meaningful digits, and thousands with commas."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"
