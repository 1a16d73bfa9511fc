"""The pipeline: one batch of events from decision to durable state and published outcomes, once for stream, replay and tests.

It knows ports, not Faust, not Kafka, not Qdrant. Order is the promise: the plan is durable before an outcome is published, and
outcomes are published before the caller acknowledges. Doing a batch again changes nothing.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from guardian.contracts.message import build_messages, build_tombstone
from guardian.core.asking import initial_needs
from guardian.core.decide import decide
from guardian.core.intake import Disposition
from guardian.core.model import Corrected, Event, Induced
from guardian.core.needs import Key, Needs
from guardian.core.payload import forget_permissions
from guardian.core.plan import Outcome, Plan
from guardian.core.point import Phase, PointKind, Upsert
from guardian.core.policy import Policy
from guardian.core.signature import forget_signatures
from guardian.core.snapshot import Snapshot
from guardian.embed.bm25 import bm25_document, bm25_query
from guardian.embed.fill import embed_texts
from guardian.embed.port import Embedder
from guardian.errors import ConflictError, DependencyError, InvariantError
from guardian.ports import Fence, OutcomeMessage, Publisher, SearchQuery, Store

# Rounds of asking before a decision is taken to be a bug. Plain batches take one or two; cut lineage takes one a step.
MAX_ROUNDS = 500
# Candidates offered for a correction whose target is not known.
MAX_CANDIDATES = 6
# Characters of a waiting correction that candidates are searched by: the inline text stands first and mostly fits. A reason has no limit
# of its own, and a long one of combining marks in disorder would cost its square: Unicode's normal forms sort them.
MAX_QUERY_CHARS = 8_192
# Tries after another writer came in between; then the store is treated as away.
MAX_CONFLICTS = 5


@dataclass(slots=True)
class BatchReport:
    """What one batch did; the fields of the one line that is logged for it.

    Attributes:
        dispositions: Events by disposition.
        erased: (space, memory id) of what the batch's erasures cover, and up to when; whoever keeps refused records looks here.
        fetched: Points read.
        rounds: Rounds of asking.
        fetch_ms, decide_ms, embed_ms, apply_ms, publish_ms: Milliseconds spent.
    """

    events: int = 0
    dispositions: Counter[str] = field(default_factory=Counter)
    records: int = 0
    felled: int = 0
    born_superseded: int = 0
    inferred: int = 0
    refused_claims: int = 0
    pending: int = 0
    erased: dict[Key, datetime] = field(default_factory=dict)
    fetched: int = 0
    rounds: int = 0
    fetch_ms: float = 0.0
    decide_ms: float = 0.0
    embed_ms: float = 0.0
    apply_ms: float = 0.0
    publish_ms: float = 0.0
    outcomes: tuple[Outcome, ...] = ()


@dataclass(slots=True, kw_only=True)
class Pipeline:
    """Everything a batch passes through.

    Attributes:
        store: Where state lies.
        policy_of: Gives the policy of a space.
        embedder: Makes dense vectors, or None to store records with BM25 alone.
        publisher: Takes outcomes, or None to publish nothing (a replay publishes only when asked).
        asks: Build further messages from a batch's outcomes, such as requests to agents on side topics; published with them.
        decide_in_thread: Points from which a decision is made off the event loop, so that heartbeats go on.
    """

    store: Store
    policy_of: Callable[[str], Policy]
    embedder: Embedder | None = None
    publisher: Publisher | None = None
    asks: tuple[Callable[[Sequence[Outcome]], Sequence[OutcomeMessage]], ...] = ()
    decide_in_thread: int = 2_000

    async def process(
        self, events: Sequence[Event], *, fence: Fence, before_apply: Callable[[BatchReport], None] | None = None
    ) -> BatchReport:
        """Take a batch from decision to published outcomes.

        Args:
            events: In any order; an order only matters to outcomes, which come in the same one.
            fence: The writer's place in the stream.
            before_apply: Called with what the batch will have done, before anything is written; again when it is decided again.

        Raises:
            DependencyError: Store, model or broker is away; nothing may be acknowledged, the same batch may be tried again.
            InvariantError: A bug.
        """
        report = BatchReport(events=len(events))
        if not events:
            return report
        with collector_paused():
            plan = await self._settle(events, fence, report, before_apply)
        _count(plan, report)
        if self.publisher is not None:
            started = time.perf_counter()
            outcomes = await self._offer_candidates(plan.outcomes)
            messages = [message for outcome in outcomes for message in build_messages(outcome)]
            await self.publisher.publish([*messages, *(message for ask in self.asks for message in ask(outcomes))])
            report.publish_ms = _since(started)
        return report

    async def _settle(
        self, events: Sequence[Event], fence: Fence, report: BatchReport, before_apply: Callable[[BatchReport], None] | None
    ) -> Plan:
        fence = replace(fence, spaces=frozenset(event.space for event in events))
        for tries in range(1, MAX_CONFLICTS + 1):
            try:
                await self._claim(fence, report)
                plan = await self.plan(events, report)
                phases = await self._embed(plan, report)
                if before_apply is not None:
                    foreseen = BatchReport(events=len(events), pending=report.pending)
                    _count(plan, foreseen)
                    before_apply(foreseen)
                await self._take_back(plan)
                await self._apply(phases, fence, report)
            except ConflictError as exc:
                if tries == MAX_CONFLICTS:
                    raise DependencyError(f"another writer came in between {tries} times: {exc}", dependency="store") from exc
            else:
                return plan
        raise AssertionError("the last try returns or raises")

    async def _claim(self, fence: Fence, report: BatchReport) -> None:
        """Bar former owners before the first look: what they still wrote after it would be decided upon half done."""
        started = time.perf_counter()
        try:
            await self.store.claim(fence)
        finally:
            report.fetch_ms += _since(started)

    async def _apply(self, phases: Sequence[Phase], fence: Fence, report: BatchReport) -> None:
        started = time.perf_counter()
        try:
            await self.store.apply(phases, fence=fence)
        finally:
            report.apply_ms += _since(started)

    async def _take_back(self, plan: Plan) -> None:
        """Forget the texts that the plan destroys, and take their records back from the topic.

        Before the plan is durable: afterwards nobody knows these records' ids, as they are made of the texts. A crash in between
        comes back to the same plan.
        """
        if plan.buried_texts:
            forget_signatures()
            forget_permissions()
            if self.embedder is not None:
                self.embedder.forget(plan.buried_texts)
        if plan.removed and self.publisher is not None:
            await self.publisher.publish([build_tombstone(record_id) for record_id in plan.removed])

    async def plan(self, events: Sequence[Event], report: BatchReport) -> Plan:
        """Fetch and decide in rounds until nothing is missing. Writes nothing."""
        snapshot = Snapshot()
        needs = initial_needs(events)
        for _ in range(MAX_ROUNDS):
            started = time.perf_counter()
            snapshot.add(needs, await self.store.fetch(needs))
            report.fetch_ms += _since(started)
            started = time.perf_counter()
            if snapshot.count() > self.decide_in_thread:
                answer = await asyncio.to_thread(decide, events, snapshot, self.policy_of)
            else:
                answer = decide(events, snapshot, self.policy_of)
            report.decide_ms += _since(started)
            report.rounds += 1
            if not isinstance(answer, Needs):
                report.fetched += snapshot.count()
                return answer
            needs = answer.minus(snapshot.asked)
            if not needs:
                raise InvariantError("the decision asks for what it was given already")
        raise InvariantError(f"no decision after {MAX_ROUNDS} rounds")

    async def _embed(self, plan: Plan, report: BatchReport) -> list[Phase]:
        """Put vectors to the new records; when the model is away they are stored with BM25 alone and marked pending."""
        started = time.perf_counter()
        records = [upsert for phase in plan.phases for upsert in phase.upserts if _is_record(upsert)]
        dense = await self._embed_dense(plan, records)
        made: dict[str, Upsert] = {}
        for upsert in records:
            vector = dense.get(upsert.id)
            payload = upsert.payload
            if vector is None and self.store.identity.vector_size:
                payload = {**payload, "pending": "dense"}
                report.pending += 1
            sparse = bm25_document(upsert.payload["text"])
            made[upsert.id] = replace(upsert, payload=payload, dense=vector, sparse=sparse)
        report.embed_ms += _since(started)
        return [replace(phase, upserts=tuple(made.get(upsert.id, upsert) for upsert in phase.upserts)) for phase in plan.phases]

    async def _embed_dense(self, plan: Plan, records: Sequence[Upsert]) -> dict[str, tuple[float, ...]]:
        size = self.store.identity.vector_size
        if not size:
            return {}
        dense = {key: vector for key, vector in plan.vectors.items() if len(vector) == size}
        todo = [upsert for upsert in records if upsert.id not in dense]
        if self.embedder is None or not self.embedder.embeds or not todo:
            return dense
        try:
            return dense | await embed_texts(self.embedder, {upsert.id: upsert.payload["text"] for upsert in todo})
        except DependencyError:
            return dense  # stored without, marked pending, filled in later; never a zero vector

    async def _offer_candidates(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Put scored candidates to corrections that wait for a target nobody knows."""
        return [await self._offer(outcome) if outcome.disposition is Disposition.WAITING else outcome for outcome in outcomes]

    async def _offer(self, outcome: Outcome) -> Outcome:
        event = outcome.event
        assert isinstance(event, Corrected)
        parts = [event.inline.text if event.inline is not None else "", event.subject or "", event.reason or ""]
        words = " ".join([*parts, *event.targets])[:MAX_QUERY_CHARS]
        query = SearchQuery(space=event.space, sparse=bm25_query(words), limit=MAX_CANDIDATES)
        hits = await self.store.search(query)
        candidates = [
            {"memory_id": hit.point.payload["memory_id"], "score": round(hit.score, 4)}
            for hit in hits
            if hit.point.payload["memory_id"] != event.replacement
        ]
        questions = tuple(
            replace(question, detail={**question.detail, "candidates": candidates})
            if question.kind == "waiting_correction"
            else question
            for question in outcome.questions
        )
        return replace(outcome, questions=questions)


class _Collector:
    """The collector of reference cycles, which the batches of several pipelines pause at the same time."""

    def __init__(self) -> None:
        self._pauses = 0
        self._was_on = False

    def pause(self) -> None:
        """Keep it off until everybody who paused it has resumed."""
        if not self._pauses:
            self._was_on = gc.isenabled()
            gc.disable()
        self._pauses += 1

    def resume(self) -> None:
        """Turn it on with the last, if it was on before the first."""
        self._pauses -= 1
        if not self._pauses and self._was_on:
            gc.enable()


_COLLECTOR = _Collector()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the collector of reference cycles off while a batch is in hand; what is freed by counting still is.

    What a batch holds is alive to its end, and the collector walks it again and again as it grows: measured, a tenth of the time of
    plain batches and half of that of a correction of 20,000 records. Its work is only put off.
    """
    _COLLECTOR.pause()
    try:
        yield
    finally:
        _COLLECTOR.resume()


def _is_record(upsert: Upsert) -> bool:
    return bool(upsert.payload["point"] == PointKind.RECORD)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _count(plan: Plan, report: BatchReport) -> None:
    report.outcomes = plan.outcomes
    report.inferred += plan.inferred
    report.erased |= plan.erased
    report.dispositions.update(outcome.disposition.value for outcome in plan.outcomes)
    made = {upsert.id for phase in plan.phases for upsert in phase.upserts if _is_record(upsert)}
    report.records += len(made)
    for outcome in plan.outcomes:
        if outcome.correction is not None and outcome.disposition is not Disposition.DUPLICATE:
            report.felled += len(outcome.correction.felled)
        record = outcome.record
        if record is None or outcome.disposition is not Disposition.APPLIED or isinstance(outcome.event, Induced):
            continue
        report.born_superseded += record.record_id in made and record.is_born_superseded
        report.refused_claims += record.claimed_verified and not record.is_verified
