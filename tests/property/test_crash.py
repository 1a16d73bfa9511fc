"""Crashes at every single write, in the stories where a beginning of a plan is hardest to tell from the whole of it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence

import pytest

from guardian.core.model import Event
from guardian.errors import DependencyError
from tests.builders import card_data, corrected, erased, induced, linked, read, retracted, written, written_data
from tests.property.bank import IDENTITY, Bank, CrashingStore


def lost_reference(names: Sequence[str]) -> tuple[list[Event], list[Event]]:
    """A record loses the reference by which another was inferred to derive from it."""
    e, a, kid, z = names
    inside = written_data(e, "Kiln 4 fires at 900", src="document", ref="manual", observed=0)
    correction = corrected(z, inside, t=0)
    known = [
        correction,
        written(e, "Kiln 4 fires at 900", src=None, observed=0, t=5),
        written(a, "So kiln 4 fires at 900", src="document", ref="manual", t=9),
        written(kid, "Kiln card", parents=[a], t=10),
    ]
    return known, [retracted(correction, t=11)]


def moved_family(names: Sequence[str]) -> tuple[list[Event], list[Event]]:
    """A link gives the target of a correction another root, so another family has to fall, and the old one comes back."""
    old, new, middle, target = names
    known = [
        *[written(name, f"Root {name}", src="tool", kind="fact") for name in (old, new)],
        *[written(f"kid-{name}", f"Kid of {name}", parents=[name], t=1) for name in (old, new)],
        written(middle, "Middle", parents=[old], t=1),
        written(target, "Target", parents=[middle], t=2),
        corrected(target, "n", extent="family", t=10),
    ]
    return known, [linked(middle, remove=[old], add=[new], t=20)]


def late_cascade(names: Sequence[str]) -> tuple[list[Event], list[Event]]:
    """A link of a line that a cascade goes over comes last."""
    first, second, third, fourth = names
    known = [
        written(first, "First"),
        written(third, "Third", parents=[second], t=2),
        written(fourth, "Fourth", parents=[third], t=3),
        erased(first, observed=9, cascade=True, t=10),
    ]
    return known, [written(second, "Second", parents=[first], t=1)]


def update_and_erasure(names: Sequence[str]) -> tuple[list[Event], list[Event]]:
    """An update in place, a late parent, its correction and an erasure in one batch."""
    a, r, parent, q = names
    known = [
        written(a, "Gate 4", src="tool"),
        written(r, "It is gate 4", parents=[a, parent], t=1),
        read(r, session="s1", t=2),
        written(q, "So it is gate 4", session="s1", t=3),
    ]
    return known, [
        written(a, "Gate 5", src="tool", verified=True, t=5),
        written(parent, "Plan", src="document", kind="fact", t=0.5),
        corrected(parent, "n", t=6),
        erased(r, observed=7, t=8),
    ]


def first_seen_target(names: Sequence[str]) -> tuple[list[Event], list[Event]]:
    """A recap names the target of a correction, which nobody has seen so far: only now does its family start somewhere."""
    target, recap, sibling, replacement = names
    known = [written(replacement, "Gate 5"), corrected(target, replacement, extent="family", t=10)]
    return known, [written(recap, "So it is gate 4", parents=[target], t=11), written(sibling, "Gate 4 it is", parents=[target])]


def root_with_parents(names: Sequence[str]) -> tuple[list[Event], list[Event]]:
    """The root of a felled family arrives and has a parent itself, so the family starts elsewhere, and another one falls."""
    root, middle, target, cousin = names
    known = [
        written(root, "Root", src="tool", kind="fact"),
        written(cousin, "Cousin", parents=[root], t=1),
        written(target, "Target", parents=[middle], t=2),
        corrected(target, "n", extent="family", t=10),
    ]
    return known, [written(middle, "Middle", parents=[root], t=1)]


def narrowed_parent(names: Sequence[str]) -> tuple[list[Event], list[Event]]:
    """A model narrows a record from which others derive, one of them in the same batch."""
    root, middle, leaf, late = names
    first = written(root, "Gate 4", src="document", kind="fact")
    known = [first, written(middle, "So gate 4", parents=[root], t=1), written(leaf, "Gate 4, they say", parents=[middle], t=2)]
    return known, [
        induced(first, card=card_data(), narrowing={"barred_slots": ["facts"]}, t=3),
        written(late, "It is 4", parents=[leaf], t=4),
    ]


def parent_of_two(names: Sequence[str]) -> tuple[list[Event], list[Event]]:
    """A memory that two name comes, together with news of one of them: read again alone, those move one child and must not lose the other."""
    parent, child, other, _ = names
    known = [written(child, "Kiln card", parents=[parent], t=2), written(other, "Kiln list", parents=[parent], t=3)]
    return known, [
        written(parent, "Kiln 4 fires at 900", src="document", parents=[], t=1),
        written(child, "Kiln card", parents=[parent], t=2, source="/again"),
        written(child, "Kiln card, shorter", t=5),
    ]


def removed_parent(names: Sequence[str]) -> tuple[list[Event], list[Event]]:
    """A link takes the last child of a memory that never came: its empty place goes, too."""
    child, parent, other, _ = names
    return [written(child, "Kiln card", parents=[parent, other])], [
        linked(child, remove=[parent, other], t=2),
        written(other, "Gate 4", t=3),
    ]


@pytest.mark.parametrize("names", list(itertools.permutations("abky"))[::5], ids="".join)
async def test_news_of_a_parent_after_a_broken_off_try_does_not_take_a_child_for_a_root(names: Sequence[str]) -> None:
    """A circle hangs on a memory that never came, and its place was not written: what is worked out meanwhile counts it all the same."""
    first, second, unseen, _ = names
    circle = written(first, "Kiln card", src="document", parents=[second], t=0)
    feeding = written(second, "Kiln list", src="document", parents=[first, unseen], t=1)
    whole = Bank()
    await whole.send(circle, feeding)
    for lefts in itertools.product(range(4), repeat=2):
        store = CrashingStore(IDENTITY)
        bank = Bank(store=store)
        await bank.send(circle)
        for left, then in zip(lefts, ([circle], [feeding]), strict=True):
            store.left = left
            with contextlib.suppress(DependencyError):
                await bank.send(feeding)
            store.left = None
            await bank.send(*then)
        assert bank.payloads() == whole.payloads(), f"after {lefts} writes"


STORIES = (
    lost_reference,
    moved_family,
    late_cascade,
    update_and_erasure,
    first_seen_target,
    root_with_parents,
    narrowed_parent,
    parent_of_two,
    removed_parent,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
@pytest.mark.parametrize("names", list(itertools.permutations("abky"))[::5], ids="".join)
async def test_a_crash_after_any_write_is_made_good(story: object, names: Sequence[str]) -> None:
    """Whichever write was the last, the same events again, one by one or together, end where they would have ended."""
    known, struck = story(names)  # type: ignore[operator] # None would fail the comparison, as it should
    whole = Bank()
    await whole.send(*known)
    await whole.send(*struck)
    for left, is_together in ((step // 2, step % 2 == 0) for step in itertools.count()):
        store = CrashingStore(IDENTITY)
        bank = Bank(store=store)
        await bank.send(*known)
        store.left = left
        try:
            await bank.send(*struck)
        except DependencyError:
            has_died = True
        else:
            has_died = False
        store.left = None
        await (bank.send(*struck) if is_together else bank.send_each(*reversed(struck)))
        assert bank.payloads() == whole.payloads(), f"after {left} writes"
        if not has_died:
            assert left > 1
            return
