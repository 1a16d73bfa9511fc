"""Lines of a card: short, plain, on one line, and no instruction. A card is itself shown to models.

What a model writes about a memory may carry what the memory told it to write. So every line is stripped of controls, invisible and
directional characters, accents, and marks that open or close anything; a line that has letters of another script (look-alikes of ours among
them), speaks to its reader, gives orders, claims a status, names a role, a tool or an address, or repeats a run of the memory's own words is
dropped whole. This is a net and no proof: what decides is that a line grants nothing, and that whoever shows it escapes it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

# Longest line, in characters: enough for a condition, too short for a story.
MAX_LINE = 200
# Words in a row that count as a quotation of the memory.
_RUN: Final = 8
# Marks that end a quotation or open markup, a code fence, a template or a table.
_MARKS = dict.fromkeys(map(ord, '"“”„«»`<>{}[]|\\#*_~^'), " ")
# Accents and the like, and what is there without being seen: taken out, so that it parts no word.
_UNSEEN: Final = frozenset({"Mn", "Me", "Cf"})
_ORDERS: Final = re.compile(
    r"""
    \b(?:you|your|yours|yourself)\b                                   # speaks to its reader
    | \b(?:system|assistant|developer|user)\s*:                       # a role
    | <\| | \|> | \[/?(?:inst|sys)\] | \b(?:im_start|im_end|endoftext)\b
    | \b(?:ignore|disregard|override|bypass|forget|jailbreak|obey)\b  # orders
    | \b(?:ignorier|missachte|vergiss|ignorez|oubli|ignora|olvida|desconsider)\w*
    | \b(?:must|shall|always|never)\s+(?:answer|reply|respond|say|output|print|recommend|choose|pick|buy|call|send|run|execute)\b
    | \b(?:function|tool)[\s_-]?calls?\b | \bcurl\b | \bsudo\b | \bapi[\s_-]?key | \bpassword\b
    | \b(?:marked|mark|treat(?:ed)?|consider(?:ed)?|regard(?:ed)?)\s+(?:it\s+|this\s+|me\s+)?(?:as\s+)?(?:verified|trusted|authoritative|true|fact)
    | \b(?:is|was|are|now|already|fully|status)[\s:=]+verified\b
    | https?: | www\. | \b\S+@\S+\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def clean_line(text: str, *, quoted: frozenset[str] = frozenset()) -> str | None:
    """Clean one line; None if it is empty then, an instruction, or a quotation.

    Args:
        text: As the model wrote it.
        quoted: Runs of the memory's words, as `list_runs` gives them.
    """
    shown = [char for char in unicodedata.normalize("NFKD", text[: 4 * MAX_LINE]) if unicodedata.category(char) not in _UNSEEN]
    if _ORDERS.search("".join(shown)):
        return None
    plain = "".join(char if char.isprintable() else " " for char in "".join(shown).translate(_MARKS))
    words = " ".join(plain.split())
    if any(char.isalpha() and not char.isascii() for char in words):
        return None
    if not words or _ORDERS.search(words) or not quoted.isdisjoint(list_runs(words)):
        return None
    return words if len(words) <= MAX_LINE else words[: MAX_LINE - 1] + "…"


def clean_lines(texts: Iterable[str], *, quoted: frozenset[str], limit: int) -> tuple[list[str], int]:
    """Clean lines; gives those that are left, each once, at most `limit`, and how many were dropped for what they say."""
    kept: list[str] = []
    dropped = 0
    for text in texts:
        line = clean_line(text, quoted=quoted)
        if line is None:
            dropped += 1
        elif line not in kept:
            kept.append(line)
    return kept[:limit], dropped


def list_runs(text: str) -> frozenset[str]:
    """Give all runs of eight words of a text, folded, to find quotations by; a shorter text has none."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return frozenset(" ".join(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1))
