"""Find: search, read what was found best, decide, and go on only while too little is left.

A place in a ranking costs a few microseconds, a payload 50, a search milliseconds. So one search ranks five times as many as are asked for, and payloads are read page by page, the first with the search. Only where the whole ranking leaves too little does a deeper search
follow, past families that are full and past kinds that this task never admits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from guardian.core.model import MemoryKind, Status
from guardian.core.needs import Needs
from guardian.core.point import PointKind
from guardian.embed.bm25 import bm25_query
from guardian.ports import Hit, SearchQuery, Store
from guardian.read.admission.admit import admit
from guardian.read.admission.candidate import FIELDS, Candidate, Scale, build_scale, read_candidate
from guardian.read.admission.decision import Reason, Ruling, Setting
from guardian.read.admission.rules.family import list_full_roots

# Places ranked for each record asked.
DEPTH = 5
# Each further search is this many times as deep.
_DEEPER = 2
_MAX_HITS = 1_000
_MAX_ROOTS = 1_000
# Of a question; the sorting of combining marks costs the square of a longer one.
MAX_QUERY_CHARS = 8_192
# Kinds that are never admitted where personalization is not allowed; not looked for again in a second search.
_OWN_KINDS = frozenset({MemoryKind.BELIEF, MemoryKind.PREFERENCE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a question found.

    Attributes:
        ruling: What the rules make of it.
        searches: Searches that were made.
        retrieved: Distinct records that were read.
    """

    ruling: Ruling
    searches: int
    retrieved: int


@dataclass(slots=True)
class _Pool:
    """What was ranked so far, and what of it was read."""

    hits: dict[str, Hit] = field(default_factory=dict)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    scale: Scale | None = None

    def add(self, hits: Sequence[Hit]) -> None:
        """Add a ranking behind what there is; the first one sets the scale."""
        self.scale = self.scale or build_scale(hits)
        for hit in hits:
            self.hits.setdefault(hit.point.id, hit)
        self._read(hit for hit in hits if hit.point.payload)

    def list_unread(self, count: int) -> list[Hit]:
        """List the best that were not read yet."""
        unread = (hit for point_id, hit in self.hits.items() if point_id not in self.candidates and point_id not in self.gone)
        return [hit for hit, _ in zip(unread, range(count), strict=False)]

    def _read(self, hits: Iterable[Hit]) -> None:
        assert self.scale is not None
        ranks = {point_id: rank for rank, point_id in enumerate(self.hits)}
        for hit in hits:
            if hit.point.id not in self.candidates:
                self.candidates[hit.point.id] = read_candidate(hit, ranks[hit.point.id], self.scale)

    async def read_more(self, store: Store, hits: Sequence[Hit]) -> None:
        """Read payloads; what is no record any more is gone."""
        wanted = {hit.point.id: hit for hit in hits}
        points = await store.fetch(Needs(ids=set(wanted)))
        records = [point for point in points if point.payload["point"] == PointKind.RECORD]
        self.gone |= wanted.keys() - {point.id for point in records}
        self._read(replace(wanted[point.id], point=point) for point in records)


def limit_question(question: str) -> str:
    """Give what of a question is looked at: its beginning, and `?` for each half of a character that a caller has cut in two."""
    return question[:MAX_QUERY_CHARS].encode(errors="replace").decode()


async def find(store: Store, query: str, vector: tuple[float, ...] | None, setting: Setting, *, space: str) -> Found:
    """Find what a question may be given.

    Raises:
        DependencyError: The store is away.
    """
    policy, pool = setting.policy, _Pool()
    asked = build_query(query, vector, setting, space)
    searches = 0
    while True:
        hits = await store.search(asked)
        searches += 1
        pool.add(hits)
        ruling = await _read_on(store, pool, setting)
        is_exhausted = len(hits) < asked.limit or asked.limit == _MAX_HITS or searches == policy.max_searches
        if is_exhausted or _count_given(ruling) >= policy.limit:
            return Found(ruling=ruling, searches=searches, retrieved=len(pool.candidates))
        asked = _deepen(asked, ruling, setting)


async def _read_on(store: Store, pool: _Pool, setting: Setting) -> Ruling:
    """Read page by page until enough is admitted, or all that was ranked is read."""
    limit = setting.policy.limit
    while True:
        ruling = admit(list(pool.candidates.values()), setting)
        lacking = limit - _count_given(ruling)
        unread = pool.list_unread(_size_page(lacking, limit, len(pool.candidates))) if lacking > 0 else []
        if not unread:
            return ruling
        await pool.read_more(store, unread)


def _size_page(lacking: int, limit: int, read: int) -> int:
    """Size the next page by the share of what was read that was given: each page is a call and a decision on all that is there."""
    share = max(1, limit - lacking) / max(1, read)
    return max(limit, math.ceil(1.25 * lacking / share))


def build_query(query: str, vector: tuple[float, ...] | None, setting: Setting, space: str) -> SearchQuery:
    """Build the first search of a question: the space's standing records.

    What this task can never admit is among them, so that it is told with its reason. Filtering it out here was measured: no faster even
    where two thirds of what is found is barred, since each filter costs every search a sixteenth.
    """
    policy = setting.policy
    past = {Status.SUPERSEDED} if setting.task.is_history else set()
    return SearchQuery(
        space=space,
        sparse=bm25_query(query[:MAX_QUERY_CHARS]),
        dense=vector,
        statuses=(policy.statuses | past) - {Status.ERASED},
        fields=FIELDS,
        limit=min(_MAX_HITS, policy.limit * max(DEPTH, policy.overfetch)),
        payloads=policy.limit * policy.overfetch,
    )


def _deepen(asked: SearchQuery, ruling: Ruling, setting: Setting) -> SearchQuery:
    """Look deeper, past what can add nothing; what was read already is not read again."""
    full = list_full_roots(ruling.decisions, per_family=setting.policy.per_family)
    return replace(
        asked,
        at=None if setting.task.is_history else setting.at,
        kinds=None if setting.task.is_personal else sorted(set(MemoryKind) - _OWN_KINDS),
        without_roots=() if setting.task.is_history else full[:_MAX_ROOTS],
        limit=min(_MAX_HITS, asked.limit * _DEEPER),
        payloads=0,
    )


def _count_given(ruling: Ruling) -> int:
    """Count what is given of what holds; what an abstaining policy alone keeps back counts, as more of it would be kept back, too."""
    given = (decision for decision in ruling.decisions if decision.reason is not Reason.HELD_BEFORE)
    return sum(decision.is_rendered or decision.reason is Reason.UNVERIFIED for decision in given)
