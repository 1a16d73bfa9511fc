"""A simple detector of reversals: which of a person's later statements takes back which earlier one.

It knows texts and their order, and nothing else. A later statement reverses an earlier one when both are on one topic (cosine of their vectors) and
either the two take opposite stances (likes, wants; dislikes, avoids, without) on phrases that are close by their vectors, or the later one
says that something changed ("now prefers", "no longer", "rather than"). Word of a change is not believed where the two agree in what they are against: who
disliked cooking and now prefers eating out "instead of cooking" takes nothing back. A false alarm costs a valid memory and a miss leaves an
outdated one, which the next correction may still mend; so precision goes first.

It is part of the benchmarks and not of Guardian, which supersedes nothing without a correction: it stands for the agent or the person who notices
that a mind was changed. Thresholds and words were chosen on half of the rows alone. Its errors are those of cosines: "prefers simple
health apps" beside "dislikes complex health apps" looks like a reversal, and one taste quietly put in the place of another does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

# Cosine from which two statements are on one topic, and two phrases about one thing.
SAME_TOPIC, SAME_THING = 0.5, 0.4
# Fewer letters name no thing.
_LEAST_PHRASE = 6
# "Now realizes" and "now has" go on from where one stood.
_CHANGE = re.compile(
    r"\b(no longer|any ?more|instead|revers\w+|changed (?:my|his|her|their) minds?|shift\w*|switch\w*|used to|rather than|over|exclusively"
    r"|now(?! (?:realiz|realis|understand|know|has|have|had)))\b",
    re.IGNORECASE,
)
_AGAINST = (
    r"no longer|not|never|dislikes?|disliked|avoid(?:s|ing|ed)?|hates?|struggles? with|frustrat\w+ (?:by|with)|without|rather than|instead of"
    r"|free from|over|less|tired of|distaste for|away from|shift\w* from|switch\w* from|used to|previously|reject(?:s|ing)?|stopped|against"
    r"|oppos(?:es|ed|ing)|leaving out|disengag\w+ from"
)
_FOR = (
    r"prefers?|preferring|likes?|enjoy(?:s|ing|ed)?|loves?|values?|valuing|appreciates?|wants? to|interested in|seeks?|favou?rs?|finds?"
    r"|focus(?:ed|ing|es)? on|motivated (?:by|to)|drawn to|believes?"
)
_STANCE = re.compile(rf"\b(?:(?P<against>{_AGAINST})|(?P<for>{_FOR}))\b", re.IGNORECASE)

VectorOf = Callable[[str], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Stance:
    """What a statement says of a thing."""

    is_for: bool
    thing: str


def says_change(text: str) -> bool:
    """Tell whether a statement says that something is no longer as it was."""
    return _CHANGE.search(text) is not None


def list_stances(text: str) -> list[Stance]:
    """List the stances of a statement: each marker, and the words up to the next one or the end of the clause."""
    stances: list[Stance] = []
    for clause in re.split(r"[;.,]", text):
        markers = list(_STANCE.finditer(clause))
        is_denied = False  # "no longer" right before "enjoys" turns it round
        for place, marker in enumerate(markers):
            end = markers[place + 1].start() if place + 1 < len(markers) else len(clause)
            thing = clause[marker.end() : end].strip(" :-")
            if len(thing) >= _LEAST_PHRASE:
                stances.append(Stance(is_for=marker["for"] is not None and not is_denied, thing=thing))
            is_denied = marker["against"] is not None and not thing
    return stances


def list_texts(statements: Sequence[str]) -> list[str]:
    """List every text whose vector will be asked for."""
    return [*statements, *(stance.thing for text in statements for stance in list_stances(text))]


def find_reversals(statements: Sequence[str], vector_of: VectorOf) -> list[tuple[int, int]]:
    """Find the pairs (earlier, later) of which the later takes back the earlier."""
    places = combinations(range(len(statements)), 2)
    return [(old, new) for old, new in places if _reverses(statements[old], statements[new], vector_of)]


def _reverses(old: str, new: str, vector_of: VectorOf) -> bool:
    if score_cosine(vector_of(old), vector_of(new)) < SAME_TOPIC:
        return False
    shared = [
        (one.is_for, other.is_for)
        for one in list_stances(old)
        for other in list_stances(new)
        if score_cosine(vector_of(one.thing), vector_of(other.thing)) >= SAME_THING
    ]
    if any(was_for != is_for for was_for, is_for in shared):
        return True
    return says_change(new) and (False, False) not in shared


def score_cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Give the cosine of two vectors."""
    a, b = np.asarray(one), np.asarray(other)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
