"""Laws of the way from a worker to whoever is on call: metrics, real Prometheus, the shipped rules, real Alertmanager, its shipped example, a webhook.

Changed are only addresses and times: targets and receivers are on loopback, and pauses (`for`, `keep_firing_for`, grouping) are short.
"""

from __future__ import annotations

import json
import re
import threading
import urllib.parse
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import start_http_server

from examples.graded_bank import iter_events
from guardian.core.alert import SEVERITIES, AlertKind
from guardian.settings import Settings
from guardian.stream.broker.process import choose_port
from guardian.telemetry.metrics import Metrics
from tests.integration.test_watching import EPISODES, MODEL, build_settings, tell_labels_withdrawn
from tests.integration.worker_rig import Rig, wait_until
from tests.monitoring import ROOT, Daemon, Programs, build_prometheus, copy_rules, run_alertmanager

DEPLOY = ROOT / "deploy"
PAUSE = "1s"
DOCS = "https://docs.example/guardian/"


@dataclass
class Webhook:
    """Where notifications arrive: what Alertmanager posts, alert by alert, in order."""

    url: str = ""
    told: list[dict[str, Any]] = field(default_factory=list)

    def find(self, name: str, status: str) -> list[dict[str, Any]]:
        """Find what was told of an alert."""
        return [alert for alert in self.told if alert["labels"]["alertname"] == name and alert["status"] == status]


@contextmanager
def listen() -> Iterator[Webhook]:
    """Listen for notifications on a free port of 127.0.0.1."""
    webhook = Webhook()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            webhook.told += [{**alert, "receiver": sent["receiver"], "group": sent["groupLabels"]} for alert in sent["alerts"]]
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the overridden method
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        webhook.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield webhook
        finally:
            server.shutdown()
            thread.join()


def build_alertmanager_config(webhook: Webhook) -> dict[str, Any]:
    """Give the shipped example with every receiver replaced by the webhook, and short pauses."""
    config: dict[str, Any] = yaml.safe_load((DEPLOY / "alertmanager" / "alertmanager.yml").read_text())
    for receiver in config["receivers"]:
        name = receiver["name"]
        receiver.clear()
        receiver |= {"name": name, "webhook_configs": [{"url": webhook.url, "send_resolved": True}]}
    config["route"] |= {"group_wait": "500ms", "group_interval": "500ms"}
    return config


def build_prometheus_config(*, target: str, alertmanager: str, rules: Path, job_name: str = "guardian") -> dict[str, Any]:
    """Give the shipped example with the target and Alertmanager of the test, and short pauses; of the jobs that of the target."""
    config: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    # A second for an answer: no busy machine is taken for a target that is gone.
    config["global"] |= {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "250ms"}
    config["global"]["external_labels"]["docs_url"] = DOCS
    config["rule_files"] = [str(rules / "*.yml")]
    assert job_name in {job["job_name"] for job in config["scrape_configs"]}
    config["scrape_configs"] = [{"job_name": job_name, "static_configs": [{"targets": [target]}]}]
    config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [alertmanager]
    return config


@contextmanager
def routing(programs: Programs, folder: Path) -> Iterator[tuple[Daemon, Webhook]]:
    """Run Alertmanager with the example, and the webhook it tells."""
    with (
        listen() as webhook,
        run_alertmanager(programs, build_alertmanager_config(webhook), folder=folder / "routes") as alertmanager,
    ):
        yield alertmanager, webhook


@contextmanager
def watch(programs: Programs, target: str, folder: Path, *, job_name: str = "guardian") -> Iterator[tuple[Daemon, Webhook]]:
    """Watch a target from metrics to webhook; gives Prometheus and the webhook."""
    rules = copy_rules(folder / "rules", pause=PAUSE)
    with (
        routing(programs, folder) as (alertmanager, webhook),
        build_prometheus(
            programs,
            build_prometheus_config(target=target, alertmanager=alertmanager.address, rules=rules, job_name=job_name),
            folder=folder / "prometheus",
        ) as prometheus,
    ):
        yield prometheus, webhook


def ask(prometheus: Daemon, query: str) -> dict[str, float]:
    """Ask Prometheus; gives the numbers by the series' labels."""
    found = prometheus.ask(f"/api/v1/query?query={urllib.parse.quote(query)}")["data"]["result"]
    return {json.dumps(one["metric"], sort_keys=True): float(one["value"][1]) for one in found}


class Bank:
    """The metrics of a worker that sees a bank, as `guardian.stream` shows them, served on a port."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.metrics.partitions.labels("canonical").set(3)
        self.metrics.drift_last_run.set_to_current_time()
        self._note(AlertKind.NEAR_ATTRACTOR, 0, corrupted_share=0.29)

    def corrupt(self) -> None:
        """Let it go half of the way to its attractor."""
        self._note(AlertKind.NEAR_ATTRACTOR, 1, corrupted_share=0.37, one_shot=0.284, attractor=0.448)

    def heal(self) -> None:
        """Let what stands be resolved."""
        self._note(AlertKind.NEAR_ATTRACTOR, 0, corrupted_share=0.2, one_shot=0.284, attractor=0.284)

    def _note(self, kind: AlertKind, standing: int, **figures: float) -> None:
        for name, value in figures.items():
            for scope in ("overall", "worst"):
                self.metrics.drift[name].labels(scope, "value").set(value)
        self.metrics.alert_standing.labels(kind.value, SEVERITIES[kind].value).set(standing)


@asynccontextmanager
async def serving_bank() -> AsyncIterator[tuple[str, Bank]]:
    """Serve a bank's metrics; gives the address and the bank."""
    bank = Bank()
    server, thread = start_http_server(0, addr="127.0.0.1", registry=bank.metrics.registry)
    try:
        yield f"127.0.0.1:{server.server_port}", bank
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_an_attractor_alert_reaches_the_pager_with_figures_and_is_resolved(monitoring: Programs, tmp_path: Path) -> None:
    """Once, with summary, figures and runbook, as critical; and once that it is over. Nothing else of the bank is told."""
    async with serving_bank() as (address, bank):
        with watch(monitoring, address, tmp_path) as (prometheus, webhook):
            await wait_until(lambda: bool(ask(prometheus, "guardian:alert_standing")), what="the first figures")
            assert list_kinds(webhook) == []
            bank.corrupt()
            await wait_until(lambda: bool(webhook.find("GuardianNearAttractor", "firing")), what="the alert")
            bank.heal()
            await wait_until(lambda: bool(webhook.find("GuardianNearAttractor", "resolved")), what="its resolution")
    raised, resolved = list_kinds(webhook)
    assert (raised["status"], resolved["status"]) == ("firing", "resolved")
    assert raised["receiver"] == "pager"
    assert raised["labels"] == {
        "alertname": "GuardianNearAttractor",
        "alert": "near_attractor",
        "severity": "critical",
        "job": "guardian",
    }
    assert raised["group"] == {"alert": "near_attractor", "job": "guardian"}
    assert "corrupted attractor" in raised["annotations"]["summary"]
    assert (
        "p is 0.370; one pass alone would leave p0 = 0.284, the loop leads to p* = 0.448" in raised["annotations"]["description"]
    )
    assert raised["annotations"]["runbook_url"] == f"{DOCS}docs/when-things-go-wrong.md#near_attractor"


def list_kinds(webhook: Webhook) -> list[dict[str, Any]]:
    """List what was told of the bank; not of a scrape that took too long."""
    return [alert for alert in webhook.told if alert["labels"]["alert"] in set(AlertKind)]


@pytest.mark.slow
async def test_a_bank_that_feeds_on_its_errors_is_told_from_its_events_to_the_webhook(
    monitoring: Programs, embedded_broker: Any, tmp_path: Path
) -> None:
    """The events of a simulated bank, a real worker that looks at it, and all that follows; new labels end it the same way."""
    rig = Rig(bootstrap=embedded_broker.bootstrap, folder=tmp_path, session_timeout_s=2.0)
    await rig.create_topics()
    settings, address = choose_address(build_settings(rig))
    await rig.produce("guardian.events", iter_events(MODEL, episodes=EPISODES))
    worker = rig.start_child(settings)
    try:
        with watch(monitoring, address, tmp_path / "watch") as (_, webhook):
            await wait_until(lambda: bool(webhook.find("GuardianAttractorAboveOneShot", "firing")), what="the alert")
            await rig.produce("guardian.events", tell_labels_withdrawn())
            await wait_until(lambda: bool(webhook.find("GuardianAttractorAboveOneShot", "resolved")), what="its resolution")
    finally:
        worker.kill()
        worker.wait()
    (raised,) = webhook.find("GuardianAttractorAboveOneShot", "firing")
    assert raised["receiver"] == "ticket"
    assert float(re.findall(r"Over all spaces p\*/p0 is ([\d.]+)", raised["annotations"]["description"])[0]) >= 1.1
    assert raised["annotations"]["runbook_url"] == f"{DOCS}docs/when-things-go-wrong.md#attractor_above_one_shot"


def choose_address(settings: Settings) -> tuple[Settings, str]:
    """Give the settings with a web port that is known beforehand, and the address."""
    port = choose_port()
    return settings.model_copy(update={"web": settings.web.model_copy(update={"port": port})}), f"127.0.0.1:{port}"


@pytest.mark.slow
async def test_a_worker_is_scraped_and_its_end_is_told(monitoring: Programs, embedded_broker: Any, tmp_path: Path) -> None:
    """Every metric of a real worker is read, its recorded figures exist, and its death pages until it is back."""
    rig = Rig(bootstrap=embedded_broker.bootstrap, folder=tmp_path, session_timeout_s=2.0)
    await rig.create_topics()
    settings, address = choose_address(rig.build_settings())
    worker = rig.start_child(settings)
    try:
        with watch(monitoring, address, tmp_path / "watch") as (prometheus, webhook):
            await wait_until(lambda: bool(ask(prometheus, 'guardian:lag_records{topic_role="canonical"}')), what="its figures")
            await wait_until(lambda: set(ask(prometheus, "up").values()) == {1.0}, what="a scrape that succeeds")
            known = set(prometheus.ask("/api/v1/label/__name__/values")["data"])
            assert {sample.name for family in Metrics().registry.collect() for sample in family.samples} - known == set()
            worker.kill()
            worker.wait()
            await wait_until(lambda: bool(webhook.find("GuardianWorkersGone", "firing")), what="the alert")
            worker = rig.start_child(settings)
            await wait_until(lambda: bool(webhook.find("GuardianWorkersGone", "resolved")), what="its resolution")
        assert {alert["receiver"] for alert in webhook.find("GuardianWorkersGone", "firing")} == {"pager"}
    finally:
        worker.kill()
        worker.wait()


# What is wrong at once -> what of it is told. Each in a namespace of its own.
AT_ONCE = {
    "one kind, critical and not": (
        [{"alert": "dead_letters", "severity": "warning"}, {"alert": "dead_letters", "severity": "critical"}],
        {("dead_letters", "critical")},
    ),
    "two kinds": (
        [{"alert": "near_attractor", "severity": "critical"}, {"alert": "rising", "severity": "warning"}],
        {("near_attractor", "critical"), ("rising", "warning")},
    ),
    "a broker that is away": (
        [
            {"alert": "broker_away", "severity": "critical"},
            {"alert": "store_away", "severity": "critical"},
            {"alert": "no_batch", "severity": "critical"},
            {"alert": "no_partitions", "severity": "critical"},
            {"alert": "lag", "severity": "warning", "topic_role": "canonical"},
            {"alert": "retries", "severity": "warning", "dependency": "broker"},
            {"alert": "corrupted_share", "severity": "critical"},
            {"alert": "pending_vectors", "severity": "warning"},
        ],
        {
            ("broker_away", "critical"),
            ("store_away", "critical"),
            ("corrupted_share", "critical"),
            ("pending_vectors", "warning"),
        },
    ),
    "a schema registry that is away": (
        [
            {"alert": "schema_registry_away", "severity": "warning"},
            {"alert": "lag", "severity": "warning", "topic_role": "ingress"},
            {"alert": "no_batch", "severity": "critical", "topic_role": "canonical"},
            {"alert": "retries", "severity": "warning", "dependency": "schema_registry"},
        ],
        {("schema_registry_away", "warning"), ("no_batch", "critical")},
    ),
    "services that are gone": (
        [
            {"alert": "serve_gone", "severity": "critical"},
            {"alert": "serve_down", "severity": "warning"},
            {"alert": "serve_not_ready", "severity": "critical"},
            {"alert": "reads_fail", "severity": "critical"},
            {"alert": "keys_unknown", "severity": "warning"},
        ],
        {("serve_gone", "critical"), ("keys_unknown", "warning")},
    ),
    "a service that does not reach its store": (
        [
            {"alert": "serve_not_ready", "severity": "critical"},
            {"alert": "reads_fail", "severity": "critical"},
            {"alert": "reads_slow", "severity": "warning"},
            {"alert": "facts_contaminated", "severity": "critical"},
        ],
        {("serve_not_ready", "critical"), ("facts_contaminated", "critical")},
    ),
    "a model that is away": (
        [
            {"alert": "model_away", "severity": "warning"},
            {"alert": "pending_vectors", "severity": "warning"},
            {"alert": "retries", "severity": "warning", "dependency": "store"},
        ],
        {("model_away", "warning"), ("retries", "warning")},
    ),
}


async def test_what_follows_from_something_worse_is_not_told_apart(monitoring: Programs, tmp_path: Path) -> None:
    """And no two alerts silence each other; nor does what is wrong with one deployment hide another's."""
    alerts = [
        {"alertname": f"Guardian{number}", "job": "guardian", "namespace": name.replace(" ", "-"), **labels}
        for name, (labelled, _) in AT_ONCE.items()
        for number, labels in enumerate(labelled)
    ]
    with routing(monitoring, tmp_path) as (alertmanager, webhook):
        alertmanager.ask("/api/v2/alerts", [{"labels": labels} for labels in alerts])
        expected = {(name.replace(" ", "-"), *one) for name, (_, told) in AT_ONCE.items() for one in told}

        def list_told() -> set[tuple[str, str, str]]:
            labels = [alert["labels"] for alert in webhook.told]
            return {(one["namespace"], one["alert"], one["severity"]) for one in labels}

        await wait_until(lambda: len(list_told()) >= len(expected), what="the notifications")
        standing = alertmanager.ask("/api/v2/alerts?inhibited=false")
    assert list_told() == expected
    assert {(one["labels"]["namespace"], one["labels"]["alert"], one["labels"]["severity"]) for one in standing} == expected


async def test_without_a_worker_only_that_is_told(monitoring: Programs, tmp_path: Path) -> None:
    """Whatever its deployments' namespaces are: that no target answers has none."""
    alerts = [{"alertname": "GuardianWorkersGone", "job": "guardian", "alert": "workers_gone", "severity": "critical"}]
    kinds = ("worker_down", "worker_restarts", "no_partitions", "drift_stale", "lag", "no_batch", "retries")
    alerts += [{"alertname": kind, "job": "guardian", "namespace": "a", "alert": kind, "severity": "warning"} for kind in kinds]
    with routing(monitoring, tmp_path) as (alertmanager, webhook):
        alertmanager.ask("/api/v2/alerts", [{"labels": labels} for labels in alerts])
        await wait_until(lambda: bool(webhook.told), what="the notification")
        standing = alertmanager.ask("/api/v2/alerts?inhibited=false")
    assert [one["labels"]["alert"] for one in standing] == ["workers_gone"]
    assert [alert["labels"]["alert"] for alert in webhook.told] == ["workers_gone"]
