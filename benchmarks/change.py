"""Words by which a person takes back what held of them: "I no longer …", "these days I'd rather …", "that was for the old job".

One turn of a talk is read sentence by sentence; nothing here knows what is stored. A sentence says a change in one of two ways: by
words that say nothing else ("no longer", "changed my mind", "used to"), or by two hints side by side, one of time or of second thoughts
("lately", "I've realized") and one of what the person wants or does. Questions, suppositions, and what is said of somebody else take
nothing back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

_MIND: Final = (
    r"(?:mind|views?|stance|opinions?|perspective|tastes?|feelings|priorities|plans?|approach|attitude|habits?|tune|ways)"
)
_I: Final = r"(?:i|we)(?:['\u2019](?:ve|m|re|d)| have| am| are| had| was| were)?(?: \w+ly| just| since| also| now| even)? "
_ENDED: Final = "|".join(
    (
        r"flipped|reversed|switch(?:ed|ing)|shift(?:ed|ing)|swapped|mov(?:ed|ing)|swung|giv(?:en|ing) up|gave up|stopp(?:ed|ing)",
        r"quit|dropp(?:ed|ing)|abandoned|outgrown|(?:grown |got(?:ten)? )?(?:tired|sick) of|cancel\w*|replac\w+|traded|sold|retired",
        r"broken? up|over|done with|through with|(?:gone |went )?back to|left (?:my|the|our)|pivot\w*|cut out|fed up|avoiding",
        r"pulling (?:back|away|out)|turned (?:away|off)",
    )
)
_PLACE: Final = (
    r"(?:job|house|flat|apartment|place|address|number|phone|car|team|school|city|town|company|employer|project|laptop)"
)
_BEGUN: Final = r"(?:decided|want|going|plan\w*|time|need|thinking|ready) (?:not to|to|of) (?:\w+ly )?"


def _any_of(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


# Words that say nothing else.
_EXPLICIT: Final = _any_of(
    r"no longer|any ?more|after all|no more|from now on|going forward|correction|scratch that|out of date|not true now",
    r"changes? of (?:heart|plans?)|(?:the )?other way(?: round| around)?|(?:in|go\w*) a (?:\w+ )?different direction",
    r"a different story now|won['\u2019]t (?:cut it|do)",
    r"(?:i|we|it|they|that|there) (?:\w+ )?used to",
    r"(?:i|we|memory|note)(?: \w+)? (?:was|were|is) (?:wrong|mistaken|too (?:quick|harsh|hasty)|outdated)",
    r"been too \w+ (?:on|about)",
    rf"(?:my|our) (?:\w+ )?{_MIND}(?: \S+){{0,5}}? (?:changed|shifted|flipped|reversed|evolved)",
    rf"(?:changed?|reversed|revised|flipped) (?:my|our) (?:\w+ )?{_MIND}",
    r"(?:that|it|this) was (?:for|at|in|back|with|before) (?:\w+ ){0,3}?(?:old|former|previous|last|before|then)",
    rf"(?:my|our) (?:old|former|previous) {_PLACE}",
    rf"{_I}(?:{_ENDED})",
    r"(?:mov\w+|step\w*|shift\w*|switch\w*|break|pull\w*|pivot\w*) (?:completely )?(?:away from|over to|back from|on from)",
    rf"{_BEGUN}(?:stop|quit|drop|give up|switch|avoid|swap|leave|pivot|cut|skip|pull|leav|mov(?:e|ing) (?:away|to|on|out|in))\w*",
    r"(?:i|we) (?:don|can|haven|wasn)['\u2019]?t (?:\S+ ){0,6}?(?:these days|now)",
    r"(?:isn|aren|doesn)['\u2019]?t (?:\S+ ){0,4}?for me(?: now)?",
)
# Hints: when, or on what second thought; and what the speaker wants or does.
_SECOND_THOUGHT: Final = _any_of(
    r"lately|these days|nowadays|currently|now|this time|for (?:this|my next) \w+|since (?:then|we|my|that)|at first",
    r"in the end|instead|on reflection",
    r"actually|honestly|realiz\w+|realis\w+|re-?think\w*|reconsider\w*|re-?evaluat\w*|been (?:thinking|reflecting)",
    r"thinking back|come to (?:see|think|realiz\w+)",
    r"another (?:shot|try|listen|look|chance)|again after|a break from|i miss|hit a wall",
    r"after (?:that|trying|using|all that|a few)|turn(?:s|ed) out",
)
_WANTS: Final = (
    r"(?:want|prefer|crave|enjoy|love|like|miss|find|focus|stick|go|work|live|use|drink|eat|buy|take|wear|play|drive|cook|train|sleep"
    r"|get up|need|choose|believe|think i['\u2019]?(?:ll|d))"
)
_WISH: Final = _any_of(
    r"(?:i|we)(?:['\u2019]d| would)(?: \w+)? (?:rather|prefer|like|love)",
    rf"(?:i|we)(?:['\u2019]ll| will| can)? (?:\w+ly |just |only |now |really )*{_WANTS}",
    r"(?:i|we)(?:['\u2019](?:m|re)| am| are) (?:\w+ ){0,2}(?:\w+ing|into|drawn|ready|willing|happy|open|interested)",
    r"(?:i|we)(?:['\u2019]ve| have) (?:\w+ly )?(?:been \w+ing|found|started|become|grown|learn\w+)",
    r"(?:i|we) (?:\w+ly )?(?:had a blast|found (?:that|the)|decided)|(?:i|we)['\u2019]ve (?:\w+ly )?decided",
    r"can['\u2019]t get enough|my (?:true|real) (?:passion|interest|love)|let['\u2019]s",
    r"(?:much |far |so much )more \w+(?: to me)?(?: now)? than|feels? (?:\w+ )?(?:more|less|too) \w+|my go-to",
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_SUPPOSED: Final = re.compile(
    r"^(?:if|what if|imagine|suppose|should|would|could|unless|one day|some ?day|maybe one day)\b", re.IGNORECASE
)
_PERSON: Final = (
    r"(?:brother|sister|mother|mum|mom|father|dad|wife|husband|partner|son|daughter|kids?|child(?:ren)?|friends?|boss|manager|colleagues?"
    r"|coworkers?|neighbou?rs?|cousin|uncle|aunt|parents?|roommate|flatmate|doctor|teacher)"
)
_OTHERS: Final = re.compile(
    rf"^(?:(?:and|but|so|well|oh),? )?(?:(?:my|our|his|her|their|the|a) (?:\w+ )?{_PERSON}\b"
    r"|he\b|she\b|they\b|people\b|some(?:one|body)\b|everyone\b)",
    re.IGNORECASE,
)
_ME: Final = re.compile(r"\b(?:i|me|my|we|us|our)\b", re.IGNORECASE)


def split_sentences(text: str) -> list[str]:
    """Give the sentences of a text; the claims of an item that lists several stand apart, too."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def find_changes(turn: str) -> list[str]:
    """Give what of a turn says that something changed: single sentences, and pairs of neighbours that say it together."""
    sentences = split_sentences(turn)
    own = [_is_own(sentence) for sentence in sentences]
    alone = [text for text, is_own in zip(sentences, own, strict=True) if is_own and (_EXPLICIT.search(text) or _hints(text))]
    pairs = [
        f"{one} {other}" for (one, is_own), (other, goes_on) in pairwise(zip(sentences, own, strict=True)) if is_own and goes_on
    ]
    return [*alone, *(pair for pair in pairs if _hints(pair))]


def _hints(text: str) -> bool:
    """Tell whether second thoughts and a wish of the speaker stand side by side."""
    return all(marks.search(text) for marks in (_ME, _SECOND_THOUGHT, _WISH))


def _is_own(sentence: str) -> bool:
    """Tell whether the speaker states it of themselves."""
    if sentence.endswith("?") or _SUPPOSED.search(sentence):
        return False
    others = _OTHERS.search(sentence)
    return others is None or _ME.search(sentence, others.end()) is not None


def list_readings(turns: Iterable[str]) -> list[str]:
    """List every text of these turns whose vector will be asked for."""
    return [text for turn in turns for text in (turn, *split_sentences(turn), *find_changes(turn))]
