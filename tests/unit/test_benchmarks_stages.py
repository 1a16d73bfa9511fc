"""The benchmark of the model stages, in its least size: the calls are counted by the endpoint."""

from __future__ import annotations

from benchmarks.stages import measure_stages


async def test_stored_cards_save_the_call_for_them() -> None:
    """Three calls one after the other with an induction online, two with stored cards, none without stages."""
    report = await measure_stages(latency_ms=1.0, repetitions=1, advance=lambda _: None)
    calls = {figure.what.partition(":")[0]: figure.middle for figure in report.figures if figure.what.endswith("model calls")}
    assert (calls["no stage"], calls["stored cards"], calls["joint induction online"]) == (0, 2, 3)
    assert calls["the author's induction online"] > 3
