"""The local classifier as the read's port: which embedder a vector is of is known from the store, not from the question."""

from __future__ import annotations

from dataclasses import dataclass

from guardian.read.admission.task import Classification, Task
from guardian.read.task.classifier import QuestionClassifier


@dataclass(frozen=True, slots=True)
class LocalTaskClassifier:
    """A `TaskClassifier` that guesses on this machine, without a model call.

    Attributes:
        embedder: Identity of what makes the questions' vectors.
    """

    classifier: QuestionClassifier
    embedder: str

    async def classify(self, question: str, vector: tuple[float, ...] | None) -> Classification:
        """Guess what a question asks for; each of its answers has passed a threshold of its own, so what it says is sure enough."""
        guess = self.classifier.guess(question, vector, embedder=self.embedder)
        task = Task(
            requires_objective_fact=guess.requires_objective_fact,
            personalization_allowed=guess.personalization_allowed,
            concerns_others=guess.concerns_others,
            is_history=guess.is_history,
        )
        return Classification(task=task, confidence=0.0 if guess.silence is not None else 1.0)
