"""How a command sends events on a person's word: to the canonical topic, or straight into a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

import typer

from guardian.cli.holdings import has_broker
from guardian.cli.opening import opened_store
from guardian.contracts.codec import decode, encode_event
from guardian.core.model import Authority, Event, SourceKind
from guardian.core.needs import Key
from guardian.errors import ConfigError
from guardian.ports import Fence
from guardian.settings import Settings
from guardian.store.layout import iter_slices
from guardian.wiring import (
    build_decode_policy,
    build_pipeline,
    build_policy_of,
    forward_events,
    locate_state,
    open_producer,
)

ToTopicOption = Annotated[
    bool,
    typer.Option("--to-topic", help="Send to the canonical topic; the default when a broker is set and no --store is given."),
]


@dataclass(slots=True)
class Sent:
    """What became of events; of those sent to a topic a worker decides.

    Attributes:
        dispositions: Of those that went into a store, by name.
        erased: (space, memory id) of what erasures among them cover, and up to when.
    """

    dispositions: Counter[str] = field(default_factory=Counter)
    erased: dict[Key, datetime] = field(default_factory=dict)


def goes_to_topic(settings: Settings, place: str | None, *, to_topic: bool) -> bool:
    """Tell whether events go to the topic: when asked, or when a broker is set and no store is named."""
    return to_topic or (place is None and has_broker(settings))


def name_target(settings: Settings, place: str | None, *, to_topic: bool) -> str:
    """Name where events go."""
    if to_topic:
        return settings.kafka.topic_prefix + settings.kafka.events_topic
    folder, name = locate_state(settings, place)
    return str(folder) if name == "embedded" else name


def read_authority(text: str) -> Authority:
    """Read KIND or KIND:REF.

    Raises:
        ConfigError: There is no such kind.
    """
    kind, _, ref = text.partition(":")
    if kind not in set(SourceKind):
        raise ConfigError(f"--as {text}: {kind!r} is no kind of authority.", mend=f"use one of {', '.join(SourceKind)}.")
    return Authority(kind=SourceKind(kind), ref=ref or None)


def require_trust(settings: Settings, space: str, authority: Authority | None, *, otherwise: str) -> None:
    """Refuse a word that the space does not trust; `otherwise` says what it would come to.

    Raises:
        ConfigError: It is not trusted.
    """
    if build_policy_of(settings)(space).trusts(authority):
        return
    kind = None if authority is None else authority.kind.value
    raise ConfigError(
        f"the word of {kind} {otherwise}.",
        setting="trust.correct_kinds",
        mend="name another authority with --as, or trust this one.",
    )


def admit(settings: Settings, raw: bytes, now: datetime) -> Event:
    """Read an event as a worker will, to see that it is not refused there."""
    return decode(raw, policy=build_decode_policy(settings, 0), received_at=now).event


async def send_events(settings: Settings, place: str | None, events: Sequence[Event], *, to_topic: bool) -> Sent:
    """Send events to the canonical topic, or carry them out in a store, whatever it was made for: nothing is embedded.

    Raises:
        ConfigError: An event is larger than the topic takes, or another process owns the store.
        DependencyError: Broker or store is away; sending all again changes nothing that was done.
    """
    sent = Sent()
    if to_topic:
        async with open_producer(settings) as producer:
            await forward_events(settings, producer, [(encode_event(event), event.space) for event in events])
        return sent
    async with opened_store(settings, place) as store:
        pipeline = build_pipeline(settings, store, None, None)
        for part in iter_slices(events, settings.limits.batch_events):
            report = await pipeline.process(part, fence=Fence())
            sent.dispositions += report.dispositions
            sent.erased |= report.erased
    return sent
