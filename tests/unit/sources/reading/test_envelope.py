"""Ids of imported events: digests of what a statement is."""

import pytest

from guardian.sources.reading.envelope import digest_parts


def test_parts_do_not_run_into_one_another() -> None:
    """Where one part ends is part of the identity."""
    assert len({digest_parts("a", "bc"), digest_parts("ab", "c"), digest_parts("abc")}) == 3


@pytest.mark.parametrize(("length", "is_same"), [(1, True), (16_000, True), (17_000, False)])
def test_spellings_of_one_text_are_one_up_to_a_length(length: int, is_same: bool) -> None:
    """A part longer than any accepted text is digested as it came: bringing it into a normal form can take hours."""
    assert (digest_parts("é" * length) == digest_parts("e\u0301" * length)) is is_same
