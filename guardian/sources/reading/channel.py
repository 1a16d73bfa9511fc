"""Names of the evidence channels under which grades of other programs are imported; none of them is the agent itself.

A channel is named for what judged, so that its errors can be measured apart from others'. None is `gold`: that is for
ground truth, and even hidden tests and reference answers pass through a judge that errs.
"""

from __future__ import annotations

from enum import StrEnum


class Channel(StrEnum):
    """What judged."""

    ENVIRONMENT = "environment"
    HIDDEN_TESTS = "hidden_tests"
    ANSWER_JUDGE = "answer_judge"
    USER_FEEDBACK = "user_feedback"
