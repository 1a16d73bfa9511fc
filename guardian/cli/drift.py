"""`guardian drift`: where a bank is heading, as far as audited episodes can say."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.table import Table

from guardian.cli.console import clean, clean_name, err, out, print_json
from guardian.cli.history import fetch_history, show_history
from guardian.cli.number import require_finite
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.core.moment import format_optional
from guardian.core.numbers.interval import Estimate
from guardian.errors import ConfigError
from guardian.settings import load_settings
from guardian.trust.collect import Window
from guardian.trust.drift import Drift, measure_drift
from guardian.trust.recalibrate import count_stale, has_calibration
from guardian.trust.series import Snapshot
from guardian.trust.truth import ACCEPT_LEVEL, StandIn
from guardian.wiring import build_policy_of

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

# Figure -> how it is shown: of the episodes, then of the bank.
_EPISODE_FIGURES = {
    "kappa": "κ   rise of the error rate with corruption",
    "leniency": "ℓ   P(accepted | wrong)",  # noqa: RUF001 # the paper's letter
    "sensitivity": "s   P(accepted | right)",
    "base_error": "e0  error rate with clean memories",
    "attractor": "p*  where the bank is heading",
    "one_shot": "p0  after one pass",
    "ratio": "p*/p0",
    "collapse": "κ*  collapse threshold",
    "margin": "κ* - κ",
    "bias_of_wrong": "E[b | wrong], inflates above 0",
    "bias_with_reuse": "Cov(b, n | wrong), echoes above 0",
    "amplified_retrieval": "A_ret  wrong ones retrieved more often",
    "amplified_transfer": "A_tr  wrong ones believed more often",
}
_BANK_FIGURES = {
    "corrupted": "p   corrupted share of trusted records",
    "superseded_of_bank": "bank held by superseded families",
    "superseded_of_top_k": "top-k held by superseded families",
    "self_written": "families written by the agent itself",
}
_COLUMNS = ("corrupted", "attractor", "one_shot", "ratio", "kappa", "margin")


def drift(
    space: Annotated[str | None, typer.Argument(help="Only this memory bank.", show_default=False)] = None,
    store: StoreOption = None,
    since: Annotated[
        str | None, typer.Option(help="Only episodes and reads since: 30d, 12h, or a time (RFC 3339).", show_default=False)
    ] = None,
    channel: Annotated[
        str | None, typer.Option(help="Channel that stands in for the truth where there is no gold verdict.", show_default=False)
    ] = None,
    sensitivity: Annotated[
        float | None,
        typer.Option(min=0, max=1, callback=require_finite, help="P(the channel says wrong | wrong).", show_default=False),
    ] = None,
    specificity: Annotated[
        float | None,
        typer.Option(min=0, max=1, callback=require_finite, help="P(the channel says right | right).", show_default=False),
    ] = None,
    accept: Annotated[
        float,
        typer.Option(min=0, max=1, callback=require_finite, help="Self-grade from which the agent takes its episode for good."),
    ] = ACCEPT_LEVEL,
    history: Annotated[
        bool, typer.Option("--history", help="Show the looks that workers kept instead: of SPACE, or of all together.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Estimate where a bank is heading: leniency, feedback, the attractor they lead to, and how far the bank is on the way.

    Rests on episodes of which something outside the agent says whether they were right; what too few of them say is unknown.
    """
    if history:
        _refuse_options(since, channel, sensitivity, specificity)
        show_history(asyncio.run(_fetch_history(store, space)), space, as_json=as_json)
        return
    window = Window(since=read_since(since), accept_level=accept, stand_in=read_stand_in(channel, sensitivity, specificity))
    overall, spaces, stale = asyncio.run(_measure(store, window, space))
    if as_json:
        found = {"overall": _describe(overall), "spaces": [_describe(one) for one in spaces], "of_another_calibration": stale}
        print_json({**_describe_window(window), **found})
        return
    _show(overall, spaces, space)
    if window.stand_in is not None:
        err.print(
            f"{overall.stand_in_episodes} of {overall.episodes.episodes} episodes are judged by {clean_name(window.stand_in.channel)} and corrected "
            f"for its errors; that its errors are its own is for `guardian audit report` to show."
        )
    if stale:
        err.print(
            f"{sum(stale.values())} records have their utility by another calibration than the one in force: `guardian audit recompute`."
        )
    if not overall.is_whole:
        err.print("more audited episodes than are looked at: these are a sample.")
    if not overall.bank.records:
        err.print("there is no record here." if space is None else f"there is no record in {clean_name(space)}.")
    elif not overall.episodes.episodes:
        err.print(
            "no audited episode: draw some with `guardian audit sample`, label them, and send them with `guardian audit label`."
        )


async def _measure(place: str | None, window: Window, space: str | None) -> tuple[Drift, list[Drift], dict[str, int]]:
    settings = load_settings()
    async with opened_store(settings, place) as store:
        overall, spaces = await measure_drift(store, window, space=space)
        policy_of = build_policy_of(settings)
        stale = await count_stale(store, policy_of, space=space) if await has_calibration(store, policy_of) else {}
        return overall, spaces, stale


def _refuse_options(*options: object) -> None:
    """Refuse options that would be passed over in silence.

    Raises:
        ConfigError: One is given.
    """
    if any(option is not None for option in options):
        raise ConfigError(
            "--history shows what was estimated when it was: --since and --channel do not go with it.",
            mend="leave them out; the settings drift.window_s and drift.channel are those of the worker that looks.",
        )


async def _fetch_history(place: str | None, space: str | None) -> list[Snapshot]:
    async with opened_store(load_settings(), place) as store:
        return await fetch_history(store, space)


def read_since(text: str | None) -> datetime | None:
    """Read a time, or how long ago.

    Raises:
        ConfigError: It is neither.
    """
    if text is None:
        return None
    ago = re.fullmatch(r"(\d{1,6})([mhdw])", text)
    try:
        if ago is not None:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise ConfigError(f"--since {clean(text)}: no time.", mend="write 30d, 12h, 90m, or 2026-03-01T00:00:00Z.") from exc


def read_stand_in(channel: str | None, sensitivity: float | None, specificity: float | None) -> StandIn | None:
    """Read the channel that stands in for the truth.

    Raises:
        ConfigError: Its errors are not given, or it tells nothing apart.
    """
    if channel is None:
        if sensitivity is not None or specificity is not None:
            raise ConfigError("--sensitivity and --specificity are those of a channel.", mend="add --channel NAME.")
        return None
    if channel in {"gold", "self"}:
        raise ConfigError(
            f"--channel {channel}: {'it is the truth itself' if channel == 'gold' else 'the agent is no evidence about itself'}.",
            mend="leave it out, or name another channel.",
        )
    if sensitivity is None or specificity is None:
        raise ConfigError(
            f"--channel {clean(channel)} without its errors.",
            mend="add --sensitivity and --specificity; `guardian audit report` measures both (recall of flags, and specificity).",
        )
    if not sensitivity + specificity > 1:
        raise ConfigError(
            f"--channel {clean(channel)} with sensitivity {sensitivity:g} and specificity {specificity:g} tells nothing apart.",
            mend="name a channel whose two rates sum to more than 1.",
        )
    return StandIn(channel=channel, sensitivity=sensitivity, specificity=specificity)


def show_estimate(estimate: Estimate) -> tuple[str, str]:
    """Give an estimate as (value, interval and sample size), or as unknown."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "unknown", f"(n={estimate.n})"
    return f"{estimate.value:.3f}", f"{estimate.low:.3f} .. {estimate.high:.3f}  (n={estimate.n})"


def _describe_window(window: Window) -> dict[str, Any]:
    stand_in = None if window.stand_in is None else asdict(window.stand_in)
    return {"since": format_optional(window.since), "accept_level": window.accept_level, "stand_in": stand_in}


def _describe(one: Drift) -> dict[str, Any]:
    conditions = {
        "inflates": _is_above_zero(one.episodes.bias_of_wrong),
        "echoes": _is_above_zero(one.episodes.bias_with_reuse),
    }
    return {**asdict(one), "echo_gap": conditions}


def _is_above_zero(estimate: Estimate) -> bool | None:
    """Tell whether an estimate is above 0 for sure, below or at 0 for sure; None while its interval holds 0 or nothing is known."""
    if estimate.low is None or estimate.high is None:
        return None
    return True if estimate.low > 0 else False if estimate.high <= 0 else None


def _show(overall: Drift, spaces: Sequence[Drift], space: str | None) -> None:
    name = (
        clean_name(space) if space is not None else f"{len(spaces)} spaces" if len(spaces) != 1 else clean_name(spaces[0].space)
    )
    out.print(
        f"{name}: {overall.bank.records} records, {overall.bank.standing} standing; {overall.episodes.episodes} audited episodes\n"
    )
    out.print(_build_table(overall))
    if len(spaces) > 1:
        out.print()
        out.print(_build_spaces(spaces))


def _build_table(one: Drift) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("figure", "value", "95 % interval"):
        table.add_column(title, justify="right" if title == "value" else "left")
    for figures, label_of in ((one.episodes, _EPISODE_FIGURES), (one.bank, _BANK_FIGURES)):
        for figure, label in label_of.items():
            table.add_row(label, *show_estimate(getattr(figures, figure)))
    bank = one.bank
    depth = (
        ("unknown", "")
        if bank.depth_mean is None
        else (f"{bank.depth_mean:.2f}", f"at most {bank.depth_max}  (n={bank.records})")
    )
    table.add_row("depth of derivation, mean", *depth)
    return table


def _build_spaces(spaces: Sequence[Drift]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("space", "episodes", *(_short(name) for name in _COLUMNS)):
        table.add_column(title, justify="left" if title == "space" else "right", overflow="fold")
    for one in spaces:
        figures = [getattr(one.bank, name, None) or getattr(one.episodes, name) for name in _COLUMNS]
        table.add_row(clean_name(one.space), str(one.episodes.episodes), *(_shorten(each) for each in figures))
    return table


def _shorten(estimate: Estimate) -> str:
    value, interval = show_estimate(estimate)
    return value if estimate.is_known else f"{value} {interval}"


def _short(name: str) -> str:
    label = _EPISODE_FIGURES.get(name) or _BANK_FIGURES[name]
    return label.split("  ")[0].strip() if not label.startswith("κ* -") else label
