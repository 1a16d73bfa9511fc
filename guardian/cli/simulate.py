"""`guardian simulate`: where a bank that writes its own graded episodes back ends up, played before your eyes."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer
from rich.table import Table

from guardian.cli.console import err, out, print_json
from guardian.cli.number import require_finite
from guardian.cli.opening import JsonOption
from guardian.cli.plot import draw_lines
from guardian.core.numbers.attractor import amplify_retrieval, find_attractor, find_collapse, shoot_once
from guardian.errors import ConfigError
from guardian.trust.simulated_bank import BankModel, Countermeasure, SimulatedBank

# The bank of "Memory Reward Inflation in Self-Improving LLM Agents", and what the paper says of it.
PAPER = {"kappa": 0.38, "leniency": 0.76, "sensitivity": 0.90, "base_error": 0.32}
PAPER_SAYS = {"p_star": 0.448, "p0": 0.284, "ratio": 1.6}
# A_ret of the check: bias and temperature that grades in [0, 1] and a soft choice among them make plausible; the paper names none.
CHECK_BIAS, CHECK_TEMPERATURE = 0.5, 0.5


def simulate(
    kappa: Annotated[
        float,
        typer.Option(
            min=0, callback=require_finite, help="Rise of the error rate with the corrupted share of what is retrieved."
        ),
    ] = PAPER["kappa"],
    leniency: Annotated[
        float, typer.Option(min=0, max=1, callback=require_finite, help="P(the agent accepts its episode | wrong).")
    ] = PAPER["leniency"],
    sensitivity: Annotated[
        float, typer.Option(min=0, max=1, callback=require_finite, help="P(the agent accepts its episode | right).")
    ] = PAPER["sensitivity"],
    base_error: Annotated[
        float, typer.Option(min=0, max=1, callback=require_finite, help="Error rate with clean memories.")
    ] = PAPER["base_error"],
    policy: Annotated[Countermeasure, typer.Option(help="What is done against corruption.")] = Countermeasure.NONE,
    catch: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            callback=require_finite,
            help="demote: P(a wrong record is flagged). supersede: P(a step brings a verified correction).",
        ),
    ] = 0.0,
    false_alarm: Annotated[
        float, typer.Option(min=0, max=1, callback=require_finite, help="demote: P(a right record is flagged).")
    ] = 0.0,
    steps: Annotated[int, typer.Option(min=1, max=1_000_000, help="Episodes.")] = 5_000,
    seed: Annotated[int, typer.Option(min=0, help="Of all random numbers; the same seed is the same run.")] = 0,
    bank: Annotated[int, typer.Option(min=1, max=100_000, help="Records the bank holds; the oldest makes room.")] = 400,
    check: Annotated[
        bool, typer.Option("--check", help="Print the check values of the formulas instead, and play nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Play a bank that writes its own self-graded episodes back, and draw its corrupted share against the attractor p* and p0.

    The defaults are the bank of the paper. `guardian drift` estimates the four parameters of a bank of yours.
    """
    if check:
        _show_check(as_json=as_json)
        return
    _refuse_idle(policy, catch, false_alarm)
    rates = {"leniency": leniency, "sensitivity": sensitivity, "base_error": base_error}
    model = BankModel(
        kappa=kappa,
        leniency=leniency,
        sensitivity=sensitivity,
        base_error=base_error,
        places=bank,
        countermeasure=policy,
        catch=catch,
        false_alarm=false_alarm,
    )
    shares = SimulatedBank(model, seed=seed).run(steps).shares
    figures = describe_model(kappa=kappa, **rates) | {"settled": settle(shares), "last": shares[-1]}
    if as_json:
        print_json({**figures, "kappa": kappa, **rates, "policy": policy.value, "steps": steps, "seed": seed, "shares": shares})
        return
    levels = {f"p* {figures['p_star']:.3f}": figures["p_star"], f"p0 {figures['p0']:.3f}": figures["p0"]}
    out.print(f"corrupted share of what can be retrieved, over {steps} episodes (bank of {bank}, policy {policy.value})")
    for line in draw_lines(shares, levels=levels, width=out.width):
        out.print(line, no_wrap=True, crop=False)
    out.print(_build_table(figures))
    if policy is not Countermeasure.NONE:
        err.print("p* and p0 are those of the bank without the policy.")


def _refuse_idle(policy: Countermeasure, catch: float, false_alarm: float) -> None:
    """Refuse options that would be passed over in silence.

    Raises:
        ConfigError: A policy that does nothing, or figures of a policy that was not chosen.
    """
    if policy is Countermeasure.NONE and (catch or false_alarm):
        raise ConfigError("--catch and --false-alarm belong to a policy.", mend="add --policy demote or --policy supersede.")
    if policy is not Countermeasure.NONE and not catch:
        raise ConfigError(f"--policy {policy.value} without --catch does nothing.", mend="add --catch, such as 0.5.")
    if policy is Countermeasure.SUPERSEDE and false_alarm:
        raise ConfigError("--false-alarm belongs to --policy demote.", mend="leave it out: corrections here are verified.")


def describe_model(*, kappa: float, leniency: float, sensitivity: float, base_error: float) -> dict[str, Any]:
    """Give what the formulas say of a bank; None for what is infinite or undefined."""
    p_star = find_attractor(kappa=kappa, leniency=leniency, sensitivity=sensitivity, base_error=base_error)
    p0 = shoot_once(leniency=leniency, sensitivity=sensitivity, base_error=base_error)
    kappa_star = find_collapse(leniency=leniency, sensitivity=sensitivity)
    is_finite = math.isfinite(kappa_star)
    return {
        "p_star": p_star,
        "p0": p0,
        "ratio": p_star / p0 if p0 else None,
        "kappa_star": kappa_star if is_finite else None,
        "margin": kappa_star - kappa if is_finite else None,
    }


def settle(shares: list[float]) -> float:
    """Give the mean of the last half of a run."""
    half = shares[len(shares) // 2 :]
    return math.fsum(half) / len(half)


def list_check_values() -> list[dict[str, Any]]:
    """List the check values: what the paper says where it says it, and what the formulas give."""
    found = describe_model(**PAPER)
    bank = {"wrong": found["p_star"], "right": 1 - found["p_star"]}
    lifted = amplify_retrieval(CHECK_BIAS, temperature=CHECK_TEMPERATURE, **bank)
    return [
        *(
            {"figure": name, "paper": PAPER_SAYS.get(name), "formula": found[name]}
            for name in ("p_star", "p0", "ratio", "kappa_star")
        ),
        {"figure": f"A_ret(b={CHECK_BIAS:g}, T={CHECK_TEMPERATURE:g}, W:R=p*:1-p*)", "paper": None, "formula": lifted},
    ]


def _show_check(*, as_json: bool) -> None:
    rows = list_check_values()
    if as_json:
        print_json({"parameters": PAPER, "values": rows})
        return
    out.print("the paper's bank: " + ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in PAPER.items()))
    table = Table(box=None, pad_edge=False)
    for name in ("figure", "paper", "formula"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    for row in rows:
        paper = "-" if row["paper"] is None else f"{row['paper']:g}"
        table.add_row(_NAMES.get(row["figure"], row["figure"]), paper, f"{row['formula']:.4f}")
    out.print(table)


_NAMES = {
    "p_star": "p*  attractor",
    "p0": "p0  one pass",
    "ratio": "p*/p0",
    "kappa_star": "κ*  collapse threshold",
    "margin": "κ* - κ",
    "settled": "mean of the last half",
    "last": "at the end",
}


def _build_table(figures: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in figures.items():
        table.add_row(_NAMES[name], "none" if value is None else f"{value:.3f}")
    return table
