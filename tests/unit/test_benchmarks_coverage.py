"""The benchmark of coverage counts what it says it counts."""

from __future__ import annotations

from benchmarks.coverage import measure_coverage


async def test_coverage_is_a_share_of_the_banks_that_know() -> None:
    """Each figure of each bank once, with labels and with a channel; what no bank knows is noted, not counted as held."""
    report = await measure_coverage(banks=3, episodes=300, settings=1, advance=lambda _: None)
    shares = {figure.what: figure for figure in report.figures}
    kappa = shares["the paper's, labels: kappa"]
    assert kappa.estimate is not None
    assert (kappa.estimate.n, 0 <= kappa.middle <= 1) == (3, True)
    told = [note for note in report.notes if "unknown" in note]
    assert len(shares) + len(told) == 2 * 9
