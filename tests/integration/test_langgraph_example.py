"""The LangGraph example against the real package: a graph over Guardian, and each operation beside LangGraph's own store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

import orjson
import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from guardian.serve.body import CorrectRequest
from guardian.settings import Settings
from tests.integration.agent_example import REVIEWER, load, prepare


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    """Give settings of a test's own."""
    return prepare(monkeypatch, tmp_path)


@pytest.fixture
def store(settings: Settings, fast_path: Path) -> Iterator[Any]:
    """Give Guardian as a LangGraph store."""
    with load("langgraph_store").open_store(settings, space="notes", place=str(fast_path / "store")) as store:
        yield store


ITEMS: Sequence[tuple[tuple[str, ...], str, dict[str, Any]]] = (
    (("ann", "prices"), "arabica", {"content": "Arabica costs 16 dollars", "year": 2025}),
    (("ann", "prices"), "robusta", {"content": "Robusta costs 9 dollars", "year": 2026}),
    (("ann", "people"), "bob", {"name": "Bob", "role": "roaster"}),
    (("eve",), "note", {"content": "Arabica is overrated", "year": 2024}),
)


def describe(items: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Give what both stores must agree on."""
    return sorted((item.namespace, item.key, item.value) for item in items)


def test_it_does_what_langgraphs_own_store_does(store: BaseStore) -> None:
    """Every operation beside the store of the package, on the same items."""
    own = InMemoryStore()
    for each in (own, store):
        for namespace, key, value in ITEMS:
            each.put(namespace, key, value)
        each.put(("ann", "prices"), "arabica", {"content": "Arabica costs 20 dollars", "year": 2026})
        each.put(("eve",), "gone", {"content": "Nothing"})
        each.delete(("eve",), "gone")
    looks: list[Callable[[BaseStore], Any]] = [
        lambda each: describe([item for item in [each.get(namespace, key) for namespace, key, _ in ITEMS] if item]),
        lambda each: each.get(("eve",), "gone"),
        lambda each: describe(each.search(("ann",))),
        lambda each: describe(each.search((), filter={"year": 2026})),
        lambda each: describe(each.search(("ann", "prices"), filter={"year": {"$gte": 2026}})),
        lambda each: describe(each.search(("eve",), filter={"year": {"$lt": 2025, "$ne": 2023}})),
        lambda each: len(each.search((), limit=2, offset=1)),
        lambda each: sorted(each.list_namespaces()),
        lambda each: sorted(each.list_namespaces(prefix=("ann",))),
        lambda each: sorted(each.list_namespaces(suffix=("prices",))),
        lambda each: sorted(each.list_namespaces(max_depth=1)),
        lambda each: describe(each.search(("ann",), query="")),
        lambda each: each.search(("ann",), query="Arabica", limit=0),
        lambda each: bool(each.search(("ann",), query="Arabica " * 2_000)),
        lambda each: each.get(("ann",), "arabica"),  # last: LangGraph's own store lists a namespace that was only asked for
    ]
    for number, look in enumerate(looks):
        assert look(store) == look(own), number


def test_what_langgraphs_own_store_refuses_is_refused(store: BaseStore) -> None:
    """An operator or an operation that is not known is told, not passed over."""
    own = InMemoryStore()
    for each in (own, store):
        each.put(("ann",), "note", {"content": "Arabica", "year": 2025})
        with pytest.raises(ValueError, match=r"Unsupported operator: \$in"):
            each.search(("ann",), filter={"year": {"$in": [2025]}})
        with pytest.raises(ValueError, match="Unknown operation type"):
            each.batch(["get"])  # type: ignore[list-item] # what is no operation


def test_what_no_store_on_disk_can_keep_is_refused_and_never_made_null(store: BaseStore) -> None:
    """NaN and infinity at any depth, by their place, and nothing of that batch is done; what JSON can hold comes back as it does there."""
    for wrong in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match=r"value\.deep\[1\]\.score is -?(nan|inf)"):
            store.put(("ann",), "note", {"content": "Arabica", "deep": [1, {"score": wrong}]})
    for wrong in ({"content": "Arabica", "tags": {"a", "b"}}, {"content": "Arabica", 7: "seven"}, {"content": "\ud800"}):
        with pytest.raises(TypeError):
            store.batch([PutOp(("ann",), "whole", {"content": "Robusta"}), PutOp(("ann",), "note", wrong)])
    assert store.search(("ann",)) == []
    kept = {"content": "Arabica", "pair": (1, 2.5), "when": datetime(2026, 3, 14, tzinfo=UTC), "none": None, "yes": True}
    store.put(("ann",), "note", kept)
    found = store.get(("ann",), "note")
    assert found is not None
    assert found.value == orjson.loads(orjson.dumps(kept))  # as LangGraph's stores on disk write and read it


def test_a_batch_reads_before_it_puts_and_the_last_put_counts(store: BaseStore) -> None:
    """As in LangGraph's own: results stand at the places of their operations, and one fault leaves the whole batch undone."""
    own = InMemoryStore()
    told = []
    for each in (own, store):
        each.put(("ann",), "old", {"content": "Arabica costs 16 dollars"})
        ops = [
            PutOp(("ann",), "new", {"content": "Robusta costs 8 dollars"}),
            GetOp(("ann",), "new"),
            PutOp(("ann",), "old", None),
            GetOp(("ann",), "old"),
            SearchOp(("ann",)),
            ListNamespacesOp(),
            PutOp(("ann",), "new", {"content": "Robusta costs 9 dollars"}),
            PutOp(("eve",), "gone", {"content": "Tea"}),
            PutOp(("eve",), "gone", None),
        ]
        before = each.batch(ops)
        assert before[3] is not None
        told.append((before[:3], before[3].value, describe(before[4]), before[5:], describe(each.search(()))))
        with pytest.raises((ValueError, NotImplementedError)):
            each.batch([PutOp(("ann",), "half", {"content": "Tea"}), "no operation"])  # type: ignore[list-item] # what is none
        assert each.get(("ann",), "half") is None
    assert told[0] == told[1]


async def test_a_batch_of_another_loop_gives_the_same(store: BaseStore) -> None:
    """`abatch` and the calls made of it."""
    await store.aput(("ann",), "note", {"content": "Arabica"})
    results = await store.abatch([GetOp(("ann",), "note"), PutOp(("ann",), "note", None), GetOp(("ann",), "none")])
    assert results[0] is not None
    assert results[1:] == [None, None]
    assert await store.aget(("ann",), "note") is None


def test_what_put_refuses_no_batch_takes(store: BaseStore) -> None:
    """A TTL, and a label that would be another namespace."""
    for call in (
        lambda: store.put(("ann",), "note", {"content": "Tea"}, ttl=5),
        lambda: store.batch([PutOp(("ann",), "note", {"content": "Tea"}, ttl=5)]),
    ):
        with pytest.raises(NotImplementedError, match="TTL"):
            call()
    for op in (PutOp(("a.b",), "note", {"content": "Tea"}), GetOp(("a.b",), "note"), SearchOp(("",))):
        with pytest.raises(ValueError, match=r"[Nn]amespace label"):
            store.batch([op])
    assert store.list_namespaces() == []


def test_an_item_without_an_index_is_given_and_listed_and_found_by_no_query(store: BaseStore) -> None:
    """`index=False` hides from queries alone, until it is put again with one; a list names the fields that are searched."""
    value = {"content": "Arabica costs 20 dollars", "note": "asked of the roaster"}
    store.put(("ann",), "note", value, index=False)
    assert store.search(("ann",), query="What does Arabica cost?") == []
    assert describe(store.search(("ann",))) == [(("ann",), "note", value)]
    store.put(("ann",), "note", value)
    assert [item.key for item in store.search(("ann",), query="What does Arabica cost?")] == ["note"]
    store.put(("ann",), "note", value, index=["note"])
    assert store.search(("ann",), query="Arabica dollars") == []
    (found,) = store.search(("ann",), query="Who was asked, the roaster?")
    assert found.value == value
    store.put(("ann",), "note", value, index=["nowhere"])
    assert store.search(("ann",), query="Arabica roaster") == []


def test_filters_and_listings_are_those_of_langgraphs_own_store(store: BaseStore) -> None:
    """Objects by the fields that are named, lists by all parts, numbers as numbers; wildcards, depth, and pages of namespaces."""
    own = InMemoryStore()
    values = [
        {"content": "a1", "meta": {"lang": "en", "size": {"w": 3}}, "tags": ["x", "y"], "year": 2025},
        {"content": "b2", "meta": {"lang": "de", "size": {"w": 5}}, "tags": ["x"], "year": "2026"},
        {"content": "c3", "meta": "en", "tags": [{"n": 1, "m": 2}], "year": 9},
    ]
    for each in (own, store):
        for number, value in enumerate(values):
            each.put(("docs", f"user{number}", "v1"), f"k{number}", value)
        each.put(("docs", "user0", "v2"), "k", {"content": "d4", "year": 1})
        each.put(("other", "user0"), "k", {"content": "e5", "year": 1})
    filters: list[dict[str, Any]] = [
        {"meta": {"lang": "en"}},
        {"meta": {"lang": {"$ne": "en"}}, "content": "b2"},
        {"tags": ["x"]},
        {"tags": ("x", "y")},
        {"tags": [{"n": 1}]},
        {"year": {"$gt": 100}},
        {"year": {"$gte": "2026"}},
        {"year": {"$lt": 2026, "$gt": 8}},
        {"year": {"$eq": 2026}},
        {"missing": None},
        {"content": "a1", "year": 2025},
    ]
    for wanted in filters:
        assert describe(store.search(("docs",), filter=wanted)) == describe(own.search(("docs",), filter=wanted)), wanted
    listings: list[dict[str, Any]] = [
        {},
        {"prefix": ("docs", "*", "v1")},
        {"suffix": ("user0", "*")},
        {"suffix": ("*",)},
        {"prefix": ("docs",), "suffix": ("v1",)},
        {"max_depth": 2},
        {"prefix": ("docs",), "max_depth": 1},
        {"limit": 2, "offset": 1},
        {"max_depth": 2, "limit": 1, "offset": 2},
        {"prefix": ("docs", "user0", "v1", "deeper")},
    ]
    for listing in listings:
        assert store.list_namespaces(**listing) == own.list_namespaces(**listing), listing


def test_a_search_with_words_finds_under_its_prefix(store: BaseStore) -> None:
    """The best first, with a score; nothing of another namespace."""
    for namespace, key, value in ITEMS:
        store.put(namespace, key, value)
    found = store.search(("ann",), query="What does Arabica cost?")
    assert found[0].key == "arabica"
    assert found[0].score is not None
    assert all(item.namespace[0] == "ann" for item in found)


def test_a_corrected_item_is_given_no_more(store: Any) -> None:
    """That is what LangGraph's own store does not do; what derives from it is gone with it."""
    store._describe = lambda namespace, value: {
        "source": {"kind": "agent"},
        **({"parents": ["ann.prices/arabica"]} if value.get("recap") else {}),
    }
    store.put(("ann", "prices"), "arabica", {"content": "Arabica costs 16 dollars"})
    store.put(("ann", "recaps"), "r", {"content": "We pay 16 dollars for Arabica", "recap": True})
    asked = CorrectRequest.model_validate({"targets": ["ann.prices/arabica"]})
    told = store._thread.run(store._access.correct(REVIEWER, "notes", asked))
    assert told.disposition == "applied"
    assert store.get(("ann", "prices"), "arabica") is None
    assert store.get(("ann", "recaps"), "r") is None
    assert store.search((), query="Arabica") == []
    assert store.search(()) == []


class State(TypedDict):
    """The state of the graph."""

    question: str
    answer: str


async def test_a_graph_remembers_through_it(store: BaseStore) -> None:
    """A compiled graph gets the store as its own, and a later run reads what an earlier one put; called with a loop and without."""

    def remember(state: State, *, store: BaseStore) -> dict[str, str]:
        store.put(("ann",), "fact", {"content": state["question"]})
        return {"answer": "noted"}

    async def recall(state: State, *, store: BaseStore) -> dict[str, str]:
        found = await store.asearch(("ann",), query=state["question"])
        return {"answer": found[0].value["content"]}

    def build(node: Any) -> Any:
        builder = StateGraph(State)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        builder.add_edge("node", END)
        return builder.compile(store=store)

    build(remember).invoke({"question": "Arabica costs 20 dollars", "answer": ""})
    told = await build(recall).ainvoke({"question": "What does Arabica cost?", "answer": ""})
    assert told["answer"] == "Arabica costs 20 dollars"
