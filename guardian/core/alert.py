"""Words of the alerts: what may be wrong with a bank or a worker, and how much it matters."""

from __future__ import annotations

from enum import StrEnum


class AlertKind(StrEnum):
    """What an alert says; a closed set, since it labels metrics and names runbooks."""

    CORRUPTED_SHARE = "corrupted_share"
    NEAR_ATTRACTOR = "near_attractor"
    ATTRACTOR_ABOVE_ONE_SHOT = "attractor_above_one_shot"
    RISING = "rising"
    COLLAPSE_MARGIN = "collapse_margin"
    ECHO = "echo"
    REFUSED_CLAIMS = "refused_claims"
    CHANNEL_DEPENDENCE = "channel_dependence"
    DEAD_LETTERS = "dead_letters"
    LAG = "lag"
    STORE_AWAY = "store_away"
    MODEL_AWAY = "model_away"
    DRIFT_UNKNOWN = "drift_unknown"


class Severity(StrEnum):
    """How much an alert matters: to be known, to be looked at today, to be looked at now."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


# One severity a kind: an alert that stands never changes its own.
SEVERITIES: dict[AlertKind, Severity] = {
    AlertKind.CORRUPTED_SHARE: Severity.CRITICAL,
    AlertKind.NEAR_ATTRACTOR: Severity.CRITICAL,
    AlertKind.ATTRACTOR_ABOVE_ONE_SHOT: Severity.WARNING,
    AlertKind.RISING: Severity.WARNING,
    AlertKind.COLLAPSE_MARGIN: Severity.CRITICAL,
    AlertKind.ECHO: Severity.WARNING,
    AlertKind.REFUSED_CLAIMS: Severity.WARNING,
    AlertKind.CHANNEL_DEPENDENCE: Severity.WARNING,
    AlertKind.DEAD_LETTERS: Severity.WARNING,
    AlertKind.LAG: Severity.WARNING,
    AlertKind.STORE_AWAY: Severity.CRITICAL,
    AlertKind.MODEL_AWAY: Severity.WARNING,
    AlertKind.DRIFT_UNKNOWN: Severity.INFO,
}
