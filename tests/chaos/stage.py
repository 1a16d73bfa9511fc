"""The stage of a kill test: topics on a broker, a store, worker processes that come and go, and a producer under load."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from aiokafka.errors import KafkaError

from guardian.errors import DependencyError
from guardian.settings import Settings
from guardian.stream.broker.kafka import Outgoing, Producer
from guardian.stream.broker.process import choose_port
from guardian.stream.ending import STOPPED
from guardian.wiring import build_decode_policy, build_kafka_options
from tests.chaos.ledger import Ledger
from tests.chaos.loopback import LoopbackStore
from tests.chaos.population import Sent
from tests.chaos.verify import Surroundings, fetch_committed
from tests.integration.worker_rig import ROOT, Rig
from tests.topic_reader import reading

# Records sent and acknowledged together.
BURST = 100
# Longest wait for anything that must come by itself; reached only by a failing test.
PATIENCE_S = 180.0
# A small session, so that a killed worker's partitions are free again soon; a broker must allow it.
SESSION_S = 3.0
BROKER_SETTINGS = {"group.min.session.timeout.ms": "1000"}
STOP_DEADLINE_S = 10.0


class StoreKind(StrEnum):
    """Where the state lies."""

    EMBEDDED = "embedded"
    LOOPBACK = "loopback"
    SERVER = "server"


@dataclass(slots=True, kw_only=True)
class Life:
    """One worker process, from its start to its end."""

    name: str
    process: subprocess.Popen[bytes]
    log_path: Path
    begun: float = field(default_factory=time.monotonic)

    def has_worked(self) -> bool:
        """Tell whether it finished a batch."""
        return self.count("batch.finished") > 0

    def count(self, event: str) -> int:
        """Count the lines of an event in its log."""
        return self.log_path.read_text(errors="replace").count(f'"{event}"')

    async def kill(self) -> None:
        """End it without warning."""
        self.process.kill()
        await asyncio.to_thread(self.process.wait, PATIENCE_S)

    async def stop(self) -> float:
        """Ask it to stop; gives the seconds that took. Fails when it does not end in order."""
        while self.process.poll() is None:
            await asyncio.sleep(0.05)
            if self.count("worker.started"):
                break  # before that the interpreter alone answers, and not with an exit code
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(self.process.wait, PATIENCE_S)
        assert code == STOPPED, f"{self.name} ended with {code}, see {self.log_path}"
        return time.monotonic() - begun


class Stage:
    """Everything of one kill test.

    Args:
        bootstrap: A running broker.
        folder: For logs and an embedded store.
        kind: Where the state lies; of a server the URL.
    """

    def __init__(self, *, bootstrap: str, folder: Path, kind: StoreKind, url: str | None = None, **sections: Any) -> None:
        self.rig = Rig(bootstrap=bootstrap, folder=folder, session_timeout_s=SESSION_S)
        self.kind = kind
        store: dict[str, Any] = {} if url is None else {"url": url, "collection": self.rig.prefix.rstrip(".")}
        limits = {"batch_events": 200, "stop_deadline_s": STOP_DEADLINE_S, **sections.pop("limits", {})}
        self.settings: Settings = self.rig.build_settings(store={**store, **sections.pop("store", {})}, limits=limits, **sections)
        self.port = choose_port() if kind is StoreKind.LOOPBACK else 0
        self.lives = 0
        self.sent = 0
        self._server: subprocess.Popen[bytes] | None = None
        self._children: list[subprocess.Popen[bytes]] = []

    @property
    def around(self) -> Surroundings:
        """Where everything is, for the verifier."""
        places = {
            StoreKind.EMBEDDED: str(self.settings.store.path),
            StoreKind.LOOPBACK: f"loopback:{self.port}",
            StoreKind.SERVER: str(self.settings.store.url),
        }
        return Surroundings(
            bootstrap=self.rig.bootstrap,
            prefix=self.rig.prefix,
            group=f"{self.settings.kafka.group}.guard",
            store=places[self.kind],
        )

    @property
    def server_pid(self) -> int | None:
        """Give the process of the loopback store, or None."""
        return None if self._server is None else self._server.pid

    async def set_up(self) -> None:
        """Create the topics, and start the loopback store where there is one."""
        await self.rig.create_topics()
        if self.kind is StoreKind.LOOPBACK:
            await self.start_server()

    # The loopback store

    async def start_server(self) -> None:
        """Start the process that owns the store, and wait until it answers."""
        command = [
            sys.executable,
            "-m",
            "tests.chaos.loopback",
            "--path",
            str(self.settings.store.path),
            "--port",
            str(self.port),
        ]
        with (self.rig.folder / "loopback.log").open("ab") as log:
            self._server = _start(command, log)
        client = LoopbackStore(self.port)
        begun = time.monotonic()
        while True:
            try:
                await client.open()
            except DependencyError:
                assert time.monotonic() - begun < PATIENCE_S, f"no answer, see {self.rig.folder / 'loopback.log'}"
                await asyncio.sleep(0.1)
            else:
                await client.close()
                return

    async def kill_server(self) -> None:
        """End the loopback store's process without warning."""
        if self._server is not None:
            self._server.kill()
            await asyncio.to_thread(self._server.wait, PATIENCE_S)
            self._server = None

    # Workers

    def start_worker(self) -> Life:
        """Start one worker more."""
        self.lives += 1
        name = f"life-{self.lives}"
        program = (
            ("-m", "tests.chaos.worker", str(self.port)) if self.kind is StoreKind.LOOPBACK else ("-m", "guardian", "worker")
        )
        process = self.rig.start_child(self.settings, name, program=program)
        self._children = [*(child for child in self._children if child.poll() is None), process]
        return Life(name=name, process=process, log_path=self.rig.folder / f"{name}.log")

    def end_all(self) -> None:
        """Leave no process behind, however the test ended."""
        for child in [*self._children, *([self._server] if self._server else [])]:
            if child.poll() is None:
                child.kill()
                child.wait(PATIENCE_S)

    # What is sent

    async def send(self, records: Iterable[Sent], *, producer: Producer) -> None:
        """Send records in bursts, each acknowledged; what the broker did not answer for is sent again."""
        topic = self.around.topic
        for burst in _iter_bursts(records):
            messages = [Outgoing(topic=topic, key=sent.key, value=sent.value) for sent in burst]
            while True:
                try:
                    too_large = await producer.send(messages)
                except DependencyError:
                    await asyncio.sleep(0.5)
                else:
                    assert not too_large, "the population has records that the topic does not take"
                    break
            self.sent += len(burst)

    async def open_producer(self) -> Producer:
        """Give a started producer."""
        producer = Producer(build_kafka_options(self.settings))
        await producer.start()
        return producer

    # What has become of it

    def build_ledger(self) -> Ledger:
        """Build an empty ledger for the settings' limits."""
        return Ledger(build_decode_policy(self.settings, 0))

    async def fetch_committed(self) -> dict[int, int]:
        """Give the committed offsets by partition; a broker that is away is waited for."""
        begun = time.monotonic()
        while True:
            try:
                return await fetch_committed(self.around)
            except KafkaError:
                assert time.monotonic() - begun < PATIENCE_S, "the broker does not come back"
                await asyncio.sleep(0.5)

    async def wait_until_done(self) -> None:
        """Wait until all that lies in the topic is committed, also what is sent on within it; fails when nothing moves for long."""
        done, moved = -1, time.monotonic()
        async with reading(self.rig.bootstrap, self.around.topic) as reader:
            while True:
                committed = await self.fetch_committed()
                ends = await reader.fetch_ends()  # after the committed ones: what is sent on was sent before its commit
                if all(committed.get(number, 0) == end for number, end in ends.items()):
                    return
                if sum(committed.values()) != done:
                    done, moved = sum(committed.values()), time.monotonic()
                assert time.monotonic() - moved < PATIENCE_S, f"stuck at {committed}, the ends are {ends}"
                await asyncio.sleep(0.2)


def _start(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=log, stderr=log)


def _iter_bursts(records: Iterable[Sent]) -> Iterator[list[Sent]]:
    burst: list[Sent] = []
    for record in records:
        burst.append(record)
        if len(burst) == BURST:
            yield burst
            burst = []
    if burst:
        yield burst
