"""Which of the texts that were read a text writes down again: one, several, or none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.likeness import bind_find_sources
from guardian.core.policy import Policy

KILN = "Kiln 4 fires at 900 degrees"
TRAILER = "Depot Alder owns the blue trailer"
CAFE = "The café opens at 8 on weekdays"
MENU = "Oat milk is on the menu of the canteen"
find = bind_find_sources(Policy())


def places(text: str, read: Sequence[str]) -> set[int]:
    """Give the places of what a text writes down again."""
    return {place for place, _ in find(text, read)}


@pytest.mark.parametrize(
    "summary",
    [
        f"Summary of what is known: {KILN}; also: {TRAILER}.",
        "The blue trailer is owned by depot Alder, and kiln 4 is fired at 900 degrees",
        f"{TRAILER}\n{KILN}",
    ],
)
def test_a_summary_has_all_that_it_joins(summary: str) -> None:
    """Neither alone has its numbers and words, both together have; what it does not tell is none of its sources."""
    assert places(summary, [KILN, TRAILER, CAFE, MENU]) == {0, 1}


def test_what_one_source_leaves_open_is_looked_for_among_the_rest() -> None:
    """A summary that restates one text word for word has the other, too."""
    assert places(f"{TRAILER}; {MENU}", [MENU, CAFE, TRAILER]) == {0, 2}
    assert places(f"{TRAILER}; {MENU}; {KILN}; {CAFE}", [KILN, TRAILER, CAFE, MENU]) == {0, 1, 2, 3}


def test_a_text_that_says_nothing_new_is_no_further_source() -> None:
    """Copies of a source account for nothing that is open; the first of equals is taken."""
    assert places(f"As noted: {TRAILER}", [TRAILER, f"{TRAILER}!", CAFE]) == {0}


def test_the_one_that_accounts_for_most_comes_first() -> None:
    """Of sources that are restated alike a summary of all is the closest, and the only one."""
    summary = f"{TRAILER}, and {MENU}"
    assert places(summary, [TRAILER, MENU, summary]) == {2}


@pytest.mark.parametrize(
    "text",
    [
        "Kiln 4 fires at 950 degrees; depot Alder owns the blue trailer and the red one",
        "Kiln 4 does not fire at 900 degrees; depot Alder owns the blue trailer",
        "Kiln 4 fires at 900 degrees; depot Alder owns the blue trailer on 2026-04-01",
    ],
    ids=["another number", "a denial", "a new date"],
)
def test_no_mark_comes_from_nowhere(text: str) -> None:
    """Several sources have between them every number, date and denial of the text, or there is none."""
    assert places(text, [KILN, TRAILER]) == set()


def test_a_phrase_in_common_makes_no_source() -> None:
    """Less than two thirds of a text's content words is not that text."""
    assert places("The blue van of the canteen is at the depot", [TRAILER, MENU]) == set()


def test_units_may_be_left_out_and_not_changed() -> None:
    """A source's unit need not stand in a summary; another unit in its place is another statement."""
    read = ["The crate weighs 60 kg when packed", TRAILER]
    assert places(f"The crate weighs 60 when packed; {TRAILER}", read) == {0, 1}
    assert 0 not in places(f"The crate weighs 60 lb when packed; {TRAILER}", read)


texts = st.lists(st.sampled_from(f"{KILN} {TRAILER} {CAFE} {MENU} not non-smoking 7".split()), max_size=9).map(" ".join)


@given(texts, st.lists(texts, max_size=5))
def test_sources_are_among_what_was_read_once_each(text: str, read: list[str]) -> None:
    """Each is named once with its share, and a text without words read besides changes nothing."""
    found = find(text, read)
    assert len({place for place, _ in found}) == len(found)
    assert all(place < len(read) and 0 < similarity <= 1 for place, similarity in found)
    assert find(text, [*read, "..."]) == found
