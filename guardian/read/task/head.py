"""The trained part of the classifier: a model file, checked, and the little arithmetic it takes.

The file `model.json` is made by `python -m benchmarks.train_task_classifier`. It names the embedder whose vectors it was
trained on, the digest of the word lists, the digest of its training data, and its own digest; weights are never used
beside anything else than what they were trained with. For each of the three labels it holds one linear head: over the vector
and the cues for English, over the cues alone for the other languages. Each has a Platt scale, which makes its score a
probability, and two thresholds: below the lower one the answer is no, from the upper one on yes, between them nothing is said.
"""

from __future__ import annotations

import base64
import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from guardian.errors import ConfigError, InvariantError
from guardian.read.task.cue import ENGLISH, NAMES, Cues, words_digest

FORMAT: Final = 2
# Vectors of unit length have components around 0.05, cues are 0 or 1: the factor the heads were trained with.
VECTOR_SCALE: Final = 2.0

Floats = NDArray[np.float64]


class Gate(BaseModel):
    """How a score becomes an answer.

    Attributes:
        slope, offset: Platt's: probability = 1 / (1 + exp(-(slope * score + offset))).
        no_below, yes_from: Probabilities up to which the answer is no, and from which it is yes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    slope: float = Field(gt=0)
    offset: float
    no_below: float = Field(ge=0, le=0.5)
    yes_from: float = Field(ge=0.5, le=1)

    def score_probability(self, score: float) -> float:
        """Give the probability of yes."""
        return 0.5 + 0.5 * math.tanh((self.slope * score + self.offset) / 2)  # as 1 / (1 + exp(-x)), without overflow

    def decide(self, probability: float) -> bool | None:
        """Give the answer, or None between the thresholds."""
        if probability >= self.yes_from:
            return True
        return False if probability < self.no_below else None


class Head(BaseModel):
    """One linear head. `vector` is empty where only the cues count."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bias: float
    cues: tuple[float, ...]
    vector: tuple[float, ...] = ()
    gate: Gate

    def score_probability(self, cues: tuple[float, ...], vector: Floats) -> float:
        """Give the probability of yes for one question; `vector` has unit length."""
        score = self.bias + float(np.dot(self.cues, cues))
        if self.vector:
            score += VECTOR_SCALE * float(np.dot(self.vector, vector))
        return self.gate.score_probability(score)


class Heads(BaseModel):
    """The heads of one question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    english: Head
    other: Head


class Training(BaseModel):
    """What the weights come from.

    Attributes:
        digests: SHA-256 of each training file by its name.
        rows: Labelled questions, own and benchmark's, without the restyled ones.
        seed: Of what is drawn in training.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    digests: dict[str, str]
    rows: int
    seed: int


class ModelFile(BaseModel):
    """What the file holds.

    Attributes:
        embedder, size: Identity of the embedder, and the size of its vectors.
        words: Digest of the word lists.
        landmarks: Directions that training questions lie in, int8, one row each, base64.
        least_similarity: A vector whose cosine with every landmark is below it is far from all that was seen.
        digest: SHA-256 of all the rest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    version: str
    embedder: str
    size: int = Field(ge=1)
    words: str
    training: Training
    landmarks: str
    least_similarity: float
    requires_objective_fact: Heads
    personalization_allowed: Heads
    concerns_others: Heads
    digest: str


@dataclass(frozen=True)
class TaskModel:
    """A model file that was found whole and of this code."""

    file: ModelFile

    @cached_property
    def landmarks(self) -> Floats:
        """Directions of unit length, one row each."""
        rows = np.frombuffer(base64.b64decode(self.file.landmarks), dtype=np.int8).reshape(-1, self.file.size).astype(np.float64)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def is_near(self, vector: Floats) -> bool:
        """Tell whether a vector of unit length lies near what the heads were trained on."""
        return bool((self.landmarks @ vector).max() >= self.file.least_similarity)

    def choose(self, heads: Heads, cues: Cues) -> Head:
        """Give the head for the question's language."""
        return heads.english if cues.language == ENGLISH else heads.other


def load_task_model(raw: bytes | None = None) -> TaskModel:
    """Read the packaged model file, or the one given.

    Raises:
        ConfigError: The file is of another format, was changed, or belongs to other word lists.
    """
    packaged = files("guardian.read.task").joinpath("model.json")
    try:
        loaded = orjson.loads(packaged.read_bytes() if raw is None else raw)
        file = ModelFile.model_validate(loaded)
    except (ValueError, ValidationError) as exc:
        raise _unusable(f"cannot be read: {exc}") from exc
    if file.format != FORMAT:
        raise _unusable(f"has format {file.format}, not {FORMAT}")
    if file.digest != compute_digest(loaded):
        raise _unusable("was changed after it was written: its digest does not fit")
    if file.words != words_digest():
        raise _unusable("was trained with other word lists")
    _check_sizes(file)
    return TaskModel(file)


def compute_digest(content: dict[str, Any]) -> str:
    """Give the digest of a model file's content without the digest itself."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    return hashlib.sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _check_sizes(file: ModelFile) -> None:
    for heads in (file.requires_objective_fact, file.personalization_allowed, file.concerns_others):
        for head, size in ((heads.english, file.size), (heads.other, 0)):
            if len(head.vector) != size or len(head.cues) != len(NAMES):
                raise InvariantError(f"model.json has a head of {len(head.vector)} and {len(head.cues)} weights")


def _unusable(what: str) -> ConfigError:
    return ConfigError(
        f"The task classifier's model file {what}.",
        mend="install guardian-memory again, or make the file: python -m benchmarks.train_task_classifier.",
    )
