"""The checks: what must hold after every step, told by what was sent, by the reference, and by what lies in the store.

- Nothing vanishes: what is committed was decided, announced and applied, or is a dead letter, or was sent on to where it belongs.
- Where no write of a space is under way or left half done, its rows are those of the reference for the events applied so far: records
  that a late or former owner wrote, lost or changed show here. Utilities are right by the calibration that their record names; at the end,
  when all are recomputed, by the one in force.
- Also in between: once a correction's notice is out, no default read gives what the reference fells for it, in every state that the
  half-done writes may stand for.
- What models said of records, and what records may be used for, is among these rows.
- Outcomes say what the reference says of the state that holds their event.
- The replacement stands before a status falls.
- No dead letter stands, at the end, of a memory that is erased.
- A write touches no other space than those of its batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from guardian.contracts.codec import DecodePolicy, decode
from guardian.contracts.letter import is_erased, read_dead_letter, read_letter_names
from guardian.contracts.names import Names
from guardian.contracts.outcome import build_outcome_id
from guardian.core.model import Event
from guardian.core.point import Patch, Phase, Point, PointKind
from guardian.core.rules.erasure import read_erasures
from guardian.embed.bm25 import bm25_query
from guardian.errors import RecordError
from guardian.ports import OutcomeMessage, SearchQuery
from guardian.stream.dead_letter import build_letter
from guardian.stream.guard import choose_partition
from guardian.stream.plane.batch import Refused
from guardian.stream.plane.origin import Record, read_received_at
from tests.reference.utility import DEFAULT
from tests.simulation.broker import DEAD_LETTERS, Broker
from tests.simulation.storage import Server, Write
from tests.simulation.truth import Row, Truth, describe_difference, key_of, read_rows
from tests.simulation.worker import Worker

Place = tuple[int, int]
_FELLED = "superseded"


class Violation(AssertionError):  # noqa: N818 # what is told of is a promise
    """A promise that does not hold in this seed."""


class Work:
    """What one worker has in hand, as the checks know it.

    Attributes:
        places: Partition and offset of each record of the batch that is decided here.
        events: Their events, by space.
        basis: Places applied when the decision's first look at the store was taken, by space; None where the store was half written.
        expected: Places of the state after the apply, by space, where it is known for sure.
    """

    def __init__(self) -> None:
        self.places: frozenset[Place] = frozenset()
        self.events: Mapping[str, list[Event]] = {}
        self.basis: dict[str, frozenset[Place] | None] | None = None
        self.expected: dict[str, frozenset[Place] | None] = {}


class Checks:
    """Watches one world."""

    def __init__(self, broker: Broker, server: Server, truth: Truth) -> None:
        self.events: dict[Place, Event] = {}
        self.poison: set[Place] = set()
        self.misplaced: set[Place] = set()
        self.attempted: set[Place] = set()
        self.applied: set[Place] = set()
        self.announced: set[Place] = set()
        self.noticed: set[tuple[str, str]] = set()
        self.compared = 0
        self._changed: set[str] = set()
        self._letters = 0
        self._lettered: set[Place] = set()
        self._letter_keys: dict[Place, bytes] = {}
        self._notices = 0
        self._broker, self._server, self._truth = broker, server, truth
        broker.on_append = self._note_append
        broker.on_commit = self._check_commit

    def watch(self, worker: Worker) -> None:
        """Watch a worker from its start."""
        work = Work()
        worker.on_begin = lambda records: self._begin(work, records)
        worker.store.on_fetch = lambda: self._note_fetch(work)
        worker.store.on_write = lambda phases, write: self._note_write(work, phases, write)
        worker.store.on_applied = lambda: self._note_applied(work)
        worker.publisher.on_publish = lambda messages: self._check_outcomes(work, messages)
        worker.publisher.on_published = lambda: self.announced.update(work.places)

    # What workers do

    def _note_append(self, record: Record) -> None:
        place = record.partition, record.offset
        try:
            event = decode(record.value, record.headers, policy=DecodePolicy(), received_at=read_received_at(record)).event
        except RecordError as error:
            self.poison.add(place)
            letter = build_letter(Refused(record=record, error=error))
            self._letter_keys[place] = build_outcome_id(letter).encode()
            return
        self.events[place] = event
        if choose_partition(event.space, self._broker.partitions) != record.partition:
            self.misplaced.add(place)

    def _begin(self, work: Work, records: Sequence[Record]) -> None:
        places = [(record.partition, record.offset) for record in records]
        work.places = frozenset(place for place in places if place in self.events and place not in self.misplaced)
        work.events = _by_space(self.events[place] for place in sorted(work.places))
        work.basis, work.expected = None, {}

    def _note_fetch(self, work: Work) -> None:
        if work.basis is None:
            work.basis = {space: None if self._uncertain(space) else self._applied(space) for space in work.events}

    def _note_write(self, work: Work, phases: Sequence[Phase], write: Write) -> None:
        self.attempted |= work.places
        point_id = write if isinstance(write, str) else write.id
        payload = self._server.payloads.get(point_id)
        if payload is None:
            self._changed |= work.events.keys()
            return
        if payload["space"] not in work.events:
            raise Violation(f"P7: a batch of {sorted(work.events)} wrote a point of {payload['space']}")
        self._changed.add(payload["space"])
        if isinstance(write, Patch) and write.payload.get("status") == _FELLED:
            self._check_barrier(work, phases, payload)

    def _note_applied(self, work: Work) -> None:
        self.attempted |= work.places
        self.applied |= work.places
        self._changed |= work.events.keys()
        for space in work.events:
            basis = None if work.basis is None else work.basis[space]
            after = self._applied(space)
            mine = frozenset(place for place in work.places if self.events[place].space == space)
            is_sure = basis is not None and after == basis | mine and not self._uncertain(space)
            work.expected[space] = after if is_sure else None
        work.basis = None

    # Checks

    def _check_commit(self, partition: int, before: int, after: int) -> None:
        self._read_letters()
        for offset in range(before, after):
            place = partition, offset
            if place in self.poison:
                if place not in self._lettered:
                    raise Violation(f"P1, P9: poison at {place} is committed and no dead letter")
            elif place in self.misplaced:
                space = self.events[place].space
                home = self._broker.logs[choose_partition(space, self._broker.partitions)]
                if self._broker.logs[partition][offset].value not in {record.value for record in home}:
                    raise Violation(f"P1: the misplaced record at {place} is committed and was not sent on")
            elif place not in self.applied:
                raise Violation(f"P1: {place} is committed and its effects are not in the store")
            elif place not in self.announced:
                raise Violation(f"P1: {place} is committed and its outcomes are not published")

    def _read_letters(self) -> None:
        letters = self._broker.sent[DEAD_LETTERS]
        for message in letters[self._letters :]:
            if message.value is None:  # of an erased memory: the key is all that may be said
                self._lettered |= {place for place, key in self._letter_keys.items() if key == message.key}
                continue
            letter = orjson.loads(message.value)["data"]
            place = letter["partition"], letter["offset"]
            if place not in self.poison:
                raise Violation(f"P9: a good event at {place} became a dead letter: {letter['reason']}")
            self._lettered.add(place)
        self._letters = len(letters)

    def _check_barrier(self, work: Work, phases: Sequence[Phase], payload: Mapping[str, Any]) -> None:
        """Check that what this very plan writes in place of a record is stored before the record falls."""
        space = payload["space"]
        (row,) = read_rows({"": payload}, space).values()
        awaited = {
            upsert.payload["memory_id"]
            for phase in phases
            for upsert in phase.upserts
            if upsert.payload["point"] == PointKind.RECORD and upsert.id not in self._server.payloads
        }
        for reason in row["reasons"]:
            if reason.get("replacement") in awaited:
                raise Violation(f"barrier: {row['memory_id']} fell before {reason['replacement']}, which replaces it, is stored")

    def _check_outcomes(self, work: Work, messages: Sequence[OutcomeMessage]) -> None:
        if not work.places <= self.applied:
            raise Violation("outcomes are announced of events that are not in the store")
        for message in messages:
            content = orjson.loads(message.value or b"{}")["data"]
            places = work.expected.get(content["space"])
            if places is None:
                continue
            events = [self.events[place] for place in places]
            rows = self._truth.rows(events)
            if message.topic.endswith("enriched"):
                _check_enriched(content, rows)
            elif message.topic.endswith("supersessions"):
                _check_notice(content, rows, events)

    async def check_step(self) -> None:
        """Check what the last step may have broken."""
        self._read_notices()
        for space in sorted(self._changed):
            uncertain = self._uncertain(space)
            if uncertain:
                await self._check_reads(space, uncertain)
            else:
                self._check_rows(space)
        self._changed.clear()

    def _read_notices(self) -> None:
        for topic, messages in self._broker.sent.items():
            if not topic.endswith("supersessions"):
                continue
            for message in messages[self._notices :]:
                notice = orjson.loads(message.value or b"{}")["data"]
                correction = f"{notice['correction']['source']}#{notice['correction']['id']}"
                self.noticed.add((notice["space"], correction))
                self._changed.add(notice["space"])
            self._notices = len(messages)

    def _check_rows(self, space: str, *, is_settled: bool = False) -> None:
        self.compared += 1
        found = read_rows(self._server.payloads, space)
        events = [self.events[place] for place in self._applied(space)]
        expected = self._truth.rows(events) if is_settled else self._truth.allow_former(events, found)
        difference = describe_difference(expected, found)
        if difference:
            raise Violation(f"state of {space}: {difference}")

    async def _check_reads(self, space: str, uncertain: list[Place]) -> None:
        """Check that a default read gives nothing that an announced correction fells, whichever half-done events count."""
        shown = await self._read_default(space)
        applied = self._applied(space)
        suspects = {key for key in shown if self._is_felled(space, applied, key)}
        for count in range(1, len(uncertain) + 1):
            if not suspects:
                return
            suspects = {key for key in suspects if self._is_felled(space, applied.union(uncertain[:count]), key)}
        if suspects:
            raise Violation(f"P3: a default read of {space} gives {sorted(suspects)} after the notice of its correction")

    async def _read_default(self, space: str) -> set[tuple[str, str, str]]:
        texts = {
            payload["text"] for payload in self._server.payloads.values() if payload.get("space") == space and "text" in payload
        }
        query = SearchQuery(space=space, sparse=bm25_query(" ".join(sorted(texts))), limit=1_000)
        hits = await self._server.memory.search(query)
        return {key_of(dict(hit.point.payload)) for hit in hits}

    def _is_felled(self, space: str, places: Iterable[Place], key: tuple[str, str, str]) -> bool:
        row = self._truth.rows(self.events[place] for place in places).get(key)
        reasons = row["reasons"] if row is not None and row["status"] == _FELLED else []
        return any(reason["reason"] == "corrected" and (space, reason["id"]) in self.noticed for reason in reasons)

    # What is known of a space

    def _of_space(self, places: Iterable[Place], space: str) -> Iterator[Place]:
        return (place for place in places if self.events[place].space == space)

    def _applied(self, space: str) -> frozenset[Place]:
        return frozenset(self._of_space(self.applied, space))

    def _uncertain(self, space: str) -> list[Place]:
        return sorted(self._of_space(self.attempted - self.applied, space))

    def check_end(self) -> None:
        """Check the final state: every good record is applied, every space is the reference's."""
        good = self.events.keys() - self.misplaced
        if good - self.applied:
            raise Violation(f"P1: {sorted(good - self.applied)} never reached the store")
        for space in sorted({event.space for event in self.events.values()}):
            self._check_rows(space, is_settled=True)
        self._check_letters()

    def _check_letters(self) -> None:
        """Check that no letter stands whose memory is erased."""
        standing = {message.key: message.value for message in self._broker.sent[DEAD_LETTERS]}
        for value in standing.values():
            names = Names() if value is None else read_letter_names(read_dead_letter(value))
            if names.memory is None:
                continue
            erased = read_erasures(
                Point(point_id, payload)
                for point_id, payload in self._server.payloads.items()
                if (payload.get("space"), payload.get("memory_id")) == names.memory
            )
            if is_erased(names, erased):
                raise Violation(f"erasure: a dead letter still holds a text of {names.memory}")


def _by_space(events: Iterable[Event]) -> Mapping[str, list[Event]]:
    grouped: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        grouped[event.space].append(event)
    return dict(grouped)


def _check_enriched(content: Mapping[str, Any], rows: Mapping[tuple[str, str, str], Row]) -> None:
    key = content["space"], content["memory_id"], content["revision"]
    row = rows.get(key)
    if row is None or row["status"] == "erased":
        raise Violation(f"an outcome announces {key}, which does not exist in the state that holds its event")
    for name in ("status", "current", "roots", "parents", "depth", "kind", "subject", "slots", "utility_basis"):
        if content[name] != row[name]:
            raise Violation(f"an outcome announces {key} with {name} {content[name]!r}, the state has {row[name]!r}")
    if (content["calibration"] or DEFAULT) != (row["calibration"] or DEFAULT):
        raise Violation(
            f"an outcome announces {key} by calibration {content['calibration']!r}, the state has {row['calibration']!r}"
        )
    told = {(reason["reason"], reason["id"]) for reason in content["reasons"]}
    if told != {(reason["reason"], reason["id"]) for reason in row["reasons"]}:
        raise Violation(f"an outcome announces {key} with reasons {sorted(told)}, the state has {row['reasons']}")


def _check_notice(content: Mapping[str, Any], rows: Mapping[tuple[str, str, str], Row], events: Sequence[Event]) -> None:
    named = content["correction"]
    correction = f"{named['source']}#{named['id']}"
    felled = {
        key[1:]
        for key, row in rows.items()
        if row["status"] == _FELLED
        and any(reason["reason"] == "corrected" and reason["id"] == correction for reason in row["reasons"])
    }
    told = {(each["memory_id"], each["revision"]) for each in content["felled"]}
    behind = [event for event in events if (event.ref.source, event.ref.id) == (named["source"], named["id"])]
    # An id that was used for two events names two corrections.
    if told - felled or (len(behind) == 1 and felled - told):
        raise Violation(f"the notice of {correction} tells of {sorted(told)}, the state has {sorted(felled)}")
