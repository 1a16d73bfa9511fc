"""The benchmark's detector of corrections: what a turn of a talk takes back of what is stored, and what it leaves alone."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

import pytest

from benchmarks.change import find_changes
from benchmarks.memsyco import TALKS
from benchmarks.reversal import find_reversals, list_texts
from benchmarks.stance import Stance, list_stances

CHANGED = [
    "I no longer eat meat.",
    "I've moved to Ghent, by the way.",
    "That was for the old job, the hours are different here.",
    "I've completely changed my mind about podcasts.",
    "My view of remote work has shifted.",
    "We used to meet on Mondays.",
    "From now on I write in English.",
    "These days I'd rather stay in.",
    "I've realized I prefer the mountains.",
    "I gave the cello another chance, and now I can't get enough of it.",
    "We're done with paper invoices.",
    "I've decided to drop the evening class.",
    "Lately I've been working nights.",
    "I don't drink coffee these days.",
]
UNCHANGED = [
    "I like tea.",
    "Should I no longer eat meat?",
    "If I moved to Ghent, I'd no longer need a car.",
    "My brother no longer eats meat.",
    "She has changed her mind about podcasts.",
    "The report is due now.",
    "We met the neighbours yesterday.",
    "I also enjoy the mountains.",
]


def count_words(text: str) -> tuple[float, ...]:
    """Count the words of a text into bins: texts that share words lie near each other."""
    bins = [0.01] * 96
    for word in text.lower().replace(".", "").replace(",", "").split():
        bins[zlib.crc32(word.encode()) % len(bins)] += 1.0
    return tuple(bins)


def find(turns: Sequence[str], *items: str) -> list[tuple[int, int]]:
    """Find reversals by words alone."""
    return find_reversals(turns, items, count_words)


WALKS, NO_WALKS = "Enjoys long evening walks by the river.", "No longer enjoys long evening walks by the river."
TOLD, TAKEN_BACK = "I enjoy long evening walks by the river.", "I no longer enjoy long evening walks by the river."


class TestChange:
    """Words of change in one turn."""

    @pytest.mark.parametrize("turn", CHANGED)
    def test_words_of_change_are_heard(self, turn: str) -> None:
        """Said outright, or by a second thought beside a wish."""
        assert find_changes(turn) != []

    @pytest.mark.parametrize("turn", UNCHANGED)
    def test_questions_suppositions_and_others_change_nothing(self, turn: str) -> None:
        """Nor does what is merely added."""
        assert find_changes(turn) == []

    def test_two_sentences_may_say_it_together(self) -> None:
        """A second thought in one, the wish in the next; a question between them keeps them apart."""
        assert find_changes("The noise is too much lately. I want quiet places.") == [
            "The noise is too much lately. I want quiet places."
        ]
        assert find_changes("The noise is too much lately, isn't it? I want quiet places.") == []

    def test_only_what_says_it_is_given(self) -> None:
        """The rest of a long turn is no reading of the change."""
        assert find_changes("The week was long. I've moved to Ghent. It rains.") == ["I've moved to Ghent."]


class TestReversals:
    """Pairs of stored items, with vectors of words."""

    def test_a_turn_that_takes_back_lets_the_earlier_item_fall(self) -> None:
        """What it says nothing about stays."""
        assert find([TOLD, TAKEN_BACK], WALKS, "Has two dogs.", NO_WALKS) == [(0, 2)]

    def test_without_a_turn_of_change_nothing_falls(self) -> None:
        """However much two items contradict each other: which of the two holds nobody said."""
        assert find([TOLD, "I work by the river."], WALKS, NO_WALKS) == []
        assert find([], WALKS, NO_WALKS) == []

    def test_an_earlier_item_never_takes_back_a_later_one(self) -> None:
        """And a single item nothing at all."""
        assert all(old < new for old, new in find([TAKEN_BACK, TOLD], NO_WALKS, WALKS))
        assert find([TOLD, TAKEN_BACK], NO_WALKS) == []

    def test_each_item_falls_once_and_puts_one_down(self) -> None:
        """Of several likely ones the likeliest."""
        found = find([TOLD, TAKEN_BACK], WALKS, "Enjoys long walks.", NO_WALKS)
        assert found == [(0, 2)]

    def test_every_text_that_is_compared_is_listed(self) -> None:
        """A vector that was not made would be asked for in vain."""
        turns, items = (
            [TOLD, "The week was long. " + TAKEN_BACK],
            (WALKS, "Likes tea; prefers rye bread rather than wheat.", NO_WALKS),
        )
        vectors = {text: count_words(text) for text in list_texts(turns, items)}
        assert find_reversals(turns, items, vectors.__getitem__) == find(turns, *items)  # one not listed would be a KeyError

    def test_stances_are_read_clause_by_clause(self) -> None:
        """Each marker with the words up to the next."""
        assert list_stances("Prefers quiet cafés rather than loud bars; avoids queues.") == [
            Stance(is_for=True, thing="quiet cafés"),
            Stance(is_for=False, thing="loud bars"),
            Stance(is_for=False, thing="queues"),
        ]
        assert list_stances("No longer enjoys evening walks") == [Stance(is_for=False, thing="evening walks")]


async def test_with_the_real_embedder_everyday_talks_are_understood() -> None:
    """On talks that taught the detector nothing most corrections are found, and few that are none."""
    pytest.importorskip("sentence_transformers", reason="needs the extra sentence-transformers")
    from guardian.embed.sentence_transformers import open_sentence_transformers

    talks = [json.loads(line) for line in (TALKS / "held_out.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = list({text for talk in talks for text in list_texts(talk["turns"], talk["items"])})
    embedder = await open_sentence_transformers()
    try:
        vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    finally:
        await embedder.close()
    found = [find_reversals(talk["turns"], talk["items"], vectors.__getitem__) for talk in talks]
    told = [{(old, new) for old, new in talk["reversed"]} for talk in talks]
    right = sum(len(pairs & set(one)) for pairs, one in zip(told, found, strict=True))
    assert right >= 0.75 * sum(map(len, told))
    assert right >= 0.75 * sum(map(len, found))
