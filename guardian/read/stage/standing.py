"""Whether what a context gave still stands: a model takes seconds, and meanwhile memories are corrected and erased."""

from __future__ import annotations

from guardian.core.needs import Needs
from guardian.core.point import PointKind
from guardian.ports import Store
from guardian.read.calibrator import Admission


async def still_stands(store: Store, admission: Admission) -> bool:
    """Tell whether every record that was rendered is there with the status that it had; what fell, rose or is gone changes the answer.

    Raises:
        DependencyError: The store is away.
    """
    given = {decision.candidate.record_id: decision.candidate.status for decision in admission.rendered}
    if not given:
        return True
    points = await store.fetch(Needs(ids=set(given)))
    now = {point.id: point.payload["status"] for point in points if point.payload["point"] == PointKind.RECORD}
    return all(now.get(record_id) == status for record_id, status in given.items())
