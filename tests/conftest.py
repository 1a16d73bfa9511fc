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


@pytest.fixture
def fast_path(tmp_path: Path) -> Iterator[Path]:
    """Give a directory in memory where there is room: flushes of a hundred small stores take minutes on a busy disk."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or shutil.disk_usage(shm).free < 2_000_000_000:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shm) as path:
        yield Path(path)
