"""The verifier: given a broker and a store, tells whether everything that was sent came to be exactly what it must.

    python -m tests.chaos.verify --bootstrap 127.0.0.1:9092 --store .guardian/store

It reads the canonical topic from zero and works out the state of every space anew. Run it when the lag is zero and no worker owns an
embedded store. Ends with 1 when a promise does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from guardian.contracts.letter import is_erased
from guardian.core.point import OPERATIONAL, PointKind
from guardian.ports import Store
from guardian.settings import Settings
from guardian.wiring import build_decode_policy, build_store, place_store
from tests.chaos.evidence import (
    compare_with_clean_run,
    compare_with_reference,
    export_rows,
    fetch_payloads,
    find_lost,
    list_waiting,
    recalibrate_payloads,
)
from tests.chaos.ledger import Fate, Ledger, Place, count_fates, read_into
from tests.chaos.loopback import LoopbackStore
from tests.chaos.outcomes import Letters, Outcomes, read_letters, read_outcomes
from tests.topic_reader import reading

Say = Callable[[str], None]
EVENTS = "guardian.events"
# The reference costs the cube of a space's records; larger spaces are held against a clean run of the pipeline alone.
REFERENCE_EVENTS = 150
# Faults told in full; the rest is counted.
_TOLD = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a test runs.

    Attributes:
        group: Of the guard's consumers.
        store: A folder, `loopback:PORT`, or the URL of a server.
    """

    bootstrap: str
    prefix: str
    group: str
    store: str

    @property
    def topic(self) -> str:
        """The canonical topic."""
        return self.prefix + EVENTS


@dataclass(slots=True)
class Verdict:
    """What was found.

    Attributes:
        faults: One text for each.
        large_spaces: Spaces too large for the reference.
        fates: Records by fate; their sum is the number of records.
    """

    records: int = 0
    spaces: int = 0
    large_spaces: int = 0
    points: int = 0
    fates: Counter[Fate] = field(default_factory=Counter)
    outcomes: Outcomes = field(default_factory=Outcomes)
    export_bytes: int = 0
    export_digest: str = ""
    faults: list[str] = field(default_factory=list)

    def note(self, faults: Iterable[str]) -> None:
        """Take in faults."""
        self.faults += faults

    def describe(self) -> str:
        """Give everything in a few lines."""
        total = sum(self.fates.values())
        fates = ", ".join(f"{self.fates[fate]:,} {fate}" for fate in Fate)
        distinct = len(self.outcomes.contents)
        lines = [
            f"records: {self.records:,} in = {total:,} accounted for: {fates}",
            f"state: {self.spaces:,} spaces, {self.large_spaces} of them too large for the reference, {self.points:,} points, export of {self.export_bytes:,} bytes, sha256 {self.export_digest}",
            f"outcomes: {self.outcomes.messages:,} messages with {distinct:,} ids",
            *self.faults[:_TOLD],
            f"{len(self.faults)} faults" if self.faults else "nothing lost, nothing doubled, every byte as the reference has it",
        ]
        return "\n".join(lines)


def open_any_store(place: str) -> Store:
    """Build the store that a place names, whatever it was made for; it is not opened yet."""
    if place.startswith("loopback:"):
        return LoopbackStore(int(place.removeprefix("loopback:")))
    return build_store(place_store(Settings().store, place), None)


async def fetch_committed(around: Surroundings) -> dict[int, int]:
    """Give the committed offsets of the canonical topic, by partition."""
    admin = AIOKafkaAdminClient(bootstrap_servers=around.bootstrap)
    await admin.start()
    try:
        found = await admin.list_consumer_group_offsets(around.group)
    finally:
        await admin.close()
    return {partition.partition: found[partition].offset for partition in _of(found, around.topic)}


def _of(found: Iterable[TopicPartition], topic: str) -> list[TopicPartition]:
    return [partition for partition in found if partition.topic == topic]


async def verify(around: Surroundings, *, say: Say = lambda _: None) -> Verdict:
    """Verify everything at the end of a test."""
    ledger = Ledger(build_decode_policy(Settings(), 0))
    async with reading(around.bootstrap, around.topic) as reader:
        await read_into(ledger, reader)
    say(f"read {ledger.count:,} records of {len(ledger.spaces):,} spaces")
    letters = await read_letters(around.bootstrap, around.prefix)
    verdict = Verdict(records=ledger.count, spaces=len(ledger.spaces))
    verdict.outcomes = await read_outcomes(around.bootstrap, around.prefix)
    say(f"read {verdict.outcomes.messages:,} outcomes and {len(letters.by_key):,} dead letters")
    committed = await fetch_committed(around)
    behind = {number: (committed.get(number, 0), end) for number, end in ledger.ends.items() if committed.get(number, 0) != end}
    if behind:
        verdict.faults.append(f"committed offsets are not the topic's ends: {behind}")
    verdict.note(letters.check(ledger, around.topic))
    verdict.note(find_not_forwarded(ledger, ledger.astray))
    verdict.note(verdict.outcomes.check_ids())
    store = open_any_store(around.store)
    await store.open()
    try:
        waiting = await _verify_spaces(ledger, store, verdict, say)
    finally:
        await store.close()
    verdict.fates = count_fates(ledger, waiting)
    if sum(verdict.fates.values()) != ledger.count:
        verdict.faults.append(f"{sum(verdict.fates.values())} records are accounted for, {ledger.count} were sent")
    return verdict


async def _verify_spaces(ledger: Ledger, store: Store, verdict: Verdict, say: Say) -> list[Place]:
    waiting: list[Place] = []
    digest = hashlib.sha256()
    begun = time.monotonic()
    present = await store.count_values("space", kinds=frozenset(PointKind) - OPERATIONAL)
    verdict.note(
        f"the store has {count} points of {space}, which nobody sent"
        for space, count in present.items()
        if space not in ledger.spaces
    )
    for number, (name, space) in enumerate(sorted(ledger.spaces.items()), 1):
        payloads = await fetch_payloads(store, name)
        verdict.points += len(payloads)
        exported = export_rows(payloads)
        verdict.export_bytes += len(exported)
        digest.update(exported)
        verdict.note(find_lost(space, payloads))
        verdict.note(verdict.outcomes.find_unannounced(space, payloads))
        payloads = await recalibrate_payloads(payloads, store.identity)
        if len(space.events) <= REFERENCE_EVENTS:
            verdict.note(f"reference: {told}" for told in [compare_with_reference(name, space.events, payloads)] if told)
            waiting += list_waiting(space)
        else:
            verdict.large_spaces += 1
        verdict.note(
            f"clean run: {told}" for told in [await compare_with_clean_run(name, space.events, payloads, store.identity)] if told
        )
        if number % 500 == 0:
            say(f"verified {number:,} spaces in {time.monotonic() - begun:.0f} s, {len(verdict.faults)} faults")
    verdict.export_digest = digest.hexdigest()
    return waiting


def find_not_forwarded(ledger: Ledger, places: Iterable[Place]) -> list[str]:
    """Tell of records in a wrong partition that were never sent on to the right one."""
    return [f"the record at {place} was not sent on to where its space lives" for place in places if not ledger.copies[place]]


async def check_committed(
    ledger: Ledger, committed: dict[int, int], store: Store, letters: Letters, *, topic: str, spaces: Iterable[str]
) -> tuple[list[str], int, int]:
    """Check that everything before the committed offsets is durable, while no worker runs; the ledger is read on beyond them.

    What lies behind the offsets may be in the store or not. A space of which nothing does is whole: its rows must be the reference's.

    Args:
        ledger: Of the topic, at least up to the offsets.
        committed: Offsets by partition.
        store: Open.
        letters: As they stand.
        topic: Full name of the canonical topic.
        spaces: Those that are looked at; letters and forwards are checked of all.

    Returns:
        Faults, events looked at, spaces that were held against the reference.
    """
    is_due = {place: True for space in ledger.spaces.values() for place in space.places if place[1] < committed.get(place[0], 0)}
    lettered = set(letters.list_places(topic))
    faults = [
        f"the poison at {place} is committed and has no dead letter"
        for place, poison in ledger.poison.items()
        if place[1] < committed.get(place[0], 0)
        and place not in lettered
        and not is_erased(poison.names, ledger.list_erased(poison.names.space))
    ]
    faults += find_not_forwarded(ledger, [place for place in ledger.astray if place[1] < committed.get(place[0], 0)])
    events = whole = 0
    for name in spaces:
        space = ledger.spaces[name]
        payloads = await fetch_payloads(store, name)
        faults += [f"committed, but {told}" for told in find_lost(space, payloads, is_due=is_due)]
        events += sum(place in is_due for place in space.places)
        if space.last < committed.get(space.partition, 0):
            whole += 1
            told = compare_with_reference(name, space.events, await recalibrate_payloads(payloads, store.identity))
            faults += [f"committed, but {told}"] if told else []
    return faults, events, whole


def main() -> int:
    """Verify what the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.verify", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--bootstrap", default="127.0.0.1:9092", help="brokers (%(default)s)")
    parser.add_argument("--prefix", default="", help="of the topics' names")
    parser.add_argument("--group", default="guardian.guard", help="of the guard's consumers (%(default)s)")
    parser.add_argument("--store", default=str(Path(".guardian/store")), help="folder, loopback:PORT or URL (%(default)s)")
    verdict = asyncio.run(verify(Surroundings(**vars(parser.parse_args())), say=write_line))
    write_line(verdict.describe())
    return 1 if verdict.faults else 0


def write_line(text: str) -> None:
    """Write a line of progress."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
