"""A bounded memory of vectors by content, in front of a model.

Redelivered batches, replays and restatements ask for the same texts again and again; a model costs milliseconds to
seconds, a lookup microseconds. Keys are SHA-256 of the NFC text, so no text is kept in memory; values are 32-bit floats
(1.5 KB for 384 components).
"""

from __future__ import annotations

import hashlib
import unicodedata
from array import array
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from guardian.embed.port import Vector, blame_text, text_index
from guardian.errors import ConfigError, RecordError


class VectorCache:
    """The vectors of the texts asked for last, at most `entries` of them; 0 keeps none."""

    def __init__(self, *, entries: int) -> None:
        if entries < 0:
            raise ConfigError(
                f"A cache cannot hold {entries} vectors.",
                setting="GUARDIAN_EMBEDDING__CACHE_ENTRIES",
                mend="set GUARDIAN_EMBEDDING__CACHE_ENTRIES to 0 or more.",
            )
        self._entries = entries
        self._wipes = 0
        self._kept: OrderedDict[bytes, array[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    async def embed(self, texts: Sequence[str], compute: Callable[[list[str]], Awaitable[list[Vector]]]) -> list[Vector]:
        """Give one vector for each text, asking `compute` once for the distinct NFC texts that are not kept.

        Args:
            texts: Any strings, repeated or not.
            compute: Gives checked vectors in the order of its texts; whatever it raises passes through, with
                `texts[i]` of a `RecordError` turned into the index among the texts asked for here.
        """
        normalised = [unicodedata.normalize("NFC", text) for text in texts]
        keys = [_digest(text) for text in normalised]
        wipes = self._wipes
        found = {key: self._take(key) for key in dict.fromkeys(keys)}
        missing = {key: text for key, text in zip(keys, normalised, strict=True) if found[key] is None}
        if missing:
            try:
                vectors = await compute(list(missing.values()))
            except RecordError as exc:
                blamed = list(missing)[text_index(exc)]
                raise blame_text(exc, keys.index(blamed)) from exc
            for key, vector in zip(missing, vectors, strict=True):
                found[key] = vector
                if wipes == self._wipes:  # else one of them may have been erased while the model was at work
                    self._keep(key, vector)
        return [kept for key in keys if (kept := found[key]) is not None]

    def forget(self, texts: Sequence[str]) -> None:
        """Drop what is kept of these texts, and keep nothing of what is being computed now."""
        self._wipes += 1
        for text in texts:
            self._kept.pop(_digest(unicodedata.normalize("NFC", text)), None)

    def _take(self, key: bytes) -> Vector | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._kept.move_to_end(key)
        return tuple(kept)

    def _keep(self, key: bytes, vector: Vector) -> None:
        self._kept[key] = array("f", vector)
        self._kept.move_to_end(key)
        while len(self._kept) > self._entries:
            self._kept.popitem(last=False)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
