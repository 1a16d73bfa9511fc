"""What a statement is for and against: "prefers quiet cafés rather than loud bars" likes the one and not the other.

Words only; which things are the same is told by their vectors, elsewhere (`reversal`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Fewer letters name no thing.
_LEAST_PHRASE = 6
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


@dataclass(frozen=True, slots=True)
class Stance:
    """What a statement says of a thing."""

    is_for: bool
    thing: str


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
