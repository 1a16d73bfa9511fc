"""Standing within a memory: one current revision, and what a deletion covers."""

from __future__ import annotations

import itertools

from guardian.core.model import Status
from tests.builders import deleted, erased, written
from tests.unit.core.worlds import build_world


def currents(*events: object) -> list[bool]:
    """Give which revisions of the one memory are current, oldest first."""
    return [node.is_current for node in build_world(*events).revisions("a")]  # type: ignore[arg-type]


OLD = written("a", "One", src="tool", verified=True, t=0)
NEW = written("a", "Two", t=10)
NEWER = written("a", "Three", src="tool", verified=True, t=20)


def test_the_verified_ranks_before_the_later() -> None:
    """An unverified rewrite never displaces a verified text; a verified one does."""
    assert currents(OLD, NEW) == [True, False]
    assert currents(OLD, NEW, NEWER) == [False, False, True]
    assert currents(written("a", "One", t=0), NEW) == [False, True]


def test_what_is_not_deleted_ranks_first() -> None:
    """A deletion covers what was observed up to it; a later text stands though it is not verified."""
    assert currents(OLD, NEW, deleted("a", observed=5, t=5)) == [False, True]
    old, new = build_world(OLD, NEW, deleted("a", observed=5, t=5)).revisions("a")
    assert (old.deleted_by is not None, new.deleted_by) == (True, None)
    assert currents(OLD, NEW, deleted("a", observed=30, t=30)) == [True, False]


def test_the_first_deletion_is_named() -> None:
    """Of several that cover a revision the least by (time, source, id) is the reason, in every order."""
    first, second = deleted("a", observed=9, t=9, id="d2"), deleted("a", observed=12, t=12, id="d1")
    for order in itertools.permutations([OLD, first, second]):
        (node,) = build_world(*order).revisions("a")
        assert node.deleted_by == "/test#d2"


def test_an_erased_revision_ranks_last() -> None:
    """What was destroyed is current only where nothing else is left."""
    world = build_world(OLD, NEW, erased("a", observed=5, t=5))
    assert [(node.status, node.is_current) for node in world.revisions("a")] == [(Status.ERASED, False), (Status.ACTIVE, True)]
    assert currents(OLD, erased("a", observed=5, t=5)) == [True]


def test_a_superseded_revision_names_the_current_one() -> None:
    """The reason `revised` gives the revision that ranks before it."""
    old, new = build_world(written("a", "One", t=0), NEW).revisions("a")
    assert (old.current_revision, new.current_revision) == (new.revision, None)
