"""Claims: what each write event says about one record, and their plain-JSON form.

Several events may write the same revision. The least of them in the order of events gives all fields; any of them that is
believed verifies. A claim from inside a correction exists only while that correction stands.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from guardian.core.model import Confidence, Episode, EventRef, MemoryKind, Scope, Source, SourceKind, Written
from guardian.core.moment import format_optional, format_time, parse_optional, parse_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One write event's say about a record.

    Attributes:
        event: The write as it came. Its `text` is the text as written, before any normalisation.
        believed: Whether its claim to be verified is granted.
        is_inline: Whether it came inside a correction, and so stands and falls with it.
        is_withdrawn: Whether a retraction names its event: the write stays, the corrections it made do not.
    """

    event: Written
    believed: bool = False
    is_inline: bool = False
    is_withdrawn: bool = False

    @property
    def order(self) -> tuple[datetime, str, str, str]:
        """Place among the claims of one record."""
        return self.event.ref.order


def prune_claims(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Keep what can still matter, each event once, in order.

    That is every believed and every inline claim, and of the others the least of each way to declare the revision (kind,
    subject, and whether parents are named): an erasure leaves a tombstone that tells these apart.
    """
    unique = {(claim.order, _source_text(claim)): claim for claim in claims}
    kept: list[Claim] = []
    declared: set[tuple[MemoryKind | None, str | None, bool]] = set()
    for key in sorted(unique):
        claim = unique[key]
        way = (claim.event.kind, claim.event.subject, claim.event.parents is None)
        if claim.believed or claim.is_inline or way not in declared:
            kept.append(claim)
        if not claim.is_inline:
            declared.add(way)
    return tuple(kept)


def _source_text(claim: Claim) -> str:
    """Tell apart copies of one event of which one was lowered on its way in."""
    return "" if claim.event.source is None else repr(claim.event.source)


def normalise_text(text: str) -> str:
    """Give the NFC form, on which digests and comparisons are made."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def digest_text(text: str) -> str:
    """Digest a text on NFC; 16 hex characters, enough to tell revisions of one memory apart."""
    return hashlib.sha256(normalise_text(text).encode()).hexdigest()[:16]


def digest_subject(subject: str) -> str:
    """Digest a subject, for what is left of an erased revision: a correction by subject still finds what derives from it."""
    return "sha256:" + hashlib.sha256(subject.encode()).hexdigest()[:32]


def build_revision(*, observed_at: datetime, text: str, parents: Iterable[str] | None) -> str:
    """Digest observed time, NFC text and declared parents (as a set, absent = empty) to 32 hex characters."""
    body = orjson.dumps([format_time(observed_at), normalise_text(text), sorted(set(parents or ()))])
    return hashlib.sha256(body).hexdigest()[:32]


def build_tombstone_revision(*, observed_at: datetime, kind: MemoryKind | None, parents: tuple[str, ...] | None) -> str:
    """Digest what a tombstone keeps; no text goes in, so none can be guessed from it."""
    named = None if parents is None else sorted(set(parents))
    body = orjson.dumps(["erased", format_time(observed_at), kind, named])
    return "x" + hashlib.sha256(body).hexdigest()[:31]


def dump_source(source: Source | None) -> list[Any] | None:
    """Give a source or authority as [kind, ref, actor]."""
    return None if source is None else [source.kind.value, source.ref, source.actor]


def load_source(parts: list[Any] | None) -> Source | None:
    """Read what `dump_source` gave."""
    return None if parts is None else Source(kind=SourceKind(parts[0]), ref=parts[1], actor=parts[2])


def dump_ref(ref: EventRef) -> list[str]:
    """Give an event's identity as [time, source, id, digest]."""
    return [format_time(ref.time), ref.source, ref.id, ref.digest]


def load_ref(parts: list[str]) -> EventRef:
    """Read what `dump_ref` gave."""
    return EventRef(time=parse_time(parts[0]), source=parts[1], id=parts[2], digest=parts[3])


def dump_scope(scope: Scope | None) -> dict[str, str] | None:
    """Give the named parts of a scope."""
    if scope is None:
        return None
    return {name: value for name in Scope.__slots__ if (value := getattr(scope, name)) is not None}


def load_scope(parts: dict[str, str] | None) -> Scope | None:
    """Read what `dump_scope` gave."""
    return None if parts is None else Scope(**parts)


def dump_claims(claims: tuple[Claim, ...]) -> list[dict[str, Any]]:
    """Give the light part of claims: what lineage, status and utility are made from."""
    return [_drop_empty(_dump_light(claim)) for claim in claims]


def dump_rest(claims: tuple[Claim, ...], text: str) -> list[dict[str, Any]]:
    """Give the heavy part of claims, in the same order: metadata, episode, unknown fields, a text that differs in bytes."""
    return [_drop_empty(_dump_heavy(claim.event, text)) for claim in claims]


def load_claims(
    light: list[dict[str, Any]],
    rest: list[dict[str, Any]] | None,
    *,
    space: str,
    memory_id: str,
    text: str,
    observed_at: datetime,
) -> tuple[Claim, ...]:
    """Read claims back. Without `rest` the heavy fields are empty: good for rules, not for writing."""
    heavy = rest if rest is not None else [{}] * len(light)
    return tuple(
        _load_claim(part, more, space=space, memory_id=memory_id, text=text, observed_at=observed_at)
        for part, more in zip(light, heavy, strict=True)
    )


def mark_withdrawn(claim: Claim) -> Claim:
    """Give the claim with its corrections withdrawn."""
    return replace(claim, is_withdrawn=True)


def _dump_light(claim: Claim) -> dict[str, Any]:
    event = claim.event
    return {
        "o": dump_ref(event.ref),
        "k": event.kind,
        "s": dump_source(event.source),
        "p": None if event.parents is None else list(event.parents),
        "vf": format_optional(event.valid_from),
        "vu": format_optional(event.valid_until),
        "sc": dump_scope(event.scope),
        "sj": event.subject,
        "su": list(event.supersedes) or None,
        "cf": event.confidence,
        "g": event.self_grade,
        "v": event.verified or None,
        "b": claim.believed or None,
        "n": claim.is_inline or None,
        "w": claim.is_withdrawn or None,
    }


def _dump_heavy(event: Written, text: str) -> dict[str, Any]:
    return {
        "m": dict(event.metadata) or None,
        "x": dict(event.extra) or None,
        "e": None if event.episode is None else dump_episode(event.episode),
        "t": event.text if event.text != text else None,
    }


def dump_episode(episode: Episode) -> dict[str, Any]:
    """Give an episode as a plain mapping."""
    return {
        "task": episode.task,
        "answer": episode.answer,
        "language": episode.language,
        "retrieved": list(episode.retrieved),
        "outcome": episode.outcome,
    }


def load_episode(parts: dict[str, Any] | None) -> Episode | None:
    """Read what `dump_episode` gave."""
    if parts is None:
        return None
    return Episode(
        task=parts["task"],
        answer=parts["answer"],
        language=parts["language"],
        retrieved=tuple(parts["retrieved"]),
        outcome=parts["outcome"],
    )


def _load_claim(
    part: dict[str, Any], more: dict[str, Any], *, space: str, memory_id: str, text: str, observed_at: datetime
) -> Claim:
    parents = part.get("p")
    event = Written(
        ref=load_ref(part["o"]),
        space=space,
        memory_id=memory_id,
        text=more.get("t") or text,
        observed_at=observed_at,
        kind=MemoryKind(part["k"]) if "k" in part else None,
        source=load_source(part.get("s")),
        parents=None if parents is None else tuple(parents),
        valid_from=parse_optional(part.get("vf")),
        valid_until=parse_optional(part.get("vu")),
        scope=load_scope(part.get("sc")),
        subject=part.get("sj"),
        verified=bool(part.get("v")),
        supersedes=tuple(part.get("su") or ()),
        confidence=Confidence(part["cf"]) if "cf" in part else None,
        self_grade=part.get("g"),
        episode=load_episode(more.get("e")),
        metadata=more.get("m") or {},
        extra=more.get("x") or {},
    )
    return Claim(
        event=event,
        believed=bool(part.get("b")),
        is_inline=bool(part.get("n")),
        is_withdrawn=bool(part.get("w")),
    )


def _drop_empty(parts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parts.items() if value is not None}
