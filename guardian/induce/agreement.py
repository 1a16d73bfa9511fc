"""How far the samples of one memory agree, and what is made of them.

Of the n questions asked, v gave a usable sample. With the pairs of samples as P,

    A = v/n * (0.4 S + 0.2 W + 0.4 R)

    S   mean over P of the Jaccard index of the slots that both would allow
    W   mean over P of the Jaccard index of what both would withhold
    R   mean over P of how well each rule of one is matched by a rule of the other, both ways:
        0 for another influence, else 0.5 + 0.5 * token-set ratio of the conditions, whose tokens are words, or letters where a script
        is written without spaces

Fewer than two usable samples agree on nothing: A = 0. Slots weigh most because they decide where a memory can stand; rules as much because
they are what the card is for. An answer that could not be used counts as one that disagrees.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from statistics import fmean
from typing import Final, TypeVar

from rapidfuzz.fuzz import token_set_ratio

from guardian.core.card import ConditionalRule, ConflictPolicy
from guardian.core.narrowing import Narrowing, build_narrowing
from guardian.induce.answer import Sample
from guardian.induce.unit import join_units

SLOTS_WEIGHT: Final = 0.4
WITHHELD_WEIGHT: Final = 0.2
RULES_WEIGHT: Final = 0.4

_STRICTNESS = tuple(ConflictPolicy)
_Word = TypeVar("_Word", bound=str)


def score_agreement(samples: Sequence[Sample], *, asked: int) -> float:
    """Score A in [0, 1] for the usable samples of so many questions."""
    if len(samples) < 2:
        return 0.0
    pairs = fmean(score_pair(one, other) for one, other in combinations(samples, 2))
    return round(len(samples) / max(asked, len(samples)) * pairs, 3)


def score_pair(one: Sample, other: Sample) -> float:
    """Score how far two samples agree, in [0, 1]."""
    slots = jaccard(one.slots, other.slots)
    withheld = jaccard(one.narrowing.authority, other.narrowing.authority)
    rules = (match_rules(one.rules, other.rules) + match_rules(other.rules, one.rules)) / 2
    return SLOTS_WEIGHT * slots + WITHHELD_WEIGHT * withheld + RULES_WEIGHT * rules


def jaccard(one: Collection[str], other: Collection[str]) -> float:
    """Give the share of what either has that both have; two empty ones agree."""
    union = {*one, *other}
    return len({*one} & {*other}) / len(union) if union else 1.0


def match_rules(rules: Sequence[ConditionalRule], others: Sequence[ConditionalRule]) -> float:
    """Give how well the rules of one are matched by those of another, in [0, 1]."""
    return fmean(max((_match_rule(rule, other) for other in others), default=0.0) for rule in rules) if rules else 1.0


def _match_rule(rule: ConditionalRule, other: ConditionalRule) -> float:
    if rule.influence != other.influence:
        return 0.0
    return 0.5 + 0.5 * float(token_set_ratio(join_units(rule.condition), join_units(other.condition))) / 100


def choose_sample(samples: Sequence[Sample]) -> Sample:
    """Choose the sample that agrees best with the others; the first of equals."""
    if len(samples) == 1:
        return samples[0]
    scores = [fmean(score_pair(one, other) for other in samples if other is not one) for one in samples]
    return samples[scores.index(max(scores))]


def merge_narrowings(narrowings: Sequence[Narrowing]) -> Narrowing:
    """Take what at least half of the samples take; of the conflict policies the one in the middle, or the stricter of two."""
    return build_narrowing(
        barred_slots=_vote([one.barred_slots for one in narrowings]),
        authority=_vote([one.authority for one in narrowings]),
        must_use=_vote([one.must_use for one in narrowings]),
        must_not=_vote([one.must_not for one in narrowings]),
        conflict=_choose_conflict(narrowings),
    )


def _vote(ballots: Sequence[Sequence[_Word]]) -> list[_Word]:
    words = {word for ballot in ballots for word in ballot}
    return [word for word in words if 2 * sum(word in ballot for ballot in ballots) >= len(ballots)]


def _choose_conflict(narrowings: Sequence[Narrowing]) -> ConflictPolicy | None:
    given = sorted((one.conflict for one in narrowings if one.conflict is not None), key=_STRICTNESS.index)
    return given[len(given) // 2] if given else None
