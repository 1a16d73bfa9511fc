"""Edits of texts: carried out and taken back only where there is one outcome."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from guardian.sources.reading.edit import apply_diff, insert_lines, replace_once

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-x", "+y", "@@ z"]), max_size=8)


def test_only_one_place_is_replaced() -> None:
    """Refuse what stands nowhere, twice, or is nothing."""
    assert replace_once("a b", "b", "c") == "a c"
    assert replace_once("a b b", "b", "c") is None
    assert replace_once("a", "b", "c") is None
    assert replace_once("a", "", "c") is None


def test_lines_are_inserted_after_a_line() -> None:
    """Take 0 as the beginning and -1 as the end; refuse a line that is not there."""
    assert insert_lines("a\nb", 0, "x\n") == "x\na\nb"
    assert insert_lines("a\nb", 1, "x") == "a\nx\nb"
    assert insert_lines("a\nb", -1, "x") == "a\nb\nx"
    assert insert_lines("a\nb", 3, "x") is None


def test_a_diff_of_another_text_is_refused() -> None:
    """Check every line that it removes or keeps."""
    assert apply_diff("a\nb", "@@ -1,2 +1,2 @@\n a\n-c\n+d\n") is None
    assert apply_diff("a", "no diff") is None


@given(LINES, LINES)
def test_a_diff_is_applied_and_taken_back(old: list[str], new: list[str]) -> None:
    """Turn one text into the other, in both directions."""
    ended = [[f"{line}\n" for line in lines] for lines in (old, new)]
    diff = "".join(difflib.unified_diff(*ended, fromfile="a/x", tofile="b/x"))
    if diff:
        assert apply_diff("".join(ended[0]), diff) == "\n".join(new)
        assert apply_diff("".join(ended[1]), diff, is_reversed=True) == "\n".join(old)
