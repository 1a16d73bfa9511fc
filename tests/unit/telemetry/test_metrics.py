"""Laws of metrics: bounded labels, and zeros that alerts can start from."""

from __future__ import annotations

import re

from guardian.contracts.reason import Reason
from guardian.telemetry.metrics import DEPENDENCIES, Metrics


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
    assert found == {reason.value for reason in Reason} | {"record_too_large", "other"}


def test_no_metric_is_labelled_by_space() -> None:
    """A label takes only values from closed sets."""
    names = {name for metric in Metrics().registry.collect() for sample in metric.samples for name in sample.labels}
    assert names <= {"disposition", "reason", "topic_role", "phase", "dependency", "outcome", "direction", "le"}


def test_closed_sets_have_series_from_the_start() -> None:
    """A rise from nothing is seen only where there was a zero."""
    metrics = Metrics()
    for dependency in DEPENDENCIES:
        assert metrics.registry.get_sample_value("guardian_retries_total", {"dependency": dependency}) == 0
        assert metrics.registry.get_sample_value("guardian_dependency_up", {"dependency": dependency}) == 1
