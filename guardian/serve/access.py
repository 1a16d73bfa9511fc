"""Access: what the bearer of a key may do with memory, whatever the transport.

Every method takes the key and the space first and checks them before anything is looked at; what is refused is told without saying
whether it exists. HTTP, MCP and the examples stand on this.
"""

from __future__ import annotations

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from guardian.contracts.admission import DecodePolicy
from guardian.core.model import Corrected, Event, Written
from guardian.core.moment import format_time
from guardian.core.needs import Needs
from guardian.core.point import PointKind
from guardian.core.policy import GOLD, Policy
from guardian.core.script import is_hidden
from guardian.embed.port import Embedder
from guardian.errors import DependencyError
from guardian.ports import Store
from guardian.read import Admission, Calibrator, Task
from guardian.read.explain import explain
from guardian.read.retrieve import Question, retrieve
from guardian.read.stage.evidence import Evidence
from guardian.read.stage.standing import still_stands
from guardian.read.task.turn import resolve_question
from guardian.serve import answer
from guardian.serve.answering import Answerer
from guardian.serve.body import (
    ContextAnswer,
    ContextRequest,
    CorrectRequest,
    MemoryAnswer,
    OutcomeAnswer,
    OutcomeRequest,
    SearchAnswer,
    SearchRequest,
    WriteAnswer,
    WriteRequest,
)
from guardian.serve.key import Key, Right
from guardian.serve.problem import RETRY_AWAY_S, ProblemError
from guardian.serve.reasoned import AnswerReply, AnswerRequest, build_answer
from guardian.serve.sending import Sink
from guardian.serve.statement import build_corrected_data, build_statement, build_written_data
from guardian.telemetry.serve import ServeMetrics

# Contexts whose given memories are remembered, so that an outcome that used others is seen; 200 bytes each.
_REMEMBERED = 10_000
# Times a question is answered whose memories change while the model writes; each costs its tokens.
_ANSWER_TRIES = 2
_MAX_ID_CHARS = 1_024
_CONTEXT_ID = re.compile(r"[0-9a-f]{32}")
_NOBODY = "00000000-0000-0000-0000-000000000000"


@dataclass(kw_only=True)
class Access:
    """Memory as callers reach it.

    Attributes:
        calibrator: Over the open store.
        embedder: That of the store, for plain searches; None searches by words.
        sink: Where events go.
        policy_of: The policy of a space.
        decode_policy: What is refused.
        has_ledger: Whether contexts and outcomes are kept anywhere.
        answerer: The model that answers; None where none is set.
        max_answers: Answers by it in hand at once: they take seconds, and must not take the places of reads.
        metrics: Counts what is given.
    """

    calibrator: Calibrator
    sink: Sink
    policy_of: Callable[[str], Policy]
    decode_policy: DecodePolicy
    embedder: Embedder | None = None
    has_ledger: bool = True
    answerer: Answerer | None = None
    max_answers: int = 16
    metrics: ServeMetrics = field(default_factory=ServeMetrics)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _answering: int = 0
    _given: OrderedDict[tuple[str, str], frozenset[str]] = field(default_factory=OrderedDict)

    @property
    def store(self) -> Store:
        """The open store."""
        return self.calibrator.store

    async def probe(self) -> None:
        """Ask the store for something small.

        Raises:
            DependencyError: It is away.
        """
        await self.store.fetch(Needs(ids={_NOBODY}))

    async def context(self, key: Key, space: str, asked: ContextRequest) -> ContextAnswer:
        """Give what memory may say to a question.

        Raises:
            ProblemError: The key may not.
            DependencyError: The store is away.
        """
        authorize(key, space, Right.READ)
        return answer.build_context(await self._admit(space, asked))

    async def answer(self, key: Key, space: str, asked: AnswerRequest) -> AnswerReply:
        """Have a model answer a question from what memory may say to it, and from what the caller has at hand.

        Raises:
            ProblemError: The key may not, no model is set here, too many answers are in hand, or memory changed meanwhile, twice.
            DependencyError: The store is away; a model that is away is a fallback.
            ConfigError: The model will never answer.
        """
        authorize(key, space, Right.READ)
        authorize(key, space, Right.ANSWER)
        if self.answerer is None:
            raise ProblemError(
                404,
                "no_model",
                "no model answers here.",
                "set GUARDIAN_ANSWER__MODEL where the service runs, or ask for a context.",
            )
        if self._answering >= self.max_answers:
            raise ProblemError(503, "too_busy", "too many answers are in hand.", "try again.", retry_after_s=RETRY_AWAY_S)
        self._answering += 1
        try:
            return await self._answer(self.answerer, space, asked)
        finally:
            self._answering -= 1

    async def _answer(self, answerer: Answerer, space: str, asked: AnswerRequest) -> AnswerReply:
        """Answer from what still stands when the model is done: what fell or was erased meanwhile is not told."""
        evidence = [Evidence(source=one.source, text=one.text) for one in asked.evidence]
        meant = resolve_question(asked.question, asked.turns)
        for _ in range(_ANSWER_TRIES):
            admission = await self._admit(space, asked)
            found = await answerer.answer(self.store, admission, meant, evidence=evidence, with_trace=asked.trace)
            if await still_stands(self.store, admission):
                return build_answer(found, answer.build_context(admission))
        raise ProblemError(
            503,
            "memory_changed",
            "memories that the answer rests on were corrected or erased while it was written.",
            "ask again.",
            retry_after_s=RETRY_AWAY_S,
        )

    async def _admit(self, space: str, asked: ContextRequest) -> Admission:
        task = Task(**asked.task.model_dump())
        admission = await self.calibrator.limited(asked.limit).context(asked.question, task, space=space, turns=asked.turns)
        self._remember(admission)
        self.metrics.note_given(admission.entry, asked=task, known=admission.task)
        if self.has_ledger and not admission.is_recorded:
            self.metrics.note_ledger_failure("given")
        return admission

    async def search(self, key: Key, space: str, asked: SearchRequest) -> SearchAnswer:
        """Search a space, without roles and without a trace.

        Raises:
            ProblemError: The key may not.
            DependencyError: The store is away.
        """
        authorize(key, space, Right.READ)
        question = Question(
            space=space,
            text=asked.text,
            limit=asked.limit,
            with_history=asked.history,
            per_family=None if asked.every else 1,
            at=None if asked.history else self.clock(),
        )
        return answer.build_search(await retrieve(self.store, question, self.embedder))

    async def explain(self, key: Key, space: str, memory_id: str) -> MemoryAnswer:
        """Give all that is known of a memory.

        Raises:
            ProblemError: The key may not, or there is no such memory.
            DependencyError: The store is away.
        """
        authorize(key, space, Right.READ)
        check_id(memory_id, "memory_id")
        known = await explain(self.store, space, memory_id)
        if known is None:
            raise ProblemError(
                404, "no_such_memory", "the store has never heard of that memory.", "look for it with a search; ids are exact."
            )
        return answer.build_memory(known)

    async def knows(self, key: Key, space: str, memory_id: str) -> bool:
        """Tell whether a memory was ever written, for whoever may correct in its space.

        Raises:
            ProblemError: The key may not.
            DependencyError: The store is away.
        """
        authorize(key, space, Right.CORRECT)
        check_id(memory_id, "memory_id")
        points = await self.store.fetch(Needs(memories={(space, memory_id)}))
        return any(point.payload["point"] == PointKind.RECORD and point.payload["memory_id"] == memory_id for point in points)

    async def write(self, key: Key, space: str, asked: WriteRequest) -> WriteAnswer:
        """Write a memory.

        Raises:
            ProblemError: The key may not.
            RecordError: The memory can never be written.
            DependencyError: Broker or store is away.
        """
        authorize(key, space, Right.WRITE)
        data = build_written_data(asked, key, self.policy_of(space))
        return await self._send("memory.written", data, key, space, event_id=asked.event_id, time=asked.time)

    async def correct(self, key: Key, space: str, asked: CorrectRequest) -> WriteAnswer:
        """Correct memories on the word of the key.

        Raises:
            ProblemError: The key may not.
            RecordError: The correction can never succeed.
            DependencyError: Broker or store is away.
        """
        authorize(key, space, Right.CORRECT)
        data = build_corrected_data(asked, key, self.policy_of(space))
        return await self._send("memory.corrected", data, key, space, event_id=asked.event_id, time=asked.time)

    async def delete(self, key: Key, space: str, memory_id: str) -> WriteAnswer:
        """Delete a memory as an agent does: barred from answers, kept for audit.

        Raises:
            ProblemError: The key may not.
            DependencyError: Broker or store is away.
        """
        authorize(key, space, Right.WRITE)
        check_id(memory_id, "memory_id")
        return await self._send("memory.deleted", {"memory_id": memory_id}, key, space)

    async def judge(self, key: Key, space: str, context: str, asked: OutcomeRequest) -> OutcomeAnswer:
        """Note in the ledger what came of a context.

        Raises:
            ProblemError: The key may not, or nothing is kept here.
            DependencyError: The ledger is away.
        """
        authorize(key, space, Right.READ)
        if not _CONTEXT_ID.fullmatch(context):
            raise ProblemError(
                422, "context_id_bad", "that is no id of a context.", "send the id that the context was given with."
            )
        if _reads_as_gold(asked.judged_by) and Right.CORRECT not in key.may:
            raise ProblemError(
                403,
                "may_not_judge_gold",
                f"the key {key.name} may not say what is true.",
                "name the channel that judged, such as tests.",
            )
        if not self.has_ledger:
            raise ProblemError(
                409, "no_ledger", "this service keeps no ledger.", "set GUARDIAN_READ__LEDGER_DIR, or a broker, where it runs."
            )
        given = self._given.get((space, context))
        against = asked.overridden or (given is not None and not given.issuperset(asked.used or ()))
        try:
            judged = await self.calibrator.judge(
                context, asked.value, space=space, judged_by=asked.judged_by, used=asked.used, overridden=against
            )
        except DependencyError:
            self.metrics.note_ledger_failure("judged")
            raise
        self.metrics.note_judged(judged, had_memory=None if given is None else bool(given))
        return OutcomeAnswer(context=context, known=given is not None, overridden=against)

    async def _send(
        self,
        kind: str,
        data: Mapping[str, Any],
        key: Key,
        space: str,
        *,
        event_id: str | None = None,
        time: datetime | None = None,
    ) -> WriteAnswer:
        event = build_statement(
            kind, data, key=key, space=space, policy=self.decode_policy, now=self.clock(), event_id=event_id, time=time
        )
        disposition = await self.sink.send(event)
        state: Literal["decided", "sent"] = "sent" if disposition is None else "decided"
        return WriteAnswer(
            event_id=event.ref.id,
            source=event.ref.source,
            time=format_time(event.ref.time),
            memory_id=_name_written(event),
            state=state,
            disposition=disposition,
            trusted=self._is_trusted(event),
        )

    def _is_trusted(self, event: Event) -> bool | None:
        """Tell whether the space believes the word behind an event that asks to be believed."""
        policy = self.policy_of(event.space)
        match event:
            case Corrected():
                return policy.trusts(event.authority)
            case Written() if event.verified or event.supersedes:
                return policy.believes(event)
            case _:
                return None

    def _remember(self, admission: Admission) -> None:
        given = frozenset(decision.candidate.memory_id for decision in admission.rendered)
        self._given[(admission.space, admission.id)] = given
        while len(self._given) > _REMEMBERED:
            self._given.popitem(last=False)


def authorize(key: Key, space: str, right: Right) -> None:
    """Check that a key opens a space for something.

    Raises:
        ProblemError: It does not; whether the space exists is not told.
    """
    check_id(space, "space")
    if right not in key.may:
        raise ProblemError(
            403, "may_not", f"the key {key.name} may not {right.value}.", f"use a key whose settings have {right.value} in `may`."
        )
    if not key.opens(space):
        raise ProblemError(
            403,
            "not_your_space",
            f"the key {key.name} does not open that space.",
            "use the key of that space; `spaces` lists them.",
        )


def check_id(value: str, name: str) -> None:
    """Refuse what can be no id.

    Raises:
        ProblemError: It is empty, too long, or holds NUL or half a character.
    """
    is_text = not any(0xD800 <= ord(char) <= 0xDFFF for char in value)
    if not 1 <= len(value) <= _MAX_ID_CHARS or "\x00" in value or not is_text:
        raise ProblemError(
            422,
            "id_invalid",
            f"{name} is empty, longer than {_MAX_ID_CHARS} characters, or holds NUL.",
            "send an id of that form.",
        )


def _reads_as_gold(channel: str) -> bool:
    """Tell whether a channel's name looks like that of the truth, in whatever letters and with whatever unseen between them."""
    seen = "".join(char for char in unicodedata.normalize("NFKC", channel) if not is_hidden(char))
    return seen.strip().casefold() == GOLD


def _name_written(event: Event) -> str | None:
    match event:
        case Corrected():
            return event.inline.memory_id if event.inline is not None else None
        case _:
            return getattr(event, "memory_id", None)
