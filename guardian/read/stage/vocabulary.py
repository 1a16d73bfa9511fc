"""Vocabulary: the words of a span that its records do not have. Pure, without a dictionary, and strict: what is not known is new.

A word is known if the records or the question have it in any form, or if any statement may have it: function words, and a short list of
ordinary verbs and nouns in which people say again what they read. Everything else may be a name, whatever its case and its script: an
invented "arabica" is told from a synonym by nobody without a dictionary, so the synonym falls with it.

Forms are told by beginnings, without the usual endings of English; other alphabets may exchange two letters at the end. Scripts without case have
particles at either end: two thirds of a word in one piece are the word, of Korean the half. Scripts without spaces are read by characters (Chinese),
by runs of katakana, or by runs of three characters (Thai and its neighbours).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from guardian.core.lexicon import (
    FOREIGN_NEGATIONS,
    FUNCTION_WORDS,
    MONTHS,
    NEGATIONS,
    SCALES,
    SMALL_NUMBERS,
    TENS,
    UNITS,
    WORD_MARKS,
)
from guardian.core.signature import build_signature

# Letters that two forms of one word share: as for content words in `core.content`.
_STEM: Final = 5
# Endings of English, and the German `en`; they go only where so many letters stay.
_ENDING: Final = re.compile(r"(?<=\w{3})(?:ing|ed|es|en|[sden])$")
_DIGIT: Final = re.compile(r"\d")
_HAN: Final = "[\u3400-\u9fff\uf900-\ufaff]"
_KATAKANA: Final = "[\u30a1-\u30fa\u30fc]+"
_SYLLABIC: Final = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
_HIRAGANA: Final = "[\u3041-\u309f]+"
_PIECE: Final = re.compile(f"{_HAN}|{_KATAKANA}|{_SYLLABIC}|{_HIRAGANA}")
_SYLLABIC_RUN: Final = re.compile(_SYLLABIC)
# Characters that one piece of a script without spaces has; fewer are found in any text, more are lost where words meet.
_GRAM: Final = 3


def _list_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# In what words people say again what they read: none of them says what is so of anything in particular. From everyday speech, and not
# fitted to a benchmark; words that judge, count or turn are left out. Each one more is one that may be invented.
_ORDINARY: Final = _list_words(
    """
    person people user someone somebody everyone anyone customer client owner member individual human man woman they themselves oneself
    thing something anything everything way kind sort type form part case example instance matter point fact reason purpose
    time date day week month year today currently now always usually often sometimes generally normally typically
    regularly frequently especially mainly mostly particularly specifically simply really actually rather quite instead well
    according record note memory document statement message question answer information detail source evidence
    say state tell mention note report describe explain express indicate show suggest mean call name list give write record
    know think believe feel find see look consider regard understand remember recall learn notice recognize
    like love enjoy prefer want wish hope need value appreciate care fond keen curious interest interested pleasure favourite favorite
    dislike avoid choose select decide pick recommend advise motivate seek desire known
    be become remain stay keep hold stand lie exist seem appear happen occur
    have own possess contain include consist involve carry belong relate concern regarding concerning relating related
    do make take get bring put set go come run work use serve help let allow enable require ask
    cost price amount equal total worth charge pay
    live located location place based situated available
    start begin end last continue stop change
    don doesn didn isn aren wasn weren couldn shouldn wouldn hasn haven hadn ve ll re
    due thus therefore hence whether whenever wherever whatever whichever
    """
)
_ORDINARY_ELSEWHERE: Final = _list_words(
    """
    person personen leute nutzer benutzer kunde kunden sache art zeit tag woche monat jahr heute derzeit aktuell immer meist oft
    laut notiz sagt sagen nennt steht stehen gibt geben kostet kosten preis mag mögen möchte will bevorzugt liegt befindet bleibt wurde worden
    macht nutzt verwendet braucht
    personne gens utilisateur client chose temps jour semaine mois année aujourd'hui actuellement toujours souvent selon dit dire
    coûte prix aime préfère veut se trouve reste fait utilise
    persona personas usuario cliente cosa tiempo día semana mes año hoy actualmente siempre según dice cuesta precio gusta prefiere quiere
    está queda hace usa tiene
    человек люди пользователь клиент время день неделя месяц год сегодня сейчас всегда обычно говорит стоит стоят цена любит хочет находится
    """
)
# What the marks judge (`wording.adds_marks`, `wording.turns_meaning`): "April 1" may be said of 2026-04-01.
_MARKED: Final = frozenset().union(
    FUNCTION_WORDS, MONTHS, SMALL_NUMBERS, TENS, SCALES, UNITS, WORD_MARKS, NEGATIONS, FOREIGN_NEGATIONS
)
# Of scripts that are written without spaces, characters that bind words and name nothing.
_BINDING: Final = frozenset(
    "的了是在有和与及或也都就还很不没无这那此其他她它们我你您个一为以于从到对把被让给会能可要用说着过得地之而则所但因如上下中里"
)


def add_words(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """Give the words of a text that are in no known text in any form and that not every statement may have, in order, each once."""
    there = " ".join(build_signature(part).text for part in known)
    stems = {_stem(word) for word in there.split()} | _COMMON_STEMS
    new = [word for word in build_signature(text).text.split() for word in _list_new(word, there, stems)]
    return tuple(dict.fromkeys(new))


def _list_new(word: str, there: str, stems: set[str]) -> Iterator[str]:
    """Yield what of a word is new: all of it, or the pieces of a run that is written without spaces."""
    pieces = _PIECE.findall(word)
    for piece in pieces:
        if piece not in _BINDING and not _has_piece(piece, there):
            yield piece
    if not pieces and len(word) > 1 and not _DIGIT.search(word) and not _is_known(word, there, stems):
        yield word


def _has_piece(piece: str, there: str) -> bool:
    """Tell whether a piece stands in the known texts; of hiragana, which bind words, it is not asked."""
    if "\u3041" <= piece[0] <= "\u309f":
        return True
    if _SYLLABIC_RUN.match(piece) is None:
        return piece in there
    return _longest_gap(piece, there) < _GRAM


def _longest_gap(run: str, there: str) -> int:
    """Give how many characters in a row stand in no run of three that the known texts have."""
    size = min(_GRAM, len(run))
    covered = [False] * len(run)
    for start in range(len(run) - size + 1):
        if run[start : start + size] in there:
            covered[start : start + size] = [True] * size
    gaps = "".join("." if is_covered else "x" for is_covered in covered).split(".")
    return max(map(len, gaps))


def _is_known(word: str, there: str, stems: set[str]) -> bool:
    if word in _MARKED or _stem(word) in stems:
        return True
    if word.isascii():
        return False
    if word.upper() != word:
        return f" {word[: max(_STEM - 2, len(word) - 2)]}" in f" {there}"
    size = max(2, (len(word) + 1) // 2 if _HANGUL.match(word) else (2 * len(word) + 2) // 3)
    return any(word[start : start + size] in there for start in range(len(word) - size + 1))


def _stem(word: str) -> str:
    """Give the beginning that the forms of a word share, without what looks like its endings."""
    while (bare := _ENDING.sub("", word)) != word:
        word = bare
    return word[:_STEM]


_COMMON_STEMS: Final = frozenset(_stem(word) for word in _ORDINARY | _ORDINARY_ELSEWHERE)
