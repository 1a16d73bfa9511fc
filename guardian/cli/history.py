"""`guardian drift --history`: the trend of a bank, from the looks that workers kept in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from guardian.cli.console import clean_name, err, out, print_json
from guardian.cli.plot import draw_lines
from guardian.core.moment import format_time
from guardian.core.numbers.interval import Estimate
from guardian.core.point import PointKind
from guardian.ports import Store
from guardian.trust.series import ALL_TOGETHER, Snapshot, load_snapshot

# Looks in the table; the picture shows all.
_LATEST = 12
_COLUMNS = {"corrupted": "p", "attractor": "p*", "one_shot": "p0", "ratio": "p*/p0", "kappa": "κ", "margin": "κ* - κ"}


async def fetch_history(store: Store, space: str | None) -> list[Snapshot]:
    """Fetch the looks at a space, or at all together, in order of time.

    Raises:
        DependencyError: The store is away.
    """
    place = ALL_TOGETHER if space is None else space
    found = [load_snapshot(point) async for point in store.iter_points(space=place, kinds={PointKind.DRIFT})]
    # Looks at all together lie under a name that a space may have as well.
    return sorted((one for one in found if one.space == space), key=lambda one: one.at)


def show_history(history: Sequence[Snapshot], space: str | None, *, as_json: bool) -> None:
    """Print the looks: a picture of p against p* and p0, and the latest as a table."""
    if as_json:
        print_json({"space": space, "looks": [_describe(one) for one in history]})
        return
    name = "all spaces together" if space is None else clean_name(space)
    if not history:
        err.print(f"no look at {name} was kept: a worker keeps them while drift.every_s is above 0.")
        return
    known = [one.figures["corrupted"].value for one in history if "corrupted" in one.figures]
    values = [value for value in known if value is not None]
    if values:
        out.print(
            f"p, the corrupted share of trusted records in {name}: {len(values)} looks since {history[0].at:%Y-%m-%d %H:%M}"
        )
        for line in draw_lines(values, levels=_list_levels(history[-1]), width=out.width):
            out.print(line, no_wrap=True, crop=False)
        out.print()
    out.print(_build_table(history[-_LATEST:]))


def _list_levels(latest: Snapshot) -> dict[str, float]:
    """List p* and p0 as the latest look has them, where it knows them."""
    names = {"attractor": "p*", "one_shot": "p0"}
    levels = {label: latest.figures[name].value for name, label in names.items() if name in latest.figures}
    return {f"{label} {value:.3f}": value for label, value in levels.items() if value is not None}


def _build_table(history: Sequence[Snapshot]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("look")
    for title in ("episodes", *_COLUMNS.values()):
        table.add_column(title, justify="right")
    for one in history:
        cells = (_shorten(one.figures.get(name)) for name in _COLUMNS)
        table.add_row(f"{one.at:%Y-%m-%d %H:%M}", str(one.episodes), *cells)
    return table


def _shorten(found: Estimate | None) -> str:
    return "unknown" if found is None or found.value is None else f"{found.value:.3f}"


def _describe(one: Snapshot) -> dict[str, Any]:
    return {
        "at": format_time(one.at),
        "episodes": one.episodes,
        "stand_in": one.stand_in,
        "stand_in_episodes": one.stand_in_episodes,
        "figures": {
            name: {"value": found.value, "low": found.low, "high": found.high, "n": found.n}
            for name, found in one.figures.items()
        },
    }
