"""Laws of the dashboards: they are what their source says, draw what exists, and leave no metric out."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.grafana import generate
from tests.monitoring import ROOT
from tests.unit.deploy.queries import find_faults, list_families, list_metrics, list_serve_families, load_rules

DEPLOY = ROOT / "deploy" / "grafana"
BOARDS = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted((DEPLOY / "dashboards").glob("*.json"))}


def list_panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    """List the panels that show something."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def list_queries() -> list[str]:
    """List all queries of all boards, as Grafana sends them."""
    targets = [target for board in BOARDS.values() for panel in list_panels(board) for target in panel["targets"]]
    return [target["expr"] for target in targets]


def test_the_files_are_what_the_source_says() -> None:
    """`make check` asks the same."""
    assert generate.main(["--check"]) == 0


def test_a_changed_a_missing_and_a_foreign_file_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was edited in place would be lost with the next generation."""
    monkeypatch.setattr(generate, "FOLDER", tmp_path / "dashboards")
    assert generate.main(["--check"]) == 1
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    edited = tmp_path / "dashboards" / "guardian-drift.json"
    edited.write_text(edited.read_text().replace("Guardian", "guardian", 1))
    assert generate.main(["--check"]) == 1
    assert generate.main([]) == 0
    (tmp_path / "dashboards" / "foreign.json").write_text("{}")
    assert generate.main(["--check"]) == 1


def test_every_metric_and_label_of_the_dashboards_exists() -> None:
    """An empty panel looks like a healthy one."""
    queries = list_queries()
    assert len(queries) > 50
    assert [fault for query in queries for fault in find_faults(query)] == []


def test_every_metric_of_the_workers_and_services_is_drawn() -> None:
    """One that nobody sees could as well not be counted."""
    recorded = {rule.content["record"]: list_metrics(rule.query) for rule in load_rules() if "record" in rule.content}
    named = {name for query in list_queries() for name in list_metrics(query)}
    drawn = named | {name for record in named & set(recorded) for name in recorded[record]}
    plain = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in drawn}
    families = (*list_families(), *list_serve_families())
    assert {one.name for one in families if one.name.startswith("guardian_")} - plain == set()


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_panels_have_a_place_a_number_and_a_text_of_their_own(name: str) -> None:
    """No two overlap, none hangs over the edge, and each says what it tells."""
    board = BOARDS[name]
    cells = Counter(
        (column, line)
        for panel in board["panels"]
        for column in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for line in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    )
    assert set(cells.values()) == {1}
    assert max(column for column, _ in cells) < generate.WIDTH
    numbers = [panel["id"] for panel in list_panels(board)]
    assert len(numbers) == len(set(numbers))
    assert all(panel["title"] and panel["description"] and panel["targets"] for panel in list_panels(board))
    assert all(panel["datasource"]["uid"] == "${datasource}" for panel in list_panels(board))


def test_variables_of_queries_are_those_of_the_board() -> None:
    """A variable that a board does not have is sent as its name."""
    for board in BOARDS.values():
        named = {
            name for panel in list_panels(board) for target in panel["targets"] for name in re.findall(r"\$(\w+)", target["expr"])
        }
        assert named - {"__rate_interval"} <= {variable["name"] for variable in board["templating"]["list"]}


def test_provisioning_finds_dashboards_and_prometheus() -> None:
    """What the files name is where compose puts it."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    mounts = dict(mount.split(":")[:2] for mount in services["grafana"]["volumes"])
    (provider,) = yaml.safe_load((DEPLOY / "provisioning" / "dashboards" / "guardian.yml").read_text())["providers"]
    (source,) = yaml.safe_load((DEPLOY / "provisioning" / "datasources" / "prometheus.yml").read_text())["datasources"]
    assert mounts["./deploy/grafana/dashboards"] == provider["options"]["path"]
    assert source["url"] == "http://prometheus:9090"
    assert "prometheus" in services
    chosen = {variable["name"]: variable for board in BOARDS.values() for variable in board["templating"]["list"]}
    assert chosen["datasource"]["current"]["value"] == source["uid"]
