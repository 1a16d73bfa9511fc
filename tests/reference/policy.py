"""The choices a space may set, as the reference knows them, and the one predicate it borrows from the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from guardian.core.model import ChannelTrust, SourceKind

Restates = Callable[[str, str], float | None]
"""Similarity in [0, 1] where the first text restates the second, else None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePolicy:
    """Settings of the meaning, with the defaults of the design.

    Attributes:
        verifying_kinds: Source kinds whose own claim `verified` is believed.
        verifying_actors: Actors whose own claim `verified` is believed whatever their kind.
        authority_kinds: Kinds that may correct, retract, link and erase.
        max_roots: Roots kept for one record; the smallest ids stay.
        session_window: How long before a write a read of its session counts.
        session_reads: How many of these reads count, the latest.
        alpha: Share of a grade's distance from its verdict that is taken back, without a calibration.
        calibration: Id of the settings' calibration; `default` for none.
        channels: What it says.
        gold_sources: Event sources that may send `gold` and `self`; None for all.
    """

    verifying_kinds: frozenset[SourceKind] = frozenset(
        {SourceKind.DOCUMENT, SourceKind.TOOL, SourceKind.HUMAN_REVIEW},
    )
    verifying_actors: frozenset[str] = frozenset()
    authority_kinds: frozenset[SourceKind] = frozenset(
        {SourceKind.DOCUMENT, SourceKind.TOOL, SourceKind.HUMAN_REVIEW, SourceKind.USER},
    )
    max_roots: int = 64
    session_window: timedelta = timedelta(minutes=60)
    session_reads: int = 20
    alpha: float = 0.5
    calibration: str = "default"
    channels: Mapping[str, ChannelTrust] = field(default_factory=dict)
    gold_sources: frozenset[str] | None = None


def default_restates(text: str, earlier: str) -> float | None:
    """Ask the package's own predicate, the only rule that the reference does not restate."""
    from guardian.core.rules.restate import build_signature, restates

    return restates(build_signature(text), build_signature(earlier), threshold=0.75)
