"""A rig for tests of the worker: topics of its own on a shared broker, settings, a worker in this process or as a child.

What a worker wrote is compared with what the pipeline makes of the same events, in memory and all at once.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import GroupCoordinatorNotAvailableError

from guardian.contracts.codec import decode
from guardian.core.export import EXPORTED, build_row, dump_row, sort_rows
from guardian.core.policy import Policy
from guardian.embed.bm25 import BM25_IDENTITY
from guardian.pipeline import Pipeline
from guardian.ports import Fence, Publisher, Store, StoreIdentity
from guardian.settings import Settings
from guardian.store.layout import SCHEMA_VERSION
from guardian.store.memory import MemoryStore, Shelf
from guardian.stream.dead_letter import StoredLetter, iter_dead_letters
from guardian.stream.setup import WorkerSetup
from guardian.stream.worker import Worker
from guardian.topics import apply, load_declarations
from guardian.wiring import build_kafka_options, build_worker_setup
from tests.builders import RECEIVED_AT, envelope, written_data
from tests.topic_reader import read_all

ROOT = Path(__file__).parents[2]
IDENTITY = StoreIdentity(schema_version=SCHEMA_VERSION, embedding="none", vector_size=0, bm25=BM25_IDENTITY)
# A worker as the command line starts it.
PROGRAM = (
    "import sys\nfrom guardian.settings import load_settings\nfrom guardian.wiring import run_worker\n"
    "sys.exit(run_worker(load_settings()))\n"
)
# Longest wait for anything: generous, as other work shares the machine; reached only by a failing test.
PATIENCE_S = 120.0


@dataclass
class Rig:
    """Topics and a folder of one test.

    Attributes:
        prefix: Of all topics and groups.
        session_timeout_s: The least that the broker takes.
    """

    bootstrap: str
    folder: Path
    session_timeout_s: float
    prefix: str = field(default_factory=lambda: f"{uuid.uuid4().hex[:8]}.")

    @property
    def events_topic(self) -> str:
        """Full name of the canonical topic."""
        return f"{self.prefix}guardian.events"

    async def create_topics(self, *ingress: str) -> None:
        """Create Guardian's topics, and ingress topics with three partitions each."""
        await apply(self.bootstrap, load_declarations(prefix=self.prefix))
        if ingress:
            admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
            await admin.start()
            try:
                await admin.create_topics([NewTopic(self.prefix + name, 3, 1) for name in ingress])
                # The controller has them before the broker tells of them, and only asking shows that.
                while not {self.prefix + name for name in ingress} <= set(await admin.list_topics()):  # noqa: ASYNC110 # a broker tells nobody when a topic is there
                    await asyncio.sleep(0.05)
            finally:
                await admin.close()

    def build_settings(self, *, kafka: Mapping[str, Any] | None = None, **sections: Any) -> Settings:
        """Build settings for a worker that is quick to notice and to give up."""
        limits = {"batch_wait_ms": 20, "retry_max_s": 0.5, "stop_deadline_s": 10.0, **sections.pop("limits", {})}
        return Settings(
            kafka={
                "bootstrap": self.bootstrap,
                "group": f"{self.prefix}group",
                "topic_prefix": self.prefix,
                "session_timeout_s": self.session_timeout_s,
                "request_timeout_s": 10.0,
                "metadata_max_age_s": 1.0,
                **(kafka or {}),
            },
            store={"path": self.folder / "store", "min_free_bytes": 0, **sections.pop("store", {})},
            web={"port": 0},
            limits=limits,
            **sections,
        )

    async def produce(self, topic: str, values: Iterable[bytes | Mapping[str, Any]], *, keyed: bool = True) -> None:
        """Send values to a topic (named without the prefix), by default keyed by their space, each acknowledged."""
        producer = AIOKafkaProducer(bootstrap_servers=self.bootstrap, acks="all", max_request_size=20_000_000)
        await producer.start()
        try:
            sent = []
            for value in values:
                raw = orjson.dumps(value) if isinstance(value, Mapping) else value
                key = str(value["space"]).encode() if keyed and isinstance(value, Mapping) else b"s" if keyed else None
                sent.append(await producer.send(self.prefix + topic, raw, key=key))
            await asyncio.gather(*sent)
        finally:
            await producer.stop()

    async def fetch_committed(self, settings: Settings, role: str = "guard") -> dict[TopicPartition, tuple[int, str]]:
        """Give the committed offsets and their metadata; none while the broker has no coordinator for the group yet."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            found = await admin.list_consumer_group_offsets(f"{settings.kafka.group}.{role}")
        except GroupCoordinatorNotAvailableError:
            return {}
        finally:
            await admin.close()
        return {partition: (offset.offset, offset.metadata) for partition, offset in found.items()}

    async def read_topic(self, topic: str) -> list[Any]:
        """Give all records that lie on a topic (named without the prefix) now."""
        return await read_all(self.bootstrap, self.prefix + topic)

    async def list_letters(self, settings: Settings) -> list[StoredLetter]:
        """Give the dead letters that stand, by place."""
        options = build_kafka_options(settings)
        found = [stored async for stored in iter_dead_letters(options, topic=f"{self.prefix}guardian.dead-letters")]
        return sorted(found, key=lambda stored: (stored.letter.topic, stored.letter.partition, stored.letter.offset))

    def start_child(
        self, settings: Settings, name: str = "worker", *, program: Sequence[str] = ("-c", PROGRAM)
    ) -> subprocess.Popen[bytes]:
        """Start a worker as a process of its own, its log in the folder; `program` are arguments of the interpreter."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("GUARDIAN_")}
        for section, values in settings.model_dump(mode="json", exclude_unset=True).items():
            env |= {f"GUARDIAN_{section}__{key}".upper(): _to_env(value) for key, value in values.items()}
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *program], cwd=self.folder, env=env | {"PYTHONPATH": str(ROOT)}, stdout=log, stderr=log
            )

    def read_log(self, name: str = "worker") -> str:
        """Give what a child has logged."""
        return (self.folder / f"{name}.log").read_text()


def _to_env(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


class Opened:
    """Opens a store for a worker in this process, and keeps it for the test to look into."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def open(self, publisher: Publisher) -> Pipeline:
        """Play `open_pipeline` of the wiring."""
        await self.store.open()
        return Pipeline(store=self.store, policy_of=lambda _: Policy(), publisher=publisher)


def build_worker(settings: Settings, store: Store | None = None) -> Worker:
    """Build a worker over the settings' own store, or over a given one."""
    setup: WorkerSetup = build_worker_setup(settings)
    return Worker(setup if store is None else replace(setup, open_pipeline=Opened(store).open))


@asynccontextmanager
async def running(worker: Worker) -> AsyncIterator[asyncio.Task[int]]:
    """Run a worker in this process; at the end of the block it is asked to stop, and must have."""
    task = asyncio.create_task(worker.run())
    try:
        yield task
    finally:
        worker.ending.request()
        await asyncio.wait_for(task, PATIENCE_S)


async def wait_until(holds: Callable[[], Awaitable[bool]] | Callable[[], bool], *, what: str) -> None:
    """Wait until something holds; fails when it does not in time."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        answer = holds()
        if answer is True or (answer is not False and await answer):
            return
        assert asyncio.get_running_loop().time() < deadline, f"waited in vain for {what}"
        await asyncio.sleep(0.05)


async def export(store: Store) -> bytes:
    """Give the export of a store."""
    points = [point async for point in store.iter_points(kinds=EXPORTED)]
    return b"".join(map(dump_row, sort_rows(map(build_row, points))))


async def decide_directly(values: Sequence[Mapping[str, Any]]) -> bytes:
    """Give the export after the pipeline alone has worked on events, all at once, in memory."""
    store = MemoryStore(IDENTITY)
    await store.open()
    policy = build_policy()
    events = [decode(orjson.dumps(value), policy=policy, received_at=RECEIVED_AT).event for value in values]
    await Pipeline(store=store, policy_of=lambda _: Policy()).process(events, fence=Fence())
    return await export(store)


def build_policy() -> Any:
    """Give the codec's policy as the default settings make it."""
    return build_worker_setup(Settings()).build_policy(0)


def open_shelf(shelf: Shelf | None = None) -> MemoryStore:
    """Give an in-memory store, over a shelf that outlives workers if one is given."""
    return MemoryStore(IDENTITY, shelf=shelf)


def tell_story(spaces: int, length: int) -> list[dict[str, Any]]:
    """Tell a story of several spaces: chains, merges, reads and echoes, verdicts, updates, deletions, and corrections of some."""
    events: list[dict[str, Any]] = []
    for space in (f"space-{number}" for number in range(spaces)):
        for step in range(length):
            name, before = f"m{step}", f"m{max(0, step - 3)}"
            parents = [] if step % 5 == 0 else [before]
            source = "document" if step % 5 == 0 else "agent"
            data = written_data(name, f"Depot {step} owns {step * 7} trailers", src=source, parents=parents, session="day")
            events.append(envelope("memory.written", data, t=step, space=space))
            if step % 4 == 1:
                events.append(envelope("memory.read", {"retrieved": [before, name], "session_id": "day"}, t=step, space=space))
            if step % 6 == 2:
                verdict = {"memory_id": name, "channel": "execution", "value": 0.25}
                events.append(envelope("memory.audited", verdict, t=step, space=space))
            if step % 11 == 5:
                correction = {
                    "targets": [before],
                    "replacement": written_data(f"r{step}", f"Depot {step} owns none", src=None),
                    "authority": {"kind": "user"},
                }
                events.append(envelope("memory.corrected", correction, t=step, space=space))
            if step % 13 == 7:
                events.append(envelope("memory.deleted", {"memory_id": before}, t=step, space=space))
    return events
