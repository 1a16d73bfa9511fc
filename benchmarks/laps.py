"""Laps: variants measured turn by turn in one run, so that a machine that slows down slows all of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Lap:
    """One measured pass of one variant.

    Attributes:
        count: Events (or points) done.
        seconds: Wall time.
        cpu_seconds: Processor time of the process, all threads.
        parts: Seconds by stage.
        batches: Seconds of wall time, batch by batch, where they are known.
    """

    count: int
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    batches: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Done per second of wall time."""
        return self.count / self.seconds if self.seconds else 0.0

    @property
    def cpu_rate(self) -> float:
        """Done per second of processor time."""
        return self.count / self.cpu_seconds if self.cpu_seconds else 0.0


Variant = Callable[[], Awaitable[Lap]]
Advance = Callable[[str], None]  # called with what begins now


@contextmanager
def timed(lap: Lap) -> Iterator[Lap]:
    """Time the block into a lap, adding to what is there."""
    started, cpu_started = time.perf_counter(), time.process_time()
    try:
        yield lap
    finally:
        seconds = time.perf_counter() - started
        lap.seconds += seconds
        lap.batches.append(seconds)
        lap.cpu_seconds += time.process_time() - cpu_started


async def interleave(variants: Mapping[str, Variant], *, repetitions: int, advance: Advance) -> dict[str, list[Lap]]:
    """Measure all variants turn by turn, every other turn in reverse.

    What lives before the first lap is taken out of the garbage collector's sight, as a worker would not hold it.
    """
    laps: dict[str, list[Lap]] = {name: [] for name in variants}
    gc.collect()
    gc.freeze()
    try:
        for turn in range(repetitions):
            for name in list(variants)[:: -1 if turn % 2 else 1]:
                advance(f"{name}, {turn + 1} of {repetitions}")
                laps[name].append(await variants[name]())
                gc.collect()
    finally:
        gc.unfreeze()
    return laps


def ratios(laps: Sequence[Lap], to: Sequence[Lap]) -> list[float]:
    """Give the ratio of rates turn by turn: neighbours in time are compared, not the best with the worst."""
    return [lap.rate / other.rate for lap, other in zip(laps, to, strict=True) if other.rate]


def part_us(laps: Sequence[Lap], part: str) -> list[float]:
    """Give a stage in microseconds an event, lap by lap."""
    return [lap.parts.get(part, 0.0) / lap.count * 1e6 for lap in laps]
