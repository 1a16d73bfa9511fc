"""Search a shard: two rankings in one call, fused here, and the payloads that are asked for. Called from the store's own thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qdrant_edge import EdgeShard, QueryBatchRequest, ScrollRequest

from guardian.ports import Hit, SearchQuery
from guardian.store.edge.query import build_point, build_requests, build_selector, build_slot_filter
from guardian.store.fusion import Ranked, build_hits, choose_hits, list_optional, list_wanted
from guardian.store.layout import build_search_clause


def search_shard(shard: EdgeShard, query: SearchQuery) -> list[Hit]:
    """Rank the records of a space, and read the payloads of the best."""
    if build_search_clause(query).is_empty:
        return []
    answers: Any = shard.query_batch(QueryBatchRequest(build_requests(query)))
    # Ranked by number: the text of an id takes longer to make than its place, and most are not among the best.
    sparse, *dense = [[(found.id.int, found.score) for found in answer] for answer in answers]
    chosen = choose_hits(dense[0] if dense else None, sparse, limit=query.limit)
    names = [_name_point(hit.id) for hit in chosen]
    fitting = _find_fitting(shard, list_optional(names, query), query)
    wanted: list[Any] = list_wanted(names, query, fitting)
    records = shard.retrieve(wanted, build_selector(query.fields), False) if wanted else []
    return build_hits(
        [Ranked(name, hit.score, hit.similarity) for name, hit in zip(names, chosen, strict=True)],
        set(wanted),
        [build_point(record, whole=query.fields is None) for record in records],
        fitting,
    )


def _name_point(number: int) -> str:
    """Give a UUID's text: `str(UUID(int=number))` takes three times as long, and a search names a hundred."""
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _find_fitting(shard: EdgeShard, names: Sequence[str], query: SearchQuery) -> set[str]:
    """Find the points that have one of the further slots, by the index alone: 0.2 ms for a hundred."""
    if not names:
        return set()
    request = ScrollRequest(filter=build_slot_filter(names, query), limit=len(names), with_payload=False, with_vector=False)
    return {str(found.id) for found in shard.scroll(request)[0]}
