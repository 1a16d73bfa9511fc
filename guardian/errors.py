"""The errors of Guardian: the family is the handling.

```
GuardianError
├─ ConfigError      bad settings, missing topic, wrong collection   raised by wiring, stores and cli at start; exit code 2
├─ RecordError      this event can never succeed                    raised by contracts and sources; becomes a dead letter
├─ DependencyError  broker, store or model is away                  raised by adapters; the pipeline retries the same batch
├─ ConflictError    someone wrote between fetch and apply           raised by stores; the pipeline decides again, bounded
└─ InvariantError   our bug                                         raised anywhere; logged, nothing acknowledged, exit 70
```

An adapter translates the exceptions of its vendor at its own door (`raise … from exc`). Errors carry fields, not only text.
"""

from __future__ import annotations


class GuardianError(Exception):
    """Root of every error that Guardian raises on purpose."""


class ConfigError(GuardianError):
    """Settings or surroundings that cannot work; the message names the setting and the mend."""

    def __init__(self, message: str, *, setting: str | None = None, mend: str | None = None) -> None:
        self.setting = setting
        self.mend = mend
        super().__init__(message if mend is None else f"{message} Mend: {mend}")


class RecordError(GuardianError):
    """One input that can never succeed.

    Attributes:
        reason: Constant, counted word such as `text_blank`; see `contracts.codec.REASONS`.
        path: Where in the input the fault lies, dotted (`data.text`), or empty.
    """

    def __init__(self, reason: str, message: str, *, path: str = "") -> None:
        self.reason = reason
        self.path = path
        super().__init__(message)


class DependencyError(GuardianError):
    """Something Guardian leans on is away; the same work may succeed later.

    Attributes:
        dependency: `store`, `broker` or `model`.
    """

    def __init__(self, message: str, *, dependency: str) -> None:
        self.dependency = dependency
        super().__init__(message)


class ConflictError(GuardianError):
    """The store changed between fetch and apply, or another writer holds a newer fence."""


class InvariantError(GuardianError):
    """A promise of the code itself is broken: a bug, never the data's fault."""
