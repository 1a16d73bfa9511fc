"""From one payload layout to the next: a table of steps, each from version n to n + 1. Pure.

`guardian.store.layout.SCHEMA_VERSION` is the version that this code writes and reads. Whoever raises it adds the step from the
version before: stores of that version are refused at every open until `guardian migrate` has taken every point through the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from guardian.core.point import PointKind
from guardian.errors import ConfigError

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcaster:
    """One step.

    Attributes:
        change: Gives the payload of the next version; the point's id stays.
        old_kinds: Kinds of points that only the older version has, which would else not be read.
    """

    change: Callable[[Payload], Payload]
    old_kinds: frozenset[str] = frozenset()


Upcasters = Mapping[int, Upcaster]

# By the version that a step starts from. There has been one layout so far.
UPCASTERS: Upcasters = MappingProxyType({})


def find_upcasters(kept: int, wanted: int, table: Upcasters = UPCASTERS) -> tuple[Upcaster, ...]:
    """Give the steps from one version to another, in their order.

    Raises:
        ConfigError: The store is newer than this code, or a step is missing.
    """
    if kept > wanted:
        raise ConfigError(
            f"the store has layout {kept}, this Guardian knows {wanted}.",
            setting="store",
            mend="run the newer Guardian that wrote it.",
        )
    missing = [version for version in range(kept, wanted) if version not in table]
    if missing:
        raise ConfigError(
            f"this Guardian has no step from layout {missing[0]} to {missing[0] + 1}.",
            setting="store",
            mend="migrate with a version of Guardian that has it first, or replay your logs into a new store.",
        )
    return tuple(table[version] for version in range(kept, wanted))


def upcast(payload: Payload, steps: Sequence[Upcaster]) -> dict[str, Any]:
    """Take one payload through the steps."""
    for step in steps:
        payload = step.change(payload)
    return dict(payload)


def list_kinds(steps: Sequence[Upcaster]) -> frozenset[str]:
    """Give the kinds of points that a store may hold that these steps start from."""
    return frozenset(PointKind) | frozenset(kind for step in steps for kind in step.old_kinds)
