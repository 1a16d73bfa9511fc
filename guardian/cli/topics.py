"""`guardian topics`: what is declared, what is there, and what would be made."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.progress import Progress, TaskID
from rich.table import Table

from guardian.cli.console import err, out, print_json, say_error
from guardian.cli.opening import JsonOption
from guardian.cli.progress import build_progress
from guardian.settings import Settings, load_settings
from guardian.stream.broker.partition import WAVES, Backlog, raise_partitions, wait_worked_off
from guardian.topics import Applied, Plan, TopicDeclaration, apply, load_declarations, plan
from guardian.wiring import build_kafka_options, build_kafka_security

topics = typer.Typer(
    no_args_is_help=True, help="Compare the declared topics with the broker's, and create those that are missing."
)


@topics.command("plan")
def plan_topics(as_json: JsonOption = False) -> None:
    """Show what `apply` would create, and where the broker differs. Changes nothing."""
    settings = load_settings()
    declared = load_declarations(prefix=settings.kafka.topic_prefix)
    found = asyncio.run(plan(settings.kafka.bootstrap, declared, security=build_kafka_security(settings)))
    _print(found, as_json=as_json)


@topics.command("apply")
def apply_topics(
    partitions: Annotated[
        int | None,
        typer.Option(min=1, help="Raise the topics keyed by space to so many partitions, and wait until all is worked off."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create missing topics. Never changes or deletes one; refuses a partition count that differs, but for one that is raised.

    With --partitions, workers and producers may go on: each space moves to its new partition, and what lies in its old one is sent on.
    The wait can be interrupted; the same command waits again.
    """
    settings = load_settings()
    declared = load_declarations(prefix=settings.kafka.topic_prefix)
    applied, raised = asyncio.run(_apply(settings, declared, partitions))
    if not as_json:
        for name, count in sorted(raised.items()):
            out.print(f"raised: {name} from {count} to {partitions}")
        out.print("created: " + (", ".join(applied.created) or "nothing, all are there"))
    _print(applied.plan, as_json=as_json)


async def _apply(
    settings: Settings, declared: tuple[TopicDeclaration, ...], partitions: int | None
) -> tuple[Applied, dict[str, int]]:
    raised: dict[str, int] = {}
    options = build_kafka_options(settings)
    events = settings.kafka.topic_prefix + settings.kafka.events_topic
    if partitions is not None:
        together = {topic.name for topic in declared if topic.copartitioned is not None} | {events}
        raised = await raise_partitions(options, together, partitions)
        declared = tuple(_declare(topic, partitions) for topic in declared)
    applied = await apply(
        settings.kafka.bootstrap,
        declared,
        replication_factor=settings.kafka.replication_factor,
        security=build_kafka_security(settings),
    )
    if partitions is not None and events not in applied.created:
        await _wait(settings, events)
    return applied, raised


def _declare(topic: TopicDeclaration, partitions: int) -> TopicDeclaration:
    return topic if topic.copartitioned is None else topic.model_copy(update={"partitions": partitions})


async def _wait(settings: Settings, events: str) -> None:
    with build_progress() as progress:
        tasks: dict[int, TaskID] = {}
        try:
            await wait_worked_off(
                build_kafka_options(settings),
                topic=events,
                group=f"{settings.kafka.group}.guard",
                observe=lambda backlog: _show(progress, tasks, backlog),
            )
        except asyncio.CancelledError:
            say_error("interrupted; the partitions are there, and workers go on. The same command waits again.")
            raise
    err.print("everything written before the change is worked off.")


def _show(progress: Progress, tasks: dict[int, TaskID], backlog: Backlog) -> None:
    waiting = "" if backlog.workers or not backlog.left else ", NO WORKER IS RUNNING"
    text = f"working off, {backlog.wave} of {WAVES}{waiting}"
    if backlog.wave not in tasks:
        tasks[backlog.wave] = progress.add_task(text, total=backlog.total)
    progress.update(tasks[backlog.wave], description=text, completed=backlog.total - backlog.left)


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
