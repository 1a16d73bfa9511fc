"""A snapshot: all that was fetched for one batch, and all that was asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from guardian.core.needs import Needs
from guardian.core.point import Point


class Snapshot:
    """Points by space, growing by rounds. A whole point replaces one that was read for its lineage only.

    Attributes:
        asked: Every key asked so far; what was asked and is not here does not exist.
    """

    def __init__(self) -> None:
        self.asked = Needs()
        self._points: dict[str, dict[str, Point]] = defaultdict(dict)

    def add(self, needs: Needs, points: Iterable[Point]) -> None:
        """Take in the answer to one round."""
        self.asked.update(needs)
        for point in points:
            of_space = self._points[point.payload["space"]]
            known = of_space.get(point.id)
            if known is None or (point.whole and not known.whole):
                of_space[point.id] = point

    def points(self, space: str) -> Iterable[Point]:
        """Give the points of a space."""
        return self._points[space].values() if space in self._points else ()

    def count(self) -> int:
        """Give the number of points fetched."""
        return sum(len(points) for points in self._points.values())
