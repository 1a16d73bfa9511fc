"""A LangGraph store over Guardian: graphs keep their `store.put` and `store.search`, and memory gets provenance and corrections.

```python
with open_store(load_settings(), space="notes") as store:
    graph = builder.compile(store=store)
```

What is kept as LangGraph has it: `get`, `put`, `search` with a query or without, filters with their operators, `delete`, `list_namespaces`,
each sync and async; in a batch what is read is read before anything is put, and of several puts of one key the last counts. What differs,
and is the point: an item that was corrected, or that derives from one that was, is neither found nor given any more; and a restatement adds
nothing to a search. TTLs are refused, as LangGraph lets a store say. An item's text is found as `guardian replay` finds it in LangGraph's
own tables, so both give the same memories; `index=[…]` names the fields that are its text instead, and with `index=False` no query finds it.
A value is plain JSON, as in LangGraph's stores on disk, with one difference: NaN and infinity are refused, where those make them null.

Run it: `python examples/langgraph_store.py FOLDER`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from guardian.core.export import build_row
from guardian.core.model import Status
from guardian.core.point import PointKind
from guardian.serve.access import Access, authorize
from guardian.serve.body import MAX_QUESTION_CHARS, SearchRequest, WriteRequest
from guardian.serve.key import Key, Right
from guardian.serve.problem import ProblemError
from guardian.serve.thread import LoopThread
from guardian.settings import Settings, load_settings
from guardian.sources.formats.langgraph.item import name_memory, read_item
from guardian.wiring import open_access

Namespace = tuple[str, ...]
# Tells Guardian what LangGraph's item does not say: kind, source, parents, subject, scope, as in the data of `memory.written`.
Describe = Callable[[Namespace, Mapping[str, Any]], Mapping[str, Any]]
_STANDING = frozenset({Status.ACTIVE.value, Status.VERIFIED.value})
# A search looks for more than is asked, as filters and prefixes are applied to what it finds.
_OVERFETCH, _MOST_HITS = 4, 100
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def say_agent(namespace: Namespace, value: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG001 # the callable's form
    """Say of every item that the agent wrote it."""
    return {"source": {"kind": "agent"}}


class GuardianStore(BaseStore):
    """A LangGraph store whose items are memories of one space.

    Args:
        thread: The loop in which the access lives; graphs call from loops and threads of their own.
        access: Open.
        key: Whose rights the graph has.
        space: Where its memories lie.
        describe: What else is known of an item.
    """

    def __init__(self, thread: LoopThread, access: Access, key: Key, *, space: str, describe: Describe = say_agent) -> None:
        self._thread, self._access, self._key, self._space, self._describe = thread, access, key, space, describe

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations one after the other."""
        return self._thread.run(self._do_all(tuple(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same for a caller with a loop."""
        return await self._thread.wait(self._do_all(tuple(ops)))

    async def _do_all(self, ops: Sequence[Op]) -> list[Result]:
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        for op in ops:
            _check(op)
        asked = {place: None if op.value is None else self._build_write(op) for place, op in puts.items()}
        results = [None if isinstance(op, PutOp) else await self._look(op) for op in ops]
        for (namespace, key), write in asked.items():
            if write is None:
                await self._access.delete(self._key, self._space, _name(namespace, key))
            else:
                await self._access.write(self._key, self._space, write)
        return results

    async def _look(self, op: Op) -> Result:
        match op:
            case GetOp():
                return await self._get(op)
            case SearchOp():
                return await (self._search(op, op.query) if op.query else self._list_items(op))
            case ListNamespacesOp():
                return await self._list_namespaces(op)
            case _:
                raise ValueError(f"Unknown operation type: {type(op)}")

    def _build_write(self, op: PutOp) -> WriteRequest:
        value = orjson.loads(orjson.dumps(_make_plain(op.value, "value")))
        item = read_item(
            {"namespace": list(op.namespace), "key": op.key, "value": value, "updated_at": datetime.now(UTC).isoformat()}
        )
        named = [text for path in op.index or () for text in get_text_at_path(value, path)]
        is_indexed = op.index is None or bool(named)
        kept = {"namespace": list(op.namespace), "key": op.key, "value": value, **({} if is_indexed else {"index": False})}
        text = "; ".join(named) if named else item.text
        body = {"memory_id": _name(op.namespace, op.key), "text": text, "metadata": {"langgraph": kept}}
        return WriteRequest.model_validate({**body, **self._describe(op.namespace, value)})

    async def _get(self, op: GetOp) -> Item | None:
        try:
            known = await self._access.explain(self._key, self._space, _name(op.namespace, op.key))
        except ProblemError as exc:
            if exc.status == 404:
                return None
            raise
        told = [revision for revision in known.revisions if revision.current and revision.status in _STANDING]
        if not told or "langgraph" not in told[0].metadata:
            return None
        times = [revision.observed_at for revision in known.revisions if revision.observed_at is not None]
        kept = told[0].metadata["langgraph"]
        return Item(
            value=kept["value"],
            key=kept["key"],
            namespace=tuple(kept["namespace"]),
            created_at=datetime.fromisoformat(min(times)),
            updated_at=datetime.fromisoformat(told[0].observed_at or max(times)),
        )

    async def _search(self, op: SearchOp, query: str) -> list[SearchItem]:
        most = min(_MOST_HITS, max(1, (op.offset + op.limit) * _OVERFETCH))
        text = query[:MAX_QUESTION_CHARS]  # what is searched for is shorter still
        found = await self._access.search(self._key, self._space, SearchRequest(text=text, limit=most))
        items = []
        for hit in found.hits:
            kept = hit.metadata.get("langgraph")
            if kept is not None and kept.get("index") is not False and _fits(kept, op):
                seen = await self._get(GetOp(tuple(kept["namespace"]), kept["key"]))
                if seen is not None:
                    items.append(_with_score(seen, hit.score))
        return items[op.offset : op.offset + op.limit]

    async def _list_items(self, op: SearchOp) -> list[SearchItem]:
        places = sorted(
            (kept["namespace"], kept["key"]) for kept in [each async for each in self._iter_kept()] if _fits(kept, op)
        )
        seen = [await self._get(GetOp(tuple(namespace), key)) for namespace, key in places[op.offset : op.offset + op.limit]]
        return [_with_score(item, None) for item in seen if item is not None]

    async def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        spaces = {tuple(kept["namespace"]) async for kept in self._iter_kept()}
        fitting = {name[: op.max_depth] for name in spaces if all(_matches(name, each) for each in op.match_conditions or ())}
        return sorted(fitting)[op.offset : op.offset + op.limit]

    async def _iter_kept(self) -> Any:
        """Give what LangGraph put, of each memory that stands."""
        authorize(self._key, self._space, Right.READ)
        async for point in self._access.store.iter_points(space=self._space, kinds={PointKind.RECORD}):
            row = build_row(point)
            if row["current"] and row["status"] in _STANDING and "langgraph" in row["metadata"]:
                yield row["metadata"]["langgraph"]


def _name(namespace: Namespace, key: str) -> str:
    return name_memory(".".join(namespace), key)


def _with_score(item: Item, score: float | None) -> SearchItem:
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def _fits(kept: Mapping[str, Any], op: SearchOp) -> bool:
    """Tell whether an item lies under the prefix and passes the filter."""
    is_under = tuple(kept["namespace"])[: len(op.namespace_prefix)] == tuple(op.namespace_prefix)
    return is_under and all(_passes(kept["value"].get(name), wanted) for name, wanted in (op.filter or {}).items())


def _passes(value: Any, wanted: Any) -> bool:
    """Compare as LangGraph does: an object needs the fields that are named, a list all of its parts."""
    if isinstance(wanted, dict):
        if any(str(name).startswith("$") for name in wanted):
            return all(_applies(value, name, limit) for name, limit in wanted.items())
        return isinstance(value, dict) and all(_passes(value.get(name), part) for name, part in wanted.items())
    if isinstance(wanted, list | tuple):
        is_alike = isinstance(value, list) and len(value) == len(wanted)
        return is_alike and all(_passes(own, part) for own, part in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _applies(value: Any, name: str, limit: Any) -> bool:
    """Apply an operator; of numbers as numbers, also where they are written as texts."""
    if name not in _OPERATORS:
        raise ValueError(f"Unsupported operator: {name}")
    if name in {"$eq", "$ne"}:
        return bool(_OPERATORS[name](value, limit))
    with contextlib.suppress(TypeError, ValueError):  # other texts are compared as such
        value, limit = float(value), float(limit)
    try:
        return bool(_OPERATORS[name](value, limit))
    except TypeError:  # no value, or one of another type: not comparable
        return False


def _check(op: Op) -> None:
    """Refuse what a caller got wrong before anything of its batch is done: what `put` checks, `batch` has to.

    Raises:
        ValueError: It is no operation, or its namespace is none.
        NotImplementedError: It has a TTL.
    """
    if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):
        raise ValueError(f"Unknown operation type: {type(op)}")  # noqa: TRY004 # as LangGraph's own stores
    validate_op_namespace(op)
    if isinstance(op, PutOp) and op.ttl is not None:
        raise NotImplementedError("TTL is not supported by GuardianStore: leave it out, or set ttl=None.")


def _make_plain(value: Any, path: str) -> Any:
    """Give a value as JSON has it; what JSON has no word for would silently become another value.

    Raises:
        ValueError: A number is none, or infinite.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return {name: _make_plain(part, f"{path}.{name}") for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_make_plain(part, f"{path}[{place}]") for place, part in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{path} is {value}, which JSON cannot hold: leave it out, or put a text or None there.")
    return value


def _matches(name: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(name) < len(path):
        return False
    part = name[: len(path)] if condition.match_type == "prefix" else name[len(name) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


@contextlib.contextmanager
def open_store(
    settings: Settings, *, space: str, place: str | None = None, key: Key | None = None, describe: Describe = say_agent
) -> Iterator[GuardianStore]:
    """Open a store for graphs of this process.

    Args:
        settings: Guardian's.
        space: Where its memories lie.
        place: Folder of an embedded store, or URL of a server; None for the settings'.
        key: Whose rights it has; None for an agent that may read and write this space.
        describe: What else is known of an item.
    """
    rights = frozenset({Right.READ, Right.WRITE})
    own = key or Key(name="langgraph", spaces=(space,), may=rights, actor="langgraph", source="/langgraph")
    with LoopThread() as thread:
        yield GuardianStore(thread, thread.enter(open_access(settings, place)), own, space=space, describe=describe)


def main(folder: Path) -> None:
    """Put, search and get."""
    with open_store(load_settings(), space="notes", place=str(folder)) as store:
        store.put(("ann", "prices"), "arabica", {"content": "Arabica costs 20 dollars a kilo"})
        for item in store.search(("ann",), query="What does Arabica cost?"):
            print(item.namespace, item.key, item.value, item.score)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python examples/langgraph_store.py FOLDER")
    main(Path(sys.argv[1]))
