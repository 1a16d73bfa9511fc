"""What a replay did, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.table import Table

from guardian.cli.console import shorten
from guardian.replay import ReplaySummary
from guardian.sources.port import Source

# Characters of an example: its place and the beginning of what is wrong.
_EXAMPLE_CHARS = 200


def describe(summary: ReplaySummary) -> dict[str, object]:
    """Give the summary for programs."""
    return {
        "rows": summary.rows,
        "events": summary.events,
        "records": summary.records,
        "families": summary.families,
        "superseded": summary.superseded,
        "felled": summary.felled,
        "born_superseded": summary.born_superseded,
        "inferred_parents": summary.inferred,
        "refused_verification_claims": summary.refused_claims,
        "pending_vectors": summary.pending,
        "naive_times": summary.naive_times,
        "dead_letters_erased": summary.letters_erased,
        "dispositions": _plain(summary.dispositions),
        "skipped": _plain(summary.skipped),
        "dead_letters": _plain(summary.dead_letters),
        "resumed_at": summary.resumed_at,
        "reconciliation": {
            "rows": summary.rows,
            "with_events": summary.event_rows,
            "skipped": summary.skipped.total(),
            "dead_lettered": summary.letter_rows,
        },
    }


def _plain(counts: Counter[str]) -> dict[str, int]:
    return {str(reason): count for reason, count in sorted(counts.items())}


def build_table(summary: ReplaySummary, source: Source) -> Table:
    """Draw the summary."""
    table = Table(box=None, show_header=False, pad_edge=False, title=f"replayed as {source.name}", title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    for name, value in describe(summary).items():
        if name == "reconciliation":
            continue  # a line of its own
        label = name.replace("_", " ")
        if isinstance(value, dict):
            for reason, count in value.items():
                table.add_row(f"{label}: {reason}", str(count))
        elif value or (name in {"rows", "events", "records", "families", "superseded"} and value is not None):
            table.add_row(label, str(value))
    return table


def build_examples(examples: Mapping[str, Sequence[str]]) -> Table:
    """Draw what a dry run would refuse: the first of each reason, each with its place."""
    table = Table(box=None, show_header=False, pad_edge=False, title="would be refused, for example", title_justify="left")
    for reason, messages in sorted(examples.items()):
        for message in messages:
            table.add_row(reason, shorten(message, _EXAMPLE_CHARS))
    return table
