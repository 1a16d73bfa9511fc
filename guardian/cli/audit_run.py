"""`guardian audit run`: have the evidence channels judge what is stored already."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from guardian.cli.console import clean, clean_name, err, out, print_json
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.cli.progress import build_progress
from guardian.cli.sending import ToTopicOption, name_target
from guardian.contracts.codec import decode, encode_event
from guardian.core.model import Event
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.errors import ConfigError
from guardian.pipeline import Pipeline
from guardian.ports import Fence, Store
from guardian.settings import Settings, load_settings
from guardian.stream.broker.kafka import Producer
from guardian.trust.auditor import Answer, Auditor, Told
from guardian.trust.case import fetch_record
from guardian.trust.truth import is_episode
from guardian.wiring import build_decode_policy, build_pipeline, forward_events, open_auditor, open_producer

AWAY = 69


def run(
    space: Annotated[str | None, typer.Argument(help="Only this memory bank.", show_default=False)] = None,
    channels: Annotated[
        list[str] | None,
        typer.Option("--channel", help="Ask this one. Repeatable. Default: audit.channels of the settings.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Ask about so many episodes at most; those judged already are not counted.", show_default=False),
    ] = None,
    store: StoreOption = None,
    to_topic: ToTopicOption = False,
    as_json: JsonOption = False,
) -> int:
    """Have evidence channels judge the episodes, skills and graded records that a store holds, and send what they find as verdicts.

    A record that a channel judged already is passed over, so an interrupted run is started again and goes on. Verdicts go into the
    store, or with --to-topic to the canonical topic, where a worker takes them in. The exit code is 69 when a channel was away.
    """
    settings = load_settings()
    if channels:
        settings = settings.model_copy(update={"audit": settings.audit.model_copy(update={"channels": tuple(channels)})})
    if not settings.audit.channels:
        raise ConfigError("no evidence channel is named.", setting="GUARDIAN_AUDIT__CHANNELS", mend="set it, or use --channel.")
    answers: Counter[tuple[str, Answer]] = Counter()
    asked, sent = asyncio.run(_run(settings, store, space, limit, answers, to_topic=to_topic))
    target = name_target(settings, store, to_topic=to_topic)
    if as_json:
        found: dict[str, dict[str, int]] = {channel: {} for channel in settings.audit.channels}
        for (channel, answer), count in answers.items():
            found[channel][answer.value] = count
        print_json({"episodes": asked, "sent": sent, "to": target, "channels": found})
    else:
        out.print(_build_table(settings.audit.channels, answers))
        err.print(f"asked about {asked} episodes; {sent} events went to {clean(target)}")
    is_away = any(answers[channel, answer] for channel in settings.audit.channels for answer in (Answer.AWAY, Answer.TIMED_OUT))
    return AWAY if is_away else 0


async def _run(
    settings: Settings,
    place: str | None,
    space: str | None,
    limit: int | None,
    answers: Counter[tuple[str, Answer]],
    *,
    to_topic: bool,
) -> tuple[int, int]:
    """Judge, and give the numbers of episodes asked about and of events sent."""

    def note(told: Told) -> None:
        if told.fault and not answers[told.channel, told.answer]:
            err.print(f"{clean_name(told.channel)}: {clean_name(told.fault)}", markup=False, highlight=False)
        answers[told.channel, told.answer] += 1

    async with opened_store(settings, place) as store, open_auditor(settings, store, note=note) as auditor:
        if not to_topic:
            sent = await _judge(settings, auditor, store, space, limit, build_pipeline(settings, store, None, None))
        else:
            async with open_producer(settings) as producer:
                sent = await _judge(settings, auditor, store, space, limit, producer)
        return auditor.asked, sent


async def _judge(
    settings: Settings, auditor: Auditor, store: Store, space: str | None, limit: int | None, target: Pipeline | Producer
) -> int:
    """Judge some records at a time, and send what was found before the next: an interrupt costs these alone."""
    ids, sent, place = await _list_episodes(store, space), 0, 0
    with build_progress() as progress:
        task = progress.add_task("judging", total=len(ids))
        while place < len(ids) and (limit is None or auditor.asked < limit):
            room = settings.audit.concurrency if limit is None else min(settings.audit.concurrency, limit - auditor.asked)
            part = ids[place : place + room]
            nodes = [node for node in await asyncio.gather(*(fetch_record(store, record_id) for record_id in part)) if node]
            events = [event for found in await asyncio.gather(*map(auditor.judge, nodes)) for event in found]
            await _send(settings, events, target)
            place, sent = place + len(part), sent + len(events)
            progress.advance(task, len(part))
    return sent


async def _list_episodes(store: Store, space: str | None) -> list[str]:
    """List the records that can be judged; all their ids, as records are written while they are judged."""
    points = store.iter_points(space=space, kinds={PointKind.RECORD})
    return sorted([point.id async for point in points if is_episode(load_node(point))])


async def _send(settings: Settings, events: Sequence[Event], target: Pipeline | Producer) -> None:
    if not events:
        return
    encoded = [(encode_event(event), event.space) for event in events]
    if isinstance(target, Producer):
        await forward_events(settings, target, encoded)
        return
    policy = build_decode_policy(settings, 0)
    decoded = [
        decode(raw, policy=policy, received_at=event.ref.time).event for (raw, _), event in zip(encoded, events, strict=True)
    ]
    await target.process(decoded, fence=Fence())


def _build_table(channels: Sequence[str], answers: Counter[tuple[str, Answer]]) -> Table:
    shown = [answer for answer in Answer if any(answers[channel, answer] for channel in channels)]
    table = Table(box=None, pad_edge=False)
    table.add_column("channel")
    for answer in shown:
        table.add_column(answer.value.replace("_", " "), justify="right")
    for channel in channels:
        table.add_row(clean_name(channel), *(str(answers[channel, answer]) for answer in shown))
    return table
