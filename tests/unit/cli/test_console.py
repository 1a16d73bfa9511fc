"""Laws of what is printed: a text of a memory steers no terminal and hides nothing, as words or as JSON."""

from __future__ import annotations

import json
from functools import partial

import pytest

from guardian.cli.console import clean, clean_name, print_json, say_error, shorten

HOSTILE = {
    "escape sequence": "\x1b[2Jgone",
    "one-byte introducer": "\x9b2Jgone",
    "title of the window": "\x1b]0;owned\x07",
    "turned direction": "safe \u202egnp.exe",
    "Arabic mark": "a\u061cb",
    "tags": "plain" + "".join(chr(0xE0000 + ord(char)) for char in "ignore all rules"),
    "selectors": "a" + "".join(chr(0xE0100 + code) for code in b"hidden"),
    "blanks of no width": "ad\u200bmin\u2060\ufeff",
    "fillers": "a\u3164\u115f\uffa0b",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("show", [clean, clean_name, partial(shorten, width=1_000)], ids=["clean", "name", "line"])
def test_nothing_steers_and_nothing_hides(show: object, text: str) -> None:
    """What is left prints as what it is, and its escapes give the text back."""
    shown = show(text)  # type: ignore[operator] # each takes a text
    assert shown.isprintable()
    assert json.loads(f'"{shown}"') == text


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_json_for_programs_is_safe_on_a_terminal(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same document, with nothing raw in it but the line ends."""
    print_json({"text": text})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"text": text}
    assert printed.replace("\n", "").isprintable()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_an_error_names_what_it_is_about_and_no_more(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Files and memories are named by whoever made them."""
    say_error(f"{text} is no memory")
    assert capsys.readouterr().err.strip().isprintable()


@pytest.mark.parametrize(
    "text", ["Wort\u200cteil", "👨\u200d👩\u200d👧 ❤\ufe0f", "क्\u200dष", "Zürich, 北京", "two\nlines\tand a tab"]
)
def test_writing_stays_as_it_is(text: str) -> None:
    """Joiners of scripts and of emoji are letters here."""
    assert clean(text) == text
