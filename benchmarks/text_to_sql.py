"""Text-to-SQL episodes on the Chinook database: what the channels that look at queries see, and what that is worth to self-grades.

Right and wrong queries are told apart by running them (`chinook`), and judged by the real channels in the real sandbox. Of the questions
every other one was kept out of sight while the channels were mended: what a channel flags is told of these, alphas are calibrated on the
others and applied to these. An episode is one query with a self-grade of the lenient agent of the paper; a draw takes one right and one wrong query a question.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.chinook import Chinook, Question, load_questions
from benchmarks.laps import Advance
from benchmarks.real_data import find_real
from benchmarks.report import Report
from benchmarks.wrong_queries import Kind, Surroundings, iter_wrong, list_literals, restyle
from guardian.core.model import ChannelTrust
from guardian.core.numbers.interval import Estimate, estimate_share
from guardian.core.policy import WRONG_BELOW, Policy
from guardian.core.rules.utility import score_utility
from guardian.trust.calibrate import Assessment, Labelled, assess
from guardian.trust.channel import Case, Channel
from guardian.trust.channels.degeneracy import Degeneracy
from guardian.trust.channels.execution import Execution
from guardian.trust.channels.literal_grounding import LiteralGrounding
from guardian.trust.sql.sandbox import Limits, Run, Sandbox
from guardian.trust.sql.statement import Dialect

# The paper's agent: P(its grade accepts | wrong), and P(it accepts | right).
LENIENCY, SENSITIVITY = 0.76, 0.90
# Doubles beside the real channels: a judge of the agent's own kind, which repeats its grade but for a little noise; and reports of outcomes,
# which err by themselves: P(says wrong | wrong), P(says right | right).
REGRADER_NOISE = 0.05
OUTCOME_SENSITIVITY, OUTCOME_SPECIFICITY = 0.85, 0.92
CHANNELS = ("execution", "degeneracy", "literal_grounding")
UNION, REGRADER, OUTCOME = "any of the three", "re-grader of the agent's kind", "outcome reports"
TOGETHER, WITH_REGRADER = "the three together", "the three and the re-grader together"
# Kinds that no database runs; together they are drawn as often as one other kind, for models write few of them.
_BROKEN = (Kind.UNKNOWN_COLUMN, Kind.UNKNOWN_TABLE, Kind.BROKEN_SYNTAX)
_AT_ONCE = 2
# rho* where demoting a right record harms as much as demoting a wrong one helps.
_RHO = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recording(Sandbox):
    """A sandbox that remembers the last run of each query."""

    last: dict[str, Run] = field(default_factory=dict)

    async def run(self, query: str) -> Run:
        found = await Sandbox.run(self, query)
        self.last[query] = found
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recalled(Sandbox):
    """A sandbox that gives what another one saw: a process saved a query."""

    seen: _Recording

    async def run(self, query: str) -> Run:
        return self.seen.last.get(query) or await self.seen.run(query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One query for a question.

    Attributes:
        kind: What went wrong; None for a right query, and for a slip that did no harm.
        verdicts: Of the channels that had something to say.
    """

    question: Question
    query: str
    kind: Kind | None
    verdicts: Mapping[str, float] = field(default_factory=dict)

    def flagged_by(self, channel: str) -> bool:
        """Tell whether a channel, or any of them, says that it is wrong."""
        return self.verdicts.get(channel, 1.0) < WRONG_BELOW


async def measure_text_to_sql(*, questions: int | None, draws: int, advance: Advance) -> Report:
    """Measure what channels flag and what that is worth, over the questions and several draws of episodes."""
    path = find_real("chinook", "Chinook_Sqlite.sqlite")
    asked = load_questions()[:questions]
    return report_all(await judge_all(build_candidates(asked, Chinook(path)), path, advance), draws=draws, advance=advance)


def report_all(candidates: Sequence[Candidate], *, draws: int, advance: Advance) -> Report:
    """Report what the verdicts on all candidates say."""
    asked = {one.question.number for one in candidates}
    report = Report(name="text_to_sql", title=f"{len(asked)} questions on Chinook, {len(candidates)} queries")
    held_out = [one for one in candidates if one.question.is_held_out]
    _report_flags(report, held_out)
    _report_utilities(report, candidates, draws, advance, sees_failure=False)
    _report_utilities(report, candidates, draws, advance, sees_failure=True)
    report.notes.append(
        "flags are of the held-out half; alphas come from the other half; ranges of utilities are over draws of episodes"
    )
    return report


def build_candidates(questions: Sequence[Question], database: Chinook) -> list[Candidate]:
    """Give the right queries of each question, as written and in another hand, and the wrong ones; a slip that does no harm is left out."""
    around = Surroundings(columns=database.list_columns(), literals=list_literals([one.query for one in load_questions()]))
    found = []
    for question in questions:
        right = [query for query in (question.query, restyle(question.query)) if database.is_right(question, query)]
        found += [Candidate(question=question, query=query, kind=None) for query in right]
        for kind, query in iter_wrong(question.query, around, seed=question.number):
            if not database.is_right(question, query):
                found.append(Candidate(question=question, query=query, kind=kind))
    return found


async def judge_all(candidates: Sequence[Candidate], database: object, advance: Advance) -> list[Candidate]:
    """Have every candidate judged by the channels, each query in processes of its own."""
    recording = _Recording(dialect=Dialect.SQLITE, database=str(database), limits=Limits(timeout_s=3.0))
    recalled = _Recalled(dialect=recording.dialect, database=recording.database, limits=recording.limits, seen=recording)
    channels: list[Channel] = [Execution(recording), Degeneracy(recalled), LiteralGrounding()]
    gate, done = asyncio.Semaphore(_AT_ONCE), 0

    async def judge(one: Candidate) -> Candidate:
        nonlocal done
        async with gate:
            verdicts = await judge_one(one, channels)
        done += 1
        advance(f"{done} of {len(candidates)} queries judged")
        return Candidate(question=one.question, query=one.query, kind=one.kind, verdicts=verdicts)

    return list(await asyncio.gather(*(judge(one) for one in candidates)))


async def judge_one(candidate: Candidate, channels: Iterable[Channel]) -> dict[str, float]:
    """Give the verdicts on one query; the channels see the question and its evidence, neither the truth nor the grade."""
    question = candidate.question
    case = Case(
        space="chinook",
        memory_id=f"episode-{question.number}",
        revision="1",
        task=question.text,
        answer=candidate.query,
        language="sql",
        evidence=question.evidence,
    )
    verdicts = {}
    for channel in channels:
        finding = await channel.judge(case)
        if finding is not None:
            verdicts[channel.name] = finding.value
    return verdicts | ({UNION: min(verdicts.values())} if verdicts else {})


def _report_flags(report: Report, candidates: Sequence[Candidate]) -> None:
    wrong = [one for one in candidates if one.kind is not None]
    # A right query in another hand is the same to the channels: it would count a false alarm twice.
    right = [one for one in candidates if one.query == one.question.query]
    for channel in (*CHANNELS, UNION):
        report.add_estimate(f"{channel}: wrong queries flagged", count_flags(wrong, channel))
        report.add_estimate(f"{channel}: right queries flagged", count_flags(right, channel))
    running = [one for one in wrong if one.kind not in _BROKEN]
    report.add_estimate(f"{UNION}: wrong queries that run flagged", count_flags(running, UNION))
    drawn = [one for one, _ in draw_episodes(candidates, seed=0, sees_failure=False)]
    for channel in (*CHANNELS, UNION):
        flagged = [one for one in drawn if one.flagged_by(channel)]
        hits = sum(one.kind is not None for one in flagged)
        report.add_estimate(f"{channel}: precision where half the queries are wrong", estimate_share(hits, len(flagged)))
    for kind in Kind:
        of_kind = [one for one in wrong if one.kind is kind]
        by = {channel: count_flags(of_kind, channel).value or 0 for channel in CHANNELS}
        named = ", ".join(f"{channel} {share:.2f}" for channel, share in by.items() if share)
        report.add_estimate(f"flagged, {kind}{f' ({named})' if named else ''}", count_flags(of_kind, UNION))


def count_flags(candidates: Sequence[Candidate], channel: str) -> Estimate:
    """Give the share of queries that a channel flags, with Wilson's interval."""
    return estimate_share(sum(one.flagged_by(channel) for one in candidates), len(candidates))


def draw_episodes(candidates: Sequence[Candidate], *, seed: int, sees_failure: bool) -> list[tuple[Candidate, Labelled]]:
    """Draw one right and one wrong query a question, and grade them as the lenient agent does.

    Args:
        candidates: Judged.
        seed: Of what is drawn.
        sees_failure: The agent sees that a query does not run, and never accepts one that does not; its leniency towards the others is as given.
    """
    random_ = random.Random(seed)  # a benchmark's, not a secret
    episodes = []
    for number in sorted({one.question.number for one in candidates}):
        of_question = [one for one in candidates if one.question.number == number]
        right = [one for one in of_question if one.kind is None]
        wrong = [one for one in of_question if one.kind is not None]
        weights = [1 / len(_BROKEN) if one.kind in _BROKEN else 1.0 for one in wrong]
        drawn = (random_.choice(right), random_.choices(wrong, weights)[0])
        episodes += [(one, _grade(one, random_, sees_failure=sees_failure)) for one in drawn]
    return episodes


def _grade(candidate: Candidate, random_: random.Random, *, sees_failure: bool) -> Labelled:
    is_right = candidate.kind is None
    accepts = random_.random() < (SENSITIVITY if is_right else LENIENCY)
    if sees_failure and candidate.flagged_by("execution"):
        accepts = False
    grade = random_.uniform(0.6, 1.0) if accepts else random_.uniform(0.0, 0.4)
    says_right = (random_.random() < OUTCOME_SPECIFICITY) if is_right else (random_.random() >= OUTCOME_SENSITIVITY)
    doubles = {
        REGRADER: min(1.0, max(0.0, grade + random_.gauss(0, REGRADER_NOISE))),
        OUTCOME: float(says_right),
    }
    return Labelled(space="chinook", grade=grade, truth=float(is_right), verdicts={**candidate.verdicts, **doubles})


def _report_utilities(
    report: Report, candidates: Sequence[Candidate], draws: int, advance: Advance, *, sees_failure: bool
) -> None:
    """Add the error of utilities on the held-out half: as graded, and corrected by each channel as the other half calibrated it."""
    agent = "agent that sees failures" if sees_failure else "agent"
    errors: dict[str, list[tuple[float, float]]] = defaultdict(list)
    passed: dict[str, list[Assessment]] = defaultdict(list)
    for seed in range(draws):
        advance(f"draw {seed + 1} of {draws}, {agent}")
        episodes = draw_episodes(candidates, seed=seed, sees_failure=sees_failure)
        known = [labelled for one, labelled in episodes if not one.question.is_held_out]
        held = [labelled for one, labelled in episodes if one.question.is_held_out]
        errors["as graded"].append(measure_error(held))
        trusts = {}
        for name in (*CHANNELS, UNION, REGRADER, OUTCOME):
            found = assess(known, (name,), required_precision=_RHO, resamples=1_000 if seed == 0 else 100)
            passed[name].append(found)
            trusts[name] = found.trust
            errors[f"{name}, as calibrated"].append(measure_error(held, {name: found.trust}))
            whatever = ChannelTrust(alpha=found.alpha.value or 0.0, payoff=0.0, passes=True)
            errors[f"{name}, alpha* whether it passes or not"].append(measure_error(held, {name: whatever}))
            is_precise = found.precision.low is not None and found.precision.low > _RHO
            flags = ChannelTrust(alpha=float(is_precise), payoff=0.0, passes=True, detects=True)
            errors[f"{name}, only what it flags, to 0"].append(measure_error(held, {name: flags}))
            if seed == 0:
                report.notes.append(f"{agent}, {describe(found)}")
        three = {name: trusts[name] for name in CHANNELS}
        errors[f"{TOGETHER}, as calibrated"].append(measure_error(held, three))
        errors[f"{WITH_REGRADER}, as calibrated"].append(measure_error(held, three | {REGRADER: trusts[REGRADER]}))
    for name, assessed in passed.items():
        _report_passes(report, f"{agent}, {name}", assessed)
    for name, pairs in errors.items():
        report.add(f"{agent}, RMSE, {name}", [root for _, root in pairs], "of utility")
    for name, pairs in errors.items():
        report.add(f"{agent}, mean error, {name}", [mean for mean, _ in pairs], "of utility")


def _report_passes(report: Report, name: str, assessed: Sequence[Assessment]) -> None:
    """Add how often a channel passed each gate, and what it would do as a detector."""
    report.add(f"{name}, passes as a score", [float(not one.failures) for one in assessed], "of draws")
    detections = [one.detector for one in assessed if one.detector is not None]
    report.add(f"{name}, passes as a detector", [float(one.passes) for one in detections], "of draws")
    report.add(f"{name}, is taken as a detector", [float(one.detects) for one in assessed], "of draws")
    figures: dict[str, list[float | None]] = {
        "labelled flags": [float(one.flags) for one in detections],
        "alpha as a detector": [one.alpha.value for one in detections],
        "squared error removed as a detector": [one.payoff.value for one in detections],
    }
    for figure, values in figures.items():
        known = [value for value in values if value is not None]
        if known:
            report.add(f"{name}, {figure}", known, "where half the queries are wrong")


def measure_error(episodes: Sequence[Labelled], trusts: Mapping[str, ChannelTrust] | None = None) -> tuple[float, float]:
    """Give the mean of |Q - U| and the root of the mean of (Q - U) squared, Q by the utility rule.

    Args:
        episodes: Graded and judged, with the truth.
        trusts: Which channels are believed, and how far; none by default.
    """
    policy = Policy(calibration="benchmark", channels=trusts or {})
    off = []
    for one in episodes:
        utility, _ = score_utility([one.grade], {name: [value] for name, value in one.verdicts.items()}, policy)
        off.append(abs((utility or 0.0) - one.truth))
    return math.fsum(off) / len(off), math.sqrt(math.fsum(each * each for each in off) / len(off))


def describe(found: Assessment) -> str:
    """Say in a line what the calibration of one draw says of a channel."""
    figures = {"Corr(V,U)": found.corr_truth, "Corr(nu,b)": found.corr_bias, "beta": found.beta, "alpha*": found.alpha}
    figures |= {"precision": found.precision, "recall": found.recall}
    shown = ", ".join(f"{name} {_show(estimate)}" for name, estimate in figures.items())
    gates: dict[str, Sequence[str]] = {"score": found.failures}
    if found.detector is not None:
        gates["detector"] = found.detector.failures
    passed = "; ".join(f"as a {gate}: {', '.join(failures) or 'passes'}" for gate, failures in gates.items())
    return f"{found.channel} (n={found.n}): {passed}; {shown}"


def _show(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "unknown"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
