"""Health: what the worker knows about itself, as data. The pages and the watchdog read it, the data planes write it.

Live is a worker whose event loop answers: a plain answer is the proof. Ready is one that can take part: the store is open, the broker
answers, every data plane owns partitions or stands by for them, and no batch waits for something that is away. Side topics are off the
write path and speak only where a worker has nothing else.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum

from guardian.stream.plane.batch import Role
from guardian.telemetry.metrics import Metrics


class Standing(StrEnum):
    """Where a data plane stands in its group."""

    JOINING = "joining"
    ASSIGNED = "assigned"
    STANDBY = "standby"


@dataclass(slots=True, kw_only=True)
class PlaneHealth:
    """The health of one data plane; times are monotonic seconds.

    Attributes:
        partitions: Partitions it owns.
        lag: Records behind the high watermark of the latest fetches.
        progress_at: When it last finished a batch, was assigned, or had nothing to do.
        batch_at: When it last finished a batch; at first the start.
        waits_for: What the batch in hand waits for, or None.
        error: The latest failure of the batch in hand.
    """

    role: Role
    standing: Standing = Standing.JOINING
    partitions: int = 0
    lag: int = 0
    progress_at: float = field(default_factory=time.monotonic)
    batch_at: float = field(default_factory=time.monotonic)
    waits_for: str | None = None
    error: str | None = None

    @property
    def is_ready(self) -> bool:
        """Tell whether it takes part in its group and waits for nothing."""
        return self.standing is not Standing.JOINING and self.waits_for is None

    def measure_idle_s(self) -> float:
        """Give the seconds since it last made progress."""
        return time.monotonic() - self.progress_at

    def describe(self) -> dict[str, object]:
        """Give the health as plain values for a page."""
        return {
            "standing": self.standing.value,
            "partitions": self.partitions,
            "lag": self.lag,
            "last_batch_age_s": round(time.monotonic() - self.batch_at, 1),
            "waits_for": self.waits_for,
            "error": self.error,
        }


class Health:
    """The health of a worker.

    Attributes:
        planes: By role; filled by the worker.
        is_store_open: The store was opened; always true for a worker that needs none.
    """

    def __init__(self, metrics: Metrics) -> None:
        self.planes: dict[Role, PlaneHealth] = {}
        self.is_store_open = False
        self.starting_error: str | None = None
        self._metrics = metrics
        self._away: set[str] = set()

    def note(self, dependency: str, *, is_up: bool) -> None:
        """Note whether a dependency answers."""
        (self._away.discard if is_up else self._away.add)(dependency)
        self._metrics.up.labels(dependency).set(is_up)

    def is_up(self, dependency: str) -> bool:
        """Tell whether a dependency answered when it was last asked."""
        return dependency not in self._away

    @property
    def is_ready(self) -> bool:
        """Tell whether the worker can take part."""
        is_started = self.is_store_open and bool(self.planes)
        told = [plane for role, plane in self.planes.items() if not role.is_side] or self.planes.values()
        return is_started and not self._away & {"store", "broker"} and all(plane.is_ready for plane in told)

    def note_ages(self) -> None:
        """Bring the metrics that grow by themselves up to date."""
        for plane in self.planes.values():
            self._metrics.last_batch_age.labels(plane.role).set(time.monotonic() - plane.batch_at)

    def describe(self) -> dict[str, object]:
        """Give the health as plain values for a page."""
        return {
            "ready": self.is_ready,
            "store_open": self.is_store_open,
            "away": sorted(self._away),
            "starting_error": self.starting_error,
            "planes": {role.value: plane.describe() for role, plane in self.planes.items()},
        }
