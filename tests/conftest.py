"""What every test shares: the brokers, a calm Hypothesis, and no silent skipping where everything is promised to be there."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.brokers"]

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
