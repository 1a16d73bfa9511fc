"""Read the marks of a text: numbers, currencies, dates, times, codes and negation, written `kind:value`.

A restatement may change any word but no mark, so a new price restates nothing. The reading is lexical and errs to one
side on purpose: where a mark is ambiguous (`1.000`, `04/01/2026`, `3m`) it agrees with its own spelling only; a
restatement may be missed but two statements are not taken for one. Digits count in every script; number words, months
and weekdays in English; negation in the languages of `core.lexicon` and in Chinese, Japanese and Korean. Linear in
the text.

A unit is no mark: `60kg` and `60` agree, and so do `60 kg` and `60 kilograms`. Units are given apart, because `60 lb`
does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from guardian.core import lexicon
from guardian.core.dating import take_dating


class MarkKind(StrEnum):
    """What sort of thing a mark is."""

    NUMBER = "number"
    CURRENCY = "currency"
    DATE = "date"
    TIME = "time"
    CODE = "code"
    NEGATION = "negation"


NEGATED = f"{MarkKind.NEGATION}:not"

_LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u052f\u1e00-\u1fff"
_TOKEN = re.compile(
    rf"[0-9{_LETTERS}]+(?:[-_.'][0-9{_LETTERS}]+|(?<=[0-9]),[0-9][0-9{_LETTERS}]*)*|[\u0590-\u05ff\u0620-\u08ff]+"
)
_CURRENCY = re.compile("[$¢£¤¥฿\u20a0-\u20cf]")
_SUFFIXED = re.compile(rf"([0-9][0-9.,']*)([{_LETTERS}]*)")
_HYPHENED = re.compile(rf"([0-9][0-9.,']*)-([{_LETTERS}]+(?:-[{_LETTERS}]+)*)")
_DIGIT = re.compile("[0-9]")
_NUMERO = re.compile(r"\.\s?[0-9]")
_SPACED_DIGIT = re.compile(r"\s[0-9]")
_JOIN = re.compile("[-_.']")
_MINUS = re.compile(r"(?:^|[\s(\[~=:<>])-[$¢£¥\u20a0-\u20cf]?$")
_POINT = re.compile(r"(?:^|[\s(\[~=:<>$£€-])\.$")
_TEMPERATURES = {"C": "celsius", "F": "fahrenheit"}
_DEGREES = frozenset({"degree", "degrees"})
# Longest number, in digits, that a scale word may multiply; keeps products bounded.
_SCALED_DIGITS = 15

_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?")
_GROUPED_BY_TICK = re.compile(r"[0-9]{1,3}(?:'[0-9]{3})+(?:\.[0-9]+)?")
_GROUPED_BY_DOT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+")
_DECIMAL = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_THOUSAND_OR_DECIMAL = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")

_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u4e00-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
# The lookarounds leave out words that hold the sign without its sense: but, very good, different; few, may be, must.
_NOT_JAPANESE = re.compile("(?<![少危切])(?<!しれ)(?<!ければなら)(?<!なくてはなら)(?<!ければいけ)ない|なかった|ません|なし")
_NOT_CHINESE = re.compile(
    "不(?![错錯过過同仅僅断斷论論管但])|[没沒](?!收)|未(?![来來婚])|[无無](?![线線论論限锡])|[並并绝絕]非|[别勿](?=[再要用让])"
)
_NOT_KOREAN = re.compile("않|없|못[하해했한]")
_HAN_NUMBER = re.compile("(?!十分)[〇二三四五六七八九十百千万萬亿億两兩]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """What a text denies, as far as its words show.

    Attributes:
        is_whole: Whether a word of negation stands by itself (`not`, `nie`, `без`); what it reaches is not known, so it counts for the whole text.
        words: Words that a prefix takes back, in lower case: of `non-fiction` it is `fiction`. They say something only to a text that has them.
    """

    is_whole: bool = False
    words: frozenset[str] = frozenset()


NO_DENIAL = Denial()


def read_marks(text: str, normalized: str) -> tuple[frozenset[str], frozenset[str], Denial]:
    """Read the marks and the units of a text.

    Args:
        text: The text in NFKC with ASCII digits, its case and punctuation kept.
        normalized: The same in lower case without punctuation; asked for its words only.

    Returns:
        The marks as `kind:value`, the canonical names of the units that stand with a number, and what is denied.
    """
    reading = _Reading(text)
    if reading.has_no and (lexicon.PORTUGUESE.isdisjoint(words := set(normalized.split())) or words & lexicon.SPANISH):
        reading.negate()
    if not text.isascii() and _read_han(text, reading.marks):
        reading.negate()
    denial = Denial(is_whole=reading.is_negated, words=frozenset(reading.denied))
    return frozenset(reading.marks), frozenset(reading.units), denial if denial != NO_DENIAL else NO_DENIAL


def _read_han(text: str, marks: set[str]) -> bool:
    """Add the numbers of scripts that are written without spaces; tell whether they negate."""
    if _HAN.search(text):
        marks.update(f"number:{run}" for run in _HAN_NUMBER.findall(text))
    if _KANA.search(text):
        return _NOT_JAPANESE.search(text) is not None
    return bool(_NOT_CHINESE.search(text) or (_HANGUL.search(text) and _NOT_KOREAN.search(text)))


class _Reading:
    """One pass over the tokens of a text; holds the number that the next word may extend (`twenty` five)."""

    __slots__ = ("denied", "end", "has_no", "is_negated", "is_shouted", "marks", "number", "previous", "start", "text", "units")

    def __init__(self, text: str) -> None:
        self.marks: set[str] = set()
        self.units: set[str] = set()
        self.number: str | None = None
        self.previous = ""
        self.has_no = False
        self.is_negated = False
        self.denied: set[str] = set()
        self.text = text = take_dating(text, self.marks)
        self.is_shouted = text.isupper()
        self.marks.update(f"currency:{sign}" for sign in _CURRENCY.findall(text))
        if "%" in text:
            self.marks.add("number:%")
        for found in _TOKEN.finditer(text):
            self.start, self.end = found.span()
            self._read_token(found[0])
        self._close_number()

    def negate(self) -> None:
        """Note a word of negation that stands by itself."""
        self.is_negated = True
        self.marks.add(NEGATED)

    def _read_token(self, token: str) -> None:
        if token.isalpha():
            self._read_word(token)
        elif _DIGIT.search(token):
            self._read_digits(token.removesuffix("'s"))
        elif token.lower().endswith("n't"):
            self.negate()
        else:
            self._read_joined(token)

    def _read_joined(self, token: str) -> None:
        """Read `non-smoking`, `twenty-five`, `Team-A`; the letters of `U.S.`, `T-shirt` and `O'Brien` name nothing."""
        prefix, _, denied = token.partition("-")
        if prefix.lower() in lexicon.PRIVATIVES and len(denied) > 1 and denied.lower() != "one":
            self.marks.add(NEGATED)
            self.denied.update(word.casefold() for word in _JOIN.split(denied))
            token = denied
        head, _, last = token.replace("_", "-").rpartition("-")
        for word in _JOIN.split(head or last):
            if len(word) > 1:
                self._read_word(word)
        if head and last.isalpha():
            self.start = self.end - len(last)
            self._read_word(last)

    def _read_word(self, token: str) -> None:
        word = token.lower()
        if not self._extend_number(word):
            number = self.number or ""
            self._close_number()
            if len(token) == 1:
                self._read_letter(token, number)
            elif word in lexicon.UNITS and (number or self.previous in _DEGREES):
                self.units.add(lexicon.UNITS[word])
            elif mark := lexicon.WORD_MARKS.get(word):
                self.marks.add(mark)
            else:
                self._read_negation(token, word)
                self._read_name(token, word)
        self.previous = word

    def _read_negation(self, token: str, word: str) -> None:
        """Read a word that negates; not the `No.` before a number, nor `not only`."""
        if word == "no":
            is_numero = _NUMERO.match(self.text, self.end) or (
                token.istitle() and not self._opens_sentence() and _SPACED_DIGIT.match(self.text, self.end)
            )
            self.has_no = self.has_no or not is_numero
        elif word in lexicon.NEGATIONS:
            if word != "not" or not self.text.startswith((" only", " just"), self.end):
                self.negate()
        elif word in lexicon.FOREIGN_NEGATIONS and not token.isupper():
            self.negate()

    def _read_name(self, token: str, word: str) -> None:
        """Read a Roman numeral and a month that stands alone, both by their capitals."""
        if token in lexicon.ROMAN:
            self.marks.add(f"code:{word}")
        elif token in lexicon.LONE_MONTHS and (word not in {"may", "march"} or self.previous in lexicon.MONTH_PREPOSITIONS):
            self.marks.add(f"date:--{lexicon.MONTHS[word]:02}")

    def _read_letter(self, letter: str, number: str) -> None:
        """Read a capital that names (`Depot A`); not the pronoun `I`, nor a short word that opens a sentence."""
        before, after = self.text[self.start - 1 : self.start], self.text[self.end : self.end + 1]
        if not letter.isupper() or letter == "I" or after == "'":
            return
        if letter in _TEMPERATURES and (before == "°" or len(number) >= 3 or self.previous in _DEGREES):
            self.units.add(_TEMPERATURES[letter])
            return
        may_be_word = letter in "AOEY" or not letter.isascii()
        is_article = letter == "A" and self.is_shouted
        if after == "." or not (is_article or (may_be_word and self._opens_sentence())):
            self.marks.add(f"code:{letter.lower()}")

    def _opens_sentence(self) -> bool:
        """Tell whether the token stands first in its sentence, past quotes and bullets."""
        before = self.text[max(0, self.start - 8) : self.start].rstrip(" \t\"'([*_-•")
        return not before or before[-1] in ".!?:;\n"

    def _extend_number(self, word: str) -> bool:
        """Take a number word; tell whether it was one. `one` counts after a ten only."""
        if scale := lexicon.SCALES.get(word):
            if self.number is not None and len(self.number) > _SCALED_DIGITS:
                self._close_number()
            self.number = _strip_zeros(format(Decimal(self.number or "1") * scale, "f"))
            return True
        value = lexicon.SMALL_NUMBERS.get(word) or lexicon.TENS.get(word) or int(word == "one")
        if self.number is not None and 0 < value < 10 and self.previous in lexicon.TENS:
            self.number = str(lexicon.TENS[self.previous] + value)
            return True
        if value < 2:
            return False
        self._close_number()
        self.number = str(value)
        return True

    def _close_number(self) -> None:
        if self.number is not None:
            self.marks.add(f"number:{self.number}")
            self.number = None

    def _read_digits(self, token: str) -> None:
        """Read a token with a digit: a number, a number with its unit or word (`60kg`, `20-minute`), or a code."""
        self._close_number()
        token = token[3:] if token[:3].lower() == "no." else token
        number, words = token, ""
        if found := _SUFFIXED.fullmatch(token):
            number = found[1] if self._takes_suffix(found[1], found[2]) else ""
        elif (found := _HYPHENED.fullmatch(token)) and (found[2].islower() or len(found[2]) == 1):
            number, words = found[1], found[2]
        numbers = _read_numbers(self._read_sign(), number)
        if numbers:
            self.marks.update(f"number:{value}" for value in numbers[:-1])
            self.number = numbers[-1]
        else:
            self.marks.add(f"code:{token.lower()}")
        self.previous = ""
        if numbers and words:
            self._read_joined(words) if "-" in words else self._read_tail(words)

    def _read_tail(self, word: str) -> None:
        self.start = self.end - len(word)
        self._read_word(word)

    def _takes_suffix(self, number: str, suffix: str) -> bool:
        """Tell whether letters glued to a number leave it a number: an ordinal's ending or a known unit."""
        if not suffix or suffix in lexicon.ORDINALS:
            return True
        unit = lexicon.UNITS.get(suffix if len(suffix) == 1 else suffix.lower())
        if unit is None and len(number) >= 3:  # `900C` is a temperature, `12C` a seat
            unit = _TEMPERATURES.get(suffix)
        if unit:
            self.units.add(unit)
        return unit is not None

    def _read_sign(self) -> str:
        """Give what stands before the token and belongs to its number: a minus, or the point of `.5`."""
        before = self.text[max(0, self.start - 3) : self.start]
        if _POINT.search(before):
            return "0."
        said = self.previous in {"minus", "negative"} and before[-1:].isspace() and before[-2:-1].isalpha()
        return "-" if said or _MINUS.search(before) else ""


def _read_numbers(sign: str, token: str) -> list[str]:
    """Read a number, a range or a list without spaces, each in one spelling; nothing when a part is no number.

    `sign` belongs to the first: nothing, a minus or the `0.` that was left out.
    """
    numbers: list[str] = []
    for part in re.split("[-_]", token):
        number = _read_number(part)
        listed = [number] if number is not None else [_read_number(item) for item in part.split(",")]
        if None in listed:
            return []
        numbers.extend(item for item in listed if item is not None)
    if sign == "0." and numbers[0].isdecimal():
        numbers[0] = _strip_zeros(sign + re.split("[^0-9]", token)[0])
    elif sign == "-" and numbers[0] != "0":
        numbers[0] = sign + numbers[0]
    return numbers


def _read_number(token: str) -> str | None:
    """Give one spelling of a decimal number without grouping and needless zeros, or None.

    `1,000` is a thousand and `16,50` a decimal. `1.000` may be either and keeps its spelling.
    """
    if _GROUPED.fullmatch(token) or _GROUPED_BY_TICK.fullmatch(token):
        return _strip_zeros(token.replace(",", "").replace("'", ""))
    if _GROUPED_BY_DOT.fullmatch(token):
        return _strip_zeros(token.replace(".", "").replace(",", "."))
    if _THOUSAND_OR_DECIMAL.fullmatch(token):
        return token
    return _strip_zeros(token.replace(",", ".")) if _DECIMAL.fullmatch(token) else None


def _strip_zeros(number: str) -> str:
    """Give `number` without leading zeros, and without trailing ones behind its point."""
    whole, _, fraction = number.partition(".")
    sign = "-" if whole.startswith("-") else ""
    whole, fraction = whole.removeprefix("-").lstrip("0") or "0", fraction.rstrip("0")
    return sign + (f"{whole}.{fraction}" if fraction else whole)
