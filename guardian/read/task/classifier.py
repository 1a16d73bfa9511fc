"""Tell from a question alone what its answer may rest on; say nothing where that is unsure.

Two things are guessed, each on its own: whether the answer has to establish an objective fact (then what a user said is no evidence
for it), and whether it may be personalised. None means unknown, and unknown is read on the careful side: as a
question of fact, and not personal. Nothing is said for another embedder's vectors, for a language without a word list, for
a question far from all that was seen in training, and between the thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from guardian.read.task.cue import ENGLISH, read_cues
from guardian.read.task.head import TaskModel


class Silence(StrEnum):
    """Why nothing is said."""

    EMBEDDER = "embedder"  # the vector is of another embedder than the weights
    VECTOR = "vector"  # there is no vector, or none with a direction
    LANGUAGE = "language"  # no word list knows enough of the words
    NOVELTY = "novelty"  # far from all questions seen in training
    UNSURE = "unsure"  # between the thresholds, for both questions


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGuess:
    """What a question seems to ask for.

    Attributes:
        requires_objective_fact: The answer is right or wrong whoever asks; None for unknown.
        personalization_allowed: What is known of the person may shape the answer; None for unknown.
        confidence: Probability, in [0, 1], of the less sure of the answers given; 0 when nothing is said. The thresholds have judged
            it already: they differ by label and language, so that a further common limit only loses answers.
        objective_probability, personal_probability: Calibrated; None where no head was asked.
        language: Guessed language of the question.
        silence: Why both are None.
    """

    requires_objective_fact: bool | None = None
    personalization_allowed: bool | None = None
    confidence: float = 0.0
    objective_probability: float | None = None
    personal_probability: float | None = None
    language: str | None = None
    silence: Silence | None = None


@dataclass(frozen=True, slots=True)
class QuestionClassifier:
    """Guesses tasks with one trained model. It holds no state and does no I/O; a guess takes about a tenth of a millisecond."""

    model: TaskModel

    def fits(self, embedder: str) -> bool:
        """Tell whether vectors of this embedder can be classified; says it once at start, where each guess would be silent."""
        return embedder == self.model.file.embedder

    def guess(self, question: str, vector: Sequence[float] | None, *, embedder: str) -> TaskGuess:
        """Guess what a question asks for.

        Args:
            question: As it was asked.
            vector: Its embedding, of any length.
            embedder: Identity of what made the vector.
        """
        if not self.fits(embedder):
            return TaskGuess(silence=Silence.EMBEDDER)
        if vector is None or len(vector) != self.model.file.size or not 0 < (length := math.hypot(*vector)) < math.inf:
            return TaskGuess(silence=Silence.VECTOR)
        cues = read_cues(question)
        if cues.language is None:
            return TaskGuess(silence=Silence.LANGUAGE)
        unit = np.asarray(vector, dtype=np.float64) / length
        if cues.language == ENGLISH and not self.model.is_near(unit):
            return TaskGuess(silence=Silence.NOVELTY, language=cues.language)
        file = self.model.file
        heads = [self.model.choose(heads, cues) for heads in (file.requires_objective_fact, file.personalization_allowed)]
        objective, personal = (head.score_probability(cues.values, unit) for head in heads)
        answers = (heads[0].gate.decide(objective), heads[1].gate.decide(personal))
        said = [p if answer else 1 - p for p, answer in zip((objective, personal), answers, strict=True) if answer is not None]
        return TaskGuess(
            requires_objective_fact=answers[0],
            personalization_allowed=answers[1],
            confidence=min(said, default=0.0),
            objective_probability=objective,
            personal_probability=personal,
            language=cues.language,
            silence=None if said else Silence.UNSURE,
        )
