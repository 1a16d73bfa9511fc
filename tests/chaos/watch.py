"""A watch over a worker's memory and lag: samples while it works, a line through them, and a picture."""

from __future__ import annotations

import asyncio
import csv
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import linear_regression
from typing import Any

from tests.chaos.memory import read_memory
from tests.chaos.stage import Life, Stage

MIB = 1 << 20
_EVERY_S = 2.0
# What a process may grow over 10,000 events. A worker keeps nothing of what it has done; the embedded engine holds its indexes in
# memory, measured at 14 MB for 10,000 events (benchmarks/README.md).
WORKER_MIB, WITH_ENGINE_MIB = 2.0, 28.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look.

    Attributes:
        at_s: Seconds since the watch began.
        life: Number of the worker's process.
        done: Records committed.
        sent: Records sent.
        private_mib, resident_mib: Of the worker; see `Memory`.
        store_mib: Private memory of the process that owns the store, where there is one.
    """

    at_s: float
    life: int
    done: int
    sent: int
    private_mib: float
    resident_mib: float
    store_mib: float

    @property
    def lag(self) -> int:
        """Records that wait."""
        return self.sent - self.done


class Watch:
    """Looks at one worker at a time.

    Attributes:
        life: The worker to look at, or None while there is none.
    """

    def __init__(self, stage: Stage) -> None:
        self.samples: list[Sample] = []
        self.life: Life | None = None
        self._stage = stage
        self._begun = time.monotonic()

    @property
    def has_caught_up(self) -> bool:
        """Tell whether nothing waited at the last look."""
        return bool(self.samples) and self.samples[-1].lag == 0

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """Look every few seconds until the end of the block."""
        task = asyncio.create_task(self._look_on())
        try:
            yield
        finally:
            task.cancel()

    async def _look_on(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(_EVERY_S)

    async def look(self) -> None:
        """Take one sample, unless there is no worker."""
        memory = None if self.life is None else read_memory(self.life.process.pid)
        if memory is None:
            return
        store = None if self._stage.server_pid is None else read_memory(self._stage.server_pid)
        done = sum((await self._stage.fetch_committed()).values())
        self.samples.append(
            Sample(
                at_s=round(time.monotonic() - self._begun, 1),
                life=self._stage.lives,
                done=done,
                sent=self._stage.sent,
                private_mib=round(memory.private / MIB, 2),
                resident_mib=round(memory.resident / MIB, 2),
                store_mib=0.0 if store is None else round(store.private / MIB, 2),
            )
        )

    def write(self, path: Path) -> None:
        """Write all samples as CSV."""
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(Sample)])
            writer.writeheader()
            writer.writerows(asdict(sample) for sample in self.samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How memory grew over the last life, after its warm-up.

    Attributes:
        events: Done in that time.
        private_mib, store_mib: For 10,000 events, by a line of least squares.
        peak_mib: Most private memory of any life.
    """

    events: int
    private_mib: float
    store_mib: float
    peak_mib: float

    def describe(self) -> str:
        """Give the figures in one line."""
        return (
            f"private memory of the worker: {self.private_mib:+.2f} MiB for 10,000 events over the last {self.events:,}, "
            f"peak {self.peak_mib:.0f} MiB; of the store's process: {self.store_mib:+.2f} MiB for 10,000 events"
        )


def measure_growth(samples: Sequence[Sample], *, warm_up: float = 0.25) -> Growth:
    """Measure the growth over the last life, less its first part."""
    last = [sample for sample in samples if sample.life == samples[-1].life]
    settled = last[int(len(last) * warm_up) :]
    events = settled[-1].done - settled[0].done
    return Growth(
        events=events,
        private_mib=_slope(settled, "private_mib"),
        store_mib=_slope(settled, "store_mib"),
        peak_mib=max(sample.private_mib for sample in samples),
    )


def _slope(samples: Sequence[Sample], name: str) -> float:
    if len({sample.done for sample in samples}) < 2:
        return 0.0
    return 10_000 * linear_regression([sample.done for sample in samples], [getattr(sample, name) for sample in samples]).slope


def iter_lives(samples: Sequence[Sample]) -> Iterator[list[Sample]]:
    """Give the samples of each life."""
    for life in sorted({sample.life for sample in samples}):
        yield [sample for sample in samples if sample.life == life]


def draw(samples: Sequence[Sample], ends: Sequence[tuple[float, str]], path: Path, *, title: str) -> None:
    """Draw memory, lag and the ends of workers over time; the format is that of the path's suffix."""
    import matplotlib as mpl  # a second to import, and only for a picture

    mpl.use("agg")
    # The same picture gives the same bytes, and text stays text.
    mpl.rcParams.update({"svg.hashsalt": "guardian", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, (memory, lag) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 5), height_ratios=(2, 1))
    for life in iter_lives(samples):
        minutes = [sample.at_s / 60 for sample in life]
        memory.plot(minutes, [sample.private_mib for sample in life], color="tab:blue", linewidth=1)
        memory.plot(minutes, [sample.resident_mib for sample in life], color="tab:cyan", linewidth=1)
    minutes = [sample.at_s / 60 for sample in samples]
    names = [("worker, private", "tab:blue"), ("worker, resident", "tab:cyan")]
    if any(sample.store_mib for sample in samples):
        memory.plot(minutes, [sample.store_mib for sample in samples], color="tab:gray", linewidth=1)
        names.append(("store's process, private", "tab:gray"))
    lag.plot(minutes, [sample.lag for sample in samples], color="tab:orange", linewidth=1)
    for axes in (memory, lag):
        for at_s, sort in ends:
            axes.axvline(at_s / 60, color="tab:red" if sort == "kill -9" else "tab:green", linewidth=0.8, linestyle=":")
    _label(memory, lag, names, title)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


def _label(memory: Any, lag: Any, names: Sequence[tuple[str, str]], title: str) -> None:
    memory.set_title(title, fontsize=9)
    memory.set_ylabel("MiB")
    memory.set_ylim(bottom=0)
    for name, color in [*names, ("SIGTERM", "tab:green"), ("kill -9", "tab:red")]:
        memory.plot([], [], color=color, label=name, linestyle=":" if name in ("SIGTERM", "kill -9") else "-")
    memory.legend(loc="lower right", ncols=3, fontsize=8)
    lag.set_ylabel("records that wait")
    lag.set_ylim(bottom=0)
    lag.set_xlabel("minutes")
