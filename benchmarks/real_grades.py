"""Real run logs and case banks as they are: what their grades say, and what nobody can estimate from them.

The files are imported as `guardian replay` imports them and looked at as `guardian drift` and `guardian audit report` look: without anything, then
with the file's own judge standing in for the truth as if it never erred. Neither Reflexion's logs nor Memento's bank hold a grade that the agent gave
itself, so every figure of the loop has to come out unknown, whatever stands in. What Reflexion's logs of programming tasks do say of
self-written tests is bounded here from their rows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from benchmarks.laps import Advance
from benchmarks.real_data import find_real
from benchmarks.report import Report
from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import decode
from guardian.core.numbers.interval import Estimate, estimate_share
from guardian.ports import Fence, Store
from guardian.settings import Settings
from guardian.sources.port import SourceEvent, SourceOptions
from guardian.sources.registry import detect
from guardian.store.layout import iter_slices
from guardian.store.memory import MemoryStore
from guardian.trust.calibrate import calibrate
from guardian.trust.collect import Window
from guardian.trust.drift import measure_drift
from guardian.trust.truth import StandIn
from guardian.wiring import build_identity, build_pipeline

_AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Real files of one run.

    Attributes:
        judge: The channel of the verdicts that the files hold.
    """

    name: str
    folder: str
    pattern: str
    judge: str

    def list_paths(self) -> list[Path]:
        """List the files.

        Raises:
            ConfigError: They are not there.
        """
        return sorted(find_real(self.folder).glob(self.pattern))


LOGS = (
    Log(name="Memento, case bank and training data", folder="memento", pattern="*.jsonl", judge="answer_judge"),
    Log(name="Reflexion, ALFWorld", folder="reflexion", pattern="reflexion_env*.json", judge="environment"),
    Log(name="Reflexion, ALFWorld without memory", folder="reflexion", pattern="base_env*.json", judge="environment"),
    Log(name="Reflexion, HumanEval Python", folder="reflexion", pattern="reflexion_humaneval_py*.jsonl", judge="hidden_tests"),
    Log(name="Reflexion, HumanEval Rust", folder="reflexion", pattern="reflexion_humaneval_rs*.jsonl", judge="hidden_tests"),
)


async def measure_real_grades(*, advance: Advance) -> Report:
    """Import each log and report what is known of it."""
    report = Report(name="real_grades", title="what the grades of real logs can and cannot say")
    for log in LOGS:
        advance(log.name)
        async with imported(log.list_paths()) as store:
            await _report_log(report, log, store)
    for log in LOGS:
        if log.judge == "hidden_tests":
            _report_tests(report, log)
    shares = read_negative_shares(find_real("memento", "training_data.jsonl"))
    report.add("Memento, negative cases among those retrieved for a query", sorted(shares), "share")
    report.notes.append(
        f"Memento retrieved {len(shares)} times; where the negative share is the same every time, no slope of anything on it exists, so kappa is out of reach"
    )
    return report


@asynccontextmanager
async def imported(paths: Sequence[Path]) -> AsyncIterator[Store]:
    """Give a store that holds what the files say."""
    store = MemoryStore(build_identity(None))
    await store.open()
    pipeline = build_pipeline(Settings(), store, None, None)
    items = detect(paths[0]).iter_items(paths, SourceOptions(default_time=_AT))
    written = (orjson.dumps(item.event) for item in items if isinstance(item, SourceEvent) and item.event is not None)
    events = [decode(each, policy=DecodePolicy(), received_at=datetime.now(UTC)).event for each in written]
    for batch in iter_slices(events, 200):
        await pipeline.process(batch, fence=Fence())
    yield store
    await store.close()


async def _report_log(report: Report, log: Log, store: Store) -> None:
    judge = StandIn(channel=log.judge, sensitivity=1.0, specificity=1.0)
    plain, judged = [(await measure_drift(store, Window(stand_in=one)))[0] for one in (None, judge)]
    (calibration,) = await calibrate(store)
    report.add(f"{log.name}: records", plain.bank.records, "records")
    report.add(f"{log.name}: graded by the agent and labelled", calibration.labelled, "records")
    known, of = count_known(asdict(plain.episodes))
    report.add(f"{log.name}: figures of the loop that are known", known, f"of {of}")
    known, of = count_known(asdict(judged.episodes))
    report.add(f"{log.name}: the same, its {log.judge} believed", known, f"of {of}, {judged.episodes.episodes} judged episodes")
    report.add_estimate(f"{log.name}: called wrong by its {log.judge}", judged.bank.corrupted)


def count_known(figures: dict[str, Any]) -> tuple[int, int]:
    """Count the estimates that have a value, and all of them."""
    estimates = [one for one in figures.values() if isinstance(one, dict)]
    return sum(one["value"] is not None for one in estimates), len(estimates)


def _report_tests(report: Report, log: Log) -> None:
    (path,) = log.list_paths()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for name, (least, most) in bound_self_tests(rows).items():
        report.add_estimate(f"{log.name}: {name} of self-written tests, at least", least)
        report.add_estimate(f"{log.name}: {name} of self-written tests, at most", most)


def bound_self_tests(rows: Sequence[dict[str, Any]]) -> dict[str, tuple[Estimate, Estimate]]:
    """Bound l = P(its own tests accept | wrong) and s = P(they accept | right) of the last attempt, from below and from above.

    A run of Reflexion ends with the first attempt that its self-written tests accept, or when its attempts are used up, and each rejected
    one leaves a reflection. So a task with fewer reflections than the most was accepted. Of one with the most it cannot be told: the
    last attempt is judged by the hidden tests whatever its own said.
    """
    most = max(len(row["reflections"]) for row in rows)
    counts = Counter((bool(row["is_solved"]), len(row["reflections"]) < most) for row in rows)
    bounds = {}
    for name, is_solved in (("leniency", False), ("sensitivity", True)):
        accepted, unclear = counts[is_solved, True], counts[is_solved, False]
        total = accepted + unclear
        bounds[name] = (
            estimate_share(accepted, total),
            estimate_share(total, total) if unclear else estimate_share(accepted, total),
        )
    return bounds


def read_negative_shares(path: Path) -> list[float]:
    """Read the share of negative cases among those retrieved for each query; the rows of one query follow each other."""
    shares: list[float] = []
    query, labels = None, list[bool]()
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row["query"] != query and labels:
            shares.append(sum(labels) / len(labels))
            labels = []
        query = row["query"]
        labels.append(row["case_label"] == "negative")
    return [*shares, sum(labels) / len(labels)] if labels else shares
