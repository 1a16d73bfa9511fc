"""A sample of LongMemEval: one question with two sessions that are not in order, and one without sessions."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import write_json


def question(question_id: str = "q1", **parts: Any) -> dict[str, Any]:
    """Give one question with its haystack."""
    return {
        "question_id": question_id,
        "question_type": "single-session-user",
        "question": "Which tea do I drink?",
        "answer": "Assam",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s_late", "s_early"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/19 (Fri) 10:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "I drink Assam.", "has_answer": True}, {"role": "assistant", "content": "Good choice."}],
            [{"role": "user", "content": "Hello."}],
        ],
        "answer_session_ids": ["s_late"],
        **parts,
    }


def write(folder: Path) -> tuple[list[Path], int]:
    """Write both."""
    return [write_json(folder / "oracle.json", [question(), question("q2_abs", haystack_sessions="none")])], 2
