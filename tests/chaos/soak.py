"""The soak: a day in little. Steady load, corrections throughout, a restart now and then, and memory that must stay flat.

    python -m tests.chaos.soak --minutes 20 --rate 50 --picture docs/soak.svg

The worker is restarted over the first three fifths of the time, each third time by `kill -9`; the rest is one life, over which its
growth is measured. By default the store has a process of its own, so that the worker's memory is the worker's.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from guardian.stream.broker.kafka import Producer
from tests.chaos.command import add_places, open_stage, run_command
from tests.chaos.population import Sent, iter_records
from tests.chaos.stage import Life, Stage, StoreKind
from tests.chaos.verify import verify, write_line
from tests.chaos.watch import WITH_ENGINE_MIB, WORKER_MIB, Watch, draw, measure_growth

# Part of the time in which restarts fall, and how many they are.
_RESTLESS, _RESTARTS = 0.6, 6


class Soak:
    """One soak on a stage that is set up.

    Args:
        rate: Records sent a second.
    """

    def __init__(self, stage: Stage, *, seed: int, minutes: float, rate: float) -> None:
        self.watch = Watch(stage)
        self.ends: list[tuple[float, str]] = []
        self._stage = stage
        self._seconds = minutes * 60
        self._rate = rate
        self._records: Iterator[Sent] = iter_records(seed, round(2 * self._seconds * rate) + 1)
        self._begun = time.monotonic()

    async def run(self) -> None:
        """Soak to the end of the time, and let the worker finish."""
        producer = await self._stage.open_producer()
        try:
            async with self.watch.looking(), asyncio.TaskGroup() as tasks:
                tasks.create_task(self._send(producer))
                life = await self._restart_often()
                await self._sleep_until(self._seconds)
            await self._stage.wait_until_done()
            await self.watch.look()
            await life.stop()
        finally:
            await producer.stop()

    async def _send(self, producer: Producer) -> None:
        while (spent_s := time.monotonic() - self._begun) < self._seconds:
            due = int(spent_s * self._rate) - self._stage.sent
            await self._stage.send([next(self._records) for _ in range(due)], producer=producer)
            await asyncio.sleep(0.5)

    async def _restart_often(self) -> Life:
        """Restart the worker at even distances; gives the one that is to stay."""
        life = self.watch.life = self._stage.start_worker()
        for number in range(1, _RESTARTS + 1):
            await self._sleep_until(self._seconds * _RESTLESS * number / _RESTARTS)
            self.watch.life = None
            if number % 3 == 0:
                await life.kill()
                self.ends.append((time.monotonic() - self._begun, "kill -9"))
            else:
                await life.stop()
                self.ends.append((time.monotonic() - self._begun, "SIGTERM"))
            life = self.watch.life = self._stage.start_worker()
            write_line(f"{self._stage.sent:,} records sent, restart {number} after {time.monotonic() - self._begun:.0f} s")
        return life

    async def _sleep_until(self, at_s: float) -> None:
        await asyncio.sleep(max(0.0, at_s - (time.monotonic() - self._begun)))


def main() -> int:
    """Soak as the command line says; 1 when memory grew or a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="length (%(default)s)")
    parser.add_argument(
        "--rate",
        type=float,
        default=120.0,
        help="records a second, enough to fill the caches in the last life, well below what a worker can do (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="of everything drawn (one of its own)")
    parser.add_argument("--picture", type=Path, help="file for the curve, such as docs/soak.svg")
    parser.add_argument("--samples", type=Path, help="file for the samples, as CSV")
    add_places(parser, store=StoreKind.LOOPBACK)
    options = parser.parse_args()
    return run_command(lambda folder: _soak(options, folder), options.folder)


async def _soak(options: argparse.Namespace, folder: Path) -> bool:
    async with open_stage(folder, options.store) as (stage, _):
        write_line(f"seed {options.seed}, {options.minutes:g} minutes, {options.rate:g} records a second")
        soak = Soak(stage, seed=options.seed, minutes=options.minutes, rate=options.rate)
        await soak.run()
        verdict = await verify(stage.around, say=write_line)
    samples = soak.watch.samples
    growth = measure_growth(samples)
    longest = max(sample.lag for sample in samples)
    write_line(
        f"seed {options.seed}; {len(soak.ends)} restarts; at most {longest:,} records waited\n{growth.describe()}\n{verdict.describe()}"
    )
    if options.samples:
        soak.watch.write(options.samples)
    if options.picture:
        title = f"{options.minutes:g} minutes, {options.rate:g} records a second, {stage.kind} store: {growth.private_mib:+.2f} MiB for 10,000 events"
        draw(samples, soak.ends, options.picture, title=title)
    allowed = WITH_ENGINE_MIB if stage.kind is StoreKind.EMBEDDED else WORKER_MIB
    if growth.private_mib > allowed:
        write_line(f"memory is not flat: {allowed} MiB for 10,000 events are allowed")
    return growth.private_mib <= allowed and not verdict.faults


if __name__ == "__main__":
    sys.exit(main())
