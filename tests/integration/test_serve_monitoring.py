"""A service watched by real Prometheus and Alertmanager with the shipped rules: what goes wrong where agents read reaches somebody."""

from __future__ import annotations

from pathlib import Path

from guardian.telemetry.serve import ServeMetrics
from tests.integration.test_monitoring import ask, watch
from tests.integration.test_serve_ready import HEADERS, SEARCH, serving
from tests.integration.worker_rig import wait_until
from tests.monitoring import Programs


async def test_a_service_is_scraped_and_a_store_that_is_away_pages(monitoring: Programs, fast_path: Path, tmp_path: Path) -> None:
    """Every metric of a real service is read; its store's absence wakes somebody, and its return ends that, without a restart."""
    async with serving(fast_path) as (client, distant):
        address = f"{client.base_url.host}:{client.base_url.port}"
        with watch(monitoring, address, tmp_path, job_name="guardian-serve") as (prometheus, webhook):
            await client.post(SEARCH, json={"text": "beans"}, headers=HEADERS)
            await wait_until(lambda: 1.0 in ask(prometheus, "guardian_ready").values(), what="the first figures")
            known = set(prometheus.ask("/api/v1/label/__name__/values")["data"])
            own = {sample.name for family in ServeMetrics().registry.collect() for sample in family.samples}
            assert own - known == set()
            await distant.stop()
            await wait_until(lambda: bool(webhook.find("GuardianServeNotReady", "firing")), what="the alert")
            await distant.start()
            await wait_until(lambda: bool(webhook.find("GuardianServeNotReady", "resolved")), what="its resolution")
    (raised, *_) = webhook.find("GuardianServeNotReady", "firing")
    assert (raised["receiver"], raised["labels"]["job"]) == ("pager", "guardian-serve")
    assert raised["annotations"]["runbook_url"].endswith("docs/when-things-go-wrong.md#serve_not_ready")
    assert not webhook.find("GuardianServeDown", "firing")
