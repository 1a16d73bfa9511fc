"""The load: a long lag waits when the worker starts, or the largest events come in every batch; memory must stay bounded.

python -m tests.chaos.load --events 1000000 --minutes 4
python -m tests.chaos.load --events 3000 --largest --minutes 4
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from guardian.stream.broker.kafka import Outgoing, Producer
from tests.builders import envelope, written_data
from tests.chaos.command import add_places, open_stage, run_command
from tests.chaos.population import Sent
from tests.chaos.stage import Stage, StoreKind
from tests.chaos.verify import write_line
from tests.chaos.watch import WITH_ENGINE_MIB, Watch, draw, measure_growth

# Most private memory of a worker, however much waits: 60 MiB of code, and two fetches of 16 MiB (four times `kafka.max_fetch_bytes`), the one
# in work and the next; as small records they take about seven times their bytes.
_PEAK_MIB = 320.0
_BURST = 5_000
_BURST_BYTES = 16_000_000
_LARGE_BYTES = 1_000_000
_WORDS = ("kiln", "depot", "trailer", "harbour", "invoice", "gate", "crane", "ledger", "pallet", "shift", "valve", "route")
# One large event among so many small ones; a batch has a hundred in this play.
_SMALL_PER_LARGE = 20


def iter_small(events: int, spaces: int) -> Iterator[Sent]:
    """Give plain writes of many spaces in turn, each of a memory of its own."""
    draw_words = random.Random(1)
    for number in range(events):
        text = f"{' '.join(draw_words.choices(_WORDS, k=10))} {number}"
        data = written_data(f"m{number}", text, src="tool")
        space = f"bank-{number % spaces}"
        yield Sent(space.encode(), orjson.dumps(envelope("memory.written", data, t=number % 100_000, space=space)))


def iter_large(events: int, spaces: int) -> Iterator[Sent]:
    """Give plain writes, one in so many of nearly 1 MiB."""
    for number, sent in enumerate(iter_small(events, spaces)):
        if number % _SMALL_PER_LARGE == 0:
            data = written_data(f"large-{number}", f"Report {number}", src="tool", metadata={"blob": "x" * _LARGE_BYTES})
            yield Sent(sent.key, orjson.dumps(envelope("memory.written", data, t=number % 100_000, space=sent.key.decode())))
        yield sent


async def fill(stage: Stage, records: Iterator[Sent]) -> None:
    """Put the lag into the topic."""
    producer = await stage.open_producer()
    burst: list[Outgoing] = []
    size = 0
    try:
        for sent in records:
            burst.append(Outgoing(topic=stage.around.topic, key=sent.key, value=sent.value))
            size += len(sent.value or b"")
            if len(burst) == _BURST or size > _BURST_BYTES:
                await _send(stage, producer, burst)
                burst, size = [], 0
        await _send(stage, producer, burst)
    finally:
        await producer.stop()


async def _send(stage: Stage, producer: Producer, burst: list[Outgoing]) -> None:
    assert not await producer.send(burst), "the topic does not take events of this size"
    stage.sent += len(burst)
    if stage.sent % 100_000 < len(burst):
        write_line(f"{stage.sent:,} records wait")


def main() -> int:
    """Load as the command line says; 1 when memory grew."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.load", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="that wait when the worker starts (%(default)s)")
    parser.add_argument("--spaces", type=int, default=2_000, help="they are of (%(default)s)")
    parser.add_argument("--minutes", type=float, default=4.0, help="how long the worker is watched (%(default)s)")
    parser.add_argument("--largest", action="store_true", help="an event of nearly 1 MiB in every batch")
    parser.add_argument("--picture", type=Path, help="file for the curve")
    parser.add_argument("--samples", type=Path, help="file for the samples, as CSV")
    add_places(parser, store=StoreKind.LOOPBACK)
    options = parser.parse_args()
    return run_command(lambda folder: _load(options, folder), options.folder)


async def _load(options: argparse.Namespace, folder: Path) -> bool:
    limits = {"batch_events": 100 if options.largest else 1_000}
    async with open_stage(folder, options.store, limits=limits) as (stage, _):
        await fill(stage, (iter_large if options.largest else iter_small)(options.events, options.spaces))
        watch = Watch(stage)
        watch.life = stage.start_worker()
        begun = time.monotonic()
        async with watch.looking():
            while time.monotonic() - begun < 60 * options.minutes and not watch.has_caught_up:  # noqa: ASYNC110 # a worker tells nobody
                await asyncio.sleep(1.0)
        life, watch.life = watch.life, None
        if life is not None:
            await life.stop()
    growth = measure_growth(watch.samples)
    done, spent_s = watch.samples[-1].done, watch.samples[-1].at_s
    write_line(
        f"{stage.sent:,} records waited, {done:,} done in {spent_s:.0f} s ({done / spent_s:,.0f} a second)\n{growth.describe()}"
    )
    if options.samples:
        watch.write(options.samples)
    if options.picture:
        draw(watch.samples, [], options.picture, title=f"a lag of {stage.sent:,} records, {stage.kind} store")
    allowed = _PEAK_MIB + (WITH_ENGINE_MIB * done / 10_000 if stage.kind is StoreKind.EMBEDDED else 0.0)
    if growth.peak_mib > allowed:
        write_line(f"memory is not bounded: {allowed:.0f} MiB are allowed")
    return growth.peak_mib <= allowed


if __name__ == "__main__":
    sys.exit(main())
