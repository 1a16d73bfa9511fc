"""What a dashboard is made of; the boards themselves are tables in `deploy/grafana/boards`, the one source of the generated JSON.

`$where` stands for the matchers of the chosen job and namespace; figures of drift are those that the rules record.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel.

    Attributes:
        text: What it tells and when to worry, for who sees it for the first time.
        lines: PromQL -> legend.
        unit: Grafana's name of a unit; `short` is a plain number.
        kind: A curve over time, or the latest number.
        limits: Where its colour turns to yellow and to red; the second may be the smaller, then less is worse.
        has_band: Its lines are named value, low and high, and the space between low and high is shaded.
    """

    title: str
    text: str
    lines: dict[str, str]
    unit: str = "short"
    kind: str = "curve"
    limits: tuple[float, float] | None = None
    has_band: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A dashboard.

    Attributes:
        rows: Title of a row -> its panels.
        since: How far back it looks at first.
        labelled: A metric that every deployment of it has from its first moment: its labels are the choices.
    """

    uid: str
    title: str
    text: str
    since: str
    labelled: str = "guardian_dependency_up"
    rows: dict[str, tuple[Panel, ...]] = field(default_factory=dict)


def rate(metric: str, *labels: str) -> str:
    """Give the rate of a counter by labels."""
    return f"sum by ({', '.join(labels)}) (rate({metric}{{$where}}[$__rate_interval]))"


def quantile(share: float, metric: str, *labels: str) -> str:
    """Give a quantile of a histogram by labels."""
    by = ", ".join(("le", *labels))
    return f"histogram_quantile({share}, sum by ({by}) (rate({metric}_bucket{{$where}}[$__rate_interval])))"
