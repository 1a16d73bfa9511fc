"""How a worker watches its banks. No logic."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from guardian.settings import AlertSettings, DriftSettings, Settings
from guardian.trust.alert.policy import AlertPolicy
from guardian.trust.collect import Pace, Window
from guardian.trust.truth import StandIn
from guardian.trust.watch import WatchPolicy
from guardian.wiring.policy import build_policy_of

if TYPE_CHECKING:
    from guardian.stream.watching import WatchSetup


def build_watch_setup(settings: Settings) -> WatchSetup:
    """Build how a worker watches."""
    from guardian.stream.watching import WatchSetup  # noqa: PLC0415 # Kafka's client: only a worker needs it

    drift, alerts = settings.drift, settings.alerts
    return WatchSetup(
        policy=build_watch_policy(settings),
        drift_every_s=drift.every_s,
        work_every_s=alerts.every_s,
        longest_s=drift.longest_s,
    )


def build_watch_policy(settings: Settings) -> WatchPolicy:
    """Build what is estimated and alerted."""
    drift = settings.drift
    return WatchPolicy(
        since=timedelta(seconds=drift.window_s) if drift.window_s else None,
        window=Window(accept_level=drift.accept_level, stand_in=build_stand_in(drift)),
        pace=Pace(page_points=drift.page_points, episodes=max(1, drift.page_points // 5), pause_s=drift.pause_s),
        resamples=drift.resamples,
        alert=build_alert_policy(settings.alerts),
        silent=settings.alerts.silent,
        runbook_url=settings.alerts.runbook_url,
        policy_of=build_policy_of(settings),
    )


def build_stand_in(drift: DriftSettings) -> StandIn | None:
    """Build the channel that stands in for the truth, if any."""
    if drift.channel is None or drift.channel_sensitivity is None or drift.channel_specificity is None:
        return None
    return StandIn(channel=drift.channel, sensitivity=drift.channel_sensitivity, specificity=drift.channel_specificity)


def build_alert_policy(alerts: AlertSettings) -> AlertPolicy:
    """Build the thresholds."""
    thresholds = alerts.model_dump(exclude={"every_s", "runbook_url", "silent", "rise_window_s"})
    return AlertPolicy(**thresholds, rise_window=timedelta(seconds=alerts.rise_window_s))
