"""Search a collection: two rankings in one request, fused here, and the payloads that are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from qdrant_client import AsyncQdrantClient

from guardian.ports import Hit, SearchQuery
from guardian.store.fusion import build_hits, choose_hits, list_optional, list_wanted
from guardian.store.qdrant.query import build_point, build_requests, build_selector, build_slot_filter


async def search_collection(client: AsyncQdrantClient, collection: str, query: SearchQuery) -> list[Hit]:
    """Rank the records of a space, and read the payloads of the best."""
    answers = await client.query_batch_points(collection, build_requests(query))
    sparse, *dense = [[(str(found.id), found.score) for found in answer.points] for answer in answers]
    best = choose_hits(dense[0] if dense else None, sparse, limit=query.limit)
    names = [hit.id for hit in best]
    fitting = await _find_fitting(client, collection, list_optional(names, query), query)
    wanted = list_wanted(names, query, fitting)
    selector = build_selector(query.fields)
    records = await client.retrieve(collection, wanted, with_payload=selector, with_vectors=False) if wanted else []
    return build_hits(best, set(wanted), [build_point(record, whole=query.fields is None) for record in records], fitting)


async def _find_fitting(client: AsyncQdrantClient, collection: str, names: Sequence[str], query: SearchQuery) -> set[str]:
    """Find the points that have one of the further slots, and are of no kind that is barred, by the index alone."""
    if not names:
        return set()
    records, _ = await client.scroll(
        collection, scroll_filter=build_slot_filter(names, query), limit=len(names), with_payload=False, with_vectors=False
    )
    return {str(record.id) for record in records}
