"""A bounded sample of keyed things, which depends on the keys alone: not on their order, nor on a random number.

A key is kept while its digest lies below a limit; when more are kept than there is room for, the limit is halved. So whatever is kept at
the end was kept from its first appearance on, and what was gathered about it is complete.
"""

from __future__ import annotations

import hashlib
from typing import Generic, TypeVar

Value = TypeVar("Value")

_FULL = 1 << 64


def digest_key(key: str, *, seed: int = 0) -> int:
    """Give a number in [0, 2**64) for a key: the same for the same seed, uniform over keys."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{key}".encode(), digest_size=8).digest())


class KeySample(Generic[Value]):
    """A dictionary with room for some keys.

    Args:
        room: Most keys that stay.
        seed: Another one gives another sample.
    """

    def __init__(self, room: int, *, seed: int = 0) -> None:
        self.values: dict[str, Value] = {}
        self._room, self._seed, self._limit = room, seed, _FULL

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return self._limit == _FULL

    def keeps(self, key: str) -> bool:
        """Tell whether the key is within the sample."""
        return self.is_whole or digest_key(key, seed=self._seed) < self._limit

    def put(self, key: str, value: Value) -> None:
        """Put a value to a key, if the key is within the sample."""
        if not self.keeps(key):
            return
        self.values[key] = value
        while len(self.values) > self._room:
            self._limit //= 2
            self.values = {name: kept for name, kept in self.values.items() if self.keeps(name)}
