"""Scripts of letters, words that mix those that look alike, and marks in piles."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from guardian.core.script import PHONETIC, find_mixed, has_pile, is_hidden, list_scripts, name_script, widen_scripts


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("12:30, $5 \u2192 \U0001f600", set()),
        ("plain", {"LATIN"}),
        ("caf\u00e9 \u01b0\u1edd", {"LATIN"}),
        ("\u0259\u0254", {PHONETIC}),
        ("東京タワーへ行く々", {"CJK", "KATAKANA", "HIRAGANA"}),
        ("서울 金", {"HANGUL", "CJK"}),
        ("\u043a\u0438\u043b\u043d", {"CYRILLIC"}),
        ("k\u0456ln", {"LATIN"}),
        ("5 \u03bcm", {"LATIN"}),
        ("ชา दूध شاي תה", {"THAI", "DEVANAGARI", "ARABIC", "HEBREW"}),
    ],
)
def test_scripts_are_told_from_letters(text: str, scripts: set[str]) -> None:
    """Figures, signs and pictures have none; a double among Latin letters gives no right to its script."""
    assert list_scripts(text) == scripts


def test_every_letter_has_a_script() -> None:
    """Of all that Unicode knows; what has no name of its own is one script, and no Latin letter is among it."""
    letters = [char for code in range(sys.maxunicode + 1) if (char := chr(code)).isalpha()]
    assert all(map(name_script, letters))
    assert {name_script(char) for char in letters if ord(char) < 0x250} == {"LATIN", "FEMININE", "MASCULINE", "MICRO"}


def test_a_text_may_be_written_about_in_latin_letters() -> None:
    """And in what its own script is written together with."""
    assert widen_scripts(frozenset({"THAI"})) == {"THAI", "LATIN"}
    assert widen_scripts(frozenset({"CJK"})) >= {"CJK", "HIRAGANA", "KATAKANA", "LATIN"}
    assert "CYRILLIC" not in widen_scripts(frozenset({"HANGUL"}))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a p\u0430ssword", "p\u0430ssword"),
        ("\u0391dmin", "\u0391dmin"),
        ("2 k\u03a9 \u043c\u0438\u0440 mir", None),
        ("使用Python编写", None),
        ("\u05d1Google", None),
    ],
)
def test_a_mixed_word_is_found(text: str, word: str | None) -> None:
    """Latin beside a script that has its doubles; units, and scripts that look like nothing Latin, are none."""
    assert find_mixed(text) == word


def test_piles_and_hidden_characters_are_found() -> None:
    """Hebrew with all its points is no pile; what is not seen is hidden, letters and spaces are not."""
    assert not has_pile("בְּרֵאשִׁית שָׁלוֹם Vi\u1ec7t")
    assert has_pile("z" + "\u0300" * 5)
    assert all(map(is_hidden, "\u200b\u202e\u2066\u00ad\ufe0f\u3164\ue000\x00\u2028\U000e0041"))
    assert not any(map(is_hidden, unicodedata.normalize("NFKC", "aé 咖ก้")))
