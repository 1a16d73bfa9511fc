"""Laws of what is shown of watching: the trend that workers kept, and what stands."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from guardian.cli.main import call
from guardian.core.alert import AlertKind
from guardian.core.numbers.interval import Estimate
from guardian.core.point import Phase, Upsert
from guardian.ports import Fence
from guardian.store.edge.store import EdgeStore
from guardian.trust.alert.record import build_alert_point
from guardian.trust.alert.standing import AlertState, AlertStatus
from guardian.trust.series import Snapshot, build_snapshot_point
from tests.builders import START
from tests.property.bank import IDENTITY

STANDING = AlertState(
    kind=AlertKind.ECHO, scope="shop [b]", status=AlertStatus.STANDING, since=START, reason="it still answers", seen_at=START
)


def keep(folder: Path, *points: Upsert) -> str:
    """Keep points in an embedded store; gives its folder."""

    async def write() -> None:
        store = EdgeStore(folder, IDENTITY, min_free_bytes=0)
        await store.open()
        await store.apply([Phase(upserts=points)], fence=Fence())
        await store.close()

    asyncio.run(write())
    return str(folder)


def take(number: int, *, space: str | None = None) -> Snapshot:
    """Take a look at a bank whose share of wrong records rises."""
    known = {"corrupted": 0.1 + number / 50, "attractor": 0.6, "one_shot": 0.25}
    figures = {name: Estimate(value, value - 0.05, value + 0.05, 100) for name, value in known.items()}
    return Snapshot(space=space, at=START + number * timedelta(hours=1), episodes=100 + number, figures=figures)


def test_a_trend_is_drawn_from_what_workers_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shares against p* and p0, and the latest looks as a table; a space of the same name as all together is another."""
    store = keep(
        tmp_path / "s", *(build_snapshot_point(take(number, space=space)) for number in range(20) for space in (None, "*"))
    )
    assert call(["drift", "--history", "--store", store]) == 0
    shown = capsys.readouterr().out
    assert "20 looks since 2026-03-01 00:00" in " ".join(shown.split())
    assert "p* 0.600" in shown
    assert "p0 0.250" in shown
    assert shown.count("0.600") >= 12
    assert "unknown" in shown
    assert call(["drift", "*", "--history", "--json", "--store", store]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["space"] == "*"
    assert [look["episodes"] for look in told["looks"]] == list(range(100, 120))
    assert told["looks"][0]["figures"]["corrupted"] == {
        "value": 0.1,
        "low": pytest.approx(0.05),
        "high": pytest.approx(0.15),
        "n": 100,
    }


def test_no_trend_and_no_alert_are_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty store is no healthy one."""
    store = keep(tmp_path / "s")
    assert call(["drift", "--history", "--store", store]) == 0
    assert "no look at all spaces together was kept" in " ".join(capsys.readouterr().err.split())
    assert call(["alerts", "--store", store]) == 0
    assert "What is unknown is not told here" in " ".join(capsys.readouterr().out.split())


def test_history_refuses_what_it_would_pass_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was estimated was estimated with the settings of its time."""
    store = keep(tmp_path / "s")
    assert call(["drift", "--history", "--since", "1d", "--store", store]) == 2
    assert "--history" in capsys.readouterr().err


def test_what_stands_is_listed_worst_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With where to read what to do; what is only watched, or resolved and not yet told, does not stand."""
    states = [
        STANDING,
        replace(STANDING, kind=AlertKind.DRIFT_UNKNOWN, scope=None, is_stale=True),
        replace(STANDING, kind=AlertKind.NEAR_ATTRACTOR, scope="b"),
        replace(STANDING, kind=AlertKind.LAG, scope=None, status=AlertStatus.WATCHED, since=None, looks=1),
        replace(STANDING, kind=AlertKind.RISING, status=AlertStatus.RESOLVED, until=START, is_announced=False),
    ]
    store = keep(tmp_path / "s", *map(build_alert_point, states))
    assert call(["alerts", "--json", "--store", store]) == 0
    told = json.loads(capsys.readouterr().out)["alerts"]
    assert [one["key"] for one in told] == ["near_attractor:b", "echo:shop [b]", "drift_unknown"]
    assert [one["is_stale"] for one in told] == [False, False, True]
    assert told[0]["runbook"] == "docs/when-things-go-wrong.md#near_attractor"
    assert call(["alerts", "--store", store]) == 0
    shown = capsys.readouterr().out
    assert shown.index("near_attractor") < shown.index("echo") < shown.index("drift_unknown")
    severities = [line.split()[0] for line in shown.splitlines() if line[:1] not in {"", " "}]
    assert severities == ["severity", "critical", "warning", "info"]
    assert "shop [b]" in shown.replace("\n", " ")
