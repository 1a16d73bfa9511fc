"""Tell from a question alone what its answer may rest on; say nothing where that is unsure.

Three things are guessed, each on its own: whether the answer has to establish an objective fact (then what a user said is no evidence
for it), whether it may be personalised, and whether the choice is others', too (then a wish binds the asker alone). None means unknown, and
unknown is read as a question of fact, not personal, and the asker's own. A question about what was so before is known by its words alone. Nothing is said for another embedder's vectors, for a language without a word list, for
a question far from all that was seen in training, and between the thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from guardian.read.task.cue import ENGLISH, Cues, read_cues
from guardian.read.task.head import Floats, TaskModel

# An English sentence that asks for advice says by its words already that it wants no fact: there the two first heads need not be as sure each, if they
# agree. Probability below which it is then no question of fact, and from which it is personal; looser, choices that evidence has to decide pass for wishes.
_ADVICE_OBJECTIVE_BELOW, _ADVICE_PERSONAL_FROM = 0.2, 0.85


class Silence(StrEnum):
    """Why nothing is said."""

    EMBEDDER = "embedder"  # the vector is of another embedder than the weights
    VECTOR = "vector"  # there is no vector, or none with a direction
    LANGUAGE = "language"  # no word list knows enough of the words
    NOVELTY = "novelty"  # far from all questions seen in training
    UNSURE = "unsure"  # between the thresholds, for all labels


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGuess:
    """What a question seems to ask for.

    Attributes:
        requires_objective_fact: The answer is right or wrong whoever asks; None for unknown.
        personalization_allowed: What is known of the person may shape the answer; None for unknown.
        concerns_others: The choice is somebody else's, too; None for unknown.
        is_history: It asks, in so many words, for what was so before; never False.
        confidence: Probability, in [0, 1], of the less sure of the answers given; 0 when nothing is said. The thresholds have judged
            it already: they differ by label and language, so that a further common limit only loses answers.
        objective_probability, personal_probability, others_probability: Calibrated; None where no head was asked.
        language: Guessed language of the question.
        silence: Why nothing is said.
    """

    requires_objective_fact: bool | None = None
    personalization_allowed: bool | None = None
    concerns_others: bool | None = None
    is_history: bool | None = None
    confidence: float = 0.0
    objective_probability: float | None = None
    personal_probability: float | None = None
    others_probability: float | None = None
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
            question: As it is to be understood; see `resolve_question`.
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
        return self._answer(cues, unit)

    def _answer(self, cues: Cues, unit: Floats) -> TaskGuess:
        """Ask the heads of the question's language."""
        file = self.model.file
        labels = (file.requires_objective_fact, file.personalization_allowed, file.concerns_others)
        heads = [self.model.choose(label, cues) for label in labels]
        sure = [head.score_probability(cues.values, unit) for head in heads]
        answers = [head.gate.decide(probability) for head, probability in zip(heads, sure, strict=True)]
        if _asks_advice(cues, sure):
            answers[:2] = [False, True]
        said = [p if answer else 1 - p for p, answer in zip(sure, answers, strict=True) if answer is not None]
        is_history = cues.shows("ask:past") or None
        return TaskGuess(
            requires_objective_fact=answers[0],
            personalization_allowed=answers[1],
            concerns_others=answers[2],
            is_history=is_history,
            confidence=min(said, default=0.0),
            objective_probability=sure[0],
            personal_probability=sure[1],
            others_probability=sure[2],
            language=cues.language,
            silence=None if said or is_history else Silence.UNSURE,
        )


def _asks_advice(cues: Cues, sure: list[float]) -> bool:
    """Tell whether it asks for advice that is the asker's own affair."""
    is_advice = cues.language == ENGLISH and cues.shows("ask:advise")
    return is_advice and sure[0] < _ADVICE_OBJECTIVE_BELOW and sure[1] >= _ADVICE_PERSONAL_FROM
