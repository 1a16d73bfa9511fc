"""Bare consumers of the canonical topic, each in a process of its own: they read, commit, and do nothing else.

`python -m benchmarks.bare faust|aiokafka --bootstrap … --topic … --group … --count …` prints one JSON line with the seconds from
the first batch in hand to the last commit.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from typing import Any

import faust
import orjson
from aiokafka import AIOKafkaConsumer

# As the settings' default of `limits.batch_events`.
TAKE = 500
TIMEOUT_S = 300.0

# Times the loop reads the topic: what lies prefetched when the clock starts would else flatter it tenfold.
PASSES = 10

Consume = Callable[[argparse.Namespace], Coroutine[Any, Any, float]]


async def consume_faust(given: argparse.Namespace) -> float:
    """Consume by a Faust agent in the one shape of it that loses nothing; gives seconds."""
    app = faust.App(
        given.group,
        broker=f"kafka://{given.bootstrap}",
        store="memory://",
        datadir=tempfile.gettempdir(),
        env={},
        topic_disable_leader=True,
        topic_allow_declare=False,
        web_enabled=False,
        autodiscover=False,
        consumer_auto_offset_reset="earliest",
        broker_max_poll_interval=2_000_000.0,
        worker_redirect_stdouts=False,
    )
    topic = app.topic(given.topic, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
    finished: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def agent(stream: Any) -> None:
        done, started = 0, 0.0
        async for events in stream.noack().noack_take(TAKE, within=0.2):
            started = started or time.perf_counter()
            for event in events:
                event.ack()
            await app.consumer.commit()
            done += len(events)
            if done >= given.count and not finished.done():
                finished.set_result(time.perf_counter() - started)

    app.agent(topic, name="bare")(agent)
    app.finalize()
    app.in_worker = True
    await app.start()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await finished
    finally:
        await app.stop()


async def consume_aiokafka(given: argparse.Namespace) -> float:
    """Consume by `getmany` in a loop, the topic several times over; gives seconds for one time."""
    consumer = AIOKafkaConsumer(
        given.topic,
        bootstrap_servers=given.bootstrap,
        group_id=given.group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        started = 0.0
        async with asyncio.timeout(TIMEOUT_S):
            for _ in range(PASSES):
                done = 0
                while done < given.count:
                    taken = await consumer.getmany(timeout_ms=200, max_records=TAKE)
                    started = started or time.perf_counter()
                    if taken:
                        await consumer.commit({partition: records[-1].offset + 1 for partition, records in taken.items()})
                    done += sum(map(len, taken.values()))
                await consumer.seek_to_beginning()
        return (time.perf_counter() - started) / PASSES
    finally:
        await consumer.stop()


CONSUMERS: dict[str, Consume] = {"faust": consume_faust, "aiokafka": consume_aiokafka}


def main() -> None:
    """Consume and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.bare", description=__doc__)
    parser.add_argument("consumer", choices=sorted(CONSUMERS))
    for name in ("bootstrap", "topic", "group"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--count", type=int, required=True)
    given = parser.parse_args()
    seconds = asyncio.run(CONSUMERS[given.consumer](given))
    sys.stdout.write(orjson.dumps({"seconds": seconds}).decode() + "\n")


if __name__ == "__main__":
    main()
