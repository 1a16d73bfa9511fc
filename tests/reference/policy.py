"""The choices a space may set, as the reference knows them, and the reading of words that it borrows from the package."""

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
    """Ask the package's own predicate: how words and marks are read is the only thing that the reference does not restate."""
    from guardian.core.rules.restate import build_signature, restates

    return restates(build_signature(text), build_signature(earlier), threshold=0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a text says, as far as its words show.

    Attributes:
        content: Its content words.
        figures: Its marks: numbers, dates, codes.
        units: Units it names.
        denies: Whether a word of negation stands in it by itself.
    """

    content: frozenset[str]
    figures: frozenset[str]
    units: frozenset[str]
    denies: bool


@dataclass(frozen=True, slots=True)
class Wording:
    """The lexical predicates that are borrowed from the package, or put in their place by a test.

    Attributes:
        restates: Similarity where one text restates the other, else None.
    """

    restates: Restates = default_restates

    def recalls(self, text: str, read: str) -> float | None:
        """Give the similarity where a text rewords one just read; of a test's own predicate that is the same."""
        from guardian.core.rules.restate import build_signature, recalls

        if self.restates is not default_restates:
            return self.restates(text, read)
        return recalls(build_signature(text), build_signature(read), threshold=0.75)

    def takes_back(self, text: str, other: str) -> bool:
        """Tell whether a prefix of one text takes back a word of the other."""
        from guardian.core.rules.restate import build_signature, takes_back

        return takes_back(build_signature(text), build_signature(other))

    def read(self, text: str) -> Reading:
        """Read a text."""
        from guardian.core.content import read_content
        from guardian.core.signature import build_signature

        said = build_signature(text)
        marks = frozenset(mark for mark in said.marks if not mark.startswith("negation:"))
        return Reading(content=read_content(said.text), figures=marks, units=said.units, denies=said.denial.is_whole)
