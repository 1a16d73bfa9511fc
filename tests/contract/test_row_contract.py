"""The contract of formats whose rows arrive one by one: every row of every sample is claimed by at most one of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from guardian.sources.port import RowChange, RowOperation, RowSource, SourceEvent, SourceOptions
from guardian.sources.reading.stamp import format_time
from guardian.sources.registry import BUILT_IN, load_row_sources
from tests.contract.samples.alone import list_rows
from tests.contract.test_source_contract import SAMPLES

ROW_SOURCES = load_row_sources()
CHANGE = RowChange(position="t/0/1", identity="1", operation=RowOperation.STATE, time=datetime(2026, 7, 1, tzinfo=UTC), after={})

# Formats whose rows name no time at all, so that each is dated by its record.
TIMELESS = frozenset({"agent-kb", "memento", "reasoning-bank", "reflexion-tasks", "reflexion-trials"})


def claim(change: RowChange) -> list[str]:
    """Give the names of the formats that take a row for theirs."""
    return [source.name for source in ROW_SOURCES if source.matches_row(change)]


@pytest.mark.parametrize("source", ROW_SOURCES, ids=lambda source: source.name)
def test_rows_of_a_sample_are_claimed_by_their_format_alone(source: RowSource, tmp_path: Path) -> None:
    """A row that stands, was made, or was removed with all its columns known, is of one format or of none, and some are of this one."""
    rows = list_rows(SAMPLES[source.name](tmp_path)[0])
    claimed = []
    for row in rows:
        for change in (
            replace(CHANGE, after=row),
            replace(CHANGE, operation=RowOperation.CREATE, after=row),
            replace(CHANGE, operation=RowOperation.UPDATE, before=row, after=row),
            replace(CHANGE, operation=RowOperation.DELETE, before=row, after=None),
        ):
            names = claim(change)
            assert len(names) <= 1, (names, row)
            claimed += names
    assert source.name in claimed, "no row of the sample is claimed by its own format"


@pytest.mark.parametrize(
    "name", sorted({source.name for source in BUILT_IN} - {source.name for source in ROW_SOURCES} - {"rows"})
)
def test_rows_of_files_alone_are_claimed_by_at_most_one_format(name: str, tmp_path: Path) -> None:
    """What stands in other programs' files is not ambiguous when it comes on a topic."""
    for row in list_rows(SAMPLES[name](tmp_path)[0]):
        assert len(claim(replace(CHANGE, after=row))) <= 1, row


@pytest.mark.parametrize("source", ROW_SOURCES, ids=lambda source: source.name)
def test_a_row_that_a_snapshot_shows_is_the_event_of_the_change_that_wrote_it(source: RowSource, tmp_path: Path) -> None:
    """A row with a time of its own gives equal events, id and data, as a change, in a later snapshot, and of nobody's knowledge."""
    told = 0
    for row in list_rows(SAMPLES[source.name](tmp_path)[0]):
        created = replace(CHANGE, operation=RowOperation.CREATE, after=row)
        if not source.matches_row(created):
            continue
        later = {"identity": "2", "time": CHANGE.time + timedelta(days=1), "position": "t/0/2"}
        given = list_events(source, created)
        for operation in (RowOperation.SNAPSHOT, RowOperation.STATE):
            shown = list_events(source, replace(created, operation=operation, **later))
            assert len(shown) == len(given)
            for event, again in zip(given, shown, strict=True):
                is_own = event["time"] != format_time(created.time)
                assert event == again or not is_own, row
                assert event["data"] == again["data"] or event["id"] != again["id"], row
                told += event == again
    assert told or source.name in TIMELESS


def list_events(source: RowSource, change: RowChange) -> list[dict[str, Any]]:
    """Give the events of a row."""
    items = source.iter_row(change, SourceOptions())
    return [dict(item.event) for item in items if isinstance(item, SourceEvent) and item.event is not None]
