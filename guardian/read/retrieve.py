"""Retrieval: hybrid search over what may answer, one record a family.

Superseded and erased records never answer by default. Of a family the representative stands for all: verified first, then least
depth, then score; restatements add nothing. A composite (several roots) never pushes out its originals. See the design, 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from guardian.core.model import Slot, Status
from guardian.core.node import TRUNCATED_ROOT
from guardian.embed.bm25 import bm25_query
from guardian.embed.port import Embedder
from guardian.ports import Hit, SearchQuery, Store
from guardian.read.admission.rules.family import Member, choose_members

# Hits fetched for each one asked, so that families of many restatements do not fill the answer.
OVERFETCH = 8
MAX_LIMIT = 1_000

ANSWERING = (Status.ACTIVE, Status.VERIFIED)
HISTORY = (Status.ACTIVE, Status.VERIFIED, Status.SUPERSEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is looked for.

    Attributes:
        with_history: Superseded records answer, too, each with what replaced it.
        per_family: Most records of one family; None for all.
        at: Leave out what does not hold at this time.
    """

    space: str
    text: str
    limit: int = 10
    with_history: bool = False
    per_family: int | None = 1
    slots: Sequence[Slot] | None = None
    at: datetime | None = None


async def retrieve(store: Store, question: Question, embedder: Embedder | None = None) -> list[Hit]:
    """Search a space, best first.

    Raises:
        DependencyError: Store or model is away.
    """
    dense = None
    if embedder is not None and embedder.embeds and store.identity.vector_size:
        dense = (await embedder.embed([question.text]))[0]
    wanted = question.limit if question.per_family is None else question.limit * OVERFETCH
    query = SearchQuery(
        space=question.space,
        sparse=bm25_query(question.text),
        dense=dense,
        statuses=HISTORY if question.with_history else ANSWERING,
        slots=question.slots,
        at=question.at,
        limit=min(MAX_LIMIT, wanted),
    )
    # A server ranks first and reads then: what fell in between is read as it is, and answers no more.
    hits = [hit for hit in await store.search(query) if hit.point.payload["status"] in query.statuses]
    if question.per_family is not None:
        hits = keep_representatives(hits, per_family=question.per_family)
    return hits[: question.limit]


def keep_representatives(hits: Sequence[Hit], *, per_family: int) -> list[Hit]:
    """Keep at most `per_family` standing records of each family, in the order of the hits; superseded ones all."""
    ranked = list(enumerate(hits))
    standing = [(rank, hit) for rank, hit in ranked if hit.point.payload["status"] != Status.SUPERSEDED]
    choices = choose_members([_build_member(hit, rank) for rank, hit in standing], per_family=per_family)
    kept = [(choice.place, rank) for (rank, _), choice in zip(standing, choices, strict=True) if choice.is_kept]
    kept += [(rank, rank) for rank, hit in ranked if hit.point.payload["status"] == Status.SUPERSEDED]
    return [hits[rank] for _, rank in sorted(kept)]


def _build_member(hit: Hit, rank: int) -> Member:
    payload = hit.point.payload
    roots = tuple(root for root in payload.get("roots", ()) if root != TRUNCATED_ROOT)
    return Member(roots, payload["status"] == Status.VERIFIED, payload.get("depth", 0), rank)
