"""The content words of a text: what is left without the words that every text has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.content import forget_content, list_content, read_content
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
    "text",
    [
        "The user prefers kilns",
        "This person would rather have kilns",
        "Customers generally like kilns",
        "Der Nutzer bevorzugt kilns",
        "L'utilisateur préfère kilns",
        "Пользователь предпочитает kilns",
    ],
)
def test_whom_a_memory_is_about_and_that_they_like_it_is_no_content(text: str) -> None:
    """Every memory of a person has such words; `avoids` is another thing than `prefers`."""
    assert content(text) == {"kilns"}
    assert content("The user avoids kilns") == {"avoid", "kilns"}


@given(st.text(max_size=80))
def test_content_in_order_is_the_content(text: str) -> None:
    """A list of content words holds each of them, as often as it is there."""
    assert frozenset(list_content(build_signature(text).text)) == content(text)
    assert list_content("kiln the kiln yard") == ["kiln", "kiln", "yard"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("documentaries", "documentary"), ("reflecting", "reflects"), ("gebrannte", "gebrannt"), ("печатает", "печатать")],
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
