"""The broker of docker-compose.yml, started without a container by the image's own start-up code, from the jars."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from guardian.stream.broker.process import BrokerProcess, choose_port, is_answering
from guardian.topics import apply, load_declarations
from tests.brokers import kafka_available, resolve_jars

COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the broker's environment from the compose file, with addresses and data folder of this machine."""
    written: dict[str, str] = yaml.safe_load(COMPOSE.read_text())["services"]["kafka"]["environment"]
    inside, controller, host = (f"127.0.0.1:{choose_port()}" for _ in range(3))
    moved = {
        "HOST://127.0.0.1:9092": f"HOST://{host}",
        "0.0.0.0:9094": host,
        "0.0.0.0:9092": inside,
        "kafka:9092": inside,
        "0.0.0.0:9093": controller,
        "kafka:9093": controller,
        "/var/lib/kafka/data": str(tmp_path_factory.mktemp("compose") / "data"),
    }
    values = dict(written)
    for old, new in moved.items():
        values = {name: value.replace(old, new) for name, value in values.items()}
    return values


@pytest.fixture(scope="module")
def broker(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Write the settings and format the storage as the image does, then run the broker."""
    if reason := kafka_available():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("image")
    configs = {name: folder / name for name in ("default", "mounted", "final")}
    for path in configs.values():
        path.mkdir()
    for name in ("server.properties", "log4j2.yaml", "tools-log4j2.yaml"):
        (configs["default"] / name).touch()
    java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{resolve_jars()}/*"]
    setup = [*java, "kafka.docker.KafkaDockerWrapper", "setup"]
    setup += [part for name, path in configs.items() for part in (f"--{name}-configs-dir", str(path))]
    run = subprocess.run(setup, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    process = BrokerProcess(
        [*java, "kafka.Kafka", str(configs["final"] / "server.properties")],
        bootstrap=environment["KAFKA_ADVERTISED_LISTENERS"].split("HOST://")[1],
        log_path=folder / "broker.log",
    )
    process.start()
    yield process
    process.stop()


async def test_both_listeners_answer_and_topics_can_be_applied(broker: BrokerProcess, environment: dict[str, str]) -> None:
    """Containers come in by one listener and this machine's programs by the other; the declared topics are created."""
    inside = environment["KAFKA_ADVERTISED_LISTENERS"].split("PLAINTEXT://")[1].split(",")[0]
    assert is_answering(inside)
    applied = await apply(broker.bootstrap, load_declarations())
    assert applied.plan.is_clean


async def test_the_broker_knows_every_setting(broker: BrokerProcess, environment: dict[str, str]) -> None:
    """Kafka ignores a mistyped name without a word, so each is looked up in what the broker says of itself."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()
    try:
        (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, "1")])
    finally:
        await admin.close()
    told: dict[str, Any] = {entry[0]: entry[1] for entry in answer.resources[0][4]}
    named = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): value
        for name, value in environment.items()
        if name.startswith("KAFKA_") and name != "KAFKA_HEAP_OPTS"  # read by the start script, not by the broker
    }
    assert {name: told.get(name) for name in named} == named
