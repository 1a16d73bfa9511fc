"""Faults: what may go wrong, how often in this seed, and where it struck.

Every place that can fail asks here. The answers come from a stream of their own, one number a question, so that a run in which one fault
is left out begins like the run with it: that is what lets a failing seed shrink.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from random import Random


class Fault(StrEnum):
    """What may go wrong."""

    FETCH_FAILS = "fetch_fails"
    SEARCH_FAILS = "search_fails"
    WRITE_FAILS = "write_fails"
    WRITE_ANSWER_LOST = "write_answer_lost"
    SEND_FAILS = "send_fails"
    SEND_ANSWER_LOST = "send_answer_lost"
    COMMIT_FAILS = "commit_fails"
    COMMIT_ANSWER_LOST = "commit_answer_lost"
    METADATA_FAILS = "metadata_fails"
    DELAY = "delay"
    CRASH = "crash"
    REBALANCE = "rebalance"
    TAKEOVER = "takeover"
    REWIND = "rewind"


# Chances of one question, of which each seed draws one for each fault: some worlds know a fault not at all, some hardly anything else.
# Those of the first line are asked at a call, the others at every turn of the whole world; a takeover wants somebody in the midst of it.
_AT_CALL = (0.0, 0.0, 0.01, 0.05, 0.2)
_AT_TURN = (0.0, 0.0, 0.003, 0.01, 0.03)
_IN_THE_MIDST = (0.0, 0.01, 0.03, 0.1)
_RATES = dict.fromkeys(Fault, _AT_CALL) | {
    Fault.CRASH: _AT_TURN,
    Fault.REBALANCE: _AT_TURN,
    Fault.REWIND: _AT_TURN,
    Fault.TAKEOVER: _IN_THE_MIDST,
}


class Faults:
    """Says where faults strike.

    Args:
        random: Their stream.
        dropped: Numbers of questions that are answered with no whatever was drawn.
        until: From this question on nothing strikes.
        rates: Chances that are not drawn.
    """

    def __init__(
        self,
        random: Random,
        *,
        dropped: frozenset[int] = frozenset(),
        until: int | None = None,
        rates: Mapping[Fault, float] | None = None,
    ) -> None:
        self.rates = {fault: random.choice(drawn) for fault, drawn in _RATES.items()} | dict(rates or {})
        self.is_on = True
        self.struck: list[tuple[int, Fault]] = []
        self._random = random
        self._dropped = dropped
        self._until = until
        self._asked = 0

    def strikes(self, fault: Fault) -> bool:
        """Tell whether the fault strikes here."""
        number, self._asked = self._asked, self._asked + 1
        is_drawn = self._random.random() < self.rates[fault]
        if not is_drawn or not self.is_on or number in self._dropped or (self._until is not None and number >= self._until):
            return False
        self.struck.append((number, fault))
        return True

    @property
    def is_over(self) -> bool:
        """Whether nothing can strike any more."""
        return not self.is_on or (self._until is not None and self._asked >= self._until)

    def pick(self, count: int) -> int:
        """Give one of 0 .. count - 1, by the number of the fault that struck last: no question moves."""
        number = self.struck[-1][0] if self.struck else 0
        return Random(number * 7919 + 17).randrange(count)

    def count(self) -> Counter[str]:
        """Give how often each struck."""
        return Counter(fault.value for _, fault in self.struck)
