"""Laws of the cues of any text: always the same numbers, always in range, never an error."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.read.task.cue import NAMES, read_cues

# What people type, and what no one would: letters of many scripts, marks, controls.
ASKED = st.text(max_size=80) | st.lists(
    st.sampled_from(["what", "is", "my", "name", "?", "wer", "ich", "我的", "誰", "كم", "кто", "I", ".", ":", "7"]), max_size=30
).map(" ".join)


@given(text=ASKED)
def test_every_text_has_its_numbers_in_range(text: str) -> None:
    """One number for each name, from 0 to 1; without a language all are 0."""
    cues = read_cues(text)
    assert len(cues.values) == len(NAMES)
    assert all(0.0 <= value <= 1.0 for value in cues.values)
    assert cues.language is not None or not any(cues.values)
    assert read_cues(text) == cues


@given(text=ASKED)
def test_blanks_around_a_text_do_not_matter(text: str) -> None:
    """A question is what is written, not how it is padded."""
    assert read_cues(f"  {text.strip()}\n") == read_cues(text.strip())
