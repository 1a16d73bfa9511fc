"""The benchmarks of evidence, drift and alerts: what they call wrong is wrong, what they play is the loop, and what they cannot know they do not say."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlglot

from benchmarks.chinook import Chinook, Question, load_questions
from benchmarks.detection import CHANNEL, LOOK_EVERY, SETTINGS, Setting, Sizes, Watch, measure_detection, study
from benchmarks.many_banks import play_banks
from benchmarks.real_grades import bound_self_tests, measure_real_grades, read_negative_shares
from benchmarks.report import Report
from benchmarks.text_to_sql import (
    LENIENCY,
    SENSITIVITY,
    UNION,
    Candidate,
    count_flags,
    draw_episodes,
    measure_error,
    measure_text_to_sql,
)
from benchmarks.wrong_queries import Kind, Surroundings, iter_wrong, list_literals, restyle
from guardian.core.model import ChannelTrust
from guardian.core.numbers.attractor import find_attractor, shoot_once
from guardian.core.numbers.interval import unknown
from guardian.trust.sql.statement import Dialect, Refused, admit

REAL_DATA = os.environ.get("GUARDIAN_REAL_DATA")
needs_real_data = pytest.mark.skipif(not REAL_DATA, reason="GUARDIAN_REAL_DATA names no folder of real files")
AROUND = Surroundings(columns={"t": ["tId", "name", "year"], "u": ["uId", "tId", "year"]}, literals=[("t.name", "Birch")])
QUERY = "SELECT COUNT(*) FROM t JOIN u ON t.tId = u.tId WHERE t.name = 'Aspen' AND u.year > 1990"


def ignore(_: str) -> None:
    """Take no notice of progress."""


class TestQuestions:
    """The questions and their right queries."""

    def test_there_are_many_of_each_kind_of_slip(self):
        """At least 120 questions, each told once, half of them held out; each kind has room in several."""
        questions = load_questions()
        assert len(questions) >= 120
        assert len({one.text for one in questions}) == len(questions)
        assert sum(one.is_held_out for one in questions) == len(questions) // 2
        around = Surroundings(columns={}, literals=list_literals([one.query for one in questions]))
        counts = Counter(kind for one in questions[::3] for kind, _ in iter_wrong(one.query, around, seed=0))
        # Those that need the schema have no room without it.
        assert all(counts[kind] >= 2 for kind in set(Kind) - {Kind.WRONG_JOIN, Kind.WRONG_COLUMN, Kind.WRONG_AGGREGATE})

    def test_every_right_query_is_one_read(self):
        """And stays one in another hand."""
        for question in load_questions():
            for query in (question.query, restyle(question.query)):
                assert not isinstance(admit(query, Dialect.SQLITE), Refused), query


class TestSlips:
    """Wrong queries."""

    def test_the_same_seed_gives_the_same_slips(self):
        """A kind comes at most once, and no slip is the query itself."""
        first, again = (list(iter_wrong(QUERY, AROUND, seed=3)) for _ in range(2))
        assert first == again
        assert len({kind for kind, _ in first}) == len(first) >= 9
        assert QUERY not in {query for _, query in first}

    @pytest.mark.parametrize("kind", [Kind.WRONG_JOIN, Kind.COPIED_LITERAL, Kind.SWAPPED_COMPARISON, Kind.MISSING_FILTER])
    def test_a_slip_is_still_a_query(self, kind):
        """Only the syntax slip does not parse."""
        made = dict(iter_wrong(QUERY, AROUND, seed=3))[kind]
        assert sqlglot.parse_one(made, dialect="sqlite")

    def test_the_truth_is_what_running_gives(self, tmp_path):
        """Rows count, as a set or in order; a query that fails is wrong."""
        path = tmp_path / "t.db"
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE t (name TEXT, ms REAL)")
            database.executemany("INSERT INTO t VALUES (?, ?)", [("a", 0.1), ("b", 0.2), ("c", 0.30000000001)])
            database.commit()
        chinook = Chinook(path)
        question = Question(number=0, text="?", query="SELECT name FROM t ORDER BY ms")
        in_order = Question(number=0, text="?", query="SELECT name FROM t ORDER BY ms", is_ordered=True)
        backwards = "SELECT name FROM t ORDER BY ms DESC"
        assert chinook.is_right(question, backwards)
        assert not chinook.is_right(in_order, backwards)
        assert not chinook.is_right(question, "SELECT name FROM t WHERE ms > 0.1")
        assert not chinook.is_right(question, "SELECT nothing FROM t")
        assert chinook.is_right(Question(number=0, text="?", query="SELECT sum(ms) FROM t"), "SELECT 0.6")
        assert chinook.list_columns() == {"t": ["name", "ms"]}


class TestEpisodes:
    """Graded draws."""

    def test_a_draw_holds_one_right_and_one_wrong_query_a_question_leniently_graded(self):
        """Shares of accepted ones are those of the paper's agent."""
        candidates = [
            Candidate(question=Question(number=number, text="?", query="q"), query=f"{kind}", kind=kind)
            for number in range(400)
            for kind in (None, Kind.WRONG_ORDER)
        ]
        drawn = draw_episodes(candidates, seed=1, sees_failure=False)
        assert Counter(one.kind for one, _ in drawn) == {None: 400, Kind.WRONG_ORDER: 400}
        accepted = Counter(one.kind for one, labelled in drawn if labelled.grade > 0.5)
        assert accepted[None] / 400 == pytest.approx(SENSITIVITY, abs=0.05)
        assert accepted[Kind.WRONG_ORDER] / 400 == pytest.approx(LENIENCY, abs=0.06)

    def test_the_truth_leaves_no_error_and_nothing_leaves_the_grade(self):
        """Alpha 1 towards the truth, alpha 0."""
        question = Question(number=0, text="?", query="q")
        right = Candidate(question=question, query="q", kind=None, verdicts={UNION: 1.0})
        wrong = Candidate(question=question, query="w", kind=Kind.WRONG_ORDER, verdicts={UNION: 0.0})
        labelled = [one for _, one in draw_episodes([right, wrong], seed=2, sees_failure=False)]
        believed = ChannelTrust(alpha=1.0, payoff=0.1, passes=True)
        assert measure_error(labelled, {UNION: believed}) == (0.0, 0.0)
        plain = measure_error(labelled)
        assert plain == measure_error(labelled, {UNION: replace(believed, alpha=0.0)})
        assert 0 < measure_error(labelled, {UNION: replace(believed, detects=True)})[0] <= plain[0]
        assert count_flags([right, wrong], UNION).value == 0.5

    @needs_real_data
    async def test_the_study_runs_on_the_database(self):
        """Broken queries are all seen by execution."""
        report = await measure_text_to_sql(questions=4, draws=1, advance=ignore)
        found = {item.what: item.middle for item in report.figures}
        assert found["agent, RMSE, as graded"] > 0
        assert any(what.startswith(f"flagged, {Kind.BROKEN_SYNTAX}") and share == 1 for what, share in found.items())


class TestManyBanks:
    """The loop, many banks at once."""

    @pytest.mark.parametrize("setting", SETTINGS[:2], ids=lambda one: one.name)
    def test_banks_settle_at_the_attractor(self, setting):
        """Theorem 2; without feedback at p0."""
        rates = {"leniency": setting.leniency, "sensitivity": setting.sensitivity, "base_error": setting.base_error}
        for kappa, expected in ((setting.kappa, find_attractor(kappa=setting.kappa, **rates)), (0.0, shoot_once(**rates))):
            model = setting.build_model(places=200, kappa=kappa)
            steps = play_banks(model, seeds=40, steps=2_500, labelled=0.3, channel=CHANNEL, seed=5)
            assert float(steps.share[:, 1_500:].mean()) == pytest.approx(expected, abs=0.03)

    def test_what_is_known_of_a_bank_is_part_of_it(self):
        """Labels come as asked, counts never exceed what there is, and the same seed plays the same banks."""
        model = SETTINGS[0].build_model(places=100, kappa=0.38)
        steps, again = (play_banks(model, seeds=20, steps=600, labelled=0.4, channel=CHANNEL, seed=6) for _ in range(2))
        assert np.array_equal(steps.share, again.share)
        assert float(steps.is_labelled.mean()) == pytest.approx(0.4, abs=0.02)
        assert (steps.known_verified + steps.known_gold <= model.retrieved).all()
        assert (steps.wrong_gold <= steps.known_gold).all()
        assert (steps.bank_wrong <= steps.bank_known).all()
        assert (steps.bank_known[:, 0] >= 99).all()  # verified, all of them but the first that made room
        assert (steps.bank_verified[:, -1] == 0).all()


class TestDetection:
    """The study of alerts, in a size that takes a moment."""

    def test_a_corrupted_bank_is_alerted_and_a_sound_one_is_not(self):
        """Strong feedback is found in time in nearly every bank; without it hardly any bank is called corrupted."""
        sizes = Sizes(seeds=10, places=1_000, labelled=1.0)
        cell = study(SETTINGS[1], sizes, stand_in=None, advance=ignore)
        assert cell.in_time.value >= 0.9
        assert cell.false.value <= 0.2
        assert all(one.at is None or one.at <= half for one, half in zip(cell.outcomes, cell.half_ways, strict=True))

    def test_without_labels_a_channel_of_known_errors_does(self):
        """Corrected by Rogan and Gladen."""
        cell = study(SETTINGS[1], Sizes(seeds=6, places=1_000, labelled=0.0), stand_in=CHANNEL, advance=ignore)
        assert cell.in_time.value >= 0.8
        assert cell.false.value <= 0.2

    def test_without_labels_and_without_a_channel_nothing_is_known(self):
        """Unknown, so missed; never an alert."""
        cell = study(SETTINGS[1], Sizes(seeds=3, places=300, labelled=0.0), stand_in=None, advance=ignore)
        assert cell.in_time.value == 0
        assert not any(one.is_known for one in cell.outcomes)

    def test_leaving_out_costly_looks_changes_no_alert(self):
        """The gate passes over only what cannot raise one."""
        setting = Setting(name="s", kappa=0.6, leniency=0.76, sensitivity=0.9, base_error=0.25)
        model = setting.build_model(places=500, kappa=0.6)
        steps = play_banks(model, seeds=6, steps=12 * LOOK_EVERY, labelled=1.0, channel=CHANNEL, seed=7)
        ends = [
            [Watch(steps, row, model, None, is_gated=gated).run(12 * LOOK_EVERY) for row in range(6)] for gated in (True, False)
        ]
        assert ends[0] == ends[1]
        assert any(one.alert is not None for one in ends[0])

    async def test_the_report_has_rates_and_labels(self):
        """Each setting with labels and with a channel."""
        sizes = Sizes(seeds=2, places=300, labelled=0.5)
        report = await measure_detection(sizes=sizes, settings=1, budgets=0, advance=ignore)
        assert sum(item.what.endswith("alerted in time") for item in report.figures) == 2


class TestRealGrades:
    """What real logs can say."""

    def test_only_what_ended_early_was_surely_accepted(self):
        """Three solved, of which one used up its attempts; two unsolved, of which one did."""
        ends = [(0, True), (1, True), (4, True), (2, False), (4, False)]
        rows = [{"reflections": ["r"] * count, "is_solved": solved} for count, solved in ends]
        bounds = bound_self_tests(rows)
        assert [one.value for one in bounds["leniency"]] == [0.5, 1.0]
        assert [one.value for one in bounds["sensitivity"]] == [pytest.approx(2 / 3), 1.0]

    def test_rows_of_one_query_are_one_retrieval(self, tmp_path: Path):
        """Also where a query comes again later."""
        path = tmp_path / "t.jsonl"
        labels = [("a", "negative"), ("a", "positive"), ("b", "positive"), ("a", "negative")]
        path.write_text("\n".join(f'{{"query": "{query}", "case_label": "{label}"}}' for query, label in labels))
        assert read_negative_shares(path) == [0.5, 0.0, 1.0]

    @needs_real_data
    async def test_nothing_of_the_loop_is_known_of_real_logs(self):
        """No figure comes of grades that are not the agent's, whoever stands in for the truth."""
        report = await measure_real_grades(advance=ignore)
        known = {
            item.what: item.middle for item in report.figures if "figures of the loop" in item.what or "the same" in item.what
        }
        assert len(known) == 10
        assert set(known.values()) == {0}


def test_what_is_unknown_is_a_note_and_no_figure():
    """Never a number in a table."""
    report = Report(name="n", title="t")
    report.add_estimate("p", unknown(3))
    assert report.figures == []
    assert report.notes == ["p: unknown (n=3)"]
