"""Order for a recomputation: parents before children, circles as one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable


def sort_components(ids: Collection[str], parents_of: Callable[[str], Iterable[str]]) -> list[list[str]]:
    """Group ids into strongly connected components, each after all components it derives from (Tarjan 1972, iterative).

    Args:
        ids: The nodes to sort; the order within a component and among independent ones follows this collection.
        parents_of: Ids of the parents; those outside `ids` are passed over.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_ids: set[str] = set()
    stack: list[str] = []
    components: list[list[str]] = []
    members = ids if isinstance(ids, (set, frozenset, dict)) else set(ids)
    for start in ids:
        if start in index:
            continue
        index[start] = low[start] = len(index)
        stack.append(start)
        open_ids.add(start)
        work = [(start, iter(parents_of(start)))]
        while work:
            current, parents = work[-1]
            for parent in parents:
                if parent not in members:
                    continue
                if parent not in index:
                    index[parent] = low[parent] = len(index)
                    stack.append(parent)
                    open_ids.add(parent)
                    work.append((parent, iter(parents_of(parent))))
                    break
                if parent in open_ids:
                    low[current] = min(low[current], index[parent])
            else:
                work.pop()
                if work:
                    below = work[-1][0]
                    low[below] = min(low[below], low[current])
                if low[current] == index[current]:
                    component = []
                    while True:
                        popped = stack.pop()
                        open_ids.discard(popped)
                        component.append(popped)
                        if popped == current:
                            break
                    components.append(component)
    return components
