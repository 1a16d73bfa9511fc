"""The outcome topics as a consumer sees them: letters, announcements, and ids by which it tells repetitions."""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from guardian.contracts.letter import is_erased
from guardian.core.model import Corrected, Written
from guardian.stream.plane.origin import Record
from tests.chaos.evidence import Payloads
from tests.chaos.ledger import Fate, Ledger, Place, Poison, Space, digest_value
from tests.reference.revisions import revision_of
from tests.topic_reader import reading

TOPICS = ("guardian.enriched", "guardian.supersessions", "guardian.reviews")
LETTERS = "guardian.dead-letters"
Name = tuple[str, ...]


@dataclass(slots=True)
class Outcomes:
    """What was published.

    Attributes:
        messages: Number of them, repetitions included.
        contents: Digest of the content, by id.
        enriched: (space, memory id, revision, event source, event id) of each record announced and not taken back.
        by_key: The same by the message's key.
        notices: (space, event source, event id) of each correction announced.
        disputes: The same of each event that was disputed.
        faults: What is wrong with ids and values.
    """

    messages: int = 0
    contents: dict[str, bytes] = field(default_factory=dict)
    enriched: set[Name] = field(default_factory=set)
    by_key: defaultdict[bytes, set[Name]] = field(default_factory=lambda: defaultdict(set))
    notices: set[Name] = field(default_factory=set)
    disputes: set[Name] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def take(self, record: Record) -> None:
        """Take in one message of an outcome topic."""
        self.messages += 1
        if record.value is None:  # the state under this key is taken back: its record is gone
            self.enriched -= self.by_key.pop(record.key or b"", set())
            return
        message = orjson.loads(record.value)
        content = message["data"]
        digest = hashlib.sha256(orjson.dumps([message["type"], content], option=orjson.OPT_SORT_KEYS)).digest()
        if self.contents.setdefault(message["id"], digest) != digest:
            self.faults.append(f"the id {message['id']} of {record.topic} stands for two contents")
        match message["type"]:
            case "guardian.record.enriched":
                cause = content["caused_by"]
                name = (content["space"], content["memory_id"], content["revision"], cause["source"], cause["id"])
                self.enriched.add(name)
                self.by_key[record.key or b""].add(name)
            case "guardian.correction.applied":
                self.notices.add(_name(content["space"], content["correction"]))
            case "guardian.review.opened" if content["kind"] == "dispute":
                self.disputes.add(_name(content["space"], content["caused_by"]))

    def check_ids(self) -> Iterator[str]:
        """Tell of ids that stand for several contents, and contents that have several ids."""
        yield from self.faults
        by_content: defaultdict[bytes, list[str]] = defaultdict(list)
        for outcome_id, digest in self.contents.items():
            by_content[digest].append(outcome_id)
        yield from (f"{ids} have one content" for ids in by_content.values() if len(ids) > 1)

    def find_unannounced(self, space: Space, payloads: Payloads) -> Iterator[str]:
        """Tell of every event of a space whose outcome was never published: records that stand, corrections in force, disputes."""
        withdrawn, erased = space.list_withdrawn(), space.list_erased()
        records = {(row["memory_id"], row["revision"]) for row in payloads.values() if row["point"] == "record"}
        for event, place in zip(space.events, space.places, strict=True):
            name = (event.space, event.ref.source, event.ref.id)
            fate = space.choose_fate(event, withdrawn, erased)
            if fate is Fate.DISPUTED and name not in self.disputes:
                yield f"the dispute at {place} of {event.space} was never published"
            elif isinstance(event, Corrected) and fate is Fate.STORED and name not in self.notices:
                yield f"the correction at {place} of {event.space} was never announced"
            elif isinstance(event, Written) and self._lacks_record(event, records):
                yield f"the record of the write at {place} of {event.space} was never announced"

    def _lacks_record(self, event: Written, records: set[tuple[str, str]]) -> bool:
        record = (event.memory_id, revision_of(event))
        return record in records and (event.space, *record, event.ref.source, event.ref.id) not in self.enriched


def _name(space: str, event: dict[str, str]) -> Name:
    return space, event["source"], event["id"]


async def read_outcomes(bootstrap: str, prefix: str) -> Outcomes:
    """Read all outcome topics from zero."""
    outcomes = Outcomes()
    for topic in TOPICS:
        async with reading(bootstrap, prefix + topic) as reader:
            async for record in reader.read_on():
                outcomes.take(Record.of(record))
    return outcomes


@dataclass(slots=True)
class Letters:
    """The dead letters that stand, by key; a repetition has the same one."""

    by_key: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Take in one record of the topic; one without a value is a tombstone."""
        key = (record.key or b"").decode()
        if record.value is None:
            self.by_key.pop(key, None)
        else:
            self.by_key[key] = orjson.loads(record.value)["data"]

    def list_places(self, topic: str) -> list[Place]:
        """Give where the letters' records lie in a topic."""
        return [(letter["partition"], letter["offset"]) for letter in self.by_key.values() if letter["topic"] == topic]

    def check(self, ledger: Ledger, topic: str) -> Iterator[str]:
        """Tell of poison without its letter, and of letters that no poison has, or that tell something else."""
        found = {(letter["partition"], letter["offset"]): letter for letter in self.by_key.values() if letter["topic"] == topic}
        if len(found) < len(self.by_key):
            yield f"{len(self.by_key) - len(found)} dead letters tell of other topics, or of one record twice"
        for place, poison in ledger.poison.items():
            letter, is_gone = found.pop(place, None), is_erased(poison.names, ledger.list_erased(poison.names.space))
            if is_gone and letter is not None:
                yield f"the dead letter of {place} stands, and its memory is erased"
            elif letter is None and not is_gone:
                yield f"the record at {place} ({poison.reason}) has no dead letter"
            elif letter is not None and not _tells(letter, poison):
                yield f"the dead letter of {place} tells {letter['reason']}, or other bytes; the record's fault is {poison.reason}"
        yield from (f"the good record at {place} has a dead letter" for place in found)


def _tells(letter: dict[str, Any], poison: Poison) -> bool:
    raw = letter["raw"]
    return letter["reason"] == poison.reason and digest_value(None if raw is None else base64.b64decode(raw)) == poison.digest


async def read_letters(bootstrap: str, prefix: str) -> Letters:
    """Read the dead letters from zero."""
    letters = Letters()
    async with reading(bootstrap, prefix + LETTERS) as reader:
        async for record in reader.read_on():
            letters.take(Record.of(record))
    return letters
