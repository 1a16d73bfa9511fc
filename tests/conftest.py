"""What every test shares: the brokers, a calm Hypothesis, and no silent skipping where everything is promised to be there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.brokers", "tests.monitoring", "tests.postgres_server", "tests.sharing"]

# Other work shares the machine: a slow example is no failure.
settings.register_profile("guardian", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("guardian")

# Least room in memory for the folders of all tests that run at a time; one that fails keeps its folder, the others give theirs back.
ROOM_BYTES = 4_000_000_000


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Turn a skipped test that needs Kafka into a failed one where `CI` is set: there Kafka is part of the promise."""
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker("kafka"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} needs Apache Kafka and CI is set: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests that passed have to tell: figures under the property `told`, from whichever process they come."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "told":
                terminalreporter.section(report.nodeid, sep="-")
                terminalreporter.write_line(str(value))


def pytest_configure(config: pytest.Config) -> None:
    """Lay the folders of tests into memory where there is room: stores flush after every batch, and a busy disk makes that minutes."""
    shm = Path("/dev/shm")
    is_chosen = config.option.basetemp is not None or "PYTEST_DEBUG_TEMPROOT" in os.environ
    if not is_chosen and shm.is_dir() and shutil.disk_usage(shm).free > ROOM_BYTES:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(shm)


@pytest.fixture
def fast_path(tmp_path: Path) -> Path:
    """Give a folder apart to what makes a hundred small stores."""
    path = tmp_path / "fast"
    path.mkdir()
    return path


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """Give a folder on a disk to what needs gigabytes of it."""
    with tempfile.TemporaryDirectory(prefix="guardian-", ignore_cleanup_errors=True) as path:
        yield Path(path)
