"""Where agents reach memory over HTTP or MCP: addresses, keys, and what one caller may ask of the process."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from guardian.core.model import SourceKind
from guardian.settings.section import DAY_S, Section

# Shorter secrets can be guessed offline from their digest, and rate limits are counted after a key is known.
MIN_SECRET_CHARS = 24
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class KeySettings(Section):
    """One API key: for which spaces, what for, and how much its bearer may claim to be."""

    secret: SecretStr | None = Field(None, description="The key itself, at least 24 characters; or give its digest.")
    digest: str | None = Field(
        None, description="sha256: and the 64 hex digits of the key's SHA-256, so that no secret lies here."
    )
    spaces: tuple[str, ...] = Field((), description="Patterns of the spaces it opens, as of the shell; none by default.")
    may: frozenset[Literal["read", "answer", "write", "correct"]] = Field(
        frozenset({"read"}),
        description="What it may do: read; answer, which has a model answer and may cost money; write, which includes deleting as an "
        "agent does; correct.",
    )
    highest: SourceKind = Field(SourceKind.AGENT, description="Highest source kind or authority that its bearer may claim.")
    actor: str | None = Field(None, description="Who acts with it, as actor of its corrections; default: the key's name.")
    source: str | None = Field(None, description="Event source of what it sends; default: /guardian/keys/NAME.")
    rate_per_s: float = Field(20.0, gt=0, description="Requests a second that it may go on with.")
    burst: int = Field(40, ge=1, description="Requests that it may make at once.")

    @model_validator(mode="after")
    def _is_told_one_way(self) -> Self:
        if (self.secret is None) == (self.digest is None):
            raise ValueError("give the secret or its digest, one of them")
        if self.secret is not None and len(self.secret.get_secret_value()) < MIN_SECRET_CHARS:
            raise ValueError(f"the secret must have at least {MIN_SECRET_CHARS} characters; `openssl rand -hex 32` makes one")
        if self.digest is not None and not _DIGEST.fullmatch(self.digest):
            raise ValueError("the digest must be sha256: and 64 hex digits in lower case")
        return self


class ServeSettings(Section):
    """`guardian serve` and `guardian mcp`."""

    bind: str = Field("127.0.0.1", description="Address that is listened on; any but loopback needs keys.")
    port: int = Field(8090, ge=0, le=65535, description="Port; 0 takes a free one.")
    keys: dict[str, KeySettings] = Field(
        default_factory=dict, description="Name -> API key. Without keys anybody on this machine may read and write, as an agent."
    )
    mcp_key: str | None = Field(
        None,
        description="Name of the key whose rights `guardian mcp` has; without one it reads every space and does nothing else.",
    )
    timeout_s: float = Field(15.0, gt=0, le=DAY_S, description="Longest time for one request, its body included, seconds.")
    answer_timeout_s: float = Field(
        60.0, gt=0, le=DAY_S, description="The same for an answer by a model, which takes up to five of its own, seconds."
    )
    ready_timeout_s: float = Field(
        5.0, gt=0, le=DAY_S, description="After which a store that says nothing is away for /readyz and the figures, seconds."
    )
    stop_s: float = Field(
        10.0, gt=0, le=DAY_S, description="Time that requests in hand have when the process is told to stop, seconds."
    )
    max_body_bytes: int = Field(256 * 1024, ge=1024, description="Largest request body.")
    max_requests: int = Field(64, ge=1, description="Requests in hand at once; more are refused with 503.")
    max_answers: int = Field(
        16, ge=1, description="Of these answers by a model, which take long; more are refused with 503, and reads go on."
    )
