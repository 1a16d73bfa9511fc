"""Units: words where words are parted, letters where they are not, and runs of one weight in all scripts."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.induce.unit import RUN_WEIGHT, join_units, list_runs, split_units


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("The kiln, it's 900°C_now", "the kiln it s 900 c now"),
        ("用Python写3个", "用 python 写 3 个"),
        ("紅茶を飲む", "紅 茶 を 飲 む"),
        ("ชาดำร้อน", "ช า ดํ า ร้ อ น"),
        ("मैं चाय पीता हूँ।", "मैं चाय पीता हूँ"),
        ("홍차를 좋아한다", "홍차를 좋아한다"),
        ("STRASSE straße", "strasse strasse"),
    ],
)
def test_a_text_has_units(text: str, units: str) -> None:
    """Punctuation parts, marks stay with their letters, case is folded."""
    assert join_units(text) == unicodedata.normalize("NFKC", units)


@given(st.text(max_size=200))
def test_units_know_no_form(text: str) -> None:
    """Composed and decomposed, a text has the same units, and each has a weight."""
    assert split_units(unicodedata.normalize("NFC", text)) == split_units(unicodedata.normalize("NFD", text))
    assert all(0 < weight <= RUN_WEIGHT // 8 for _, weight in split_units(text))


@given(st.lists(st.sampled_from(["tea", "茶", "を", "ก", "чай"]), max_size=60), st.data())
def test_a_part_that_is_long_enough_shares_a_run(words: list[str], data: st.DataObject) -> None:
    """A run is found in whatever holds it: eight words and more of a text, wherever they begin."""
    start = data.draw(st.integers(0, len(words)))
    part = " ".join(words[start : data.draw(st.integers(start, len(words)))])
    assert list_runs(part) <= list_runs(" ".join(words))
    assert bool(list_runs(part)) == (sum(weight for _, weight in split_units(part)) >= RUN_WEIGHT)
