"""Which of the texts that a session had read an agent's text writes down again, from the definition in `docs/meaning.md`."""

from __future__ import annotations

from collections.abc import Iterable

from tests.reference.policy import Reading, Wording
from tests.reference.revisions import Revision


def find_sources(each: Revision, read: Iterable[Revision], wording: Wording) -> frozenset[Revision]:
    """Give the records that a text rewords or joins.

    The one it rewords most, of equals the one with which it shares most content words, is the first. Then whatever it tells is taken, one after
    the other, while that accounts for a fifth of the content words not accounted for so far. Without a first, those taken must be
    several, have all its marks among them and account for two thirds of its content words.
    """
    told_of = wording.read(_text(each))
    readings = {other: wording.read(_text(other)) for other in read}
    reworded = {other: similarity for other in readings if (similarity := wording.recalls(_text(each), _text(other))) is not None}

    def closeness(other: Revision) -> tuple[object, ...]:
        return (-reworded[other], -len(readings[other].content & told_of.content), *_name(other))

    first = [min(reworded, key=closeness)] if reworded else []
    taken = first + _take_told(
        each, told_of, {other: one for other, one in readings.items() if other not in first}, first, wording
    )
    if first or _is_whole(told_of, [readings[other] for other in taken]):
        return frozenset(taken)
    return frozenset()


def _take_told(
    each: Revision, told_of: Reading, readings: dict[Revision, Reading], first: list[Revision], wording: Wording
) -> list[Revision]:
    accounted = frozenset[str]().union(*(wording.read(_text(other)).content for other in first))
    rest = {other: one for other, one in readings.items() if _is_told(one, told_of)}
    rest = {other: one for other, one in rest.items() if not wording.takes_back(_text(each), _text(other))}
    taken: list[Revision] = []
    while rest:
        missing = told_of.content - accounted
        gains = {other: len(one.content & missing) for other, one in rest.items()}
        most = max(gains.values())
        if most == 0 or 5 * most < len(missing):
            break
        best = min((other for other in gains if gains[other] == most), key=_name)
        taken.append(best)
        accounted |= rest.pop(best).content
    return taken


def _is_told(one: Reading, told_of: Reading) -> bool:
    """Tell whether two thirds of the content words are there, and nothing it says is said otherwise."""
    has_words = one.content and 3 * len(one.content & told_of.content) >= 2 * len(one.content)
    has_units = not told_of.units or one.units <= told_of.units
    return bool(has_words and has_units and one.figures <= told_of.figures and (told_of.denies or not one.denies))


def _is_whole(told_of: Reading, sources: list[Reading]) -> bool:
    if len(sources) < 2:
        return False
    figures = {figure for one in sources for figure in one.figures}
    words = {word for one in sources for word in one.content} & told_of.content
    denies = any(one.denies for one in sources)
    return figures == told_of.figures and denies == told_of.denies and 3 * len(words) >= 2 * len(told_of.content)


def _name(each: Revision) -> tuple[object, ...]:
    return (each.memory_id, each.observed_at, each.revision)


def _text(each: Revision) -> str:
    assert each.text is not None
    return each.text
