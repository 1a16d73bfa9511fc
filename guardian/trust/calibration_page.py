"""A calibration as one HTML page: no script, nothing fetched, every name from outside escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from guardian.core.moment import format_time
from guardian.core.numbers.interval import Estimate
from guardian.core.numbers.lucid import leave_variance
from guardian.trust.calibrate import TENTHS, Assessment, Calibration, Cell
from guardian.trust.calibration_document import Report
from guardian.trust.gate import LEAST_TRUTH, MOST_BIAS, Failure
from guardian.trust.svg import draw_bars, draw_bubble, draw_dot, draw_intervals, draw_line, draw_square

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#68758a;--line:#d8dee8;--good:#1b7f4d;--bad:#b3403a;--paper:#fff;--cell:#2f6fb0}
@media(prefers-color-scheme:dark){:root{--ink:#e4e9f1;--soft:#9aa7ba;--line:#38424f;--good:#4fc08a;--bad:#ef8079;--paper:#151a21;--cell:#6fa8dc}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:68rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.5rem;border-top:1px solid var(--line);padding-top:1rem}h3{font-size:1rem;margin-bottom:.3rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.15rem .7rem .15rem 0;text-align:left;vertical-align:top}
th{font-weight:600;color:var(--soft)}.wide{overflow-x:auto}.note,small{color:var(--soft)}.yes{color:var(--good)}.no{color:var(--bad)}
figure{display:inline-block;margin:.5rem 1.5rem .5rem 0;vertical-align:top}figcaption{color:var(--soft);font-size:.85rem;max-width:28rem}
svg{font:11px system-ui,sans-serif;fill:var(--ink);max-width:100%}svg .grid{stroke:var(--line)}svg .bound{stroke:var(--soft);stroke-dasharray:3 3}
svg .cell{fill:var(--cell);fill-opacity:.55}svg .dot{fill:var(--ink)}svg .ideal{fill:none;stroke:var(--soft);stroke-dasharray:3 3}
svg .curve{fill:none;stroke:var(--ink);stroke-width:1.6}svg line.pass,svg line.fail{stroke-width:3}svg .pass{fill:var(--good);stroke:var(--good)}
svg .fail{fill:var(--bad);stroke:var(--bad)}svg .whisker{stroke:var(--ink)}svg .none{fill:var(--soft)}
"""
_FIGURES = {
    "corr_truth": "Corr(V, U)",
    "corr_bias": "Corr(&nu;, b)",
    "beta": "&beta;",
    "alpha": "&alpha;*",
    "payoff": "payoff",
    "precision": "precision",
    "recall": "recall",
    "specificity": "specificity",
}
# Points of the curve of the remaining variance.
_STEPS = 40


def build_page(report: Report) -> str:
    """Build the page of a report."""
    parts = [_build_calibration(one) for one in report.calibrations]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Guardian: calibration of evidence channels</title><style>{_STYLE}</style></head><body>"
        "<h1>Which evidence channels may demote a self-grade</h1>"
        f'<p class="note">Made at {escape(format_time(report.made_at))}, with a gain of {report.gain:g} for demoting a wrong record and '
        f"a harm of {report.harm:g} for demoting a right one. Intervals are of 95 %.</p>"
        f"{''.join(parts)}</body></html>\n"
    )


def _build_calibration(one: Calibration) -> str:
    assessed = (*one.channels, *one.ensembles)
    sampled = "" if one.is_whole else ", a sample of all"
    head = (
        f"<h2>Spaces {escape(one.spaces)}</h2><p>{one.labelled} labelled and graded records{sampled}. Calibration "
        f"<code>{escape(one.id)}</code>; flags must be right in more than {one.required_precision:.2f}.</p>"
    )
    if not assessed:
        return head + "<p>No channel judged a labelled record.</p>"
    return head + _build_table(assessed) + _build_overview(assessed, one.required_precision) + _build_channels(one, assessed)


def _build_table(assessed: Sequence[Assessment]) -> str:
    names = ("channel", "decision", "n", *_FIGURES.values(), "Var(b)", "Var(&eta;)", "&alpha; of a detector", "error it removes")
    titles = "".join(f"<th>{title}</th>" for title in names)
    return f'<div class="wide"><table><tr>{titles}</tr>{"".join(map(_build_row, assessed))}</table></div>'


def _build_row(one: Assessment) -> str:
    figures = "".join(f"<td>{_show(getattr(one, name))}</td>" for name in _FIGURES)
    variances = "".join(f"<td>{'unknown' if value is None else f'{value:.4f}'}</td>" for value in (one.var_bias, one.var_noise))
    found = () if one.detector is None else (one.detector.alpha, one.detector.payoff)
    detector = "".join(f"<td>{_show(estimate)}</td>" for estimate in found)
    return f"<tr><td>{escape(one.channel)}</td><td>{_decide(one)}</td><td>{one.n}</td>{figures}{variances}{detector}</tr>"


def _decide(one: Assessment) -> str:
    how = " by its flags alone" if one.detects else ""
    decided = (
        f'<span class="yes">may demote{how}, &alpha; {one.usable_alpha:g}</span>'
        if one.passes
        else '<span class="no">demotes nothing</span>'
    )
    as_detector = "" if one.detector is None else f"<br><small>as a detector: {_tell_gate(one.detector.failures)}</small>"
    return f"{decided}<br><small>as a score: {_tell_gate(one.failures)}</small>{as_detector}"


def _tell_gate(failures: Sequence[Failure]) -> str:
    return escape(", ".join(failure.value.replace("_", " ") for failure in failures)) or "passes"


def _show(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "unknown"
    return f"{estimate.value:.3f}<br><small>{estimate.low:.3f} to {estimate.high:.3f}</small>"


def _build_overview(assessed: Sequence[Assessment], required: float) -> str:
    def list_rows(name: str) -> list[tuple[str, Estimate, bool]]:
        return [(one.channel, getattr(one, name), one.passes) for one in assessed]

    truth = draw_intervals(list_rows("corr_truth"), title="Corr(V, U)", low=-0.2, high=1.0, bounds=(LEAST_TRUTH,))
    bias = draw_intervals(list_rows("corr_bias"), title="Corr(nu, b)", low=-1.0, high=1.0, bounds=(-MOST_BIAS, MOST_BIAS))
    precision = draw_intervals(list_rows("precision"), title="precision of flags", low=0.0, high=1.0, bounds=(required,))
    payoff = draw_bars(list_rows("payoff"), title="payoff")
    return (
        _frame(truth, "Corr(V, U): the low end must lie above the bound, or the channel knows too little of the truth.")
        + _frame(bias, "Corr(&nu;, b): the interval must lie between the bounds, or the errors are the agent's own.")
        + _frame(precision, "Precision of flags: the low end must lie above &rho;*.")
        + _frame(payoff, "Payoff: variance of the grades' bias that the channel removes; of those that pass the largest is used.")
    )


def _build_channels(calibration: Calibration, assessed: Sequence[Assessment]) -> str:
    parts = []
    for one in assessed:
        cells = calibration.cells.get(one.channel, ())
        parts.append(f"<h3>{escape(one.channel)}</h3>{_draw_cells(one, cells)}{_draw_variance(one)}")
    return "".join(parts)


def _draw_cells(one: Assessment, cells: Sequence[Cell]) -> str:
    most = max((cell.count for cell in cells), default=1)
    line = list_reliability(cells)
    marks = [draw_line([(0.0, 0.0), (1.0, 1.0)], kind="ideal"), *(draw_bubble(c.verdict, c.truth, c.count / most) for c in cells)]
    marks += [draw_line(line, kind="curve"), *(draw_dot(x, y) for x, y in line)]
    picture = draw_square(title=f"verdict and truth of {one.channel}", across="verdict V", up="truth U", marks=marks)
    return _frame(
        picture, "Discs: labelled records by verdict and truth. Line: mean truth at each verdict; a channel that knows rises."
    )


def list_reliability(cells: Sequence[Cell]) -> list[tuple[float, float]]:
    """List (mean verdict, mean truth) of each tenth of the verdicts, by rising verdict."""
    tenths: dict[int, list[Cell]] = {}
    for cell in cells:
        tenths.setdefault(min(int(cell.verdict * TENTHS), TENTHS - 1), []).append(cell)
    return [(_average(found, "verdict"), _average(found, "truth")) for _, found in sorted(tenths.items())]


def _average(cells: Sequence[Cell], name: str) -> float:
    return math.fsum(getattr(cell, name) * cell.count for cell in cells) / sum(cell.count for cell in cells)


def _draw_variance(one: Assessment) -> str:
    if one.var_bias is None or one.var_noise is None or one.beta.value is None or one.alpha.value is None:
        return ""
    moments = {"beta": one.beta.value, "var_bias": one.var_bias, "var_noise": one.var_noise}
    left = [(step / _STEPS, leave_variance(step / _STEPS, **moments)) for step in range(_STEPS + 1)]
    top = max(value for _, value in left) or 1.0
    best = leave_variance(one.alpha.value, **moments)
    marks = [draw_line([(x, y / top) for x, y in left], kind="curve"), draw_dot(one.alpha.value, best / top)]
    picture = draw_square(title=f"remaining variance of {one.channel}", across="alpha", up="Var(b') left", marks=marks, top=top)
    return _frame(
        picture, "Variance of the bias that is left when a grade moves by &alpha; towards the verdict; the dot is &alpha;*."
    )


def _frame(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"
