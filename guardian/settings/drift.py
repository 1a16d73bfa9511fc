"""How banks are watched, and what is alerted."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from guardian.core.alert import AlertKind
from guardian.settings.section import CENTURY_S, DAY_S, Section


class DriftSettings(Section):
    """The estimates that a worker makes of its banks now and then."""

    every_s: float = Field(900.0, ge=0, le=DAY_S, description="Seconds between estimates in a worker; 0 turns them off.")
    window_s: float = Field(
        0.0, ge=0, le=CENTURY_S, description="Only episodes and reads of the last so many seconds; 0 takes all there are."
    )
    accept_level: float = Field(0.5, ge=0, le=1, description="Self-grade from which the agent takes its episode for good.")
    channel: str | None = Field(
        None,
        description="Channel that stands in for the truth where there is no gold verdict; it passed `guardian audit report`.",
    )
    channel_sensitivity: float | None = Field(None, ge=0, le=1, description="P(the channel says wrong | wrong).")
    channel_specificity: float | None = Field(None, ge=0, le=1, description="P(the channel says right | right).")
    page_points: int = Field(
        100, gt=0, le=1_000, description="Points read at once: an embedded engine stops its process meanwhile."
    )
    pause_s: float = Field(0.02, ge=0, le=10, description="Rest between pages, seconds.")
    longest_s: float = Field(600.0, gt=0, le=DAY_S, description="Seconds after which an estimate is given up.")
    resamples: int = Field(1_000, ge=50, le=10_000, description="Resamples behind each interval.")

    @model_validator(mode="after")
    def _knows_its_channel(self) -> Self:
        rates = (self.channel_sensitivity, self.channel_specificity)
        if self.channel is None:
            if any(rate is not None for rate in rates):
                raise ValueError("channel_sensitivity and channel_specificity are those of a channel: name it")
            return self
        if self.channel in {"gold", "self"}:
            raise ValueError(f"channel {self.channel} cannot stand in for the truth")
        if None in rates or not sum(rate or 0.0 for rate in rates) > 1:
            raise ValueError(
                "a channel needs channel_sensitivity and channel_specificity that sum to more than 1; `guardian audit report` measures both"
            )
        return self


class AlertSettings(Section):
    """What is alerted: the first of a pair raises, the second, less strict, resolves. Defaults and their reasons: `trust.alert.policy`."""

    every_s: float = Field(60.0, ge=0, le=DAY_S, description="Seconds between looks at the work itself; 0 turns them off.")
    runbook_url: str = Field("docs/when-things-go-wrong.md", description="Page with a heading for each kind of alert.")
    silent: frozenset[AlertKind] = Field(frozenset(), description="Kinds that are never raised.")
    false_alarm: float = Field(
        0.025, gt=0, lt=0.5, description="Chance that a bank without feedback is ever said to have some, for each bank."
    )
    typical_feedback: float = Field(0.35, gt=0, le=10, description="A kappa worth finding.")
    corrupted_raise: float = Field(0.5, gt=0, le=1, description="Share p of wrong trusted records, its low end.")
    corrupted_clear: float = Field(0.45, ge=0, le=1, description="Share p below which it is resolved.")
    compounding_raise: float = Field(1.1, ge=1, description="p*/p0, where feedback is proven.")
    compounding_clear: float = Field(1.05, ge=1, description="p*/p0 below which it is resolved.")
    way_raise: float = Field(
        0.4, gt=0, le=1, description="Share of the way from p0 to p* that p has gone, where feedback is proven."
    )
    way_clear: float = Field(0.25, ge=0, le=1, description="Share of the way below which it is resolved.")
    rise_raise: float = Field(0.05, gt=0, le=1, description="Rise of p over rise_window_s, where p is above p0.")
    rise_clear: float = Field(0.02, ge=0, le=1, description="Rise below which it is resolved.")
    rise_window_s: float = Field(604_800.0, gt=0, le=CENTURY_S, description="How far back a rise is taken, seconds.")
    margin_raise: float = Field(0.1, description="kappa* - kappa, its low end, where feedback is proven.")
    margin_clear: float = Field(0.2, description="kappa* - kappa whose low end above it resolves.")
    echo_raise: float = Field(0.05, gt=0, le=1, description="Share of what reads returned that is corrected by now, its low end.")
    echo_clear: float = Field(0.02, ge=0, le=1, description="Share below which it is resolved.")
    refused_raise: float = Field(20.0, gt=0, description="Verification claims of a space refused within a day.")
    refused_clear: float = Field(5.0, ge=0, description="Refused claims below which it is resolved.")
    letters_raise: float = Field(60.0, gt=0, description="Dead letters an hour.")
    letters_clear: float = Field(6.0, ge=0, description="Dead letters an hour below which it is resolved.")
    lag_raise: float = Field(10_000.0, gt=0, description="Records of the canonical topic that wait.")
    lag_clear: float = Field(1_000.0, ge=0, description="Records below which it is resolved.")

    @model_validator(mode="after")
    def _resolves_below(self) -> Self:
        for name in ("corrupted", "compounding", "way", "rise", "echo", "refused", "letters", "lag"):
            if getattr(self, f"{name}_clear") > getattr(self, f"{name}_raise"):
                raise ValueError(f"{name}_clear is above {name}_raise: it would be resolved while it is raised")
        if self.margin_clear < self.margin_raise:
            raise ValueError("margin_clear is below margin_raise: it would be resolved while it is raised")
        return self
