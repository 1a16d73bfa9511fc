"""Laws of metrics: bounded labels, and zeros that alerts can start from."""

from __future__ import annotations

import math
import re
import sys
import time

import pytest

from guardian.contracts.reason import Reason
from guardian.sources.reason import SourceReason
from guardian.stream.plane.batch import Role
from guardian.telemetry.metrics import DEPENDENCIES, TOPIC_ROLES, Metrics


def test_two_workers_in_one_process_do_not_share_a_count() -> None:
    """Each has a registry of its own."""
    first, second = Metrics(), Metrics()
    first.records.inc(3)
    assert first.registry.get_sample_value("guardian_records_written_total") == 3
    assert second.registry.get_sample_value("guardian_records_written_total") == 0


def test_reasons_are_a_closed_set() -> None:
    """Every reason of the contract has its series, any other word is `other`: a sender cannot make labels."""
    metrics = Metrics()
    for reason in (*(reason.value for reason in Reason), "record_too_large", "made up", "also made up"):
        metrics.note_dead_letter(reason, topic_role="ingress")
    found = set(re.findall(r'guardian_dead_letters_total\{reason="([^"]+)"', metrics.render().decode()))
    assert found == {reason.value for reason in (*Reason, *SourceReason)} | {"record_too_large", "other"}
    labels = {"reason": "other", "topic_role": "ingress"}
    assert metrics.registry.get_sample_value("guardian_dead_letters_total", labels) == 2


def test_no_metric_is_labelled_by_space() -> None:
    """A label takes only values from closed sets."""
    names = {name for metric in Metrics().registry.collect() for sample in metric.samples for name in sample.labels}
    assert names <= {
        *("disposition", "reason", "topic_role", "phase", "dependency", "le"),
        *("scope", "bound", "outcome", "alert", "severity", "direction"),
    }


def test_closed_sets_have_series_from_the_start() -> None:
    """A rise from nothing is seen only where there was a zero."""
    metrics = Metrics()
    for dependency in DEPENDENCIES:
        assert metrics.registry.get_sample_value("guardian_retries_total", {"dependency": dependency}) == 0
        assert metrics.registry.get_sample_value("guardian_dependency_up", {"dependency": dependency}) == 1
    for role in Role:
        labels = {"reason": Reason.NOT_JSON.value, "topic_role": role.value}
        assert metrics.registry.get_sample_value("guardian_dead_letters_total", labels) == 0


def test_topic_roles_are_those_of_the_stream() -> None:
    """A role without its zero would raise no alert at its first dead letter."""
    assert set(TOPIC_ROLES) == {role.value for role in Role}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the figures of the process are read from /proc")
def test_the_process_tells_when_it_started() -> None:
    """A start that changes is a restart, under the name that everybody's rules know."""
    started = Metrics().registry.get_sample_value("process_start_time_seconds")
    assert started is not None
    assert 0 < started <= time.time() + 1


def test_what_is_not_known_yet_is_no_number() -> None:
    """A bank nobody has looked at shows NaN, which no threshold takes for healthy; nothing stands."""
    registry = Metrics().registry
    for bound in ("value", "low", "high"):
        found = registry.get_sample_value("guardian_drift_attractor", {"scope": "overall", "bound": bound})
        assert found is not None
        assert math.isnan(found)
    assert registry.get_sample_value("guardian_alert_standing", {"alert": "near_attractor", "severity": "critical"}) == 0
