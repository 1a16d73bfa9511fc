"""`guardian audit label` with a broker: labels go to the canonical topic, as a worker or a replay reads them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from aiokafka import AIOKafkaConsumer

from guardian.stream.broker.embedded import EmbeddedBroker
from tests.integration.command import Run


def test_labels_go_to_the_topic(run: Run, tmp_path: Path, embedded_broker: EmbeddedBroker) -> None:
    """Each is a verdict of channel gold for the revision that was drawn, keyed by space, with the word it rests on."""
    env = {"GUARDIAN_KAFKA__BOOTSTRAP": embedded_broker.bootstrap, "GUARDIAN_KAFKA__TOPIC_PREFIX": "labels."}
    assert run("topics", "apply", env=env).returncode == 0
    (tmp_path / "a.csv").write_text("label,space,memory_id,revision\nwrong,s,m,r1\n,s,n,r2\n0.5,t,m,\n")
    done = run("audit", "label", "a.csv", "--as", "human_review:ann", "--json", env=env)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert (told["to"], told["sent"], told["unlabelled"]) == ("labels.guardian.events", 2, 1)
    sent = asyncio.run(read_topic(embedded_broker.bootstrap, "labels.guardian.events", 2))
    assert {key: (event["type"], event["data"]["memory_id"], event["data"]["value"]) for key, event in sent} == {
        "s": ("memory.audited", "m", 0.0),
        "t": ("memory.audited", "m", 0.5),
    }
    data = dict(sent)["s"]["data"]
    assert (data["channel"], data["revision"]) == ("gold", "r1")
    assert data["evidence"] == {"authority": {"kind": "human_review", "ref": "ann"}}


async def read_topic(bootstrap: str, topic: str, count: int) -> list[tuple[str, dict[str, dict[str, object]]]]:
    """Read the first records of a topic."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None)
    await consumer.start()
    try:
        records = [await asyncio.wait_for(consumer.getone(), 60) for _ in range(count)]
    finally:
        await consumer.stop()
    return [(record.key.decode(), json.loads(record.value)) for record in records]
