"""Laws of the memory of vectors in front of a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.embed.cache import VectorCache
from guardian.embed.port import Vector
from guardian.errors import ConfigError, DependencyError, RecordError

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "é", "e\u0301", "", "\ud800"]), max_size=8)


class Model:
    """A model of one component, different for every text, that writes down what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def __call__(self, texts: list[str]) -> list[Vector]:
        """Give a vector made of the text's code points."""
        self.asked.append(texts)
        return [(1.0 + sum(map(ord, text)),) for text in texts]


@given(batches=st.lists(TEXTS, max_size=5), entries=st.integers(0, 4))
async def test_a_cached_answer_equals_the_models_own(batches: list[list[str]], entries: int) -> None:
    """Hits and misses cannot be told apart, and the bound holds, at every capacity."""
    cache, model = VectorCache(entries=entries), Model()
    for batch in batches:
        expected = [(1.0 + sum(map(ord, "é" if text == "e\u0301" else text)),) for text in batch]
        assert await cache.embed(batch, model) == expected
        assert len(cache) <= entries


async def test_only_distinct_unknown_texts_reach_the_model() -> None:
    """Texts equal in NFC count as one; known ones are not asked again."""
    cache, model = VectorCache(entries=10), Model()
    await cache.embed(["a", "e\u0301", "a", "é"], model)
    await cache.embed(["é", "b", "a"], model)
    assert model.asked == [["a", "é"], ["b"]]


async def test_the_text_asked_for_longest_ago_is_forgotten_first() -> None:
    """A hit renews a text."""
    cache, model = VectorCache(entries=2), Model()
    for text in ["a", "b", "a", "c", "a", "b"]:
        await cache.embed([text], model)
    assert model.asked == [["a"], ["b"], ["c"], ["b"]]


async def test_nothing_is_asked_for_nothing() -> None:
    """An empty batch does not wake the model."""
    model = Model()
    assert await VectorCache(entries=1).embed([], model) == []
    assert model.asked == []


async def test_a_blamed_text_is_named_by_the_callers_index() -> None:
    """Known and repeated texts before it do not shift the blame."""
    cache = VectorCache(entries=10)
    await cache.embed(["known"], Model())

    async def refuse_the_second(texts: list[str]) -> list[Vector]:
        assert texts == ["good", "bad"]
        raise RecordError("vector_unusable", "why", path="texts[1]")

    with pytest.raises(RecordError) as caught:
        await cache.embed(["known", "good", "good", "known", "bad"], refuse_the_second)
    assert caught.value.path == "texts[4]"


async def test_a_failed_call_leaves_nothing_behind() -> None:
    """The next call asks for the same texts again."""
    cache, model = VectorCache(entries=10), Model()

    async def fail(texts: list[str]) -> list[Vector]:
        raise DependencyError("away", dependency="model")

    with pytest.raises(DependencyError):
        await cache.embed(["a"], fail)
    assert len(cache) == 0
    assert await cache.embed(["a"], model) == [(98.0,)]


def test_a_negative_capacity_is_a_wrong_setting() -> None:
    """The message names the setting."""
    with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__CACHE_ENTRIES"):
        VectorCache(entries=-1)


async def test_an_erased_text_leaves_no_vector() -> None:
    """Nor any other spelling of it; others stay, and the text may be asked again."""
    cache, model = VectorCache(entries=10), Model()
    await cache.embed(["é", "b"], model)
    cache.forget(["e\u0301", "never seen"])
    assert len(cache) == 1
    await cache.embed(["b", "é"], model)
    assert model.asked == [["é", "b"], ["é"]]


async def test_a_text_erased_while_the_model_is_at_work_is_not_kept() -> None:
    """Its vector is given to who asked, and remembered by nobody."""
    cache, model = VectorCache(entries=10), Model()

    async def erase_meanwhile(texts: list[str]) -> list[Vector]:
        cache.forget(texts)
        return await model(texts)

    assert await cache.embed(["a"], erase_meanwhile) == [(98.0,)]
    assert len(cache) == 0
