"""Frontmatter: header and body, texts as they were written, and headers that are none."""

import pytest

from guardian.sources.reading.frontmatter import Page, split_page


def test_a_header_is_read_as_text() -> None:
    """Keep dates, numbers and truth values as they were written, and block scalars as they read."""
    text = "---\ndescription: >\n  who\n  it is\nread_only: true\nsince: 2026-05-01\nmetadata:\n  type: user\n---\n\nBody\n---\nmore\n"
    page = split_page(text)
    assert page.body == "Body\n---\nmore"
    assert page.fields == {
        "description": "who it is\n",
        "read_only": "true",
        "since": "2026-05-01",
        "metadata": {"type": "user"},
    }


@pytest.mark.parametrize("text", ["plain", "", "--- no header", "text\n---\na: b\n---\n", "---\na: b\n"])
def test_a_text_without_header_is_all_body(text: str) -> None:
    """Take nothing off it."""
    assert split_page(text) == Page(text.strip())


@pytest.mark.parametrize(
    "header",
    [
        "a: [",
        "- a list",
        "only text",
        "a: &x 1\nb: *x",
        "a: &a [x]\nb: &b [*a, *a]",
        "[" * 3_000,
        "a: b\n" * 20_000,
        "a: \x00",
        "!!python/object/apply:os.system ['true']",
    ],
    ids=["cut", "list", "text", "alias", "bomb", "deep", "long", "nul", "tag"],
)
def test_a_header_that_cannot_be_read_stays_in_the_text(header: str) -> None:
    """Lose nothing, run nothing, expand nothing."""
    text = f"---\n{header}\n---\nbody"
    assert split_page(text) == Page(text, is_header_unreadable=True)


def test_an_empty_header_and_other_line_ends_are_read() -> None:
    """Accept what editors make."""
    assert split_page("---\n---\nbody") == Page("body")
    assert split_page("\ufeff---\r\na: b\r\n---\r\nbody\r\n") == Page("body", {"a": "b"})
