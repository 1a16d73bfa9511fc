"""The differ: a series of states becomes creates, updates and deletions that never step back in time."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.sources.port import Order, SourceOptions
from guardian.sources.reading.differ import Change, ChangeOp, SnapshotDiffer, TimeBasis, order_versions

T = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 9)]
STEP = timedelta(microseconds=1)


def run_version(differ: SnapshotDiffer, time: datetime, state: dict[str, str], *, is_complete: bool = True) -> list[Change]:
    """Feed one version and give all its changes."""
    differ.start_version(time)
    changes = [change for key, text in state.items() if (change := differ.observe(key, [text]))]
    return changes + list(differ.finish_version(is_complete=is_complete))


def summary(changes: list[Change]) -> list[tuple[str, str]]:
    """Give operations and ids."""
    return [(change.op.value, change.memory_id) for change in changes]


def test_new_changed_and_absent_ids_are_creates_updates_and_deletions() -> None:
    """Say by difference what happened."""
    differ = SnapshotDiffer()
    assert summary(run_version(differ, T[0], {"a": "1", "b": "1"})) == [("create", "a"), ("create", "b")]
    assert summary(run_version(differ, T[1], {"b": "2", "c": "1"})) == [
        ("update", "b"),
        ("create", "c"),
        ("delete", "a"),
    ]
    assert run_version(differ, T[2], {"b": "2", "c": "1"}) == []
    assert summary(run_version(differ, T[3], {"a": "1"})) == [("create", "a"), ("delete", "b"), ("delete", "c")]


def test_a_damaged_version_withholds_deletions_and_the_next_decides() -> None:
    """Take no absence from a version that could not be read whole."""
    differ = SnapshotDiffer()
    run_version(differ, T[0], {"a": "1", "b": "1"})
    assert summary(run_version(differ, T[1], {}, is_complete=False)) == [
        ("delete_withheld", "a"),
        ("delete_withheld", "b"),
    ]
    assert summary(run_version(differ, T[2], {"a": "1"})) == [("delete", "b")]


def test_the_first_statement_of_an_id_in_a_version_counts() -> None:
    """Give no flapping updates for an id that a file repeats."""
    differ = SnapshotDiffer()
    for time in T[:2]:
        differ.start_version(time)
        first, second = differ.observe("a", ["1"]), differ.observe("a", ["2"])
        assert (first is not None) == (time == T[0])
        assert second is None
        assert list(differ.finish_version(is_complete=True)) == []


def test_composed_and_decomposed_text_is_the_same_content() -> None:
    """Compare on NFC."""
    differ = SnapshotDiffer()
    run_version(differ, T[0], {"a": "é"})
    assert run_version(differ, T[1], {"a": "é"}) == []


def test_an_own_time_counts_unless_it_would_step_back() -> None:
    """Fall back to the version's time for a stale own time, then to just behind the event before."""
    differ = SnapshotDiffer()
    differ.start_version(T[4])
    created = differ.observe("a", ["1"], time=T[1])
    assert created == Change(op=ChangeOp.CREATE, memory_id="a", time=T[1], basis=TimeBasis.OWN)
    differ.start_version(T[5])
    updated = differ.observe("a", ["2"], time=T[1])
    assert updated == Change(op=ChangeOp.UPDATE, memory_id="a", time=T[5], basis=TimeBasis.VERSION)
    differ.start_version(T[2])
    again = differ.observe("a", ["3"], time=T[1])
    assert again == Change(op=ChangeOp.UPDATE, memory_id="a", time=T[5] + STEP, basis=TimeBasis.ORDER)


def test_a_deletion_is_never_before_the_write_that_it_ends() -> None:
    """Hold the order even where a statement's own clock runs ahead of the versions."""
    differ = SnapshotDiffer()
    differ.start_version(T[0])
    differ.observe("a", ["1"], time=T[6])
    list(differ.finish_version(is_complete=True))
    deleted = run_version(differ, T[1], {})
    assert deleted == [Change(op=ChangeOp.DELETE, memory_id="a", time=T[6], basis=TimeBasis.ORDER)]
    assert run_version(differ, T[2], {"a": "1"})[0].time == T[6] + STEP


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.sampled_from("12")), max_size=8))
def test_replaying_the_changes_gives_the_last_version(states: list[dict[str, str]]) -> None:
    """Lose nothing and add nothing: the changes rebuild every version, in rising times a memory."""
    differ, rebuilt, times = SnapshotDiffer(), dict[str, str](), dict[str, datetime]()
    for number, state in enumerate(states):
        for change in run_version(differ, T[0] + number * STEP, state):
            assert change.time >= times.get(change.memory_id, T[0])
            times[change.memory_id] = change.time
            if change.op is ChangeOp.DELETE:
                del rebuilt[change.memory_id]
            else:
                rebuilt[change.memory_id] = state[change.memory_id]
        assert rebuilt == state
        assert all(differ.is_living(key) == (key in state) for key in "abc")


def make_files(folder: Path, names: list[str], mtimes: list[int]) -> list[Path]:
    """Make empty files with given modification times in seconds."""
    paths = [folder / name for name in names]
    for path, mtime in zip(paths, mtimes, strict=True):
        path.touch()
        os.utime(path, (mtime, mtime))
    return paths


def test_versions_are_ordered_by_the_stamp_in_their_name_before_the_file_time(tmp_path: Path) -> None:
    """Trust the stamp, and place files without one by their modification time."""
    paths = make_files(
        tmp_path, ["x_20260103T000000Z.jsonl", "a_20260101T000000Z.jsonl", "m.jsonl"], [9, 9, int(T[1].timestamp())]
    )
    series = order_versions(paths, SourceOptions())
    assert [(version.path, version.time, version.time_from) for version in series] == [
        (paths[1], T[0], "name"),
        (paths[2], T[1], "mtime"),
        (paths[0], T[2], "name"),
    ]


def test_equal_times_are_stepped_apart_in_the_order_of_names(tmp_path: Path) -> None:
    """Keep versions in order that an archive gave one modification time."""
    paths = make_files(tmp_path, ["v2", "v1", "v3"], [100, 100, 100])
    series = order_versions(paths, SourceOptions())
    assert [version.path.name for version in series] == ["v1", "v2", "v3"]
    assert [version.time_from for version in series] == ["mtime", "order", "order"]
    assert series[2].time - series[0].time == 2 * STEP


def test_the_given_order_holds_against_file_times(tmp_path: Path) -> None:
    """Step a version behind the one before it when its file is older."""
    paths = make_files(tmp_path, ["new", "old"], [200, 100])
    series = order_versions(paths, SourceOptions(order=Order.GIVEN))
    assert [version.path.name for version in series] == ["new", "old"]
    assert series[1].time == series[0].time + STEP


def test_a_default_time_replaces_the_file_time(tmp_path: Path) -> None:
    """Let the caller date what nothing dates."""
    paths = make_files(tmp_path, ["memory.jsonl"], [100])
    series = order_versions(paths, SourceOptions(default_time=T[3]))
    assert (series[0].time, series[0].time_from) == (T[3], "default")


def test_a_differ_without_a_version_is_a_bug() -> None:
    """Refuse statements that belong to no version."""
    with pytest.raises(AssertionError):
        SnapshotDiffer().observe("a", ["1"])


def test_the_last_instant_of_the_calendar_is_followed_by_itself() -> None:
    """A clock at the end of time costs no import: its events are refused one by one, as lying in the future."""
    last = datetime.max.replace(tzinfo=UTC)
    differ = SnapshotDiffer()
    differ.start_version(T[0])
    differ.observe("a", ["1"], time=last)
    differ.start_version(T[1])
    change = differ.observe("a", ["2"])
    assert change is not None
    assert (change.time, change.basis) == (last, TimeBasis.ORDER)
