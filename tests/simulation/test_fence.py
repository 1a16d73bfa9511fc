"""A former owner that goes on after its successor began, turn by turn: what the marks of the fence are there for."""

from __future__ import annotations

from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from guardian.core.policy import Policy
from guardian.errors import DependencyError
from guardian.pipeline import Pipeline
from guardian.ports import Fence
from tests.builders import erased, written
from tests.simulation.faults import Fault, Faults
from tests.simulation.storage import Server, StoreClient

TEXT = "Kim is allergic to nuts"


def build_pipeline(server: Server) -> Pipeline:
    """Build the pipeline of one worker, on whose way to the server nothing fails."""
    faults = Faults(Random(0), rates=dict.fromkeys(Fault, 0.0))
    store: Any = StoreClient(server, faults)
    return Pipeline(store=store, policy_of=lambda _: Policy(), decide_in_thread=1 << 30)


def go_on(work: Coroutine[Any, Any, Any], *, until: str | None = None) -> None:
    """Let a worker go on, to before its next step of a name or to its end."""
    while True:
        try:
            pause = work.send(None)
        except StopIteration:
            return
        if until is not None and pause.place.startswith(until):
            return


def find_texts(server: Server) -> list[str]:
    """Give all texts that lie in the store."""
    return [payload["text"] for payload in server.payloads.values() if "text" in payload]


def test_a_former_owner_cannot_bring_back_an_erased_text() -> None:
    """It hangs before its write; the successor does the same batch and then the erasure; what the former one writes then is refused."""
    server = Server.build()
    assert _erase_behind(server) == "space s has a newer owner"
    assert find_texts(server) == []


def test_without_marks_an_erased_text_comes_back() -> None:
    """The mutant: the version of a point that was deleted is forgotten, and only the mark stands against the write."""
    server = Server.build(is_marked=False)
    assert _erase_behind(server) == ""
    assert find_texts(server) == [TEXT]


def _erase_behind(server: Server) -> str:
    """Erase what a former owner is about to write, let it go on, and give why it was refused."""
    event = written("kim", TEXT)
    former = build_pipeline(server).process([event], fence=Fence(version=1))
    go_on(former, until="write:")
    successor = build_pipeline(server)
    go_on(successor.process([event], fence=Fence(version=2)))
    go_on(successor.process([erased("kim", observed=9, t=9)], fence=Fence(version=3)))
    try:
        go_on(former)
    except DependencyError as exc:
        return str(exc).rsplit(": ", 1)[-1]
    return ""


@pytest.mark.parametrize("place", ["claim", "marks", "fetch", "apply", "write:"])
def test_once_a_successor_reads_its_predecessor_writes_nothing(place: str) -> None:
    """Wherever the former owner stood: the successor decides upon what stays as it is."""
    server = Server.build()
    former = build_pipeline(server).process([written("kim", TEXT)], fence=Fence(version=1))
    go_on(former, until=place)
    successor = build_pipeline(server).process([written("gate", "Gate 4")], fence=Fence(version=2))
    go_on(successor, until="fetch")
    with pytest.raises(DependencyError, match="space s has a newer owner"):
        go_on(former)
    go_on(successor)
    assert find_texts(server) == ["Gate 4"]
