"""`guardian topics`: what is declared, what is there, and what would be made."""

from __future__ import annotations

import asyncio

import typer
from rich.table import Table

from guardian.cli.console import out, print_json
from guardian.cli.opening import JsonOption
from guardian.settings import load_settings
from guardian.topics import Plan, apply, load_declarations, plan
from guardian.wiring import build_kafka_security

topics = typer.Typer(
    no_args_is_help=True, help="Compare the declared topics with the broker's, and create those that are missing."
)


@topics.command("plan")
def plan_topics(as_json: JsonOption = False) -> None:
    """Show what `apply` would create, and where the broker differs. Changes nothing."""
    settings = load_settings()
    declared = load_declarations()
    found = asyncio.run(plan(settings.kafka.bootstrap, declared, security=build_kafka_security(settings)))
    _print(found, as_json=as_json)


@topics.command("apply")
def apply_topics(as_json: JsonOption = False) -> None:
    """Create missing topics. Never changes or deletes one; refuses a partition count that differs."""
    settings = load_settings()
    applied = asyncio.run(
        apply(
            settings.kafka.bootstrap,
            load_declarations(),
            replication_factor=settings.kafka.replication_factor,
            security=build_kafka_security(settings),
        )
    )
    if not as_json:
        out.print("created: " + (", ".join(applied.created) or "nothing, all are there"))
    _print(applied.plan, as_json=as_json)


def _print(found: Plan, *, as_json: bool) -> None:
    rows = [
        {
            "topic": topic.declaration.name,
            "standing": topic.standing.value,
            "partitions": topic.partitions,
            "declared_partitions": topic.declaration.partitions,
            "key": topic.declaration.key,
            "drift": [{"setting": d.setting, "declared": d.declared, "actual": d.actual} for d in topic.drift],
        }
        for topic in found.topics
    ]
    if as_json:
        print_json(rows)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("topic", "standing", "partitions", "key", "drift"):
        table.add_column(name, overflow="fold")
    for row, topic in zip(rows, found.topics, strict=True):
        drift = ", ".join(f"{d.setting} is {d.actual}, declared {d.declared}" for d in topic.drift)
        table.add_row(
            str(row["topic"]),
            str(row["standing"]),
            f"{row['partitions']} of {row['declared_partitions']}",
            str(row["key"]),
            drift,
        )
    out.print(table)
