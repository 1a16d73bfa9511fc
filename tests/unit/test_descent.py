"""Laws of the look before an erasure: everything that declares descent or restates is found, and said how."""

from __future__ import annotations

from guardian.core.model import Event
from guardian.read.descent import find_descendants, find_same_words
from tests.builders import erased, linked, read, written
from tests.property.bank import Bank

SECRET = "Kiln 4 fires at 900 degrees"


async def look(*events: Event, memory_id: str = "a") -> dict[str, tuple[str, str]]:
    """Give how each memory was found, and through which, after some events."""
    bank = Bank()
    await bank.send(*events)
    return {each.memory_id: (each.how, each.through) for each in await find_descendants(bank.store, "s", memory_id)}


async def test_declared_and_inferred_descent_is_followed_and_links_are_not() -> None:
    """Over any number of steps, mixed; what is linked by hand is listed, what derives from it is not."""
    events = [
        written("a", SECRET, src="user"),
        read("a", session="day", t=1),
        written("echo", SECRET, session="day", t=2),
        written("recap", "On kilns", parents=["echo"], t=3),
        written("heir", "On kilns, too", parents=["a"], t=3),
        written("linked", "By hand", src="user"),
        linked("linked", add=["a"]),
        written("far", "From what is linked", parents=["linked"], t=4),
        written("stranger", "Nothing of it", src="user"),
    ]
    assert await look(*events) == {
        "a": ("named", ""),
        "echo": ("inferred", "a"),
        "heir": ("declared", "a"),
        "linked": ("linked", "a"),
        "recap": ("declared", "echo"),
    }


async def test_a_circle_ends_and_an_unknown_memory_is_itself() -> None:
    """Neither hangs nor invents."""
    events = [written("a", parents=["b"]), written("b", parents=["a"], t=1)]
    assert await look(*events) == {"a": ("named", ""), "b": ("declared", "a")}
    assert await look(memory_id="nobody") == {"nobody": ("named", "")}


async def test_texts_are_counted_and_dated() -> None:
    """Of revisions that still have one; of an erased memory none is left."""
    bank = Bank()
    await bank.send(written("a", "One"), written("a", "Two", t=5))
    (found,) = await find_descendants(bank.store, "s", "a")
    assert (found.records, str(found.latest)) == (2, "2026-03-01 00:05:00+00:00")
    await bank.send(erased("a", observed=9, t=9))
    (found,) = await find_descendants(bank.store, "s", "a")
    assert (found.records, found.latest) == (0, None)


async def test_what_only_says_the_same_is_named_and_is_no_descendant() -> None:
    """Another person's copy of the words is another memory; another number says something else."""
    bank = Bank()
    await bank.send(
        written("a", SECRET, src="user"),
        written("heir", "On kilns", parents=["a"], t=1),
        written("copy", f"{SECRET}!", src="user", t=2),
        written("copy of heir", "On kilns", src="user", t=3),
        written("other", "Kiln 4 fires at 950 degrees", src="user", t=4),
    )
    found = await find_descendants(bank.store, "s", "a")
    same = await find_same_words(bank.store, "s", found)
    assert {each.memory_id: (each.how, each.through) for each in same} == {
        "copy": ("same words", "a"),
        "copy of heir": ("same words", "heir"),
    }
