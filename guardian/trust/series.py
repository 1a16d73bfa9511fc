"""The series of drift in a store: what each look estimated, kept so that a trend exists after a restart. Pure; `watch` reads and writes.

A look is a point of kind `drift`, in its space, written by the owner of that space alone. It is kept when it says something new, or when the
one before is a day old. All of the latest day stay, then one an hour for a month, then one a day: some 1,000 a year at the most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta

import orjson

from guardian.core.moment import format_time, parse_time
from guardian.core.numbers.interval import Estimate
from guardian.core.point import Point, PointKind, Upsert, build_point_id
from guardian.trust.alert.judge import TrendPoint
from guardian.trust.drift import Drift

# What stands in for the space of all together, where a store asks for one; such points are told by their content, never by it.
ALL_TOGETHER = "*"
# A look that says nothing new is kept after so long.
_KEEP_AFTER = timedelta(days=1)
# (age up to which, one look in each) from the youngest on.
_THINNING = ((timedelta(days=1), timedelta(0)), (timedelta(days=31), timedelta(hours=1)))
_OLDEST = timedelta(days=1)
# Decimals kept: an interval is never known better.
_DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One look at a bank.

    Attributes:
        space: None for all together.
        figures: By name.
        stand_in: The channel that stood in for the truth, if any.
    """

    space: str | None
    at: datetime
    episodes: int
    figures: Mapping[str, Estimate] = field(default_factory=dict)
    stand_in: str | None = None
    stand_in_episodes: int = 0

    @property
    def id(self) -> str:
        """The id of its point: one a bank and time."""
        return build_point_id(self.space or "", PointKind.DRIFT, format_time(self.at))

    @property
    def is_known(self) -> bool:
        """Whether it knows anything at all."""
        return any(one.is_known for one in self.figures.values())

    def says(self, other: Snapshot | None) -> bool:
        """Tell whether another look found exactly the same."""
        if other is None:
            return False
        return (self.episodes, self.figures, self.stand_in) == (other.episodes, other.figures, other.stand_in)

    @property
    def trend_point(self) -> TrendPoint:
        """What a trend is made of."""
        return TrendPoint(self.at, self.figures.get("corrupted", Estimate(None, None, None, 0)))


def take_snapshot(drift: Drift, *, at: datetime, stand_in: str | None = None) -> Snapshot:
    """Take down what a look estimated."""
    found = {
        each.name: getattr(part, each.name)
        for part in (drift.episodes, drift.bank)
        for each in fields(part)
        if isinstance(getattr(part, each.name), Estimate)
    }
    return Snapshot(
        space=drift.space,
        at=at,
        episodes=drift.episodes.episodes,
        figures={name: _round(estimate) for name, estimate in found.items()},
        stand_in=stand_in,
        stand_in_episodes=drift.stand_in_episodes,
    )


def _round(found: Estimate) -> Estimate:
    value, low, high = (None if part is None else round(part, _DECIMALS) for part in (found.value, found.low, found.high))
    return Estimate(value, low, high, found.n)


def build_snapshot_point(snapshot: Snapshot) -> Upsert:
    """Build the point of a look."""
    content = {
        "at": format_time(snapshot.at),
        "space": snapshot.space,
        "episodes": snapshot.episodes,
        "figures": {name: [one.value, one.low, one.high, one.n] for name, one in snapshot.figures.items()},
        "stand_in": snapshot.stand_in,
        "stand_in_episodes": snapshot.stand_in_episodes,
    }
    payload = {"point": PointKind.DRIFT.value, "space": snapshot.space or ALL_TOGETHER, "rest": orjson.dumps(content).decode()}
    return Upsert(id=snapshot.id, payload=payload)


def load_snapshot(point: Point) -> Snapshot:
    """Read the look that a point holds."""
    content = orjson.loads(point.payload["rest"])
    return Snapshot(
        space=content["space"],
        at=parse_time(content["at"]),
        episodes=content["episodes"],
        figures={name: Estimate(*parts) for name, parts in content["figures"].items()},
        stand_in=content["stand_in"],
        stand_in_episodes=content["stand_in_episodes"],
    )


def is_worth_keeping(snapshot: Snapshot, latest: Snapshot | None) -> bool:
    """Tell whether a look is kept: it knows something, and the one before says other or is a day old."""
    if latest is None:
        return snapshot.is_known
    return not snapshot.says(latest) or snapshot.at - latest.at >= _KEEP_AFTER


def thin(moments: Iterable[datetime], *, now: datetime) -> set[datetime]:
    """Give the looks that go: of each hour beyond a day, and of each day beyond a month, all but the first."""
    gone: set[datetime] = set()
    seen: set[tuple[timedelta, int]] = set()
    for moment in sorted(moments):
        step = next((step for age, step in _THINNING if now - moment <= age), _OLDEST)
        if not step:
            continue
        place = (step, int(moment.timestamp() // step.total_seconds()))
        if place in seen:
            gone.add(moment)
        seen.add(place)
    return gone
