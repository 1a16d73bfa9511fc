"""Laws of the watch: growth is that of the last life after its warm-up, and the picture shows it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.chaos.memory import read_memory
from tests.chaos.watch import Sample, draw, measure_growth


def look(number: int, *, life: int, private_mib: float) -> Sample:
    """Build one sample of many; fifty records are done between two."""
    done = 50 * number
    return Sample(
        at_s=2.0 * number, life=life, done=done, sent=done + 7, private_mib=private_mib, resident_mib=90.0, store_mib=done / 1_000
    )


def test_growth_is_that_of_the_last_life_after_its_warm_up() -> None:
    """Neither earlier lives nor the rise at the start count; the peak is that of all."""
    before = [look(number, life=1, private_mib=200.0) for number in range(50)]
    warming = [look(50 + number, life=2, private_mib=float(number)) for number in range(25)]
    settled = [look(75 + number, life=2, private_mib=60 + number / 100) for number in range(75)]
    growth = measure_growth([*before, *warming, *settled])
    assert growth.private_mib == pytest.approx(2.0)
    assert growth.store_mib == pytest.approx(10.0)
    assert growth.peak_mib == 200.0
    assert growth.events == 50 * 74


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    """The curve lands in the file, the same bytes for the same samples."""
    samples = [look(number, life=1, private_mib=60.0) for number in range(5)]
    for name in ("one.svg", "two.svg"):
        draw(samples, [(4.0, "kill -9")], tmp_path / name, title="five looks")
    assert b"five looks" in (tmp_path / "one.svg").read_bytes()
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_memory_is_that_of_the_process() -> None:
    """This one has some, all of it resident; one that never was has none."""
    memory = read_memory(os.getpid())
    assert memory is not None
    assert 0 < memory.private < memory.resident
    assert read_memory(2**22 + 1) is None
