"""Dead letters, both ways: a record that was refused, whole, with the reason; and whose text it holds."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, ClassVar

from pydantic import AfterValidator, AwareDatetime, Field, ValidationError

from guardian.contracts.envelope import Headers, open_envelope
from guardian.contracts.names import Names, read_names
from guardian.contracts.outcome import Outcome, OutcomeModel
from guardian.contracts.reason import Reason, build_record_error
from guardian.errors import RecordError

# The timestamp of a letter whose record has none: of a file, or of a topic from before Kafka kept them.
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)


def _check_base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except ValueError as exc:
        raise ValueError("is no base64") from exc
    return text


Base64 = Annotated[str, AfterValidator(_check_base64)]


class HeaderEntry(OutcomeModel):
    """One header of a refused record."""

    name: str = Field(description="The header's name.")
    value: Base64 | None = Field(description="Base64 of its bytes; null for a header without a value.")


class DeadLetter(Outcome):
    """A record that could not be decoded or validated, whole, with the reason."""

    published_to: ClassVar[str] = "guardian.dead-letters"
    event_type: ClassVar[str] = "guardian.record.refused"
    # Where and what, not why: a later version may word the message otherwise.
    identity: ClassVar[frozenset[str]] = frozenset({"topic", "partition", "offset", "timestamp", "raw"})

    topic: str = Field(description="Topic the record was read from.")
    partition: int = Field(ge=0, description="Its partition.")
    offset: int = Field(ge=0, description="Its offset.")
    timestamp: AwareDatetime = Field(description="Its Kafka timestamp, in UTC.")
    headers: tuple[HeaderEntry, ...] = Field((), description="Its headers, in order.")
    raw: Base64 | None = Field(description="Base64 of its value; null for a record without a value.")
    reason: str = Field(description="Constant word that tells why it was refused.")
    message: str = Field(description="What is wrong and how to mend it, for people.")
    path: str = Field("", description="Where in the record the fault lies, dotted; empty if it is the whole.")
    space: str | None = Field(None, description="The memory bank, if it could be read.")
    memory_id: str | None = Field(None, description="The memory whose text it holds, if that could be read.")

    @property
    def value(self) -> bytes | None:
        """The refused value, byte for byte."""
        return None if self.raw is None else base64.b64decode(self.raw)

    @property
    def record_headers(self) -> list[tuple[str, bytes | None]]:
        """The refused record's headers, byte for byte."""
        return [(entry.name, None if entry.value is None else base64.b64decode(entry.value)) for entry in self.headers]


def build_dead_letter(
    error: RecordError,
    value: bytes | None,
    headers: Headers = (),
    *,
    topic: str,
    partition: int,
    offset: int,
    timestamp: datetime,
) -> DeadLetter:
    """Build the dead letter of a refused record: the record whole, and why.

    Args:
        error: Why it was refused.
        value: Its value, byte for byte.
        headers: Its headers, byte for byte.
        topic: Topic it was read from.
        partition: Its partition.
        offset: Its offset.
        timestamp: Its Kafka timestamp; aware.
    """
    names = read_names(value, headers)
    return DeadLetter(
        topic=topic,
        partition=partition,
        offset=offset,
        timestamp=timestamp.astimezone(UTC),
        headers=tuple(HeaderEntry(name=name, value=_to_base64(content)) for name, content in headers),
        raw=_to_base64(value),
        reason=error.reason,
        message=str(error),
        path=error.path,
        space=names.space,
        memory_id=names.memory_id,
    )


def read_letter_names(letter: DeadLetter) -> Names:
    """Give whose text a letter holds, and since when at the latest: the time it claims, or its arrival where that is earlier.

    Without a time, what it holds is taken to be older than any erasure. A letter of a file has no arrival, and a clock that
    was refused tells nothing.
    """
    found = read_names(letter.value, letter.record_headers)
    arrived_at = letter.timestamp if letter.timestamp > _NO_TIME else None
    claimed_at = None if arrived_at is None and letter.reason == Reason.TIME_IN_FUTURE else found.observed_at
    observed_at = claimed_at if claimed_at is None or arrived_at is None else min(claimed_at, arrived_at)
    return Names(letter.space or found.space, letter.memory_id or found.memory_id, observed_at)


def is_erased(names: Names, erased: Mapping[tuple[str, str], datetime]) -> bool:
    """Tell whether an erasure covers the text of a letter.

    Args:
        names: As `read_letter_names` gave them.
        erased: (space, memory id) of erased memories, with the latest time up to which they are.
    """
    until = None if names.memory is None else erased.get(names.memory)
    return until is not None and (names.observed_at is None or names.observed_at <= until)


def read_dead_letter(value: bytes) -> DeadLetter:
    """Read a dead letter back from its topic, to list or re-drive it.

    Raises:
        RecordError: It is no dead letter.
    """
    document = open_envelope(value).attributes
    try:
        return DeadLetter.model_validate(document.get("data"))
    except ValidationError as exc:
        detail = f"is no dead letter: {exc.error_count()} faults."
        raise build_record_error(Reason.WRONG_TYPE, detail, path="data") from exc


def _to_base64(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()
