"""Provenance: which records a record derives from, and what reopens the question."""

from __future__ import annotations

import itertools

import pytest

from guardian.core.model import Event, Slot
from guardian.core.policy import Policy
from guardian.core.rules.provenance import find_reopened, resolve_parent
from guardian.core.world import World
from tests.builders import START, corrected, erased, linked, read, retracted, written, written_data
from tests.unit.core.worlds import build_world, revision

KILN = "Kiln 4 fires at 900"
AGAIN = "So kiln 4 fires at 900"


def parents(world: World, memory_id: str) -> list[tuple[str, str]]:
    """Give the parents of the latest revision, and how each is known."""
    return [(edge.memory_id, edge.how) for edge in revision(world, memory_id).edges]


def test_a_named_parent_is_the_text_in_force() -> None:
    """The latest revision observed by then, else the earliest, else the memory that is only named."""
    world = build_world(written("a", "One", t=10), written("a", "Two", t=20))
    first, second = world.revisions("a")
    minutes = [0, 10, 15, 20, 99]
    moments = [START.replace(hour=minute // 60, minute=minute % 60) for minute in minutes]
    assert [resolve_parent(world, "a", at) for at in moments] == [first, first, first, second, second]
    assert resolve_parent(world, "nobody", moments[0]).is_unseen


def test_a_revision_without_parents_has_those_before_it() -> None:
    """Absent inherits the very records; an empty list says that there are none."""
    common = [written("p", "Old", t=0), written("a", "One", parents=["p"], t=1), written("p", "New", t=5)]
    world = build_world(*common, written("a", "Two", t=9))
    assert revision(world, "a").edges == revision(world, "a", 0).edges
    assert parents(build_world(*common, written("a", "Two", parents=[], t=9)), "a") == []


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_last_link_decides_in_every_order(order: tuple[int, ...]) -> None:
    """Of links that add and remove one parent the last by time holds; the memory itself is never a parent."""
    links: list[Event] = [
        linked("a", add=["x", "a"], t=5),
        linked("a", remove=["x", "p"], add=["y"], t=6),
        linked("a", add=["x"], t=7),
    ]
    world = build_world(written("a", parents=["p"], t=1), *[links[index] for index in order])
    assert parents(world, "a") == [("x", "linked"), ("y", "linked")]


def test_a_link_to_itself_says_nothing() -> None:
    """A self-parent is ignored, and does not even count as set by hand."""
    assert revision(build_world(written("a", parents=["p"]), linked("a", add=["a"], t=1)), "a").provenance == "declared"


def test_the_earliest_of_one_document_is_the_parent() -> None:
    """A text with the same reference that restates an earlier one; another number is another fact."""
    docs = {"src": "document", "ref": "manual"}
    world = build_world(
        written("b", AGAIN, t=1, **docs), written("c", "Kiln 4 fires at 950", t=2, **docs), written("a", KILN, t=0, **docs)
    )
    assert (parents(world, "a"), parents(world, "b"), parents(world, "c")) == ([], [("a", "inferred")], [])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_late_reads_and_late_texts_reopen_the_question(order: tuple[int, ...]) -> None:
    """Whichever of text, read and recap comes last, the recap has its parent."""
    events = [written("m", KILN, src="user", t=0), read("m", session="q", t=1), written("r", AGAIN, session="q", t=2)]
    assert parents(build_world(*[events[index] for index in order]), "r") == [("m", "inferred")]


@pytest.mark.parametrize(
    "recap",
    [
        {"t": 62, "session": "q"},
        {"t": 2, "session": "other"},
        {"t": 2, "session": "q", "src": "tool"},
        {"t": 2, "session": "q", "parents": ["z"]},
    ],
    ids=["too late", "other session", "a tool", "parents named"],
)
def test_nothing_else_is_a_recap(recap: dict[str, object]) -> None:
    """Outside the window or the session, by another source, or with parents of its own, nothing is inferred."""
    events = [written("m", KILN, src="user"), read("m", session="q", t=1), written("r", AGAIN, **recap)]  # type: ignore[arg-type]
    assert ("m", "inferred") not in parents(build_world(*events), "r")


def test_only_the_latest_reads_count() -> None:
    """With a limit of one read the text of an earlier read is not looked at, with a limit of none no text is."""
    events = [
        written("m", KILN, src="user"),
        written("z", "Depot 7 is full", src="user"),
        read("m", session="q", t=1),
        read("z", session="q", t=2),
        written("r", AGAIN, session="q", t=3),
    ]
    assert parents(build_world(*events), "r") == [("m", "inferred")]
    for limit in (1, 0):
        assert parents(build_world(*events, policy=Policy(session_reads=limit)), "r") == []


def test_a_window_may_reach_beyond_the_calendar() -> None:
    """A session in the first hour of the year 1 is a session like any other."""
    first = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "0001-01-01T00:00:02Z"]
    events = [
        written("m", KILN, src="user", t=first[0]),
        read("m", session="q", t=first[1]),
        written("r", AGAIN, session="q", t=first[2]),
    ]
    for order in itertools.permutations(events):
        assert parents(build_world(*order), "r") == [("m", "inferred")]


def test_a_text_that_loses_its_reference_is_no_parent_any_more() -> None:
    """Who had it as inferred parent is looked at again: by the reference it had."""
    inside = written_data("e", KILN, src="document", ref="manual", observed=0)
    correction = corrected("z", inside, t=0)
    events: list[Event] = [
        correction,
        written("e", KILN, src=None, observed=0, t=5),
        written("a", AGAIN, src="document", ref="manual", t=9),
    ]
    world = build_world(*events)
    assert parents(world, "a") == [("e", "inferred")]
    assert "a" in find_reopened(world, "e", Policy())
    assert parents(build_world(*events, retracted(correction, t=10)), "a") == []


def test_a_destroyed_text_is_no_inferred_parent() -> None:
    """An inferred edge goes with the text; a declared one stays."""
    events = [
        written("m", KILN, src="user"),
        read("m", session="q", t=1),
        written("r", AGAIN, session="q", t=2),
        written("d", AGAIN, parents=["m"], t=2),
        erased("m", t=3),
    ]
    world = build_world(*events)
    assert (parents(world, "r"), parents(world, "d")) == ([], [("m", "declared")])


TRAILER = "Depot Alder owns the blue trailer"
BOTH = "Summary: kiln 4 fires at 900; depot Alder owns the blue trailer"
JOIN = [
    written("m", KILN, src="user", t=0),
    written("n", TRAILER, src="user", t=0),
    read(["m", "n"], session="q", t=1),
    written("r", BOTH, session="q", t=2),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_a_summary_has_all_that_it_joins_in_every_order(order: tuple[int, ...]) -> None:
    """Both texts are inferred parents, each with its share, whichever of the four events comes last; the family is of both."""
    node = revision(build_world(*[JOIN[index] for index in order]), "r")
    assert [(edge.memory_id, edge.how) for edge in node.edges] == [("m", "inferred"), ("n", "inferred")]
    assert all(edge.similarity is not None and 0 < edge.similarity <= 1 for edge in node.edges)
    assert (node.roots, node.depth, node.provenance) == (("m", "n"), 1, "inferred")


def test_what_is_cut_off_from_a_summary_is_inferred_no_more() -> None:
    """A link by hand takes away one of several inferred parents; the other stays if it has the summary's numbers, else none is left."""
    assert parents(build_world(*JOIN, linked("r", remove=["n"], t=3)), "r") == [("m", "inferred")]
    assert parents(build_world(*JOIN, linked("r", remove=["m"], t=3)), "r") == []


def test_a_destroyed_source_leaves_the_summary_to_the_other() -> None:
    """Inference is asked again without the text that is gone."""
    plain = [
        written("m", "The hall has a red roof", src="user"),
        *JOIN[1:3],
        written("r", f"The hall has a red roof. {TRAILER}", session="q", t=2),
    ]
    assert parents(build_world(*plain), "r") == [("m", "inferred"), ("n", "inferred")]
    assert parents(build_world(*plain, erased("m", t=3)), "r") == [("n", "inferred")]


def test_a_summary_may_do_what_each_of_its_sources_may() -> None:
    """The permission is the meet of the parents: a belief among them takes all evidence away."""
    told = [written("m", KILN, src="tool", kind="fact", t=0), written("n", TRAILER, src="tool", kind="fact", t=0), *JOIN[2:]]
    believed = [told[0], written("n", TRAILER, src="user", kind="belief", t=0), *JOIN[2:]]
    slots = [revision(build_world(*events), "r").permission for events in (told, believed)]
    assert [Slot.FACTS in permission.slots for permission in slots if permission is not None] == [True, False]
