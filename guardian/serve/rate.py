"""Rate limits: a bucket of tokens for each key."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from guardian.serve.key import Key


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class RateLimit:
    """Lets each key make `burst` requests at once and `rate_per_s` for ever.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def take(self, key: Key) -> float:
        """Take a token; gives 0, or the seconds to wait until there is one."""
        now = self._clock()
        bucket = self._buckets.setdefault(key.name, _Bucket(float(key.burst), now))
        bucket.tokens = min(float(key.burst), bucket.tokens + (now - bucket.filled_at) * key.rate_per_s)
        bucket.filled_at = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / key.rate_per_s
        bucket.tokens -= 1
        return 0.0
