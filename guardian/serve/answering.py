"""Answering: the model behind a service, its one budget, and what is counted of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from guardian.chat.budget import Budget, BudgetedChat
from guardian.chat.port import ChatModel
from guardian.ports import Store
from guardian.read import Admission
from guardian.read.stage.answer import Answer, StageOptions, answer
from guardian.read.stage.evidence import Evidence
from guardian.read.stage.reflect import load_cards
from guardian.telemetry.serve import ServeMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Answers from contexts by a model.

    Attributes:
        chat: The model.
        budget: The account of this process, which all callers share; each space has its own part of it, where one is set.
        options: How the stages are run.
        metrics: Counts calls, tokens, money and what the check found.
    """

    chat: ChatModel
    budget: Budget
    options: StageOptions
    metrics: ServeMetrics

    async def answer(
        self, store: Store, admission: Admission, question: str, *, evidence: Sequence[Evidence], with_trace: bool
    ) -> Answer:
        """Answer a question from what was admitted to it, and from what the caller has at hand.

        Raises:
            ConfigError: The model will never answer.
            DependencyError: The store is away; a model that is away is no error but a fallback.
        """
        model = BudgetedChat(chat=self.chat, budget=self.budget, space=admission.space, on_usage=self.metrics.note_usage)
        found = await answer(
            admission,
            question,
            model,
            cards=await load_cards(store, admission),
            options=replace(self.options, with_trace=with_trace),
            evidence=evidence,
            on_call=self.metrics.note_call,
        )
        self.metrics.note_answer(found)
        return found

    async def close(self) -> None:
        """Close the model."""
        await self.chat.close()
