"""The content words of a text: what is left without the words that every text has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.content import forget_content, read_content
from guardian.core.signature import build_signature


def content(text: str) -> frozenset[str]:
    """Read the content words of a text as it is compared."""
    return read_content(build_signature(text).text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The kiln is not at the depot", {"kiln", "depot"}),
        ("Kiln 4 fires at 900 on 2026-03-14", {"kiln", "fires"}),
        ("Der Ofen steht nicht in der Halle", {"ofen", "steht", "halle"}),
        ("Le four est dans la halle", {"four", "halle"}),
        ("El horno no está en la nave", {"horno", "está", "nave"}),
        ("Печь не стоит в цехе", {"печь", "стоит", "цехе"}),
        ("It is what it is", set()),
        ("", set()),
    ],
)
def test_function_words_and_figures_are_no_content(text: str, words: set[str]) -> None:
    """Words of grammar tell nothing, and a word with a digit is a mark."""
    assert content(text) == words


@pytest.mark.parametrize(
    ("one", "other"),
    [("documentaries", "documentary"), ("preferring", "prefers"), ("gebrannte", "gebrannt"), ("печатает", "печатать")],
)
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    """A word counts by its first letters, in every alphabet."""
    assert content(one) == content(other) != frozenset()


@given(st.text(max_size=80))
def test_what_is_forgotten_is_read_alike(text: str) -> None:
    """The cache changes nothing."""
    before = content(text)
    forget_content()
    assert content(text) == before
