"""`guardian alerts`: what stands, from the store."""

from __future__ import annotations

import asyncio

from rich.table import Table
from rich.text import Text

from guardian.cli.console import clean, clean_name, out, print_json
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.core.alert import Severity
from guardian.core.moment import format_optional
from guardian.core.point import PointKind
from guardian.settings import load_settings
from guardian.trust.alert.record import link_runbook, load_alert
from guardian.trust.alert.standing import AlertState

_STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def alerts(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the alerts that stand, worst first, with the reason and where to read what to do.

    They are raised and resolved by workers, which keep them in the store; a stale one is of a figure that has become unknown since.
    """
    settings = load_settings()
    standing = asyncio.run(_fetch(store))
    if as_json:
        print_json({"alerts": [_describe(one, settings.alerts.runbook_url) for one in standing]})
        return
    if not standing:
        out.print("no alert stands. What is unknown is not told here: `guardian drift` shows how much is.")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("severity", "alert", "space", "since", "reason"):
        table.add_column(title, overflow="fold")
    for one in standing:
        space = "" if one.scope is None else clean_name(one.scope)
        since = "" if one.since is None else f"{one.since:%Y-%m-%d %H:%M}"
        told = f"{clean(one.reason)}{' (stale: unknown by now)' if one.is_stale else ''}\n{link_runbook(one.kind, settings.alerts.runbook_url)}"
        table.add_row(Text(one.severity.value, style=_STYLES[one.severity]), one.kind.value, space, since, told)
    out.print(table)


async def _fetch(place: str | None) -> list[AlertState]:
    async with opened_store(load_settings(), place) as store:
        states = [load_alert(point) async for point in store.iter_points(kinds={PointKind.ALERT})]
    order = list(reversed(Severity))
    standing = [state for state in states if state.is_standing]
    return sorted(standing, key=lambda one: (order.index(one.severity), one.kind.value, one.scope or ""))


def _describe(one: AlertState, runbook_url: str) -> dict[str, object]:
    return {
        "key": one.key,
        "alert": one.kind.value,
        "space": one.scope,
        "severity": one.severity.value,
        "since": format_optional(one.since),
        "is_stale": one.is_stale,
        "seen_at": format_optional(one.seen_at),
        "reason": one.reason,
        "figures": dict(one.figures),
        "runbook": link_runbook(one.kind, runbook_url),
    }
