"""The inducer: asks a model several times about one memory, and makes one card of what it says, or none.

Counterfactual Induction after MemAdapter (arXiv 2610.05162): the memory is set beside hypothetical requests and other evidence before any
query is known. Samples that agree give a card with that confidence; samples that do not leave the rules' card and the narrowing "may not
influence objective conclusions"; where none can be used, nothing is said at all, since a model that cannot answer must not demote a bank.

Results are kept by content, prompt and model, for a time: what is kept is derived from texts that may be erased.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from weakref import WeakValueDictionary

import structlog

from guardian.chat.port import ChatModel, ChatRequest
from guardian.chat.structured import FaultyAnswerError
from guardian.core.card import Card
from guardian.core.claim import digest_text
from guardian.core.induction import digest_content
from guardian.core.model import MemoryKind, SourceKind
from guardian.core.narrowing import NO_OBJECTIVE_INFLUENCE, Narrowing
from guardian.errors import RecordError
from guardian.induce.agreement import choose_sample, merge_narrowings, score_agreement
from guardian.induce.answer import SCHEMA_NAME, Sample, build_schema, read_answer
from guardian.induce.line import Origin
from guardian.induce.prompt import PROMPT_VERSION, Content, build_messages

log = structlog.stdlib.get_logger(__name__)

# A memory that no model can stumble over.
_OWN: Final = Content(text="The gate of the depot is green.", kind=MemoryKind.FACT, source_kind=SourceKind.DOCUMENT)


class Outcome(StrEnum):
    """What became of one memory."""

    INDUCED = "induced"
    FALLBACK = "fallback"
    UNUSABLE = "unusable"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What a model made of one content.

    Attributes:
        outcome: `induced`, or why there is no card.
        card: The model's; None leaves the rules' card.
        narrowing: What the permission loses; None says nothing at all.
        confidence: Agreement of the samples, in [0, 1].
        is_cached: It was made before.
    """

    outcome: Outcome
    card: Card | None = None
    narrowing: Narrowing | None = None
    confidence: float = 0.0
    is_cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InduceLimits:
    """How a memory is asked about.

    Attributes:
        samples: Questions a memory, at least 2: one sample agrees with nobody.
        threshold: Agreement from which a card is believed, in [0, 1].
        temperature: Of the questions; at 0 samples would agree for nothing.
        repairs: Further questions after an answer that cannot be used, for each sample.
        max_tokens: Longest answer.
        cache_entries: Results kept, at most.
        cache_s: How long, seconds.
    """

    samples: int = 3
    threshold: float = 0.6
    temperature: float = 0.7
    repairs: int = 1
    max_tokens: int = 2_000
    cache_entries: int = 2_000
    cache_s: float = 3_600.0


class Inducer:
    """Makes cards of contents.

    Attributes:
        model: The model's name, as cards will bear it.
        version: Of the prompt.
    """

    def __init__(self, *, model: str, limits: InduceLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.model = model
        self.version = PROMPT_VERSION
        self.limits = limits or InduceLimits()
        self._clock = clock
        self._schema = build_schema()
        self._kept: OrderedDict[str, tuple[float, Drawn]] = OrderedDict()
        # One question a content at a time: whoever comes meanwhile finds what is kept.
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def induce(self, content: Content, chat: ChatModel) -> Drawn:
        """Make a card of one content.

        Args:
            content: What of the memory is shown.
            chat: The model; mostly with the budget of the memory's space.

        Raises:
            DependencyError: The model is away, or a budget is used up.
            ConfigError: It will never answer.
        """
        digest = digest_content(text_digest=digest_text(content.text), kind=content.kind, source_kind=content.source_kind)
        lock = self._asking.setdefault(digest, asyncio.Lock())  # gone with the last who waits for it
        async with lock:
            if (kept := self._find(digest)) is not None:
                return kept
            made = await self._sample(content, chat, digest)
            if made.narrowing is not None:
                self._keep(digest, made)
            return made

    async def try_out(self, chat: ChatModel) -> None:
        """Ask about a memory of our own, in the form of every question; whatever is answered, the model is there.

        Raises:
            DependencyError: The model is away, or a budget is used up.
            RecordError: It refuses even that.
            ConfigError: It will never answer.
        """
        request = ChatRequest(
            messages=build_messages(_OWN, version=self.version),
            schema=self._schema,
            schema_name=SCHEMA_NAME,
            max_tokens=self.limits.max_tokens,
        )
        await chat.ask(request)

    async def _sample(self, content: Content, chat: ChatModel, digest: str) -> Drawn:
        origin = Origin.of(content.text)
        tasks = [asyncio.create_task(self._ask(content, chat, seed, origin)) for seed in range(1, self.limits.samples + 1)]
        try:
            answers = await asyncio.gather(*tasks)
        except RecordError as exc:  # the endpoint refuses this memory, its length or by a filter; or no budget has room for it
            log.warning("card.refused", error=str(exc))
            return Drawn(outcome=Outcome.REFUSED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return self._conclude([answer for answer in answers if answer is not None], digest)

    async def _ask(self, content: Content, chat: ChatModel, seed: int, origin: Origin) -> Sample | None:
        """Ask for one sample, again after what cannot be used; None when the tries are used up."""
        fault: str | None = None
        for _ in range(self.limits.repairs + 1):
            request = ChatRequest(
                messages=build_messages(content, fault=fault, version=self.version),
                schema=self._schema,
                schema_name=SCHEMA_NAME,
                temperature=self.limits.temperature,
                max_tokens=self.limits.max_tokens,
                seed=seed,
            )
            try:
                return read_answer(await chat.ask(request), origin)
            except FaultyAnswerError as exc:
                fault = str(exc)
        return None

    def _conclude(self, samples: list[Sample], digest: str) -> Drawn:
        if not samples:
            return Drawn(outcome=Outcome.UNUSABLE)
        confidence = score_agreement(samples, asked=self.limits.samples)
        if confidence < self.limits.threshold:
            return Drawn(outcome=Outcome.FALLBACK, narrowing=NO_OBJECTIVE_INFLUENCE, confidence=confidence)
        chosen = choose_sample(samples)
        card = Card(
            task_types=chosen.task_types,
            settings=chosen.settings,
            distinctions=chosen.distinctions,
            rules=chosen.rules,
            summary=chosen.summary,
            inducer=self.model,
            inducer_version=self.version,
            confidence=confidence,
            content_digest=digest,
        )
        narrowing = merge_narrowings([sample.narrowing for sample in samples])
        return Drawn(outcome=Outcome.INDUCED, card=card, narrowing=narrowing, confidence=confidence)

    def _find(self, digest: str) -> Drawn | None:
        entry = self._kept.get(digest)
        if entry is None or entry[0] < self._clock():
            self._kept.pop(digest, None)
            return None
        self._kept.move_to_end(digest)
        return entry[1]

    def _keep(self, digest: str, made: Drawn) -> None:
        kept = Drawn(outcome=made.outcome, card=made.card, narrowing=made.narrowing, confidence=made.confidence, is_cached=True)
        self._kept[digest] = (self._clock() + self.limits.cache_s, kept)
        while len(self._kept) > self.limits.cache_entries:
            self._kept.popitem(last=False)
