"""`guardian ledger`: what reading was worth, computed from ledger lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from guardian.cli.console import clean_name, err, out, print_json, say_error
from guardian.cli.opening import JsonOption
from guardian.core.numbers.interval import Estimate
from guardian.read.ledger.file import Line, Unread, iter_lines
from guardian.read.ledger.metrics import LedgerAccount, build_account

ledger = typer.Typer(no_args_is_help=True, help="What readers were given, and what came of it.")

# Unreadable lines that are named; the rest is counted.
_MOST_TOLD = 5
_FIGURES = {
    "objective_fact_contamination": "questions of fact with barred evidence",
    "objective_fact_touched": "questions of fact with any barred memory",
    "superseded_render": "rendered records that were superseded",
    "rejected_audit_coverage": "records left out that have a reason",
    "retrieved_but_wrong": "wrong answers that were given memory",
    "override": "answers against what was decided",
}


@ledger.command("report")
def report(
    files: Annotated[
        list[Path], typer.Argument(help="Ledger lines: guardian.ledger.jsonl, or the topic's values a line each.", exists=True)
    ],
    space: Annotated[str | None, typer.Option(help="Only this memory bank.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most memories listed for wrong answers.")] = 10,
    as_json: JsonOption = False,
) -> int:
    """Report the figures of reading, each with its 95 % interval and size; a share of nothing is unknown.

    A line that comes twice counts once. Lines that cannot be read are counted and told, and the exit code is 1 then.
    """
    unread: list[Unread] = []
    account = build_account(_iter_lines(files, space, unread))
    if as_json:
        print_json(describe(account, limit) | {"unread": len(unread)})
    else:
        out.print(build_table(account))
        if account.list_blame(limit):
            out.print(build_blame(account, limit))
    for each in unread[:_MOST_TOLD]:
        err.print(clean_name(f"{each.path}, line {each.number} is no ledger line: {each.fault}"), soft_wrap=True)
    if unread:
        say_error(f"{len(unread)} lines could not be read and are in no figure.")
    return 1 if unread else 0


def _iter_lines(files: list[Path], space: str | None, unread: list[Unread]) -> Iterator[Line]:
    for line in (line for file in files for line in iter_lines(file)):
        if isinstance(line, Unread):
            unread.append(line)
        elif space in (None, line[1].space):
            yield line


def describe(account: LedgerAccount, limit: int) -> dict[str, Any]:
    """Give a report for programs."""
    return {
        "calls": account.calls,
        "judged": account.judged,
        "unmatched": account.unmatched,
        "figures": {name: asdict(estimate) for name, estimate in account.figures().items()},
        "roles": dict(account.roles),
        "reasons": dict(account.reasons),
        "latency_ms": {"p50": account.percentile_ms(0.5), "p99": account.percentile_ms(0.99)},
        "wrong_by_memory": [asdict(blame) for blame in account.list_blame(limit)],
    }


def build_table(account: LedgerAccount) -> Table:
    """Draw the figures."""
    table = Table(box=None, pad_edge=False)
    for name in ("figure", "value", "95 % interval"):
        table.add_column(name)
    table.add_row("calls", str(account.calls), "")
    table.add_row("judged answers", str(account.judged), f"{account.unmatched} of no call here" if account.unmatched else "")
    for name, estimate in account.figures().items():
        table.add_row(_FIGURES[name], *_show(estimate))
    for share, label in ((0.5, "latency, median"), (0.99, "latency, 99 %")):
        latency = account.percentile_ms(share)
        table.add_row(label, "unknown" if latency is None else f"{latency:.1f} ms", "")
    for reason, count in account.reasons.most_common():
        table.add_row(f"  {reason}", str(count), "")
    return table


def _show(estimate: Estimate) -> tuple[str, str]:
    if estimate.value is None:
        return "unknown", f"(n={estimate.n})"
    return f"{estimate.value:.3f}", f"{estimate.low:.3f} .. {estimate.high:.3f}  (n={estimate.n})"


def build_blame(account: LedgerAccount, limit: int) -> Table:
    """Draw the memories that went into wrong answers."""
    table = Table(box=None, pad_edge=False)
    for name in ("memory", "space", "wrong", "of judged"):
        table.add_column(name, overflow="fold")
    for blame in account.list_blame(limit):
        table.add_row(clean_name(blame.memory_id), clean_name(blame.space), str(blame.wrong), str(blame.judged))
    return table
