"""Problems: what a refused request is answered with, in the form of RFC 9457 (`application/problem+json`).

Each names what is wrong and the mend. No problem quotes a memory, a body or a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from guardian.contracts.reason import REASONS, Reason
from guardian.errors import ConfigError, ConflictError, DependencyError, GuardianError, RecordError

MEDIA_TYPE = "application/problem+json"
# Seconds after which something that is away may be asked again.
RETRY_AWAY_S = 5
_URN = "urn:guardian:problem:"


class ProblemError(GuardianError):
    """A request that is refused; raised by what serves, answered by the transport.

    Attributes:
        status: HTTP status.
        code: Constant word, for programs.
        detail: What is wrong with this request.
        mend: What its sender does about it.
        more: Further members of the answer.
        retry_after_s: Whole seconds after which it may be tried again, if that helps.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        mend: str,
        *,
        more: Mapping[str, Any] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        self.status, self.code, self.detail, self.mend = status, code, detail, mend
        self.more = dict(more or {})
        self.retry_after_s = retry_after_s
        super().__init__(f"{detail} Mend: {mend}")

    def describe(self) -> dict[str, Any]:
        """Give the members of the answer."""
        return {
            "type": f"{_URN}{self.code}",
            "title": self.code.replace("_", " "),
            "status": self.status,
            "detail": self.detail,
            "mend": self.mend,
            **self.more,
        }


def build_problem(error: GuardianError) -> ProblemError:
    """Give what an error of Guardian is answered with; what only its owner may know stays in the log."""
    match error:
        case ProblemError():
            return error
        case RecordError():
            known = REASONS.get(Reason(error.reason)) if error.reason in set(Reason) else None
            mend = "compare the body with the OpenAPI document." if known is None else known.mend
            return ProblemError(422, error.reason, str(error), mend, more={"path": error.path})
        case DependencyError() | ConflictError():
            name = error.dependency if isinstance(error, DependencyError) else "store"
            return ProblemError(
                503,
                "away",
                f"the {name} is away; what was asked may not have been done.",
                "try again; the same event again changes nothing.",
                retry_after_s=RETRY_AWAY_S,
            )
        case ConfigError():
            return ProblemError(500, "misconfigured", "the settings of this service do not allow that.", "see the service's log.")
        case _:
            return ProblemError(500, "bug", "this is a bug of Guardian.", "see the service's log, and report it.")


def read_code(body: bytes) -> str:
    """Read the code of a problem from the body that it is answered with."""
    return str(orjson.loads(body)["type"]).removeprefix(_URN)
