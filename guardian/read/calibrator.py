"""The calibrator: from a question to a calibrated context, with one search and no model call.

What the write path worked out is put to use: `Calibrator.context` searches once, lets the pure rules of `guardian.read.admission` decide
on what was found, compiles the prompt, and leaves a line in the ledger. `guardian.read.find` says when more than one search is made.
"""

from __future__ import annotations

import asyncio
import copy
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import TracebackType
from typing import Self

import structlog

from guardian.contracts.ledger import ContextGiven, ContextJudged
from guardian.contracts.outcome import build_outcome_id
from guardian.core.calibration import load_calibration, overlay
from guardian.core.model import Read
from guardian.core.needs import Needs
from guardian.core.point import PointKind
from guardian.core.policy import GOLD, Policy
from guardian.embed.port import Embedder
from guardian.errors import DependencyError
from guardian.ports import OutcomeMessage, Publisher, Store
from guardian.read.admission.decision import Decision, Role, Ruling, Setting
from guardian.read.admission.policy import ReadPolicy
from guardian.read.admission.task import Task, TaskClassifier, UnknownTask, fill_task, needs_classifying
from guardian.read.find import find, limit_question
from guardian.read.ledger.entry import EVENTS_TOPIC, build_entry, build_read, digest_query, pack_entry, pack_read
from guardian.read.prompt.budget import TokenCounter, estimate_tokens
from guardian.read.prompt.compile import Prompt, check_budget, compile_advised
from guardian.read.task.turn import resolve_question

log = structlog.stdlib.get_logger(__name__)

# A space's calibration is looked up again after so long: a read shall cost one query, and activations are a matter of weeks.
_CALIBRATION_AGE = timedelta(seconds=30)
# Spaces whose calibrations are kept, a few hundred bytes each.
_MAX_CALIBRATED = 10_000


@dataclass(frozen=True, kw_only=True)
class Admission:
    """What one question is given from memory, and why.

    Attributes:
        ruling: Every decision, the conflicts, and what to do for want of a verified record.
        prompt: The same as text and as chat messages.
        task: As it was decided upon: what the caller said, and what a classifier filled in.
        asked_at: When it was asked, UTC.
        retrieved: Distinct records that were found.
        searches: Searches that were made.
        has_vector: Whether the question's embedding was used.
        latency_ms: From question to prompt.
        is_recorded: Whether the ledger has taken its line; False, too, without a ledger.
    """

    space: str
    task: Task
    ruling: Ruling
    prompt: Prompt
    query_digest: str
    asked_at: datetime
    retrieved: int
    searches: int
    has_vector: bool
    latency_ms: float
    is_recorded: bool = False

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Every decision: what is admitted first, in its order."""
        return self.ruling.decisions

    def by_role(self, role: Role) -> tuple[Decision, ...]:
        """Give the decisions of a role, in their order."""
        return tuple(decision for decision in self.ruling.decisions if decision.role is role)

    @property
    def rendered(self) -> tuple[Decision, ...]:
        """What stands in the prompt."""
        return tuple(decision for decision in self.ruling.decisions if decision.is_rendered)

    @cached_property
    def entry(self) -> ContextGiven:
        """Its line in the ledger."""
        return build_entry(
            self.ruling,
            space=self.space,
            task=self.task,
            asked_at=self.asked_at,
            query_digest=self.query_digest,
            retrieved=self.retrieved,
            searches=self.searches,
            has_vector=self.has_vector,
            tokens=self.prompt.tokens,
            latency_ms=self.latency_ms,
        )

    @property
    def id(self) -> str:
        """Id of its ledger line; an outcome is reported to it."""
        return build_outcome_id(self.entry)


class Calibrator:
    """Gives calibrated contexts from an open store.

    Args:
        store: Open; closing it is the caller's.
        policy: What the reader sets.
        embedder: Embeds questions, where the store has vectors made by it; None searches by words alone, unless a vector is given.
        classifier: Tells what the caller leaves open about a task.
        publisher: Takes ledger lines and `memory.read` events: the broker's, a `LedgerFile`, or None.
        on_read: Called with the `memory.read` of each context that holds something; for a guard in the same process.
        count_tokens: The tokens of a text; an estimate by default.
        query_key: Key of the digest of questions; None for a plain digest.
        source: The event source of `memory.read`.
        events_topic: Where `memory.read` goes.
        clock: The present; aware.

    Raises:
        ConfigError: The policy's token budget holds no prompt; the message names the least that does.
    """

    def __init__(
        self,
        store: Store,
        policy: ReadPolicy | None = None,
        *,
        embedder: Embedder | None = None,
        classifier: TaskClassifier | None = None,
        publisher: Publisher | None = None,
        on_read: Callable[[Read], Awaitable[None]] | None = None,
        count_tokens: TokenCounter = estimate_tokens,
        query_key: bytes | None = None,
        source: str = "/guardian/reader",
        events_topic: str = EVENTS_TOPIC,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = store
        self.policy = policy or ReadPolicy()
        check_budget(self.policy, count_tokens)
        self._passing: dict[str, tuple[datetime, frozenset[str] | None]] = {}
        self._embedder = embedder
        self._classifier = classifier or UnknownTask()
        self._publisher = publisher
        self._on_read = on_read
        self._count_tokens = count_tokens
        self._query_key = query_key
        self._source = source
        self._events_topic = events_topic
        self._clock = clock

    async def context(
        self,
        query: str,
        task: Task | None = None,
        *,
        space: str,
        vector: tuple[float, ...] | None = None,
        turns: Sequence[str] = (),
    ) -> Admission:
        """Give what memory may say to a question, and note it in the ledger.

        An answer does not wait for a ledger that is away: the admission says that it was not recorded, and the log does.

        Args:
            query: The question.
            task: What is known of it; what is open goes to the classifier, and what stays open is read on the careful side.
            space: The memory bank.
            vector: The question's embedding, where the caller has it.
            turns: What the asker said before in this conversation, oldest first; never what an assistant or a tool said. A question that
                points back ("the situation we discussed") is classified and looked up behind the latest of them; the others are read as they stand.

        Raises:
            DependencyError: The store or the classifier's model is away.
            ValueError: The vector is none of this store's, or a name has half a character.
        """
        self._check_asked(task, space, vector)
        started, asked_at = time.perf_counter(), self._clock().astimezone(UTC)
        meant = limit_question(resolve_question(limit_question(query), turns))
        dense = await self._embed(meant, vector)
        known = await self._settle_task(meant, task or Task(), dense)
        setting = Setting(task=known, policy=await self._settle_policy(space, asked_at), at=self.policy.at or asked_at)
        found = await find(self.store, meant, dense, setting, space=space)
        prompt, ruling = compile_advised(found.ruling, setting, count_tokens=self._count_tokens)
        admission = Admission(
            space=space,
            task=known,
            ruling=ruling,
            prompt=prompt,
            query_digest=digest_query(query, self._query_key),
            asked_at=asked_at,
            retrieved=found.retrieved,
            searches=found.searches,
            has_vector=dense is not None,
            latency_ms=(time.perf_counter() - started) * 1000,
        )
        return await self._record(admission)

    def _check_asked(self, task: Task | None, space: str, vector: tuple[float, ...] | None) -> None:
        """Refuse what the caller got wrong, before anything is asked of others."""
        size = self.store.identity.vector_size
        if vector is not None and size and (len(vector) != size or not all(map(math.isfinite, vector))):
            raise ValueError(
                f"the vector has {len(vector)} numbers, and must have {size} finite ones: embed the question with"
                f" '{self.store.identity.embedding}', or leave it out"
            )
        named = () if task is None else ((part.name, getattr(task, part.name)) for part in fields(task))
        for name, text in (("space", space), *named):
            if isinstance(text, str) and not text.isascii() and text != text.encode(errors="replace").decode():
                raise ValueError(f"{name} has half a character (a lone surrogate): give valid Unicode")

    async def report(
        self,
        admission: Admission,
        value: float,
        *,
        judged_by: str,
        used: Sequence[str] | None = None,
        overridden: bool = False,
    ) -> ContextJudged:
        """Note in the ledger what came of an answer, for the figures that attribute wrong ones.

        Args:
            admission: The context the answer was given for.
            value: How right it was, in [0, 1].
            judged_by: Who says so: a channel, such as `gold` or `tests`.
            used: Memory ids that went into the answer, where that is known.
            overridden: The answer went against what was decided; using what was rejected always is.

        Raises:
            DependencyError: The ledger is away.
        """
        given = {decision.candidate.memory_id for decision in admission.rendered}
        against = overridden or not given.issuperset(used or ())
        return await self.judge(admission.id, value, space=admission.space, judged_by=judged_by, used=used, overridden=against)

    def limited(self, limit: int | None) -> Calibrator:
        """Give the same calibrator with another most number of records; itself for None."""
        if limit is None:
            return self
        other = copy.copy(self)
        other.policy = replace(self.policy, limit=limit)
        return other

    async def judge(
        self,
        context: str,
        value: float,
        *,
        space: str,
        judged_by: str,
        used: Sequence[str] | None = None,
        overridden: bool = False,
    ) -> ContextJudged:
        """Note an outcome of a context that only its id is left of; what was rendered is the caller's to compare.

        Raises:
            DependencyError: The ledger is away.
        """
        judged = ContextJudged(
            space=space,
            context=context,
            judged_at=self._clock().astimezone(UTC),
            value=value,
            judged_by=judged_by,
            used=None if used is None else tuple(used),
            overridden=overridden,
        )
        if self._publisher is not None:
            await self._publisher.publish([pack_entry(judged)])
        return judged

    async def _embed(self, query: str, vector: tuple[float, ...] | None) -> tuple[float, ...] | None:
        """Give the question's vector; with the model away words alone have to do."""
        embedder = self._embedder
        if vector is not None or not self.store.identity.vector_size:
            return vector if self.store.identity.vector_size else None
        if embedder is None or not embedder.embeds or embedder.identity != self.store.identity.embedding:
            return None
        try:
            return (await embedder.embed([query]))[0]
        except DependencyError as exc:
            log.warning("context.embedding_failed", error=str(exc))
            return None

    async def _settle_task(self, query: str, task: Task, vector: tuple[float, ...] | None) -> Task:
        if not needs_classifying(task):
            return task
        found = await self._classifier.classify(query, vector)
        return fill_task(task, found, least_confidence=self.policy.least_confidence)

    async def _settle_policy(self, space: str, now: datetime) -> ReadPolicy:
        """Give the policy; where a calibration is activated in the space, that one says which channels pass."""
        known = self._passing.get(space)
        if known is None or not known[0] <= now < known[0] + _CALIBRATION_AGE:
            if len(self._passing) >= _MAX_CALIBRATED:
                self._passing.clear()
            known = self._passing[space] = (now, await self._fetch_passing(space))
        return self.policy if known[1] is None else replace(self.policy, passing_channels=known[1])

    async def _fetch_passing(self, space: str) -> frozenset[str] | None:
        """Look up the channels that pass by the calibration of a space; None where none is activated."""
        points = await self.store.fetch(Needs(calibrations={(space, PointKind.CALIBRATION.value)}))
        found = overlay(Policy(), [load_calibration(point.id, point.payload) for point in points])
        if found.channels is None:
            return None
        return frozenset({GOLD, *(name for name, trust in found.trusted.items() if not trust.members)})

    async def _record(self, admission: Admission) -> Admission:
        """Send the ledger line and the `memory.read`."""
        if self._publisher is None and self._on_read is None:
            return admission
        read = build_read(admission.entry, source=self._source)
        messages: list[OutcomeMessage] = [pack_entry(admission.entry)]
        if read is not None:
            messages.append(pack_read(read, topic=self._events_topic))
        # The guard learns of the read in any case: without a ledger nobody can account for it, without this its recaps have no parent.
        if read is not None and self._on_read is not None:
            await self._attempt(self._on_read(read))
        if self._publisher is None:
            return admission
        return replace(admission, is_recorded=await self._attempt(self._publisher.publish(messages)))

    async def _attempt(self, noting: Awaitable[None]) -> bool:
        """Note a read somewhere; whether that was done. What is away costs no answer."""
        try:
            await noting
        except DependencyError as exc:
            log.warning("context.not_recorded", error=str(exc))
            return False
        return True


class SyncCalibrator:
    """The same for code without an event loop: a calibrator and a loop of its own, in the caller's thread.

    Use it as a context manager: it opens the store on entering and closes it on leaving.

    ```python
    with SyncCalibrator(Calibrator(store)) as memory:
        print(memory.context("price of beans", space="coffee-shop").prompt.text)
    ```
    """

    def __init__(self, calibrator: Calibrator) -> None:
        self._calibrator = calibrator
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        """Open the store."""
        self._runner.run(self._calibrator.store.open())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the store and the loop."""
        try:
            self._runner.run(self._calibrator.store.close())
        finally:
            self._runner.close()

    def context(
        self,
        query: str,
        task: Task | None = None,
        *,
        space: str,
        vector: tuple[float, ...] | None = None,
        turns: Sequence[str] = (),
    ) -> Admission:
        """Give what memory may say to a question; see `Calibrator.context`."""
        return self._runner.run(self._calibrator.context(query, task, space=space, vector=vector, turns=turns))

    def report(
        self,
        admission: Admission,
        value: float,
        *,
        judged_by: str,
        used: Sequence[str] | None = None,
        overridden: bool = False,
    ) -> ContextJudged:
        """Note what came of an answer; see `Calibrator.report`."""
        return self._runner.run(self._calibrator.report(admission, value, judged_by=judged_by, used=used, overridden=overridden))
