"""Judges what depends on settings or on when a record came: sizes, future times, how high a source may claim to be.

Pure: the time of receipt is an argument. The shape of an event is judged before, in `wire`.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from guardian.contracts import wire
from guardian.contracts.reason import Reason, build_record_error
from guardian.core.model import Source, SourceKind
from guardian.core.point import MAX_NORM, MIN_NORM

# How much a source kind claims; a `trust` setting caps it. Agents and the unknown claim nothing; an import only repeats
# what it read; a user states, a tool measures, a document can be looked up, and a reviewer has weighed all of these.
# Moving a kind up lets senders that are capped at it claim more.
CLAIM_RANK: dict[SourceKind, int] = {
    SourceKind.UNKNOWN: 0,
    SourceKind.AGENT: 0,
    SourceKind.SYSTEM_IMPORT: 1,
    SourceKind.USER: 2,
    SourceKind.TOOL: 3,
    SourceKind.DOCUMENT: 4,
    SourceKind.HUMAN_REVIEW: 5,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodePolicy:
    """The settings of decoding.

    Attributes:
        max_text_bytes: Largest text in UTF-8 bytes.
        future_tolerance_s: How far, in seconds, a time may lie after the record's receipt.
        vector_size: Size of the collection's vectors; None where given vectors are not stored.
        trust_topics: (ingress topic pattern, highest kind) pairs; the first that matches holds.
        trust_sources: (event source pattern, highest kind) pairs; the first that matches holds.

    Patterns are those of the shell. Where a topic and a source rule match, the lower cap holds: a sender chooses its
    source, so a source rule can never lift what the topic may claim.
    """

    max_text_bytes: int = 32_768
    future_tolerance_s: float = 300
    vector_size: int | None = None
    trust_topics: tuple[tuple[str, SourceKind], ...] = ()
    trust_sources: tuple[tuple[str, SourceKind], ...] = ()

    def claim_cap(self, *, source: str, ingress: str | None) -> int:
        """Give the highest rank that an event of this source and ingress topic may claim."""
        caps = [CLAIM_RANK[SourceKind.HUMAN_REVIEW]]
        for value, rules in ((ingress, self.trust_topics), (source, self.trust_sources)):
            caps += [CLAIM_RANK[kind] for pattern, kind in rules if value is not None and fnmatchcase(value, pattern)][:1]
        return min(caps)


class Reading:
    """One event being read: the limits that hold for it, and what was noticed on the way."""

    __slots__ = ("cap", "latest", "naive_times", "policy", "trust_lowered")

    def __init__(self, policy: DecodePolicy, *, received_at: datetime, cap: int) -> None:
        self.policy = policy
        self.latest = received_at + timedelta(seconds=policy.future_tolerance_s)
        self.cap = cap
        self.naive_times = 0
        self.trust_lowered = 0

    def read_time(self, value: datetime) -> datetime:
        """Give a time in UTC, counting it when it was naive."""
        if value.tzinfo is None:
            self.naive_times += 1
            return value.replace(tzinfo=UTC)
        return value

    def read_past_time(self, value: datetime | None, default: datetime, path: str) -> datetime:
        """Give a time that must not lie in the future."""
        if value is None:
            return default
        instant = self.read_time(value)
        if instant > self.latest:
            detail = f"{instant.isoformat()} is later than {self.latest.isoformat()}, receipt and tolerance."
            raise build_record_error(Reason.TIME_IN_FUTURE, detail, path=path)
        return instant

    def read_source(self, given: wire.SourceWire | None) -> Source | None:
        """Give a source or authority, lowered to `agent` where it claims more than its origin may."""
        if given is None:
            return None
        kind = given.kind or SourceKind.UNKNOWN
        if CLAIM_RANK[kind] > self.cap:
            kind = SourceKind.AGENT
            self.trust_lowered += 1
        return Source(kind=kind, ref=given.ref, actor=given.actor)

    def check_text(self, text: str, path: str) -> None:
        """Refuse a text that is blank, too large, or holds NUL."""
        limit = self.policy.max_text_bytes
        if len(text) * 4 > limit and (size := len(text.encode())) > limit:
            raise build_record_error(Reason.TEXT_TOO_LARGE, f"{size} bytes of UTF-8, the limit is {limit}.", path=path)
        if "\x00" in text:
            raise build_record_error(Reason.TEXT_NUL, f"NUL at character {text.index(chr(0))}.", path=path)
        if is_blank(text):
            raise build_record_error(Reason.TEXT_BLANK, "no visible character.", path=path)

    def check_vector(self, vector: tuple[float, ...], path: str) -> None:
        """Refuse a vector that is empty, of another size, or has no finite direction."""
        if not vector:
            raise build_record_error(Reason.VECTOR_EMPTY, "the vector is empty.", path=path)
        if self.policy.vector_size not in (None, len(vector)):
            detail = f"{len(vector)} numbers, the collection has {self.policy.vector_size}."
            raise build_record_error(Reason.VECTOR_SIZE, detail, path=path)
        length = math.hypot(*vector)
        if not length <= MAX_NORM:
            raise build_record_error(Reason.VECTOR_NOT_FINITE, f"its length is {length:g}.", path=path)
        if length < MIN_NORM:
            raise build_record_error(Reason.VECTOR_ZERO, f"its length is {length:g}.", path=path)


def is_blank(text: str) -> bool:
    """Tell whether a text has nothing but separators, controls and format characters (Unicode Z*, Cc, Cf)."""
    for character in text:
        category = unicodedata.category(character)
        if category[0] != "Z" and category not in {"Cc", "Cf"}:
            return False
    return True
