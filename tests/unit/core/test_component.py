"""Order for a recomputation, against its definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.core.component import sort_components

NODES = "abcdefg"
graphs = st.dictionaries(st.sampled_from(NODES), st.lists(st.sampled_from(NODES + "x"), max_size=4))


def reach(graph: dict[str, list[str]], start: str) -> set[str]:
    """Give all that is derived from over any path, within the graph."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for parent in graph.get(waiting.pop(), ()):
            if parent in graph and parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


@given(graphs)
def test_a_component_is_what_derives_from_each_other(graph: dict[str, list[str]]) -> None:
    """Two nodes are together exactly when each is reached from the other; none is lost or doubled."""
    components = sort_components(graph, lambda node: graph[node])
    assert sorted(node for members in components for node in members) == sorted(graph)
    place = {node: number for number, members in enumerate(components) for node in members}
    for one in graph:
        for other in graph:
            is_mutual = one == other or (other in reach(graph, one) and one in reach(graph, other))
            assert (place[one] == place[other]) == is_mutual


@given(graphs)
def test_parents_come_first(graph: dict[str, list[str]]) -> None:
    """A component stands after every component that it derives from."""
    place = {node: n for n, members in enumerate(sort_components(graph, lambda node: graph[node])) for node in members}
    assert all(place[parent] <= place[node] for node in graph for parent in graph[node] if parent in graph)


def test_depth_has_no_limit() -> None:
    """A chain much longer than the interpreter's stack is sorted."""
    length = 20_000
    components = sort_components([str(n) for n in reversed(range(length))], chain_parent)
    assert components[0] == ["0"]
    assert components[-1] == [str(length - 1)]


def chain_parent(node: str) -> list[str]:
    """Give the node before in a chain."""
    return [str(int(node) - 1)]
