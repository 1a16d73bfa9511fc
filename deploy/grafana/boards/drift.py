"""What is seen of banks that drift; the figures are those that the rules record."""

from __future__ import annotations

from deploy.grafana.board import Board, Panel, rate


def _band(figure: str) -> dict[str, str]:
    return {f'guardian:drift_{figure}{{$where, scope="$scope", bound="{bound}"}}': bound for bound in ("value", "low", "high")}


def _now(figure: str, bound: str = "value") -> str:
    return f'guardian:drift_{figure}{{$where, scope="$scope", bound="{bound}"}}'


DRIFT = Board(
    uid="guardian-drift",
    title="Guardian: where the bank is heading",
    text="Corrupted share against its attractor, the loop behind it, echo, evidence and alerts.",
    since="now-30d",
    rows={
        "Now": (
            Panel(
                title="Corrupted share p",
                text="Share of wrong ones among the trusted records whose truth is known.",
                lines={_now("corrupted_share"): "p"},
                unit="percentunit",
                kind="number",
                limits=(0.3, 0.5),
            ),
            Panel(
                title="Attractor p*",
                text="Where the loop takes the corrupted share if nothing changes.",
                lines={_now("attractor"): "p*"},
                unit="percentunit",
                kind="number",
            ),
            Panel(
                title="Way covered from p0 to p*",
                text="Two fifths page, where feedback is proven. Without feedback p0 and p* are one and this number means nothing.",
                lines={
                    f"({_now('corrupted_share')} - {_now('one_shot')}) / ({_now('attractor')} - {_now('one_shot')})": "covered"
                },
                unit="percentunit",
                kind="number",
                limits=(0.25, 0.4),
            ),
            Panel(
                title="Margin to collapse",
                text="Distance of kappa from the collapse threshold. Where 0.1 cannot be ruled out it pages, if feedback is proven; below zero the bank is past it.",
                lines={_now("collapse_margin"): "margin"},
                kind="number",
                limits=(0.3, 0.1),
            ),
            Panel(
                title="Audited episodes",
                text="What the estimates rest on. Too few read unknown.",
                lines={'max(guardian_drift_episodes{$where, scope="$scope"})': "episodes"},
                kind="number",
            ),
            Panel(
                title="Age of the estimate",
                text="An hour is too old: then all figures here are.",
                lines={"time() - max(guardian_drift_last_run_timestamp_seconds{$where} > 0)": "age"},
                unit="s",
                kind="number",
                limits=(1_800, 3_600),
            ),
        ),
        "Where it is heading": (
            Panel(
                title="Corrupted share, with its interval",
                text="A rise is proven where the lower edge of now is above the upper edge of then.",
                lines=_band("corrupted_share"),
                unit="percentunit",
                has_band=True,
            ),
            Panel(
                title="Corrupted share, one shot, attractor",
                text="p starts at p0, what one pass leaves, and moves to p*, where the loop leads.",
                lines={_now("corrupted_share"): "p", _now("one_shot"): "p0", _now("attractor"): "p*"},
                unit="percentunit",
            ),
            Panel(
                title="Compounding p*/p0, with its interval",
                text="What the loop adds. Proven once the lower edge is above one.",
                lines=_band("compounding"),
                has_band=True,
            ),
            Panel(
                title="Margin to collapse, with its interval",
                text="Distance of kappa from the collapse threshold.",
                lines=_band("collapse_margin"),
                has_band=True,
            ),
        ),
        "The loop": (
            Panel(
                title="Kappa, with its interval",
                text="Rise of the error rate with the corrupted share of what was retrieved. Zero is no feedback.",
                lines=_band("kappa"),
                has_band=True,
            ),
            Panel(
                title="What the self-grade accepts",
                text="Leniency: wrong episodes it accepts. Sensitivity: right ones. Base error: the agent's own, with clean memories.",
                lines={_now("leniency"): "leniency", _now("sensitivity"): "sensitivity", _now("base_error"): "base error"},
                unit="percentunit",
            ),
        ),
        "Echo and evidence": (
            Panel(
                title="Reads that return what was corrected, with their interval",
                text="Share of what reads returned that a correction fells. One in twenty is too much.",
                lines=_band("superseded_top_k"),
                unit="percentunit",
                has_band=True,
            ),
            Panel(
                title="Refused claims",
                text="Verification claims that were recorded and not believed, beside what was written.",
                lines={
                    rate("guardian_claims_refused_total", "job"): "refused",
                    rate("guardian_records_written_total", "job"): "written",
                },
                unit="cps",
            ),
            Panel(
                title="Channels that fail",
                text="Evidence channels whose errors go with the agent's; they demote nothing.",
                lines={"max by (job, namespace) (guardian_channels_failing{$where})": "failing"},
            ),
        ),
        "Alerts and runs": (
            Panel(
                title="Alerts that stand, by the worker",
                text="Of all spaces; which ones is on the topic guardian.alerts.",
                lines={"sum by (alert, severity) (guardian:alert_standing{$where}) > 0": "{{alert}} ({{severity}})"},
            ),
            Panel(
                title="Alerts that fire, by the rules",
                text="Of Prometheus, with those passed on.",
                lines={
                    'count by (alertname, severity) (ALERTS{$where, alertname=~"Guardian.+", alertstate="firing"})': "{{alertname}} ({{severity}})"
                },
            ),
            Panel(
                title="Raised and resolved",
                text="Within a day.",
                lines={
                    "sum by (alert) (increase(guardian_alerts_raised_total{$where}[1d])) > 0": "raised {{alert}}",
                    "sum by (alert) (increase(guardian_alerts_resolved_total{$where}[1d])) > 0": "resolved {{alert}}",
                },
            ),
            Panel(
                title="Runs of the estimate",
                text="By what became of them, within a day; those of a worker without spaces are skipped.",
                lines={"sum by (outcome) (increase(guardian_drift_runs_total{$where}[1d]))": "{{outcome}}"},
            ),
            Panel(
                title="Time of a run",
                text="Half of the runs, and nineteen of twenty, are quicker.",
                lines={
                    "histogram_quantile(0.5, sum by (le) (rate(guardian_drift_run_seconds_bucket{$where}[1d])))": "p50",
                    "histogram_quantile(0.95, sum by (le) (rate(guardian_drift_run_seconds_bucket{$where}[1d])))": "p95",
                },
                unit="s",
            ),
        ),
    },
)
