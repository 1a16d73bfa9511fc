"""Find which of the texts that an agent has just read its own text writes down again: one, or several that it joins.

A text that rewords one other has it as its source. A summary of two has two, and would outlive the correction of one of them if it had
the other alone; so what the first source does not account for is looked for among the rest. A further source must be told there
(most of its content words, none of its marks changed) and must account for a fair part of what was open, or everything
that shares a phrase would become a parent.

What rewording means is given: a rule imports no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from guardian.core.content import is_share, read_content
from guardian.core.signature import Signature

# Of the content words of a source the share that a text must have to tell it; and of the content words of a text the share that several
# sources must account for where none does by itself. The same as of a rewording, `restate.KEPT_CONTENT`.
TOLD = (2, 3)
# Of the content words still open the share that a further source must account for. Frames and joints stay open for ever.
# `benchmarks/rewording.py` has what both shares find and tie wrongly, on summaries of texts of real banks.
ADDED = (1, 5)

Compare = Callable[[Signature, Signature], float | None]
TakesBack = Callable[[Signature, Signature], bool]


@dataclass(frozen=True, slots=True)
class Source:
    """A text that another writes down again.

    Attributes:
        place: Among the candidates.
        similarity: Of the first source that of the two texts; of a further one the share of its content words that are there.
    """

    place: int
    similarity: float


def find_sources(text: Signature, candidates: Sequence[Signature], *, recalls: Compare, takes_back: TakesBack) -> list[Source]:
    """Give what a text writes down again; the most similar first, then what accounts for most of the rest.

    Args:
        text: What was written.
        candidates: What its writer had read, in the order that decides ties.
        recalls: Gives the similarity where one text rewords the other.
        takes_back: Tells whether one text denies a word of the other.
    """
    content = read_content(text.text)
    contents = [read_content(one.text) for one in candidates]
    scored = [(found, place) for place, one in enumerate(candidates) if (found := recalls(text, one)) is not None]
    if scored:
        similarity, first = min(scored, key=lambda pair: (-pair[0], -len(contents[pair[1]] & content), pair[1]))
        if content <= contents[first]:
            return [Source(first, similarity)]
    told = {
        place: contents[place] & content
        for place, one in enumerate(candidates)
        if _is_told(contents[place], content) and _may_be_told(one, text) and not takes_back(text, one)
    }
    if scored:
        told.pop(first, None)
        added = _cover(told, content - contents[first])
        return [Source(first, similarity), *(Source(place, _share(told[place], contents[place])) for place in added)]
    added = _cover(told, content)
    if not _account_for_all([candidates[place] for place in added], text) or not _is_told(content, _join(told, added)):
        return []
    return [Source(place, _share(told[place], contents[place])) for place in added]


def _is_told(content: frozenset[str], there: frozenset[str]) -> bool:
    return bool(content) and is_share(len(content & there), len(content), TOLD)


def _may_be_told(one: Signature, text: Signature) -> bool:
    """Tell whether a text has all marks of another and its denial, and no units but others."""
    is_measured_otherwise = bool(text.units) and not one.units <= text.units
    return one.figures <= text.figures and not is_measured_otherwise and (text.denial.is_whole or not one.denial.is_whole)


def _cover(told: Mapping[int, frozenset[str]], still_open: frozenset[str]) -> list[int]:
    """Choose, one after the other, what accounts for most of what is still open, as long as that is a fair part of it."""
    chosen: list[int] = []
    while rest := [place for place in told if place not in chosen]:
        best = min(rest, key=lambda place: (-len(told[place] & still_open), place))
        added = len(told[best] & still_open)
        if not added or not is_share(added, len(still_open), ADDED):
            break
        chosen.append(best)
        still_open -= told[best]
    return chosen


def _account_for_all(sources: Sequence[Signature], text: Signature) -> bool:
    """Tell whether several sources have between them every mark of a text, and its denial."""
    figures = frozenset[str]().union(*(one.figures for one in sources))
    return len(sources) > 1 and figures == text.figures and text.denial.is_whole == any(one.denial.is_whole for one in sources)


def _join(told: Mapping[int, frozenset[str]], places: Sequence[int]) -> frozenset[str]:
    return frozenset[str]().union(*(told[place] for place in places))


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part) / len(whole)
