"""What a space's rules may be set to; every default is the design's, with its unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from guardian.core.model import Authority, Source, SourceKind, Written

# Kinds whose word verifies: what they say is outside the agent.
VERIFYING_KINDS = frozenset({SourceKind.DOCUMENT, SourceKind.TOOL, SourceKind.HUMAN_REVIEW})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings that decide meaning; the same policy and the same events give the same state.

    Attributes:
        verify_kinds: Source kinds whose writes that say `verified` are believed.
        verify_actors: Actors (exact) that are believed, too, unless their kind is agent or unknown: what a sender may claim is
            capped by kind, and an actor's name alone is no proof.
        correct_kinds: Authority kinds that may correct, retract, link and erase.
        correct_actors: Actors (exact) that may, too, unless their kind is agent or unknown.
        restate_threshold: Token-set ratio in [0, 1] from which one text restates another.
        session_window: How long before a write a read of its session counts.
        session_reads: How many of the latest reads of the session are looked at.
        max_roots: Roots kept on a record; more are cut to the smallest ids.
        alphas: Channel -> alpha in [0, 1] of LUCID, for channels that passed the error-independence test.
        default_alpha: Alpha of any other channel; conservative until a calibration is given.
        calibration: Id of the calibration that `alphas` come from; utilities compare within one id.
    """

    verify_kinds: frozenset[SourceKind] = VERIFYING_KINDS
    verify_actors: frozenset[str] = frozenset()
    correct_kinds: frozenset[SourceKind] = VERIFYING_KINDS | {SourceKind.USER}
    correct_actors: frozenset[str] = frozenset()
    restate_threshold: float = 0.75
    session_window: timedelta = timedelta(minutes=60)
    session_reads: int = 20
    max_roots: int = 64
    alphas: Mapping[str, float] = field(default_factory=dict)
    default_alpha: float = 0.5
    calibration: str = "default"

    def believes(self, event: Written) -> bool:
        """Tell whether the write's claim to be verified is granted by its own named source."""
        if not event.verified or event.source is None:
            return False
        if event.source.kind is SourceKind.USER and set(event.parents or ()) - {event.memory_id}:
            return False  # a user's word for what an agent derived is no verification
        return event.source.kind in self.verify_kinds or _is_named(event.source, self.verify_actors)

    def trusts(self, authority: Authority | None) -> bool:
        """Tell whether the authority may correct, retract, link and erase."""
        if authority is None:
            return False
        return authority.kind in self.correct_kinds or _is_named(authority, self.correct_actors)


def _is_named(source: Source, actors: frozenset[str]) -> bool:
    return source.actor in actors and source.kind not in {SourceKind.AGENT, SourceKind.UNKNOWN}
