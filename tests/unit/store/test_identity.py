"""Laws of a store's identity."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.errors import ConfigError
from guardian.ports import StoreIdentity
from guardian.store.identity import build_dense_identity, build_meta_payload, check_meta

IDENTITY = StoreIdentity(schema_version=1, embedding="a", vector_size=4, bm25="english")
NONE = replace(IDENTITY, embedding="none", vector_size=0)


def test_what_was_noted_is_what_is_checked() -> None:
    """The same identity passes."""
    check_meta(build_meta_payload(IDENTITY), IDENTITY, place="here")


@pytest.mark.parametrize("payload", [None, {}, {"point": "meta", "embedding": "a"}])
def test_a_store_of_something_else_is_not_taken_over(payload: dict[str, str] | None) -> None:
    """Without a complete note it is no store of Guardian."""
    with pytest.raises(ConfigError, match="no store of Guardian"):
        check_meta(payload, IDENTITY, place="here")


@pytest.mark.parametrize(
    ("kept", "mend"),
    [
        (NONE, "embed --fill"),
        (replace(NONE, bm25="german"), "guardian migrate"),
        (replace(IDENTITY, embedding="b"), "guardian migrate"),
        (replace(IDENTITY, schema_version=2), "newer Guardian"),
    ],
)
def test_the_mend_fits_the_difference(kept: StoreIdentity, mend: str) -> None:
    """Filling helps only where nothing but the vectors is missing."""
    with pytest.raises(ConfigError, match=mend) as caught:
        check_meta(build_meta_payload(kept), IDENTITY, place="the store at /x")
    assert str(caught.value).startswith("the store at /x was made with")


def test_dense_vectors_are_added_once() -> None:
    """To a store without; again with the same is fine, with another is not."""
    assert build_dense_identity(NONE, embedding="a", vector_size=4) == IDENTITY
    assert build_dense_identity(IDENTITY, embedding="a", vector_size=4) == IDENTITY
    for embedding, size in (("b", 4), ("a", 5), ("none", 0), ("none", 4), ("a", 0)):
        with pytest.raises(ConfigError):
            build_dense_identity(IDENTITY, embedding=embedding, vector_size=size)
