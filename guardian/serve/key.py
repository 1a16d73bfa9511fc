"""API keys: who asks, for which spaces, what for, and how much they may claim to be.

A key is known by the SHA-256 of its secret; comparing takes the same time whatever is wrong. What a bearer says of itself counts for
nothing: the event source, the highest source kind and the acting person come from the key.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from guardian.core.model import SourceKind


class Right(StrEnum):
    """What a key may do."""

    READ = "read"
    ANSWER = "answer"
    WRITE = "write"
    CORRECT = "correct"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What the bearer of one key may do.

    Attributes:
        name: For logs and answers; never the secret.
        digest: SHA-256 of the secret; None for a key that nobody presents, such as that of a process of one's own.
        spaces: Patterns as of the shell.
        highest: Highest source kind and authority that may be claimed.
        actor: Who acts, in corrections.
        source: Event source of what it sends.
        rate_per_s, burst: Requests a second, and at once.
    """

    name: str
    digest: bytes | None = None
    spaces: tuple[str, ...] = ("*",)
    may: frozenset[Right] = frozenset({Right.READ})
    highest: SourceKind = SourceKind.AGENT
    actor: str
    source: str
    rate_per_s: float = 20.0
    burst: int = 40

    def opens(self, space: str) -> bool:
        """Tell whether the space is one of its own."""
        return any(fnmatchcase(space, pattern) for pattern in self.spaces)


def digest_secret(secret: str) -> bytes:
    """Digest a secret as keys are known by."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


class Keyring:
    """All keys of a service.

    Args:
        keys: Each with a digest.
        anonymous: Whoever presents no key; None to refuse them.
    """

    def __init__(self, keys: Sequence[Key], *, anonymous: Key | None = None) -> None:
        self._keys = tuple(keys)
        self.anonymous = anonymous

    def find(self, secret: str | None) -> Key | None:
        """Give the key of a secret, or the anonymous one for none; None for nobody's."""
        if secret is None:
            return self.anonymous
        digest, found = digest_secret(secret), None
        for key in self._keys:  # to the end, so that the time tells nothing
            if key.digest is not None and hmac.compare_digest(key.digest, digest):
                found = key
        return found
