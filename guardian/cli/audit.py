"""`guardian audit`: draw what a person is to label, take the labels in, and report which channels have earned to be believed."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from guardian.cli.console import clean, clean_name, err, out, print_json
from guardian.cli.drift import show_estimate
from guardian.cli.number import require_finite
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.cli.sending import ToTopicOption, admit, goes_to_topic, name_target, read_authority, require_trust, send_events
from guardian.contracts.codec import encode_event
from guardian.core.fact import load_verdict
from guardian.core.model import Audited, Authority, Event, EventRef, Retracted
from guardian.core.needs import Needs
from guardian.core.point import NODES, PointKind
from guardian.core.rules.utility import GOLD
from guardian.errors import ConfigError
from guardian.settings import Settings, load_settings
from guardian.store.layout import iter_slices
from guardian.trust.calibrate import Assessment, Calibration, calibrate
from guardian.trust.calibration_document import Report, describe_calibration, dump_document
from guardian.trust.calibration_page import build_page
from guardian.trust.gate import LEAST_TRUTH, MOST_BIAS, Failure
from guardian.trust.label import RANDOM_SHARE, Label, draw_sample, read_labels, write_rows
from guardian.trust.recalibrate import SOURCE

audit = typer.Typer(
    no_args_is_help=True, help="Label a sample of what the agent wrote, and learn which evidence channels may be believed."
)

# Labels whose records are looked up at once.
_BATCH = 500

_FIGURES = {
    "corr_truth": f"Corr(V, U), low end above {LEAST_TRUTH:g}",
    "corr_bias": f"Corr(ν, b), within ±{MOST_BIAS:g}",  # noqa: RUF001 # the paper's letter
    "beta": "β",
    "alpha": "α*",  # noqa: RUF001 # the paper's letter
    "payoff": "payoff, of Var(b)",
    "precision": "precision of flags",
    "recall": "recall of flags (sensitivity)",
    "specificity": "specificity",
}


@audit.command("report")
def report(
    store: StoreOption = None,
    spaces: Annotated[
        list[str] | None,
        typer.Option(
            "--spaces", help="Also over the spaces of this pattern alone, such as 'team-*'; repeatable.", show_default=False
        ),
    ] = None,
    gain: Annotated[
        float, typer.Option(min=1e-9, max=1e9, callback=require_finite, help="g: what demoting a wrong record gains.")
    ] = 1.0,
    harm: Annotated[
        float, typer.Option(min=0, max=1e9, callback=require_finite, help="h: what demoting a right record harms.")
    ] = 1.0,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Also write it as JSON, which `guardian audit activate` takes.", show_default=False),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write it as one HTML page, with pictures.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Report what labelled records say of each evidence channel, whether it may demote, and the settings that follow.

    A channel may demote as a score when it knows something of the truth, its errors are not the agent's own, and its flags are precise
    enough, each at the cautious end of its interval; precise enough is above h / (g + h). As a detector the last is enough, and then only
    its flags count.
    """
    found = asyncio.run(_calibrate(store, spaces or [], gain, harm))
    made = Report(made_at=datetime.now(UTC), gain=gain, harm=harm, calibrations=tuple(found))
    if export is not None:
        export.write_bytes(dump_document(made))
    if html is not None:
        html.write_text(build_page(made), encoding="utf-8")
    if as_json:
        print_json([describe_calibration(one) for one in found])
        return
    for calibration in found:
        _show(calibration)
    everywhere = found[0]
    if everywhere.channels:
        out.print("for guardian.toml:\n")
        out.print(build_settings(everywhere), soft_wrap=True)
    else:
        err.print("no channel judged a labelled record: label some (`guardian audit sample`), and let channels judge them.")


async def _calibrate(place: str | None, patterns: Sequence[str], gain: float, harm: float) -> list[Calibration]:
    async with opened_store(load_settings(), place) as store:
        return await calibrate(store, patterns=patterns, gain=gain, harm=harm)


def build_settings(calibration: Calibration) -> str:
    """Build the lines of guardian.toml that put a calibration to use."""
    lines = [
        f"{name} = {{ {', '.join(f'{json.dumps(channel)} = {figure}' for channel, figure in figures.items())} }}"
        for name, figures in (("alphas", calibration.alphas), ("payoffs", calibration.payoffs))
    ]
    if calibration.detectors:
        lines.append(f"detectors = {json.dumps(calibration.detectors)}")
    return "\n".join(["[policy]", *lines, f'calibration = "{calibration.id}"'])


def _show(calibration: Calibration) -> None:
    sampled = "" if calibration.is_whole else ", a sample of all"
    out.print(
        f"spaces {clean(calibration.spaces)}: {calibration.labelled} labelled and graded records{sampled}; "
        f"flags must be right in more than {calibration.required_precision:.2f}\n"
    )
    for one in (*calibration.channels, *calibration.ensembles):
        out.print(f"{clean_name(one.channel)}: {_tell(one)}", style="bold")
        out.print(f"  as a score: {_tell_gate(one.failures)}", soft_wrap=True)
        if one.detector is not None:
            out.print(f"  as a detector: {_tell_gate(one.detector.failures)}", soft_wrap=True)
        out.print(_build_table(one))
        out.print()


def _tell(one: Assessment) -> str:
    if not one.passes:
        return "demotes nothing"
    return f"may demote{' by its flags alone' if one.detects else ''}, alpha {one.usable_alpha:g}"


def _tell_gate(failures: Sequence[Failure]) -> str:
    return ", ".join(failure.value.replace("_", " ") for failure in failures) or "passes"


def _build_table(one: Assessment) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for justify in ("left", "right", "left"):
        table.add_column(justify=justify)
    for name, label in _FIGURES.items():
        table.add_row("  " + label, *show_estimate(getattr(one, name)))
    for name, value in (("Var(b)", one.var_bias), ("Var(η)", one.var_noise)):
        table.add_row("  " + name, *(("unknown", f"(n={one.n})") if value is None else (f"{value:.4f}", f"(n={one.n})")))
    if one.detector is not None:
        table.add_row("  as a detector: α", *show_estimate(one.detector.alpha))  # noqa: RUF001 # the paper's letter
        table.add_row("  as a detector: error removed", *show_estimate(one.detector.payoff))
    if one.error_removed is not None:
        table.add_row("  as a score: error removed", f"{one.error_removed:.4f}", f"(n={one.n})")
    return table


@audit.command("sample")
def sample(
    space: Annotated[str | None, typer.Argument(help="Only this memory bank.", show_default=False)] = None,
    n: Annotated[int, typer.Option("--n", min=1, max=100_000, help="Records to draw.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the random part; the same store and seed give the same file.")] = 0,
    every: Annotated[bool, typer.Option("--every", help="Any standing record, not only episodes.")] = False,
    random: Annotated[
        float,
        typer.Option(min=0, max=1, callback=require_finite, help="Share drawn at random; 1 for shares that stand for the bank."),
    ] = RANDOM_SHARE,
    to: Annotated[Path | None, typer.Option("--to", help="File to write; default: stdout.", show_default=False)] = None,
    store: StoreOption = None,
) -> None:
    """Draw records for a person to label, as CSV: what is trusted most, what is reused most, and a part at random.

    Fill the column label with right or wrong (or 1, 0, a number between; empty for unknown), and give the file to `guardian audit label`.
    Records that have a label are not drawn again.
    """
    rows = asyncio.run(_draw(store, n, seed, space, every=every, random_share=random))
    # What steers a terminal is shown as its code; ids stay as they are, for they are read back.
    rows = [{**row, **{name: clean(row[name]) for name in ("task", "answer", "text")}} for row in rows]
    if to is None:
        write_rows(rows, sys.stdout)
    else:
        try:
            with to.open("x", encoding="utf-8", newline="") as file:
                write_rows(rows, file)
        except FileExistsError as exc:
            raise ConfigError(f"{to} is there already, and may hold labels.", mend="name another file, or remove it.") from exc
    counts = Counter(row["stratum"] for row in rows)
    err.print(
        f"{len(rows)} records drawn: " + (", ".join(f"{name} {count}" for name, count in counts.items()) or "there are none")
    )


async def _draw(
    place: str | None, n: int, seed: int, space: str | None, *, every: bool, random_share: float
) -> list[dict[str, Any]]:
    async with opened_store(load_settings(), place) as store:
        return await draw_sample(store, n=n, seed=seed, space=space, every=every, random_share=random_share)


@audit.command("label")
def label(
    file: Annotated[Path, typer.Argument(help="CSV with labels, as `guardian audit sample` drew it.")],
    authority: Annotated[
        str, typer.Option("--as", help="On whose word, as KIND or KIND:REF: human_review:ann.")
    ] = "human_review",
    store: StoreOption = None,
    to_topic: ToTopicOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be sent, and send nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Send a person's labels as verdicts of the channel gold; whose word it was is kept as their evidence.

    In a store (--store) a label that it has is not sent twice, and a changed one withdraws the one before. On a topic nothing is looked up:
    send a file once.
    """
    settings = load_settings()
    to_topic = goes_to_topic(settings, store, to_topic=to_topic)
    word = read_authority(authority)
    with file.open(encoding="utf-8-sig", newline="") as opened:
        labels, unlabelled = read_labels(opened, name=str(clean(str(file))))
    for space in sorted({one.space for one in labels}):
        require_trust(settings, space, word, otherwise=f"is no ground truth in {clean(space)}")
    told = asyncio.run(_send_labels(settings, store, labels, word, to_topic=to_topic, dry_run=dry_run))
    told["unlabelled"] = unlabelled
    if as_json:
        print_json(told)
        return
    out.print(", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in told.items() if isinstance(count, int)))
    err.print(f"{'would go' if dry_run else 'went'} to {clean(told['to'])}")
    if told["unseen"]:
        err.print(f"{told['unseen']} labels are of records that are not there (any more); they were left out.")


async def _send_labels(
    settings: Settings, place: str | None, labels: Sequence[Label], word: Authority, *, to_topic: bool, dry_run: bool
) -> dict[str, Any]:
    now = datetime.now(UTC)
    told: dict[str, Any] = {
        "to": name_target(settings, place, to_topic=to_topic),
        "sent": 0,
        "known": 0,
        "changed": 0,
        "unseen": 0,
    }
    events: list[Event] = []
    if to_topic:
        events = [_build_verdict(one, word, now) for one in labels]
        told["sent"] = len(events)
    else:
        async with opened_store(settings, place) as store:
            for part in iter_slices(labels, _BATCH):
                keys = {(one.space, one.memory_id) for one in part}
                points = await store.fetch(Needs(memories=keys, verdicts=keys))
                known = _Known([point for point in points if point.payload["point"] in {*NODES, PointKind.VERDICT}])
                for one in part:
                    events += known.build_events(one, word, now, told)
    if events and not dry_run:
        admitted = [admit(settings, encode_event(event), now) for event in events]
        await send_events(settings, place, admitted, to_topic=to_topic)
    return told


class _Known:
    """What a store knows of some labelled memories: their records, and earlier labels by this command."""

    def __init__(self, points: Sequence[Any]) -> None:
        self._records: set[tuple[str, str, str | None]] = set()
        self._labels: dict[tuple[str, str, str | None], list[tuple[str, float]]] = {}
        for point in points:
            payload = point.payload
            memory = (payload["space"], payload["memory_id"])
            if payload["point"] == PointKind.RECORD:
                self._records |= {(*memory, payload["revision"]), (*memory, None)}
            elif payload["point"] == PointKind.VERDICT:
                verdict = load_verdict(point.id, payload)
                if verdict.channel == GOLD and verdict.ref.source == SOURCE:
                    self._labels.setdefault((*memory, verdict.revision), []).append((verdict.ref.id, verdict.value))

    def build_events(self, label: Label, word: Authority, now: datetime, told: dict[str, Any]) -> list[Event]:
        """Build the events of one label: none where it is known, and the withdrawal of earlier ones that say otherwise."""
        key = (label.space, label.memory_id, label.revision)
        if key not in self._records:
            told["unseen"] += 1
            return []
        earlier = self._labels.get(key, [])
        others = [event_id for event_id, value in earlier if value != label.value]
        is_known = len(others) < len(earlier)
        told["known" if is_known else "sent"] += 1
        told["changed"] += bool(others)
        withdrawals: list[Event] = [
            Retracted(
                ref=_build_ref(now),
                space=label.space,
                event_source=SOURCE,
                event_id=event_id,
                authority=word,
                reason="labelled otherwise",
            )
            for event_id in others
        ]
        return withdrawals if is_known else [*withdrawals, _build_verdict(label, word, now)]


def _build_verdict(label: Label, word: Authority, now: datetime) -> Audited:
    named = {"kind": word.kind.value, "ref": word.ref, "actor": word.actor}
    return Audited(
        ref=_build_ref(now),
        space=label.space,
        memory_id=label.memory_id,
        channel=GOLD,
        value=label.value,
        revision=label.revision,
        evidence={"authority": {name: value for name, value in named.items() if value is not None}},
    )


def _build_ref(now: datetime) -> EventRef:
    return EventRef(time=now, source=SOURCE, id=str(uuid.uuid4()), digest="")
