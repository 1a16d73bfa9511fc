"""Laws of fences: every owner's versions lie above those of the owner before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.stream.plane.fence import LEAP, format_version, take_over

NOW_S = 1_800_000_000.0


def test_a_successor_leaps_above_all_its_predecessor_can_have_used() -> None:
    """The first version of a new owner lies a whole leap above the one committed last."""
    first = take_over("", NOW_S)
    assert take_over(format_version(first + 7), NOW_S) == first + 7 + LEAP


@given(st.lists(st.integers(min_value=0, max_value=LEAP - 1), max_size=50))
def test_versions_grow_over_all_owners(used: list[int]) -> None:
    """However many batches each owner commits, and with no clock at all, no owner begins below another's last version."""
    last = take_over("", NOW_S)
    for batches in used:
        begun = take_over(format_version(last), now_s=0.0)
        assert begun > last + LEAP - 1
        last = begun + batches


@given(st.integers(min_value=0, max_value=10_000_000), st.integers(min_value=1, max_value=10_000_000))
def test_a_group_born_again_begins_above_the_one_that_is_gone(batches: int, later_s: int) -> None:
    """A group that expired leaves versions behind; a second later a new one outranks ten rebalances and a million batches."""
    gone = take_over("", NOW_S) + 10 * LEAP + min(batches, 300_000)
    assert take_over("", NOW_S + later_s) > gone


@given(st.integers(min_value=0, max_value=300_000), st.integers(min_value=1, max_value=10_000_000))
def test_a_space_that_moves_to_another_partition_is_taken_over_there(batches: int, later_s: int) -> None:
    """A new owner outranks what the owners of any other partition used a second before, however old its own last version is."""
    old = format_version(take_over("", NOW_S - 10_000_000))
    elsewhere = take_over("", NOW_S) + batches
    assert take_over(old, NOW_S + later_s) > elsewhere


@given(st.text(max_size=40))
def test_any_metadata_gives_a_version_that_survives_a_float(metadata: str) -> None:
    """What another program put into the metadata is no reason to fail, and no version leaves the exact integers of a double."""
    assert 0 <= take_over(metadata, NOW_S) <= 2**53 - 1


def test_a_number_beyond_all_versions_is_no_version() -> None:
    """A number that could not be counted up from is ignored."""
    assert take_over(str(2**53), NOW_S) == take_over("", NOW_S)
