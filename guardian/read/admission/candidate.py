"""Candidates: what a search found, read from its payload as far as the rules of a read ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import orjson

from guardian.core.card import Permission
from guardian.core.model import MemoryKind, Slot, SourceKind, Status
from guardian.core.moment import parse_optional
from guardian.core.node import TRUNCATED_ROOT
from guardian.core.payload import load_permission
from guardian.ports import Hit
from guardian.read.admission.sealed import sealed

# Engines agree on scores up to a step in the last digit that stores compare by.
_SIMILARITY_DIGITS = 4
# All that is read of a record: neither its card nor its metadata, which are most of its bytes.
FIELDS = (
    "memory_id", "revision", "text", "status", "kind", "source_kind", "subject", "slots", "roots", "depth", "utility",
    "utility_basis", "valid_from", "valid_until", "observed_at", "permission", "reasons", "lineage",
)  # fmt: skip
# Words of a payload -> what they are: to call an enumeration takes six times as long, and a read does this a hundred times.
_STATUSES = {status.value: status for status in Status}
_KINDS = {kind.value: kind for kind in MemoryKind}
_SOURCE_KINDS = {kind.value: kind for kind in SourceKind}


@sealed
class Candidate:
    """One record that may stand in a context.

    Attributes:
        rank: Place in the search, from 0.
        similarity: To the question, in [0, 1]: the cosine, or the share of the best score where there is no vector.
        is_derived: It was derived from other memories, also in a circle.
        slots: Where it may ever stand itself: what the record says, and no more than its permission.
        bounds: Part of the scope -> its values, as far as the record or anything it derives from names any.
        verdicts: Channel -> mean of its verdicts.
        replaced_by: Memory ids of what holds instead, for a superseded record; its own, where a revision did.
        felled_by: Why it is superseded: `corrected`, `revised`, `deleted`.
    """

    record_id: str
    memory_id: str
    revision: str
    text: str
    rank: int
    score: float
    similarity: float
    status: Status
    kind: MemoryKind
    source_kind: SourceKind
    subject: str | None
    observed_at: str
    slots: frozenset[Slot]
    permission: Permission
    roots: tuple[str, ...]
    depth: int
    bounds: Mapping[str, Sequence[str]]
    is_derived: bool = False
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    utility: float | None = None
    utility_basis: str | None = None
    verdicts: Mapping[str, float]
    replaced_by: tuple[str, ...] = ()
    felled_by: tuple[str, ...] = ()

    @property
    def is_verified(self) -> bool:
        """Whether trusted authority stands behind it."""
        return self.status is Status.VERIFIED


@dataclass(frozen=True, slots=True)
class Scale:
    """What similarities of one question are measured by.

    Attributes:
        best: The best score.
        floor: The least cosine among those that the dense ranking found; None without vectors.
    """

    best: float
    floor: float | None


def build_scale(hits: Sequence[Hit]) -> Scale:
    """Build the scale of a search from its whole ranking; payloads are not looked at."""
    known = [hit.similarity for hit in hits if hit.similarity is not None]
    return Scale(best=max((hit.score for hit in hits), default=0.0), floor=min(known, default=None))


def _score_similarity(hit: Hit, scale: Scale) -> float:
    """Give the cosine; of what is not among the nearest, that of the last of them at most; without vectors the share of the best."""
    share = hit.score / scale.best if scale.best > 0 else 0.0
    cosine = scale.floor if hit.similarity is None else hit.similarity
    return round(min(1.0, max(0.0, share if cosine is None else cosine)), _SIMILARITY_DIGITS)


def read_candidate(hit: Hit, rank: int, scale: Scale) -> Candidate:
    """Read one hit with its payload; `rank` is its place among all that was found for the question."""
    payload = hit.point.payload
    lineage = orjson.loads(payload["lineage"])
    permission = load_permission(payload["permission"])
    reasons = orjson.loads(payload["reasons"]) if "reasons" in payload else ()
    return Candidate(
        record_id=hit.point.id,
        memory_id=payload["memory_id"],
        revision=payload["revision"],
        text=payload["text"],
        rank=rank,
        score=hit.score,
        similarity=_score_similarity(hit, scale),
        status=_STATUSES[payload["status"]],
        kind=_KINDS[payload["kind"]],
        source_kind=_SOURCE_KINDS[payload["source_kind"]],
        subject=payload.get("subject"),
        observed_at=payload["observed_at"],
        slots=_read_slots(tuple(payload.get("slots", ()))).intersection(permission.slots),
        permission=permission,
        roots=tuple([root for root in payload["roots"] if root != TRUNCATED_ROOT]),
        depth=payload.get("depth", 0),
        bounds=lineage["wi"] if "wi" in lineage else {part: (value,) for part, value in lineage.get("sc", {}).items()},
        is_derived=bool(lineage.get("e")),
        valid_from=parse_optional(payload.get("valid_from")),
        valid_until=parse_optional(payload.get("valid_until")),
        utility=payload.get("utility"),
        utility_basis=payload.get("utility_basis"),
        verdicts=_read_verdicts(lineage.get("vd")),
        replaced_by=_list_replacements(reasons, payload["memory_id"]) if reasons else (),
        felled_by=tuple(sorted({reason["reason"] for reason in reasons})) if reasons else (),
    )


def _list_replacements(reasons: Sequence[Mapping[str, Any]], memory_id: str) -> tuple[str, ...]:
    """List what holds instead; what was revised is replaced by its own memory, as that says now."""
    named = {reason["replacement"] for reason in reasons if reason.get("replacement")}
    own = {memory_id for reason in reasons if reason["reason"] == "revised"}
    return tuple(sorted(named | own))


@cache  # a few dozen: a closed set
def _read_slots(named: tuple[str, ...]) -> frozenset[Slot]:
    return frozenset(map(Slot, named))


def _read_verdicts(stored: Mapping[str, Any] | None) -> Mapping[str, float]:
    return {} if not stored else {channel: mean for channel, (mean, _) in stored.items()}
