"""Take addresses, dates and times out of a text, each in one spelling.

`2026-04-01`, `1 April 2026`, `April 1st, 2026` and `2026年4月1日` are one date; `5pm` and `17:00` one time. What is
ambiguous (`04/01/2026`) keeps its own spelling and agrees with nothing else. A month needs a number beside it here;
`may` and `march` need a capital too. Every repetition is bounded or anchored: no text can drive an expression into
backtracking.
"""

from __future__ import annotations

import re

from guardian.core.lexicon import CAPITAL_MONTHS, MONTHS

# Stands where something was taken out, so that `April 1-4` does not leave a negative four behind.
TAKEN = "\ufffc"

_DIGIT = re.compile("[0-9]")
_TLDS = "com|org|net|edu|gov|io|dev|ai|app"
_TLD = re.compile(rf"\.(?:{_TLDS})\b")
_ADDRESS = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"
    r"|(?<![A-Za-z0-9+.-])(?:[A-Za-z][A-Za-z0-9+.-]{0,15}://|www\.)[^\s<>\"'、。,()「」【】]+"
    rf"|(?<![\w.-])(?:[A-Za-z0-9-]{{1,63}}\.){{1,6}}(?:{_TLDS})(?![\w-])(?:/[^\s<>\"'()]*)?"
)
_MONTH = rf"(?P<month>(?i:{'|'.join(sorted(MONTHS, key=len, reverse=True))}))\b\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12][0-9]{3})(?![0-9-]|[.,:][0-9])"
_DATES = tuple(
    re.compile(expression)
    for expression in (
        r"(?<![A-Za-z0-9.-])(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})(?![0-9]|[-/]\w)",
        r"(?<![A-Za-z0-9.-])(?P<year>[0-9]{4})-(?P<month>0[1-9]|1[0-2])(?![A-Za-z0-9-])",
        r"(?<![A-Za-z0-9./-])(?P<first>[0-9]{1,2})(?P<mark>[/.])(?P<second>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4})(?![A-Za-z0-9/-])",
        r"(?<![0-9])(?:(?P<year>[0-9]{4})年)?(?P<month>[0-9]{1,2})月(?P<day>[0-9]{1,2})日",
    )
)
_NAMED_DATES = tuple(
    re.compile(expression)
    for expression in (
        rf"(?<![\w.,:/]){_DAY}(?: of)?\s{{1,3}}{_MONTH}(?:,?\s{{1,3}}{_YEAR})?",
        rf"(?<!\w){_MONTH}\s{{1,3}}{_DAY}(?![\w:]|[.,][0-9])(?:,?\s{{1,3}}{_YEAR})?",
        rf"(?<!\w){_MONTH},?\s{{1,3}}(?:of )?{_YEAR}",
    )
)
_ANY_MONTH = re.compile(rf"(?<!\w){_MONTH}")
_CLOCK = re.compile(
    rf"(?:(?<={TAKEN})[Tt]|(?<![0-9A-Za-z:.,]))(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>[0-5][0-9](?:\.[0-9]{1,9})?))?(?:\s?(?P<half>[AaPp])\.?[Mm]\b)?"
    r"(?P<zone>Z\b|[+-][0-9]{2}:?[0-9]{2}\b)?(?![0-9A-Za-z:])"
    r"|(?<![0-9A-Za-z:.,])(?P<only>1[0-2]|0?[1-9])\s?(?P<half_only>[AaPp])\.?[Mm]\b"
)


def take_dating(text: str, marks: set[str]) -> str:
    """Give `text` without its addresses, dates and times of day, which are added to `marks`."""

    def take(found: re.Match[str], mark: str | None) -> str:
        if mark is None:
            return found[0]
        marks.add(mark)
        return TAKEN

    def take_address(found: re.Match[str]) -> str:
        return take(found, "code:" + found[0].rstrip(".,;:!?/").lower())

    def take_date(found: re.Match[str]) -> str:
        return take(found, _read_date(found.groupdict()))

    def take_time(found: re.Match[str]) -> str:
        return take(found, _read_time(found))

    if "@" in text or "://" in text or "www." in text or _TLD.search(text):
        text = _ADDRESS.sub(take_address, text)
    if not _DIGIT.search(text):
        return text
    for expression in (*_DATES, *_NAMED_DATES) if _ANY_MONTH.search(text) else _DATES:
        text = expression.sub(take_date, text)
    return _CLOCK.sub(take_time, text)


def _read_date(parts: dict[str, str | None]) -> str | None:
    """Give the mark of a date, its missing parts as nothing: `date:2026-04-01`, `date:--04-01`, `date:2026-04`."""
    year, month, day = parts.get("year") or "-", parts.get("month") or "", parts.get("day")
    first, second = parts.get("first"), parts.get("second")
    if first and second:
        if parts["mark"] == "/" and max(int(first), int(second)) <= 12 and int(first) != int(second):
            return f"date:{int(first)}/{int(second)}/{year}?"
        day, month = (second, first) if parts["mark"] == "/" and int(second) > 12 else (first, second)
    if month in CAPITAL_MONTHS:
        return None
    number = int(month) if month.isdecimal() else MONTHS[month.lower()]
    if not 1 <= number <= 12 or (day and not 1 <= int(day) <= 31):
        return None
    return f"date:{year}-{number:02}" + (f"-{int(day):02}" if day else "")


def _read_time(found: re.Match[str]) -> str | None:
    """Give the mark of a time of day on 24 hours, without zero seconds and without the zone UTC."""
    half = (found["half"] or found["half_only"] or "").lower()
    hour = int(found["hour"] or found["only"])
    if hour > (12 if half else 24):
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    second = f":{found['second']}" if (found["second"] or "").strip("0.") else ""
    zone = (found["zone"] or "").replace(":", "")
    return f"time:{hour:02}:{found['minute'] or '00'}{second}" + ("" if zone in {"Z", "+0000", "-0000"} else zone)
