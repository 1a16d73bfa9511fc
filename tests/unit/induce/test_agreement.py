"""The agreement of samples: its formula, its ends, and what a majority takes."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.card import ConditionalRule, ConflictPolicy
from guardian.core.model import Slot
from guardian.core.narrowing import build_narrowing
from guardian.induce.agreement import choose_sample, merge_narrowings, score_agreement, score_pair
from guardian.induce.answer import Influence, Sample, read_answer
from tests.unit.induce.answers import card_answer, reply

SAME = read_answer(reply(card_answer()))
OTHER = read_answer(
    reply(
        card_answer(
            slots=["facts"],
            never=["task_outcome"],
            rules=[{"condition": "anything is asked", "influence": "may support a conclusion"}],
        )
    )
)


def test_equal_samples_agree_wholly_and_disjoint_ones_not_at_all() -> None:
    """The ends of the scale."""
    assert score_agreement([SAME, SAME, SAME], asked=3) == 1.0
    assert score_agreement([SAME, OTHER], asked=2) == 0.0


def test_the_formula_is_the_documented_one() -> None:
    """0.4 of slots 1/2, 0.2 of withheld 1, 0.4 of rules (1 and 1/2 one way, 1 the other)."""
    fewer = replace(SAME, slots=frozenset({Slot.BACKGROUND}), rules=SAME.rules[:1])
    assert score_pair(SAME, fewer) == pytest.approx(0.4 * 0.5 + 0.2 * 1 + 0.4 * (0.5 + 1) / 2)


def test_other_words_for_one_rule_count_half_and_more() -> None:
    """The influence decides; the wording of the condition adds."""
    reworded = replace(SAME, rules=tuple(ConditionalRule(condition="zzz qqq", influence=rule.influence) for rule in SAME.rules))
    assert 0.8 <= score_pair(SAME, reworded) < 0.9


def test_an_unusable_answer_counts_as_one_that_disagrees() -> None:
    """Two of three agree wholly: two thirds; one alone agrees with nobody."""
    assert score_agreement([SAME, SAME], asked=3) == pytest.approx(0.667)
    assert score_agreement([SAME], asked=3) == 0.0
    assert score_agreement([], asked=3) == 0.0


def test_the_sample_in_the_middle_is_chosen() -> None:
    """The one that agrees best with the others, whatever the order."""
    near = replace(SAME, summary="A belief in the middle.", slots=frozenset({Slot.PREFERENCES, Slot.BACKGROUND, Slot.FACTS}))
    for order in permutations([SAME, near, OTHER]):
        assert choose_sample(list(order)) is near


def test_half_of_the_samples_take() -> None:
    """What one of three takes is left; what one of two takes is taken."""
    strict = build_narrowing(barred_slots=[Slot.FACTS], conflict=ConflictPolicy.HUMAN_REVIEW)
    loose = build_narrowing(conflict=ConflictPolicy.LATEST_MEMORY_WINS)
    assert merge_narrowings([strict, loose, loose]) == loose
    assert merge_narrowings([strict, loose]).barred_slots == (Slot.FACTS,)
    assert merge_narrowings([strict, loose]).conflict is ConflictPolicy.HUMAN_REVIEW


samples = st.builds(
    lambda slots, rules: replace(SAME, slots=frozenset(slots), rules=tuple(rules)),
    st.lists(st.sampled_from(Slot)),
    st.lists(
        st.builds(
            ConditionalRule, condition=st.text(min_size=1, max_size=20), influence=st.sampled_from([i.value for i in Influence])
        ),
        min_size=1,
        max_size=4,
    ),
)


@given(st.lists(samples, min_size=2, max_size=4), st.randoms())
def test_agreement_is_a_share_and_knows_no_order(drawn: list[Sample], random: object) -> None:
    """In [0, 1], and the same for the same samples in another order."""
    score = score_agreement(drawn, asked=4)
    assert 0 <= score <= len(drawn) / 4
    assert score_agreement(drawn[::-1], asked=4) == pytest.approx(score, abs=0.0011)
