"""Find: search, read what was found best, decide, and go on only while too little is left.

A place in a ranking costs a few microseconds, a payload 50, a search milliseconds. So one search ranks several times as many as are
asked for, and payloads are read page by page, the first with the search. Only where the whole ranking leaves too little does a deeper
search follow, past families that are full and past kinds that this task never admits.

Where a task uses no memory of persons, most of what is found may be barred. Then twice as many are ranked, the best are read whatever they
are, so that what is barred is told with its reason, and of the others those that have a slot for what may be admitted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from guardian.core.model import MemoryKind, Slot, Status
from guardian.core.needs import Needs
from guardian.core.point import PointKind
from guardian.embed.bm25 import bm25_query
from guardian.ports import Hit, SearchQuery, Store
from guardian.read.admission.admit import admit
from guardian.read.admission.candidate import FIELDS, Candidate, Scale, build_scale, read_candidate
from guardian.read.admission.decision import Reason, Ruling, Setting
from guardian.read.admission.rules.family import list_full_roots

# Places ranked for each record asked: for a personal question, and for one that uses no memory of persons.
DEPTH = 5
IMPERSONAL_DEPTH = 10
# Of what a personal question reads, so much is read of what fits an impersonal one, beside the best.
_FITTING_SHARE = 0.75
# What an impersonal question admits has one of these, but for background of others than agents.
_IMPERSONAL_SLOTS = frozenset({Slot.FACTS, Slot.CONSTRAINTS, Slot.EXAMPLES})
# And is of none of the kinds that are never admitted where personalization is not allowed.
_PERSONAL_KINDS = frozenset({MemoryKind.BELIEF, MemoryKind.PREFERENCE})
# Each further search is this many times as deep.
_DEEPER = 2
_MAX_HITS = 1_000
_MAX_ROOTS = 1_000
# Of a question; the sorting of combining marks costs the square of a longer one.
MAX_QUERY_CHARS = 8_192


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
    """What was ranked so far, what of it has a slot that the task admits, and what of it was read."""

    hits: dict[str, Hit] = field(default_factory=dict)
    fitting: set[str] = field(default_factory=set)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    scale: Scale | None = None

    def add(self, hits: Sequence[Hit], asked: SearchQuery) -> None:
        """Add a ranking behind what there is; the first one sets the scale."""
        self.scale = self.scale or build_scale(hits)
        for hit in hits:
            self.hits.setdefault(hit.point.id, hit)
        self.fitting.update(hit.point.id for hit in hits if hit.is_fitting or asked.slots is not None)
        self._read(hit for hit in hits if hit.point.payload)

    def list_unread(self, *, fitting_only: bool) -> list[Hit]:
        """List by rank what was not read yet."""
        known = self.candidates.keys() | self.gone
        return [
            hit for point_id, hit in self.hits.items() if point_id not in known and (not fitting_only or point_id in self.fitting)
        ]

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
    searches, was_open = 0, False
    while True:
        hits = await store.search(asked)
        searches += 1
        pool.add(hits, asked)
        was_open = was_open or asked.slots is None
        is_short = len(hits) < asked.limit or asked.limit == _MAX_HITS
        is_last = (is_short and was_open) or searches == policy.max_searches
        ruling = await _read_on(store, pool, setting, fitting_only=not is_last and not setting.task.is_personal)
        if is_last or _count_given(ruling) >= policy.limit:
            return Found(ruling=ruling, searches=searches, retrieved=len(pool.candidates))
        asked = _deepen(asked, ruling, setting, is_open=is_short)


async def _read_on(store: Store, pool: _Pool, setting: Setting, *, fitting_only: bool) -> Ruling:
    """Read page by page until enough is admitted, or all that was ranked is read; what does not fit comes when nothing else is left to do."""
    limit = setting.policy.limit
    least = limit
    while True:
        ruling = admit(list(pool.candidates.values()), setting)
        lacking = limit - _count_given(ruling)
        unread = pool.list_unread(fitting_only=fitting_only) if lacking > 0 else []
        if not unread:
            return ruling
        await pool.read_more(store, unread[: _size_page(lacking, limit, len(pool.candidates), least)])
        least *= 2


def _size_page(lacking: int, limit: int, read: int, least: int) -> int:
    """Size the next page by the share of what was read that was given: each page is a call and a decision on all that is there."""
    share = max(1, limit - lacking) / max(1, read)
    return max(least, math.ceil(1.25 * lacking / share))


def build_query(query: str, vector: tuple[float, ...] | None, setting: Setting, space: str) -> SearchQuery:
    """Build the first search of a question: the space's standing records.

    What this task can never admit is among them, so that it is told with its reason, unless the policy says that this is not wanted.
    """
    policy = setting.policy
    read = policy.limit * policy.overfetch
    past = {Status.SUPERSEDED} if setting.task.is_history else set()
    asked = SearchQuery(
        space=space,
        sparse=bm25_query(query[:MAX_QUERY_CHARS]),
        dense=vector,
        statuses=(policy.statuses | past) - {Status.ERASED},
        fields=FIELDS,
        limit=min(_MAX_HITS, policy.limit * max(DEPTH, policy.overfetch)),
        ranked_for=None if vector is None else policy.limit,  # words alone keep the room for ties
        payloads=read,
    )
    if setting.task.is_personal:
        return asked
    if not policy.tells_barred:
        return replace(asked, slots=_IMPERSONAL_SLOTS, without_kinds=_PERSONAL_KINDS)
    return replace(
        asked,
        limit=min(_MAX_HITS, policy.limit * max(IMPERSONAL_DEPTH, policy.overfetch)),
        payloads=policy.limit,
        further_slots=_IMPERSONAL_SLOTS,
        further_without_kinds=_PERSONAL_KINDS,
        further_payloads=math.ceil(read * _FITTING_SHARE),
    )


def _deepen(asked: SearchQuery, ruling: Ruling, setting: Setting, *, is_open: bool) -> SearchQuery:
    """Look deeper, past what can add nothing; what was read already is not read again.

    An impersonal question goes on by slots, which is quick and leaves only background out; `is_open` asks for that, too.
    """
    full = list_full_roots(ruling.decisions, per_family=setting.policy.per_family)
    is_personal = setting.task.is_personal
    return replace(
        asked,
        at=None if setting.task.is_history else setting.at,
        slots=None if is_personal or is_open else _IMPERSONAL_SLOTS,
        without_kinds=() if is_personal else _PERSONAL_KINDS,
        without_roots=() if setting.task.is_history else full[:_MAX_ROOTS],
        limit=min(_MAX_HITS, asked.limit * _DEEPER),
        ranked_for=None,
        payloads=0,
        further_slots=(),
        further_payloads=0,
    )


def _count_given(ruling: Ruling) -> int:
    """Count what is given of what holds; what an abstaining policy alone keeps back counts, as more of it would be kept back, too."""
    given = (decision for decision in ruling.decisions if decision.reason is not Reason.HELD_BEFORE)
    return sum(decision.is_rendered or decision.reason is Reason.UNVERIFIED for decision in given)
