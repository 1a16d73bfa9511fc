"""Laws of the bounded sample: it depends on the keys alone, and what it keeps it has kept from the beginning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.trust.sample import KeySample

KEYS = st.lists(st.text(max_size=6), max_size=80)


def count(keys: list[str], room: int) -> KeySample[int]:
    """Count keys within a sample."""
    sample: KeySample[int] = KeySample(room)
    for key in keys:
        sample.put(key, sample.values.get(key, 0) + 1)
    return sample


@given(KEYS, st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(keys: list[str], room: int, random: object) -> None:
    """Any order gives the same sample with the same counts, and each count is that of all its appearances."""
    shuffled = list(keys)
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis gives a Random
    first, second = count(keys, room), count(shuffled, room)
    assert first.values == second.values
    assert len(first.values) <= room
    assert first.values == {key: keys.count(key) for key in first.values}
    assert first.is_whole == (len(set(keys)) <= room)


def test_a_large_set_leaves_a_fair_sample() -> None:
    """Of 20,000 keys at least half the room is filled, and both halves of the keys have their part."""
    sample = count([f"k{number}" for number in range(20_000)], 1_000)
    assert 400 <= len(sample.values) <= 1_000
    low = sum(int(key[1:]) < 10_000 for key in sample.values)
    assert 0.4 < low / len(sample.values) < 0.6
