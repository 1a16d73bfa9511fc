"""Laws of the check that every embedder's answer passes."""

from __future__ import annotations

import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.point import MAX_NORM, MIN_NORM
from guardian.embed.given import GivenEmbedder
from guardian.embed.port import blame_text, check_vectors, text_index
from guardian.errors import ConfigError, DependencyError, InvariantError, RecordError

FAULTY = [
    pytest.param([0.0, 0.0], id="zero"),
    pytest.param([1.0, math.nan], id="nan"),
    pytest.param([math.inf, 1.0], id="infinite"),
    pytest.param([math.inf, math.nan], id="infinite-and-nan"),
    pytest.param([1e300, 0.0], id="overflows-float32"),
    pytest.param([1e-60, 0.0], id="underflows-float32"),
    pytest.param([1e30, 0.0], id="square-overflows-float32"),
    pytest.param([1e-30, 0.0], id="square-underflows-float32"),
]


@given(st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=1, max_size=4))
def test_what_passes_is_float32_of_the_size_and_has_a_direction(rows: list[list[float]]) -> None:
    """Whatever comes in, only usable vectors come out, component by component as they were."""
    try:
        vectors = check_vectors(rows, expected=len(rows), size=3, model="m")
    except (DependencyError, RecordError):
        assert any(not MIN_NORM <= math.hypot(*row) <= MAX_NORM for row in rows)
        return
    assert vectors == [tuple(row) for row in rows]
    assert all(MIN_NORM <= math.hypot(*vector) <= MAX_NORM for vector in vectors)


def test_doubles_are_rounded_to_what_a_store_keeps() -> None:
    """A vector equals itself after a round trip through 32-bit floats."""
    [vector] = check_vectors([[0.1, 1 / 3]], expected=1, size=2, model="m")
    assert vector == tuple(array("f", vector))


@pytest.mark.parametrize("faulty", FAULTY)
def test_one_unusable_vector_blames_its_text(faulty: list[float]) -> None:
    """The error names the index of the text, so that the others can go on."""
    with pytest.raises(RecordError) as caught:
        check_vectors([[1.0, 2.0], faulty, [3.0, 4.0]], expected=3, size=2, model="m")
    assert (caught.value.reason, caught.value.path) == ("vector_unusable", "texts[1]")


@pytest.mark.parametrize("faulty", FAULTY)
def test_only_unusable_vectors_blame_the_model(faulty: list[float]) -> None:
    """When nothing of several is usable, no text is at fault."""
    with pytest.raises(DependencyError) as caught:
        check_vectors([faulty, faulty], expected=2, size=2, model="m")
    assert caught.value.dependency == "model"


def test_a_single_unusable_vector_blames_its_text() -> None:
    """One text alone cannot hold a partition for ever."""
    with pytest.raises(RecordError):
        check_vectors([[0.0, 0.0]], expected=1, size=2, model="m")


@pytest.mark.parametrize("rows", [[], [[1.0]], [[1.0], [1.0], [1.0]]])
def test_another_number_of_vectors_is_the_models_fault(rows: list[list[float]]) -> None:
    """Vectors are never matched to the wrong texts."""
    with pytest.raises(DependencyError, match="for 2 texts"):
        check_vectors(rows, expected=2, size=1, model="m")


@pytest.mark.parametrize("row", [["a", "b"], [None, 1.0], [[1.0], [2.0]]])
def test_what_is_no_number_is_the_models_fault(row: list[float]) -> None:
    """Text in the place of a number does not reach the store."""
    with pytest.raises(DependencyError, match="no number"):
        check_vectors([row], expected=1, size=2, model="m")


@pytest.mark.parametrize("row", [[1.0], [1.0, 2.0, 3.0], []])
def test_another_size_is_a_wrong_setting(row: list[float]) -> None:
    """The message names the setting and the mend."""
    with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__MODEL") as caught:
        check_vectors([row], expected=1, size=2, model="m")
    assert caught.value.setting == "GUARDIAN_EMBEDDING__MODEL"


def test_an_unknown_size_is_taken_from_the_answer_but_never_zero() -> None:
    """The first answer may tell the size; a vector without components has no direction."""
    assert check_vectors([[1.0, 2.0]], expected=1, size=None, model="m") == [(1.0, 2.0)]
    with pytest.raises(RecordError):
        check_vectors([[]], expected=1, size=None, model="m")


def test_blame_moves_to_another_index_and_keeps_the_rest() -> None:
    """Reason and message stay as they were."""
    moved = blame_text(RecordError("vector_unusable", "why", path="texts[3]"), 40)
    assert (moved.reason, str(moved), text_index(moved)) == ("vector_unusable", "why", 40)


@pytest.mark.parametrize("size", [0, -1])
def test_given_vectors_have_at_least_one_component(size: int) -> None:
    """A size that no vector has is refused by name."""
    with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__SIZE"):
        GivenEmbedder(size=size)


async def test_given_refuses_to_embed_a_text() -> None:
    """Asking it is a fault of the caller."""
    with pytest.raises(InvariantError):
        await GivenEmbedder(size=4).embed(["a"])
