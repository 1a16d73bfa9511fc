"""Brokers for the tests: the real Apache Kafka on this machine's JVM, and the fixtures that share one per test session.

`KafkaBroker` is a single KRaft node (broker and controller in one process) on loopback ports, from the jars of
`tests/integration/kafka/pom.xml`. `EmbeddedBroker` of the package has the same shape: `bootstrap`, `pid`, `is_running`,
`log_path`, `start`, `stop`, `kill`, `restart`. They differ in one law: Kafka keeps its log over a restart, the embedded
one forgets.

The jars (44 MB) are resolved once into a folder named after the pom's digest, so a changed pom never meets old jars.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from guardian.errors import ConfigError
from guardian.stream.broker.embedded import EmbeddedBroker, find_broker_binary
from guardian.stream.broker.process import STOP_TIMEOUT_S, BrokerProcess, choose_port

KAFKA_FOLDER = Path(__file__).parent / "integration" / "kafka"
POM = KAFKA_FOLDER / "pom.xml"
LEAST_JAVA = 17
RESOLVE_TIMEOUT_S = 600.0

# A small node: one replica of everything, few internal partitions, no wait for group members, no topics by accident.
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    # A killed broker may come back once its old session has run out: 4 s, not 9, and still no fence on a busy machine.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "1000",
    "auto.create.topics.enable": "false",
}


def kafka_available() -> str | None:
    """Tell why Apache Kafka cannot run here, or None when it can."""
    java = shutil.which("java")
    if java is None:
        return f"no java on PATH: install a JRE of version {LEAST_JAVA} or newer (Debian: openjdk-17-jre-headless)"
    told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version.group(1)) < LEAST_JAVA:
        return f"java {LEAST_JAVA} or newer is needed, {java} says: {told.splitlines()[:1]}"
    if shutil.which("mvn") is None and not jar_folder().is_dir():
        return "no mvn on PATH and no jars resolved before: install Maven (Debian: maven)"
    return None


def embedded_available() -> str | None:
    """Tell why the embedded broker cannot run here, or None when it can."""
    try:
        find_broker_binary()
    except ConfigError as exc:
        return str(exc)
    return None


def jar_folder(cache: Path | None = None) -> Path:
    """Give the folder of the resolved jars: under `$XDG_CACHE_HOME` or `~/.cache`, named after the pom's digest."""
    root = cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "guardian" / "kafka"
    return root / hashlib.sha256(POM.read_bytes()).hexdigest()[:16]


def resolve_jars(cache: Path | None = None) -> Path:
    """Give the folder of Kafka's jars, fetched with Maven when it is not there yet (once for each pom).

    Raises:
        ConfigError: Maven failed; the message carries its output.
    """
    folder = jar_folder(cache)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        fetched = Path(scratch) / "jars"
        command = ["mvn", "--batch-mode", "--quiet", "--strict-checksums", "--file", str(POM)]
        command += ["dependency:copy-dependencies", f"-DoutputDirectory={fetched}"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=RESOLVE_TIMEOUT_S, check=False)
        if run.returncode != 0:
            raise ConfigError(f"Maven could not fetch Kafka's jars:\n{run.stdout}{run.stderr}")
        try:
            fetched.rename(folder)
        except OSError:  # another session was quicker
            if not folder.is_dir():
                raise
    return folder


class KafkaBroker:
    """One node of Apache Kafka in its own folder, as a context manager.

    Args:
        folder: Where settings, log and data lie; they are left there. None for a temporary folder, removed at the end
            of the block unless an exception ended it.
        settings: Broker settings that replace or extend the small defaults.
        heap_mb: The JVM's largest heap.
    """

    def __init__(self, *, folder: Path | None = None, settings: Mapping[str, str] | None = None, heap_mb: int = 512) -> None:
        self._is_temporary = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="guardian-kafka-"))
        self.bootstrap = f"127.0.0.1:{choose_port()}"
        self.log_path = self.folder / "broker.log"
        self._java = ["java", f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        self._properties = self._write_properties(settings or {})
        self._process: BrokerProcess | None = None

    @property
    def pid(self) -> int | None:
        """Give the process id of the running broker, or None."""
        return self._process.pid if self._process else None

    @property
    def is_running(self) -> bool:
        """Tell whether the broker lives."""
        return self._process is not None and self._process.is_running

    def start(self) -> None:
        """Start the broker, with storage formatted before the first time, and wait until it answers; blocks."""
        if self._process is None:
            self._format_storage()
            command = [*self._java_command(), "kafka.Kafka", str(self._properties)]
            self._process = BrokerProcess(command, bootstrap=self.bootstrap, log_path=self.log_path)
        self._process.start()

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """End the broker in order; its data stays for the next start."""
        if self._process is not None:
            self._process.stop(timeout_s)

    def kill(self) -> None:
        """End the broker at once, as a crash would; its data stays for the next start."""
        if self._process is not None:
            self._process.kill()

    def restart(self) -> None:
        """Stop and start at the same address, with the same data."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        """Start the broker."""
        self.start()
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        """Stop the broker."""
        self.stop()
        if self._is_temporary and exc is None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _write_properties(self, settings: Mapping[str, str]) -> Path:
        controller = f"127.0.0.1:{choose_port()}"
        own = {
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "controller.quorum.voters": f"1@{controller}",
            "log.dirs": str(self.folder / "data"),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in (_SETTINGS | own | dict(settings)).items()))
        return path

    def _java_command(self) -> list[str]:
        log4j = f"-Dlog4j2.configurationFile={KAFKA_FOLDER / 'log4j2.properties'}"
        return [*self._java, log4j, "-cp", f"{resolve_jars()}/*"]

    def _format_storage(self) -> None:
        command = [*self._java_command(), "kafka.tools.StorageTool", "format"]
        command += ["--cluster-id", "Z3VhcmRpYW4tdGVzdHMtMQ", "--config", str(self._properties)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if run.returncode != 0:
            raise ConfigError(f"Kafka could not format {self.folder}:\n{run.stdout}{run.stderr}")


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Run one Apache Kafka for the test session; tests share it, so each names its own topics and groups."""
    if reason := kafka_available():
        pytest.skip(reason)
    with KafkaBroker(folder=tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def embedded_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """Run one embedded broker for the test session; tests share it, so each names its own topics and groups."""
    if reason := embedded_available():
        pytest.skip(reason)
    with EmbeddedBroker(log_path=tmp_path_factory.mktemp("embedded") / "broker.log") as broker:
        yield broker
