"""Generates the dashboards from the tables in `boards`: one JSON file a board, as Grafana's provisioning reads it.

Run `python -m deploy.grafana.generate` after changing one, and with `--check` to learn whether the files are up to date (exit
code 1 when they are not).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import BigValueGraphMode, VisibilityMode
from grafana_foundation_sdk.models.dashboard import Dashboard as DashboardModel
from grafana_foundation_sdk.models.dashboard import (
    DashboardSpecialValueMapOptions,
    DataSourceRef,
    DynamicConfigValue,
    SpecialValueMap,
    SpecialValueMatch,
    Threshold,
    ThresholdsMode,
    ValueMappingResult,
    VariableOption,
    VariableRefresh,
)

from deploy.grafana.board import Board, Panel
from deploy.grafana.boards import BOARDS

FOLDER = Path(__file__).parent / "dashboards"
# All of Grafana's width is 24.
WIDTH = 24
WHERE = 'job=~"$job", namespace=~"$namespace"'
_SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
# What stands where no number is known: an unknown figure is NaN, and no series is unknown, too.
_UNKNOWN = "unknown"


def build_files() -> dict[str, str]:
    """Build all generated files: name -> content."""
    encoder = JSONEncoder(sort_keys=True, indent=2)
    return {f"{board.uid}.json": encoder.encode(build_board(board)) + "\n" for board in BOARDS}


def build_board(board: Board) -> DashboardModel:
    """Build a dashboard with its variables, rows and panels, panels of a row as wide as the row allows."""
    built = dashboard.Dashboard(board.title).uid(board.uid).description(board.text).tags(["guardian"]).readonly()
    built.time(board.since, "now").refresh("1m").timezone("browser")
    for variable in (_choose_source(), _choose("job", board), _choose("namespace", board), _choose_scope()):
        built.with_variable(variable)
    number = 0
    for title, panels in board.rows.items():
        built.with_row(dashboard.Row(title))
        for place, panel in enumerate(panels):
            number += 1
            built.with_panel(_build_panel(panel, width=_measure_width(panels, place)).id(number))
    return built.build()


def _measure_width(panels: Sequence[Panel], place: int) -> int:
    """Share a row: numbers stand in one line, of curves two; the last of an odd number has the line for itself."""
    if panels[place].kind == "number":
        return WIDTH // len(panels)
    is_alone = place == len(panels) - 1 and place % 2 == 0
    return WIDTH if is_alone else WIDTH // 2


def _build_panel(panel: Panel, *, width: int) -> stat.Panel | timeseries.Panel:
    built = _build_number(panel) if panel.kind == "number" else _build_curve(panel)
    built.title(panel.title).description(panel.text).unit(panel.unit).datasource(_SOURCE).span(width)
    for number, (query, legend) in enumerate(panel.lines.items()):
        target = prometheus.Dataquery().expr(query.replace("$where", WHERE)).legend_format(legend).ref_id(chr(ord("A") + number))
        built.with_target(target.instant() if panel.kind == "number" else target.range())
    return built


def _build_number(panel: Panel) -> stat.Panel:
    built = stat.Panel().height(4).graph_mode(BigValueGraphMode.NONE).no_value(_UNKNOWN)
    built.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    unknown = ValueMappingResult(text=_UNKNOWN)
    built.mappings(
        [SpecialValueMap(options=DashboardSpecialValueMapOptions(match=SpecialValueMatch.NULL_AND_NAN, result=unknown))]
    )
    return built.thresholds(_build_limits(panel.limits))


def _build_curve(panel: Panel) -> timeseries.Panel:
    # A figure of drift changes with a run, hours apart; NaN is a gap, and no gap is drawn over.
    built = timeseries.Panel().height(8).line_width(1).show_points(VisibilityMode.NEVER).no_value(_UNKNOWN)
    if panel.has_band:
        built.override_by_name(
            "high", [_set("custom.fillBelowTo", "low"), _set("custom.lineWidth", 0), _set("custom.fillOpacity", 15)]
        )
        built.override_by_name("low", [_set("custom.lineWidth", 0)])
        built.override_by_name("value", [_set("custom.lineWidth", 2)])
    return built


def _set(name: str, value: object) -> DynamicConfigValue:
    return DynamicConfigValue(id_val=name, value=value)


def _build_limits(limits: tuple[float, float] | None) -> dashboard.ThresholdsConfig:
    """Give the colours from the least number up; where less is worse, red comes first."""
    steps = [Threshold(value=None, color="text")]
    if limits is not None:
        first, second = limits
        is_more_worse = first < second
        colours = ("green", "yellow", "red") if is_more_worse else ("red", "yellow", "green")
        values = (None, first, second) if is_more_worse else (None, second, first)
        steps = [Threshold(value=value, color=colour) for value, colour in zip(values, colours, strict=True)]
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)


def _choose_source() -> dashboard.DatasourceVariable:
    current = VariableOption(text="Prometheus", value="prometheus", selected=True)
    return dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus").current(current)


def _choose(label: str, board: Board) -> dashboard.QueryVariable:
    """Choose values of a label; all of them also means that there is no such label."""
    built = dashboard.QueryVariable(label).label(label.capitalize()).datasource(_SOURCE)
    built.query(f"label_values({board.labelled}, {label})").refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    return built.multi(True).include_all(True).all_value(".*").current(VariableOption(text="All", value="$__all", selected=True))


def _choose_scope() -> dashboard.CustomVariable:
    """Choose between all spaces together and the worst of them."""
    built = dashboard.CustomVariable("scope").label("Spaces").values("overall,worst")
    return built.current(VariableOption(text="overall", value="overall", selected=True))


def _find_drift() -> list[Path]:
    built = build_files()
    stale = [FOLDER / name for name, content in built.items() if _read(FOLDER / name) != content]
    return stale + sorted(path for path in FOLDER.glob("*.json") if path.name not in built)


def _read(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or with `--check` tell whether they are up to date."""
    parser = argparse.ArgumentParser(description="Generate the dashboards.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is not what would be written")
    if parser.parse_args(arguments).check:
        drift = _find_drift()
        for path in drift:
            sys.stderr.write(
                f"{path} is not what its table in deploy/grafana/boards says: run `python -m deploy.grafana.generate`\n"
            )
        return 1 if drift else 0
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name, content in build_files().items():
        (FOLDER / name).write_text(content, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
