"""`guardian holdings`: what may still hold erased text, and until when."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from guardian.cli.console import clean, err, out, print_json
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.core.moment import format_time
from guardian.dead_letter_file import FILE_NAME, DeadLetterFile
from guardian.read.holding import Erasure, Holding, list_embedded, list_erasures, list_files, list_server
from guardian.settings import KafkaSettings, Settings, load_settings
from guardian.stream.dead_letter import iter_dead_letters
from guardian.stream.holding import HoldingTopic, is_suspect, list_letters, list_topics
from guardian.stream.ingress import choose_ingress_topics
from guardian.topics import fetch_configs
from guardian.wiring import build_kafka_options, build_kafka_security, locate_state, place_store


def holdings(
    space: Annotated[str | None, typer.Argument(help="Only erasures of this space.", show_default=False)] = None,
    memory_id: Annotated[str | None, typer.Argument(help="Only those of this memory.", show_default=False)] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what may still hold text that was erased, with the last date or with what ends it.

    The erasures are read from the store. Topics are looked at when the settings name a broker.
    """
    settings = load_settings()
    found = asyncio.run(_collect(settings, store, space, memory_id))
    if as_json:
        print_json(describe(found))
    elif not found:
        out.print("nothing was erased here")
    else:
        out.print(build_table(found))
        if not has_broker(settings):
            err.print("no broker is set (GUARDIAN_KAFKA__BOOTSTRAP): topics were not looked at.")


async def _collect(settings: Settings, place: str | None, space: str | None, memory_id: str | None) -> list[Holding]:
    async with opened_store(settings, place) as store:
        erasures = await list_erasures(store, space=space, memory_id=memory_id)
    return await collect_holdings(settings, place, erasures)


def has_broker(settings: Settings) -> bool:
    """Tell whether the settings name a broker; the default address alone means nobody has said that there is one."""
    return settings.has_broker


async def collect_holdings(settings: Settings, place: str | None, erasures: Sequence[Erasure]) -> list[Holding]:
    """Collect everything that may still hold what was erased; nothing when nothing was.

    Raises:
        DependencyError: The broker is away.
    """
    if not erasures:
        return []
    found = await _collect_topics(settings, erasures) if has_broker(settings) else []
    store = place_store(settings.store, place)
    found += list_embedded(str(store.path)) if store.url is None else list_server(store.url, store.collection)
    found += _collect_file(DeadLetterFile(locate_state(settings, place)[0] / FILE_NAME), erasures)
    return [*found, *list_files()]


async def _collect_topics(settings: Settings, erasures: Sequence[Erasure]) -> list[Holding]:
    kafka = settings.kafka
    configs = await fetch_configs(
        kafka.bootstrap, lambda name: not name.startswith("__"), security=build_kafka_security(settings)
    )
    topics = list_holding_topics(kafka, sorted(configs))
    found = list_topics(topics, configs, erasures, now=datetime.now(UTC))
    letters_topic = f"{kafka.topic_prefix}guardian.dead-letters"
    if letters_topic in configs:
        async with aclosing(iter_dead_letters(build_kafka_options(settings), topic=letters_topic)) as letters:
            found += await list_letters(letters, configs[letters_topic], erasures, topic=letters_topic)
    return found


def list_holding_topics(kafka: KafkaSettings, present: Sequence[str]) -> list[HoldingTopic]:
    """List the topics of a broker in which words of a memory may lie.

    Args:
        kafka: Names of the topics.
        present: Topics that the broker has.
    """
    prefix, events = kafka.topic_prefix, kafka.topic_prefix + kafka.events_topic
    own = {prefix + name for name in present if name.startswith("guardian.")} | {events}
    ingress = choose_ingress_topics(present, names=kafka.ingress_topics, pattern=kafka.ingress_pattern, own=own)
    told = "the memory's events as they were sent, text included"
    return [
        HoldingTopic(name=events, holds=told, is_overwritten=False),
        *(HoldingTopic(name=name, holds=told, is_overwritten=False) for name in sorted(ingress)),
        HoldingTopic(
            name=f"{prefix}guardian.enriched", holds="earlier states of its records: no text, but subjects", is_overwritten=True
        ),
        HoldingTopic(
            name=f"{prefix}guardian.reviews",
            holds="open items: no text, but the subjects that waiting corrections name",
            is_overwritten=False,
        ),
        HoldingTopic(
            name=f"{prefix}guardian.dead-letters",
            holds="its refused records, text included, each under a tombstone now",
            is_overwritten=True,
        ),
    ]


def _collect_file(file: DeadLetterFile, erasures: Sequence[Erasure]) -> list[Holding]:
    suspects = sum(is_suspect(letter, erasures) for _, letter in file.iter_letters())
    found = []
    if suspects:
        found.append(f"{suspects} refused rows whose memory cannot be read")
    if file.torn:
        found.append(f"torn lines {', '.join(map(str, file.torn))}")
    ends = "you delete them, or re-drive them after a mend (`guardian dead-letters redrive --file`)"
    return [Holding(place=str(file.path), holds=holds, until=None, ends=ends, owner="you") for holds in found]


def describe(found: Sequence[Holding]) -> list[dict[str, Any]]:
    """Give holdings for programs."""
    return [{**asdict(holding), "until": None if holding.until is None else format_time(holding.until)} for holding in found]


def build_table(found: Sequence[Holding]) -> Table:
    """Draw holdings."""
    table = Table(box=None, pad_edge=False)
    for name in ("what may still hold it", "what lies there", "until", "ended by", "who sees to it"):
        table.add_column(name, overflow="fold")
    for row in clean([asdict(holding) for holding in found]):
        until = "-" if row["until"] is None else f"{row['until']:%Y-%m-%d %H:%M}"
        table.add_row(row["place"], row["holds"], until, row["ends"], row["owner"])
    return table
