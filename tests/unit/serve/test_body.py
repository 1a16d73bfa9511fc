"""Bodies take each value in the type that JSON has for it, and no other that could be read as one."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from guardian.serve.body import Body, ContextRequest, OutcomeRequest, SearchRequest, TaskBody, WriteRequest
from guardian.serve.reasoned import AnswerRequest

WRITTEN = {"memory_id": "m", "text": "Beans"}


@pytest.mark.parametrize(
    ("body", "given", "field"),
    [
        *(
            (TaskBody, {name: value}, name)
            for name in ("requires_objective_fact", "concerns_others")
            for value in (1, 0, "true", "no")
        ),
        (ContextRequest, {"question": "?", "limit": "5"}, "limit"),
        (ContextRequest, {"question": "?", "limit": True}, "limit"),
        (ContextRequest, {"question": "?", "limit": 5.5}, "limit"),
        (ContextRequest, {"question": 5}, "question"),
        (ContextRequest, {"question": "?", "turns": "not a list"}, "turns"),
        (SearchRequest, {"text": "?", "every": "yes"}, "every"),
        (AnswerRequest, {"question": "?", "trace": 1}, "trace"),
        (OutcomeRequest, {"value": "0.5", "judged_by": "tests"}, "value"),
        (OutcomeRequest, {"value": False, "judged_by": "tests"}, "value"),
        (WriteRequest, {**WRITTEN, "verified": 1}, "verified"),
        (WriteRequest, {**WRITTEN, "self_grade": "1"}, "self_grade"),
        (WriteRequest, {**WRITTEN, "observed_at": 1_770_000_000}, "observed_at"),
        (WriteRequest, {**WRITTEN, "vector": ["1", "2"]}, "vector"),
    ],
)
def test_no_value_is_read_as_another(body: type[Body], given: dict[str, Any], field: str) -> None:
    """The fault names the field."""
    with pytest.raises(ValidationError) as told:
        body.model_validate(given)
    assert told.value.errors()[0]["loc"][0] == field


def test_what_means_the_same_in_json_is_taken() -> None:
    """A whole number for a fraction, `5.0` for 5, a list for what is kept as a tuple, a time as text."""
    assert ContextRequest.model_validate({"question": "?", "limit": 5.0, "turns": ["before"]}).limit == 5
    assert OutcomeRequest.model_validate({"value": 1, "judged_by": "tests", "used": ["m"]}).value == 1.0
    written = WriteRequest.model_validate({**WRITTEN, "observed_at": "2026-03-14T09:00:00Z", "self_grade": 1, "vector": [1, 0.5]})
    assert written.observed_at is not None
