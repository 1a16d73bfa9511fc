"""Laws of the model file: it is used whole, unchanged and beside the lists it was trained with, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
import orjson
import pytest

from guardian.errors import ConfigError, InvariantError
from guardian.read.task.cue import NAMES, words_digest
from guardian.read.task.head import Gate, Head, compute_digest, load_task_model

PACKAGED = files("guardian.read.task").joinpath("model.json")
LIMIT_BYTES = 100_000


def changed(change: Callable[[dict[str, Any]], object], *, seal: bool = True) -> bytes:
    """Give the packaged file with a change, sealed by a fitting digest or not."""
    content = orjson.loads(PACKAGED.read_bytes())
    change(content)
    if seal:
        content["digest"] = compute_digest(content)
    return orjson.dumps(content)


def test_the_packaged_file_is_small_and_fits_this_code() -> None:
    """The wheel carries it; it belongs to these word lists."""
    assert len(PACKAGED.read_bytes()) < LIMIT_BYTES
    model = load_task_model()
    assert model.file.words == words_digest()
    assert model.file.embedder == "sentence-transformers:all-MiniLM-L6-v2"
    assert np.allclose(np.linalg.norm(model.landmarks, axis=1), 1)


def test_a_file_changed_by_hand_is_refused() -> None:
    """One weight moved is another classifier, and nobody measured it."""
    with pytest.raises(ConfigError, match="digest does not fit"):
        load_task_model(changed(lambda content: content.update(least_similarity=-1.0), seal=False))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(format=99), "format 99"),
        (lambda content: content.update(words="0" * 64), "other word lists"),
        (lambda content: content.pop("embedder"), "cannot be read"),
        (lambda content: content.update(extra=1), "cannot be read"),
        (lambda content: content["requires_objective_fact"]["english"]["gate"].update(no_below=0.9), "cannot be read"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_name(change: Callable[[dict[str, Any]], object], message: str) -> None:
    """The message says what is wrong and what to run."""
    with pytest.raises(ConfigError, match=message) as caught:
        load_task_model(changed(change))
    assert "train_task_classifier" in str(caught.value.mend)


def test_what_is_no_json_is_refused() -> None:
    """A cut file is no model."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load_task_model(PACKAGED.read_bytes()[:1000])


def test_heads_of_other_sizes_are_our_bug() -> None:
    """A sealed file whose weights do not fit the features was written wrongly."""
    with pytest.raises(InvariantError, match="weights"):
        load_task_model(changed(lambda content: content["requires_objective_fact"]["other"].update(cues=[0.1])))


def test_a_gate_says_nothing_between_its_thresholds() -> None:
    """Yes from the upper, no below the lower."""
    gate = Gate(slope=2.0, offset=0.0, no_below=0.25, yes_from=0.75)
    assert [gate.decide(value) for value in (0.0, 0.2499, 0.25, 0.5, 0.7499, 0.75, 1.0)] == [
        False,
        False,
        None,
        None,
        None,
        True,
        True,
    ]
    assert gate.score_probability(0.0) == 0.5
    assert gate.score_probability(-1000.0) == pytest.approx(0.0)


def test_a_head_adds_bias_cues_and_vector() -> None:
    """The score is linear, by hand."""
    gate = Gate(slope=1.0, offset=0.0, no_below=0.5, yes_from=0.5)
    cues = tuple(1.0 if name == "self" else 0.0 for name in NAMES)
    weights = tuple(0.5 if name == "self" else 9.0 for name in NAMES)
    head = Head(bias=-1.0, cues=weights, vector=(0.25, 7.0), gate=gate)
    assert head.score_probability(cues, np.array([1.0, 0.0])) == pytest.approx(0.5)
    assert Head(bias=-0.5, cues=weights, gate=gate).score_probability(cues, np.array([1.0, 0.0])) == pytest.approx(0.5)
