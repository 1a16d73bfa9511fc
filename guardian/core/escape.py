r"""Quote text from memory so that it can be read and can do nothing else.

Every text becomes one JSON string on one line. Nothing in it can end the string, begin a line, or open markup: besides JSON's own
escapes, everything that is invisible, steers a terminal, turns the direction of writing, opens tags or code fences, or looks like
something it is not, is shown as its `\uXXXX`. `json.loads` gives back the text to the letter, so nothing is lost and nothing is hidden.

- Controls, formats, separators of lines, private and unassigned characters, and all that Unicode lets a font ignore (zero-width, bidi
  marks, tags, variation selectors, fillers): escaped.
- `<`, `>`, `&`, backtick, their full-width forms, and `[` before a word in capitals (`[INST]`): escaped.
- Homoglyphs: a word that mixes Latin letters with Greek, Cyrillic, Armenian or Cherokee ones shows those escaped; so do mathematical and
  full-width Latin letters. A word of one script stays readable.
- More than four combining marks in a row: the rest escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

import orjson

from guardian.core.script import FOREIGN_LETTER, LATIN_LETTER, MARKS_KEPT, WORD, is_hidden

_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Of markup, fences and strings: < > & and the backtick; then the full-width and small forms of these and of other brackets.
_OPENING = frozenset(
    chain(b"<>&`", (0xFF02, 0xFF06, 0xFF07, 0xFF1C, 0xFF1E, 0xFF3B, 0xFF3C, 0xFF3D, 0xFF40), range(0xFF5B, 0xFF5E))
)
_SMALL_FORMS = frozenset((0xFE5B, 0xFE5C, 0xFE60, 0xFE64, 0xFE65, 0xFE68))
_LOOKALIKE = frozenset(chain(range(0x1D400, 0x1D800), range(0xFF21, 0xFF3B), range(0xFF41, 0xFF5B)))
# Beyond lie rare ideographs, and what is unassigned, private or hidden: a million entries that a hostile text could fill.
_LAST_KEPT = 0x20000

_TAG = re.compile(r"\[(?=/?[A-Z_]{2,}\])")


def escape_char(char: str) -> str:
    r"""Give a character as `\uXXXX`, beyond the basic plane as the pair that JSON asks for."""
    code = ord(char)
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


class _Shown(dict[int, str]):
    """How each character is shown; what was looked up once is kept, for the two planes that people write in."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        shown = _SHORT.get(char) or (
            escape_char(char) if is_hidden(char) or code in _OPENING | _SMALL_FORMS | _LOOKALIKE else char
        )
        if code < _LAST_KEPT:
            self[code] = shown
        return shown


_SHOWN = _Shown()


def quote(text: str) -> str:
    """Quote a text as one JSON string on one line; `json.loads` gives it back to the letter."""
    shown = text.translate(_SHOWN) if text.isascii() else "".join(_iter_shown(text))
    if "[" in shown:
        shown = _TAG.sub(lambda found: escape_char(found[0]), shown)
    return f'"{shown}"'


def _iter_shown(text: str) -> Iterable[str]:
    end = 0
    for word in WORD.finditer(text):
        if not (FOREIGN_LETTER.search(word[0]) and LATIN_LETTER.search(word[0])):
            continue
        yield _show_plain(text[end : word.start()])
        yield FOREIGN_LETTER.sub(lambda found: escape_char(found[0]), word[0])
        end = word.end()
    yield _show_plain(text[end:])


def _show_plain(text: str) -> str:
    """Show text without mixed words; of a run of marks those that writing needs."""
    run, pieces = 0, []
    for char in text.translate(_SHOWN):
        is_mark = not char.isascii() and unicodedata.category(char) in ("Mn", "Me")
        run = run + 1 if is_mark else 0
        pieces.append(escape_char(char) if run > MARKS_KEPT else char)
    return "".join(pieces)


# Names of fields are ours, a few dozen; texts are never cached, as one of them may be erased.
_quote_name = lru_cache(maxsize=256)(quote)


def dump_line(value: Mapping[str, Any]) -> str:
    """Give a mapping of plain values as one line of JSON, every text in it quoted as above."""
    return _dump(value)


def _dump(value: Any) -> str:
    kind = type(value)  # the usual types first: asking an abstract class takes longer than writing a word
    if kind is str:
        return quote(value)
    if kind is dict or isinstance(value, Mapping):
        return "{" + ",".join([f"{_quote_name(key)}:{_dump(inner)}" for key, inner in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([_dump(inner) for inner in value]) + "]"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    return orjson.dumps(value).decode()
