"""Who is believed, and the thresholds of the rules."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from guardian.core.model import SourceKind
from guardian.core.policy import UNCALIBRATED, VERIFYING_KINDS
from guardian.settings.section import CENTURY_S, Section


class TrustSettings(Section):
    """Who is believed, unless a space says otherwise; and what ingress topics and event sources may claim."""

    verify_kinds: frozenset[SourceKind] = Field(
        VERIFYING_KINDS, description="Source kinds whose writes that say verified are believed."
    )
    verify_actors: frozenset[str] = Field(
        frozenset(), description="Actors that are believed, too, unless of kind agent or unknown."
    )
    correct_kinds: frozenset[SourceKind] = Field(
        VERIFYING_KINDS | {SourceKind.USER}, description="Kinds that may correct, retract, link, erase and calibrate."
    )
    correct_actors: frozenset[str] = Field(frozenset(), description="Actors that may, too, unless of kind agent or unknown.")
    topics: dict[str, SourceKind] = Field(
        default_factory=dict, description="Ingress topic pattern -> highest kind its events may claim."
    )
    sources: dict[str, SourceKind] = Field(
        default_factory=dict, description="Event source pattern -> highest kind its events may claim."
    )
    gold_sources: tuple[str, ...] = Field(
        ("*",), description="Patterns of event sources whose verdicts of the channels gold and self are believed; all by default."
    )


class PolicySettings(Section):
    """Thresholds of the rules; each default is the design's."""

    restate_threshold: float = Field(0.75, gt=0, le=1, description="Token-set ratio from which a text restates another.")
    session_window_s: float = Field(
        3600.0, ge=0, le=CENTURY_S, description="How long before a write a read of its session counts, seconds."
    )
    session_reads: int = Field(20, ge=0, description="Latest reads of a session that are looked at.")
    max_roots: int = Field(64, ge=1, description="Roots kept on a record.")
    alphas: dict[str, float] = Field(default_factory=dict, description="Channel -> alpha of LUCID, each in [0, 1].")
    payoffs: dict[str, float] = Field(
        default_factory=dict, description="Channel -> variance of the bias it removes, each in [0, 1]; the largest is used."
    )
    detectors: frozenset[str] = Field(
        frozenset(), description="Channels that count as detectors: only verdicts below one half are heard, and they only lower."
    )
    default_alpha: float = Field(0.5, ge=0, le=1, description="Alpha of any other channel while there is no calibration.")
    calibration: str = Field(
        UNCALIBRATED,
        description="Id of the calibration alphas and payoffs come from; with one, a channel without an alpha demotes nothing.",
    )

    @model_validator(mode="after")
    def _figures_in_range(self) -> Self:
        for setting, figures in (("alphas", self.alphas), ("payoffs", self.payoffs)):
            wrong = sorted(channel for channel, figure in figures.items() if not 0 <= figure <= 1)
            if wrong:
                raise ValueError(f"{setting} must be in [0, 1]: {', '.join(wrong)}")
        return self
