"""The embedder for banks whose writers send their own vectors: it knows the size and computes nothing.

Events without a vector are stored without a dense one and are found by BM25 alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from guardian.embed.port import Vector
from guardian.errors import ConfigError, InvariantError


class GivenEmbedder:
    """Vectors come with the events; only their size is known here."""

    identity = "given"
    embeds = False

    def __init__(self, *, size: int) -> None:
        if size < 1:
            raise ConfigError(
                f"Vectors that come with the events cannot have {size} components.",
                setting="GUARDIAN_EMBEDDING__SIZE",
                mend="set GUARDIAN_EMBEDDING__SIZE to the number of components that the writers send.",
            )
        self.size = size

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Give nothing for nothing; refuse texts, since a caller must look at `embeds` first.

        Raises:
            InvariantError: Texts were given.
        """
        if texts:
            raise InvariantError("the embedder `given` was asked for vectors of texts")
        return []

    def forget(self, texts: Sequence[str]) -> None:
        """Forget nothing: no text ever comes here."""

    async def close(self) -> None:
        """Release nothing."""
