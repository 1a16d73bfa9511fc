"""The embedding port: texts in, dense vectors out, checked before anyone sees them.

An embedder never gives a vector that an engine would take silently and never find again: not finite, zero, of
another size, or so large or small that its square leaves the range of 32-bit floats, in which engines compute cosines.
Every implementation sends its answers through `check_vectors`. Whoever embeds a batch should know the three outcomes:

- `DependencyError("model")`: the model is away or answers nonsense; the same batch may succeed later.
- `ConfigError`: the settings cannot work; the message names the setting and the mend.
- `RecordError` with path `texts[i]`: text `i` alone can never be embedded by this model. Drop it or store it without a
  dense vector, then ask for the others again; they are not held up by it.

Dense vectors are operational state: the same text may get components that differ in the last bits from batch to batch.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Protocol

from guardian.core.point import MAX_NORM, MIN_NORM
from guardian.errors import ConfigError, DependencyError, RecordError

Vector = tuple[float, ...]


class Embedder(Protocol):
    """Something that gives dense vectors of texts.

    Attributes:
        identity: Stable name of what made the vectors, such as `sentence-transformers:all-MiniLM-L6-v2`. It is written
            into the store and compared at every start, so it must not depend on the machine.
        size: Number of components of every vector, at least 1.
        embeds: False when vectors come only with the events, so that `embed` must not be asked.
    """

    @property
    def identity(self) -> str:
        """Name of what made the vectors."""

    @property
    def size(self) -> int:
        """Number of components of every vector."""

    @property
    def embeds(self) -> bool:
        """Whether `embed` may be asked."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Give one vector for each text, in order: finite, not zero, of `size`; unit length is not promised.

        Texts that are equal in NFC get the same vector. The event loop is never blocked by the model.

        Raises:
            DependencyError: The model is away, timed out or answers nonsense.
            ConfigError: Wrong model, key or size.
            RecordError: One text can never be embedded; its path is `texts[i]`.
        """

    def forget(self, texts: Sequence[str]) -> None:
        """Keep nothing any longer that was made of these texts, which were erased."""

    async def close(self) -> None:
        """Release what the embedder holds; closing twice is closing once."""


def check_vectors(vectors: Sequence[Sequence[float]], *, expected: int, size: int | None, model: str) -> list[Vector]:
    """Give the vectors rounded to 32-bit floats, or raise for the first fault.

    Args:
        vectors: One sequence of floats for each text asked for.
        expected: Number of texts asked for.
        size: Number of components, or None when nothing is known yet.
        model: Name for messages.

    Raises:
        DependencyError: Another number of vectors than texts, something that is no number, or (of several) none usable.
        ConfigError: A vector of another size.
        RecordError: A single vector is not finite or zero; its path is `texts[i]`.
    """
    if len(vectors) != expected:
        raise DependencyError(f"{model} gave {len(vectors)} vectors for {expected} texts", dependency="model")
    checked: list[Vector] = []
    unusable: list[int] = []
    for index, values in enumerate(vectors):
        vector = _round(values, model)
        if size is not None and len(vector) != size:
            raise _wrong_size(model, given=len(vector), size=size)
        if not MIN_NORM <= math.hypot(*vector) <= MAX_NORM:  # false for NaN, too
            unusable.append(index)
        checked.append(vector)
    if unusable:
        raise _unusable(model, unusable, expected)
    return checked


def text_index(error: RecordError) -> int:
    """Give the index `i` of the text that a `RecordError` with path `texts[i]` blames."""
    return int(error.path.removeprefix("texts[").removesuffix("]"))


def blame_text(error: RecordError, index: int) -> RecordError:
    """Give the same error for the text at another index, as the texts are numbered one caller further out."""
    return RecordError(error.reason, str(error), path=f"texts[{index}]")


def _round(values: Sequence[float], model: str) -> Vector:
    """Round to what a store keeps, so that a cached vector equals a fresh one."""
    try:
        return tuple(array("f", values))
    except TypeError as exc:
        raise DependencyError(f"{model} gave a vector with something that is no number: {exc}", dependency="model") from exc


def _wrong_size(model: str, *, given: int, size: int) -> ConfigError:
    return ConfigError(
        f"{model} gave a vector of {given} components where {size} are expected.",
        setting="GUARDIAN_EMBEDDING__MODEL",
        mend="set GUARDIAN_EMBEDDING__MODEL (and the number of dimensions) to what the store was made with.",
    )


def _unusable(model: str, unusable: list[int], expected: int) -> DependencyError | RecordError:
    """Blame the model when all of several vectors are unusable, else the first such text."""
    if expected > 1 and len(unusable) == expected:
        return DependencyError(f"{model} gave only vectors that are zero or not finite", dependency="model")
    message = f"{model} gave a vector that is zero or not finite; this text has no direction for it."
    return RecordError("vector_unusable", message, path=f"texts[{unusable[0]}]")
