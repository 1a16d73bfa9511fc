"""What setting a model costs the write path: the real worker on Apache Kafka with and without requests for cards, turn by turn.

Nobody answers the requests here: cards are made off the write path, by processes of their own if need be. What is measured is what a write
pays for asking: the requests' making, their way to the broker, and their acknowledgement before the batch is committed.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.laps import Advance, Lap, interleave, part_us, ratios
from benchmarks.report import Aim, Report
from benchmarks.worker import fill_topic, run_worker
from guardian import topics
from tests.brokers import KafkaBroker, kafka_available

# Without the role that answers; the endpoint is asked nothing.
_MODEL = {
    "GUARDIAN_ROLES": '["guard","ingress"]',
    "GUARDIAN_INDUCE__MODEL": "nobody",
    "GUARDIAN_INDUCE__BASE_URL": "http://127.0.0.1:9/v1",
}
# The worker as it is but for one number: a request names one record.
_ONE_EACH = "from guardian.contracts.outcome import CardRequest; CardRequest.most = 1; from guardian.__main__ import run; run()"
AIM = Aim(value=0.95)


async def measure_cards(*, events: int, repetitions: int, advance: Advance) -> Report:
    """Measure the worker without a model, with one, and with one request a record."""
    report = Report(name="cards", title=f"what asking for cards costs the worker, {events:,} events, no embedding")
    if reason := kafka_available():
        report.notes.append(f"skipped: {reason}")
        return report
    advance("starting Apache Kafka")
    with KafkaBroker() as broker:
        await topics.apply(broker.bootstrap, topics.load_declarations())
        advance(f"producing {events:,} events")
        await fill_topic(broker.bootstrap, events)
        turn = iter(range(10_000))

        async def run(settings: Mapping[str, str], command: tuple[str, ...] = ("-m", "guardian")) -> Lap:
            return await run_worker(broker.bootstrap, events, group=f"cards-{next(turn)}", settings=settings, command=command)

        laps = await interleave(
            {
                "no model": lambda: run({"GUARDIAN_ROLES": _MODEL["GUARDIAN_ROLES"]}),
                "a model": lambda: run(_MODEL),
                "a model, a request a record": lambda: run(_MODEL, ("-c", _ONE_EACH)),
            },
            repetitions=repetitions,
            advance=advance,
        )
    for name, of_variant in laps.items():
        report.add(name, [lap.rate for lap in of_variant], "events/s")
        report.add(f"{name}, publishing", part_us(of_variant, "publish"), "µs/event")
    report.add("a model to none", ratios(laps["a model"], laps["no model"]), "ratio", aim=AIM)
    report.add("a request a record to none", ratios(laps["a model, a request a record"], laps["no model"]), "ratio")
    report.notes.append(
        "the requests are acknowledged by the broker before the batch is committed; broker and worker share the machine's cores"
    )
    return report
