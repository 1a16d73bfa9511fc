"""The benchmark of checked answers: what is right is counted as right, and an invented noun as invented."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from benchmarks.answers import Case, iter_distilled, iter_reworded, iter_stated, measure_answers, stands

EXCERPT = "[Test, 2026]\nPump Beta moves twice the water of Alpha."
ROWS = [
    {
        "id": "b2",
        "task": "memory_evidence_conflict",
        "dialogue": [{"role": "assistant", "content": f"<information>\n{EXCERPT}\n</information>"}],
        "question": "Which pump for the well, Alpha or Beta?",
        "memory": {
            "policy": "defer_to_evidence",
            "items": [
                {
                    "content": "User prefers pump Alpha near the river because of its quiet motor.",
                    "type": "positive_preference",
                    "status": "active",
                }
            ],
        },
        "evaluation": {"reference_answer": "Pump Beta moves twice the water. Main caveat: Pump Beta is noisy."},
    },
    {
        "id": "d4",
        "task": "personalized_memory_use",
        "dialogue": [
            {"role": "user", "content": "The salsa lessons were loud."},
            {"role": "user", "content": "I walk by the river."},
        ],
        "question": "What shall I do?",
        "memory": {"policy": "use", "items": [{"content": "The river walk.", "type": "preference", "status": "active"}]},
        "evaluation": {"reference_answer": "Walk."},
    },
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of real data with two rows."""
    rows = tmp_path / "memsyco-bench"
    rows.mkdir()
    (rows / "rows.jsonl").write_bytes(b"\n".join(map(orjson.dumps, ROWS)))
    monkeypatch.setenv("GUARDIAN_REAL_DATA", str(tmp_path))
    return rows


def test_cases_are_statements_beside_what_they_rest_on(folder: Path) -> None:
    """Reference answers on excerpts, without what introduces them; memories on turns; other verbs on themselves."""
    stated = list(iter_stated(folder))
    assert [case.text for case in stated] == ["Pump Beta moves twice the water.", "Pump Beta is noisy."]
    assert "twice the water of Alpha" in stated[0].record
    assert [case.record.splitlines()[0] for case in iter_distilled(folder)] == ["I walk by the river."]
    assert [(case.text, case.record) for case in iter_reworded(folder)] == [
        (
            "This person would rather have pump Alpha near the river since of its quiet motor.",
            "User prefers pump Alpha near the river because of its quiet motor.",
        )
    ]


def test_a_case_stands_or_falls_by_the_check_itself() -> None:
    """With a word that is not there it falls; without the look at words it stands."""
    right = Case("Pump Beta moves twice the water.", EXCERPT, "Which pump?")
    wrong = Case("Pump Beta moves twice the acme water.", EXCERPT, "Which pump?")
    assert stands(right, checks_words=True)
    assert (stands(wrong, checks_words=True), stands(wrong, checks_words=False)) == (False, True)


async def test_both_shares_are_reported(folder: Path) -> None:
    """What stands of the right ones, and what passes of those with an invented name."""
    report = await measure_answers(advance=lambda _: None)
    values = {figure.what: figure.middle for figure in report.figures}
    assert values["statements of reference answers: right ones that stand"] == 0.5  # nothing says that it is noisy
    assert values["statements of reference answers: right ones that stand, without"] == 1
    assert values["statements of reference answers: an invented name passes"] == 0
    assert values["memories with other verbs: right ones that stand"] == 1
