"""The ledger: every record of the canonical topic, read from zero and sorted by what must become of it.

It knows the contract (bytes become events), Kafka's partitioner and who may correct, and nothing of the core's decisions. More can be
taken at any time, so that a running test looks at a growing topic again and again without beginning anew.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import decode
from guardian.contracts.names import Names, read_names
from guardian.core.model import Audited, Calibrated, Corrected, Erased, Event, EventRef, Induced, Linked, Rated, Retracted
from guardian.errors import RecordError
from guardian.stream.guard import choose_partition
from guardian.stream.plane.origin import PREFIX, Record, read_received_at
from tests.reference.facts import gather_facts, is_inducer, split_spaces
from tests.reference.policy import ReferencePolicy
from tests.topic_reader import TopicReader

Place = tuple[int, int]
Identity = tuple[str, EventRef]
_REFERENCE = ReferencePolicy()


class Fate(StrEnum):
    """What must become of a record; every record has exactly one."""

    STORED = "stored"
    RATED = "rated"
    WAITING = "waiting"
    DUPLICATE = "duplicate"
    DISPUTED = "disputed"
    WITHDRAWN = "withdrawn"
    FORGOTTEN = "forgotten"
    REPLACED = "replaced"
    FORWARDED = "forwarded"
    DEAD_LETTERED = "dead-lettered"


@dataclass(frozen=True, slots=True)
class Poison:
    """A record that can never succeed: why, the digest of its bytes, and whose text it holds as far as they tell."""

    reason: str
    digest: str
    names: Names


def digest_value(value: bytes | None) -> str:
    """Give the digest of a record's value; a record without one has one of its own."""
    return "none" if value is None else hashlib.sha256(value).hexdigest()


@dataclass(slots=True)
class Space:
    """What the topic holds of one space, without what lies in a wrong partition.

    Attributes:
        events: Each once, in the order of its first record.
        places: Of the first record of each event, in the same order.
        last: Highest offset of any record.
    """

    partition: int
    events: list[Event] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    last: int = -1

    def list_withdrawn(self) -> set[tuple[str, str]]:
        """Give the (source, id) of all events that a trusted retraction names."""
        return {(e.event_source, e.event_id) for e in self.events if isinstance(e, Retracted) and not is_disputed(e)}

    def list_erased(self) -> dict[str, datetime]:
        """Give each erased memory with the latest time up to which it is, by the reference."""
        (events,) = split_spaces(self.events).values() if self.events else ([],)
        return gather_facts(events, _REFERENCE).erased_until

    def choose_fate(self, event: Event, withdrawn: set[tuple[str, str]], erased: Mapping[str, datetime]) -> Fate:
        """Tell what must become of an event of this space; an erasure takes the verdicts on its memory with it, and its cards.

        One that asks for memories to be rated again leaves nothing but their utilities.
        """
        if isinstance(event, Rated):
            return Fate.RATED
        if is_disputed(event):
            return Fate.DISPUTED
        if _is_forgotten(event, erased):
            return Fate.FORGOTTEN
        if isinstance(event, Induced) and self._is_replaced(event):
            return Fate.REPLACED
        if isinstance(event, Corrected | Audited | Calibrated) and (event.ref.source, event.ref.id) in withdrawn:
            return Fate.WITHDRAWN
        return Fate.STORED

    def _is_replaced(self, event: Induced) -> bool:
        """Tell whether a later induction of the same revision takes its place."""
        return any(
            isinstance(other, Induced)
            and is_inducer(other)
            and (other.memory_id, other.revision) == (event.memory_id, event.revision)
            and other.ref.order > event.ref.order
            for other in self.events
        )


def _is_forgotten(event: Event, erased: Mapping[str, datetime]) -> bool:
    until = erased.get(event.memory_id) if isinstance(event, Audited | Induced) else None
    return until is not None and (event.observed_at if isinstance(event, Induced) else event.ref.time) <= until


def is_disputed(event: Event) -> bool:
    """Tell whether an event asks for what its authority may not."""
    if isinstance(event, Induced):
        return not is_inducer(event)
    if not isinstance(event, Corrected | Retracted | Linked | Erased | Calibrated):
        return False
    return event.authority is None or event.authority.kind not in _REFERENCE.authority_kinds


def identify(event: Event) -> Identity:
    """Give what makes two records one event, within a space."""
    return type(event).__name__, event.ref


class Ledger:
    """Sorts records as they are read.

    Attributes:
        ends: Offset after the last record read, by partition.
        spaces: By name.
        poison: What can never succeed, by place.
        astray: Places of records that lie where their space does not live; each holds its event.
        copies: Places of astray records that were sent on to where they belong, by how often.
        duplicates: Places of records that say what an earlier one of the same partition said.
    """

    def __init__(self, policy: DecodePolicy) -> None:
        self._policy = policy
        self.ends: dict[int, int] = {}
        self.spaces: dict[str, Space] = {}
        self.poison: dict[Place, Poison] = {}
        self.astray: dict[Place, Event] = {}
        self.copies: Counter[Place] = Counter()
        self.duplicates: set[Place] = set()
        self._known: defaultdict[str, set[Identity]] = defaultdict(set)

    def list_erased(self, space: str | None) -> dict[tuple[str, str], datetime]:
        """Give the erased memories of a space, by space and memory id."""
        known = self.spaces.get(space or "")
        return {} if known is None else {(space or "", memory_id): until for memory_id, until in known.list_erased().items()}

    @property
    def count(self) -> int:
        """Number of records read; nothing but records lies in the topic, as nobody writes in transactions."""
        return sum(self.ends.values())

    def take(self, record: Record, partitions: tuple[int, ...]) -> None:
        """Sort one record; those of a partition come in their order."""
        place = record.partition, record.offset
        assert self.ends.get(record.partition, 0) == record.offset, f"the topic has a gap before {place}"
        self.ends[record.partition] = record.offset + 1
        try:
            event = decode(record.value, record.headers, policy=self._policy, received_at=read_received_at(record)).event
        except RecordError as error:
            self.poison[place] = Poison(error.reason, digest_value(record.value), read_names(record.value, record.headers))
            return
        if choose_partition(event.space, partitions) != record.partition:
            self.astray[place] = event
            return
        if (origin := _read_origin(record)) is not None:
            self.copies[origin] += 1
        self._take_event(event, place)

    def _take_event(self, event: Event, place: Place) -> None:
        space = self.spaces.setdefault(event.space, Space(place[0]))
        space.last = place[1]
        identity = identify(event)
        if identity in self._known[event.space]:
            self.duplicates.add(place)
            return
        self._known[event.space].add(identity)
        space.events.append(event)
        space.places.append(place)


def _read_origin(record: Record) -> Place | None:
    """Give where a record was read that was sent on from the canonical topic itself."""
    headers: Mapping[str, bytes | None] = dict(record.headers)
    topic, partition, offset = (headers.get(PREFIX + name) for name in ("topic", "partition", "offset"))
    if topic is None or partition is None or offset is None or topic.decode() != record.topic:
        return None
    return int(partition), int(offset)


async def read_into(ledger: Ledger, reader: TopicReader) -> None:
    """Read on and sort."""
    async for record in reader.read_on():
        ledger.take(Record.of(record), reader.numbers)


def count_fates(ledger: Ledger, waiting: Iterable[Place]) -> Counter[Fate]:
    """Count the records by fate."""
    counted: Counter[Fate] = Counter()
    for space in ledger.spaces.values():
        withdrawn = space.list_withdrawn()
        erased = space.list_erased()
        counted.update(space.choose_fate(event, withdrawn, erased) for event in space.events)
    still = len(set(waiting))
    counted[Fate.WAITING], counted[Fate.STORED] = still, counted[Fate.STORED] - still
    counted[Fate.DUPLICATE] = len(ledger.duplicates)
    counted[Fate.FORWARDED] = len(ledger.astray)
    counted[Fate.DEAD_LETTERED] = len(ledger.poison)
    return counted
