"""`guardian audit activate`, `deactivate`, `recompute`: put a calibration to use, take it back, and bring utilities to the one in force."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from guardian.cli.console import clean, clean_name, err, out, print_json
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.cli.progress import build_progress
from guardian.cli.sending import ToTopicOption, admit, goes_to_topic, name_target, read_authority, require_trust, send_events
from guardian.contracts.codec import encode_event
from guardian.core.model import Authority, Calibrated, Event, EventRef, Retracted
from guardian.core.point import PointKind
from guardian.errors import ConfigError
from guardian.ports import Fence, Store
from guardian.settings import Settings, load_settings
from guardian.trust.calibration_document import Activatable, choose_calibration, read_document
from guardian.trust.recalibrate import SOURCE, Calibrations, count_stale, iter_rated, load_calibrations
from guardian.wiring import build_pipeline, build_policy_of, forward_events, open_producer

AsOption = Annotated[str, typer.Option("--as", help="On whose word, as KIND or KIND:REF: human_review:ann.")]
SpacesOption = Annotated[
    str, typer.Option("--spaces", help="Only the spaces of this pattern, such as 'team-*'; of those that the store has.")
]
SpaceOption = Annotated[
    list[str] | None,
    typer.Option("--space", help="This very space, also one that the store does not have; repeatable.", show_default=False),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be sent, and send nothing.")]


def activate(
    file: Annotated[Path, typer.Argument(help="What `guardian audit report --export` wrote.")],
    authority: AsOption = "human_review",
    spaces: SpacesOption = "*",
    space: SpaceOption = None,
    reason: Annotated[str | None, typer.Option(help="Why, for people.", show_default=False)] = None,
    store: StoreOption = None,
    to_topic: ToTopicOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put a calibration to use: one event a space, which its trusted authority may take back.

    A space gets the calibration of the first pattern in the file that matches it, else that of all spaces. Nothing is recomputed by this: utilities
    follow as memories are touched, and all of them with `guardian audit recompute`.
    """
    settings, word = load_settings(), read_authority(authority)
    to_topic = goes_to_topic(settings, store, to_topic=to_topic)
    calibrations = read_document(file.read_bytes(), name=str(clean(str(file))))
    names, in_force = asyncio.run(_find_spaces(settings, store, spaces, space or []))
    chosen = {name: one for name in names if (one := choose_calibration(name, calibrations)) is not None}
    now = datetime.now(UTC)
    events: list[Event] = []
    for name, one in chosen.items():
        require_trust(settings, name, word, otherwise=f"activates nothing in {clean(name)}")
        if in_force.get(name) != (one.id, one.channels):
            events.append(_build_activation(name, one, word, reason, now))
    _send(settings, store, events, now, to_topic=to_topic, dry_run=dry_run)
    told = {
        "to": name_target(settings, store, to_topic=to_topic),
        "activated": {event.space: event.calibration for event in events if isinstance(event, Calibrated)},
        "in_force": sorted(chosen.keys() - {event.space for event in events}),
        "without": sorted(set(names) - chosen.keys()),
    }
    _tell(told, as_json=as_json, dry_run=dry_run)


def deactivate(
    authority: AsOption = "human_review",
    spaces: SpacesOption = "*",
    space: SpaceOption = None,
    store: StoreOption = None,
    to_topic: ToTopicOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Take back the calibration in force of each space: the one before it holds again, or the settings'."""
    settings, word = load_settings(), read_authority(authority)
    to_topic = goes_to_topic(settings, store, to_topic=to_topic)
    last = asyncio.run(_find_activations(settings, store, spaces, space or []))
    now = datetime.now(UTC)
    events: list[Event] = []
    for name, ref in last.items():
        require_trust(settings, name, word, otherwise=f"takes nothing back in {clean(name)}")
        events.append(Retracted(ref=_build_ref(now), space=name, event_source=ref.source, event_id=ref.id, authority=word))
    _send(settings, store, events, now, to_topic=to_topic, dry_run=dry_run)
    told = {"to": name_target(settings, store, to_topic=to_topic), "taken_back": {name: ref.id for name, ref in last.items()}}
    _tell(told, as_json=as_json, dry_run=dry_run)


def recompute(
    space: Annotated[str, typer.Argument(help="Only the spaces of this pattern.")] = "*",
    store: StoreOption = None,
    to_topic: ToTopicOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how many records are left, and do nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring utilities to the calibration in force; may be interrupted, and goes on where it was.

    In a store of its own it does the work. Beside a running worker (--to-topic, with a Qdrant server to look into) it sends events that name the
    memories, and the worker does it.
    """
    settings = load_settings()
    to_topic = goes_to_topic(settings, store, to_topic=to_topic)
    told = asyncio.run(_recompute(settings, store, space, to_topic=to_topic, dry_run=dry_run))
    told["to"] = name_target(settings, store, to_topic=to_topic)
    if as_json:
        print_json(told)
        return
    before, after = sum(told["before"].values()), sum(told["after"].values())
    out.print(f"{before} records had their utility by another calibration than the one in force; {after} are left")
    if to_topic and told["events"]:
        err.print(
            f"{told['events']} events went to {clean(told['to'])}: the worker does the rest, and the next run tells what is left."
        )


async def _recompute(settings: Settings, place: str | None, pattern: str, *, to_topic: bool, dry_run: bool) -> dict[str, Any]:
    policy_of = build_policy_of(settings)

    async def count(store: Store) -> dict[str, int]:
        found = await count_stale(store, policy_of)
        return {name: number for name, number in found.items() if fnmatchcase(name, pattern)}

    async with opened_store(settings, place) as store:
        calibrations = await load_calibrations(store, policy_of)
        before = await count(store)
        if dry_run or not before:
            return {"before": before, "after": before, "events": 0}
        if to_topic:
            return {"before": before, "after": before, "events": await _ask(settings, store, calibrations, pattern)}
        events = await _rate(settings, store, calibrations, pattern, total=sum(before.values()))
        return {"before": before, "after": await count(store), "events": events}


async def _ask(settings: Settings, store: Store, calibrations: Calibrations, pattern: str) -> int:
    """Send events for all that is left; those of an earlier run that the worker has not read yet have the same ids."""
    sent = 0
    async with open_producer(settings) as producer:
        async for event in iter_rated(store, calibrations, datetime.now(UTC), pattern=pattern):
            await forward_events(settings, producer, [(encode_event(event), event.space)])
            sent += 1
    return sent


async def _rate(settings: Settings, store: Store, calibrations: Calibrations, pattern: str, *, total: int) -> int:
    """Rate what is left, event by event: after each of them what it names is done and durable."""
    pipeline = build_pipeline(settings, store, None, None)
    done = 0
    with build_progress() as progress:
        task = progress.add_task("records", total=total)
        async for event in iter_rated(store, calibrations, datetime.now(UTC), pattern=pattern):
            await pipeline.process([event], fence=Fence())
            done += 1
            progress.advance(task, len(event.memory_ids))
    return done


async def _find_spaces(
    settings: Settings, place: str | None, pattern: str, named: Sequence[str]
) -> tuple[list[str], dict[str, tuple[str, Any]]]:
    """Give the spaces that are meant, and the calibration in force of those that have one by an event."""
    if named:
        # Without a look into the store: an embedded one belongs to its worker. What is in force is then sent again, which changes nothing.
        return sorted(set(named)), {}
    async with opened_store(settings, place) as store:
        names = [name for name in await store.count_values("space", kinds={PointKind.RECORD}) if fnmatchcase(name, pattern)]
        calibrations = await load_calibrations(store, build_policy_of(settings))
    if not names:
        raise ConfigError(f"the store has no space {clean(pattern)}.", mend="name one that is to come with --space NAME.")
    last = {name: max(found, key=lambda one: one.order) for name, found in calibrations.activated.items()}
    return sorted(names), {name: (one.name, dict(one.channels)) for name, one in last.items()}


async def _find_activations(settings: Settings, place: str | None, pattern: str, named: Sequence[str]) -> dict[str, EventRef]:
    async with opened_store(settings, place) as store:
        calibrations = await load_calibrations(store, build_policy_of(settings))
    return {
        name: max(found, key=lambda one: one.order).ref
        for name, found in sorted(calibrations.activated.items())
        if (name in named if named else fnmatchcase(name, pattern))
    }


def _build_activation(space: str, one: Activatable, word: Authority, reason: str | None, now: datetime) -> Calibrated:
    digest = hashlib.sha256(orjson.dumps([space, one.id, now.isoformat()])).hexdigest()[:24]
    ref = EventRef(time=now, source=SOURCE, id=f"{one.id}-{digest}", digest="")
    return Calibrated(
        ref=ref, space=space, calibration=one.id, channels=one.channels, effective_at=now, authority=word, reason=reason
    )


def _build_ref(now: datetime) -> EventRef:
    return EventRef(time=now, source=SOURCE, id=str(uuid.uuid4()), digest="")


def _send(
    settings: Settings, place: str | None, events: Sequence[Event], now: datetime, *, to_topic: bool, dry_run: bool
) -> None:
    admitted = [admit(settings, encode_event(event), now) for event in events]
    if admitted and not dry_run:
        asyncio.run(send_events(settings, place, admitted, to_topic=to_topic))


def _tell(told: dict[str, Any], *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        print_json(told)
        return
    for name, value in told.items():
        if isinstance(value, dict):
            for space, what in value.items():
                out.print(f"{clean_name(space)}: {name.replace('_', ' ')} {clean(what)}")
        elif isinstance(value, list) and value:
            words = {"in_force": "has it already", "without": "has no calibration in the file"}[name]
            out.print(f"{', '.join(map(clean, value))}: {words}")
    err.print(f"{'would go' if dry_run else 'went'} to {clean(told['to'])}")
