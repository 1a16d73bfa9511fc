"""The figures of a service, as Prometheus would read them after requests over a real socket."""

from __future__ import annotations

from pathlib import Path

from tests.integration.serve_rig import KEYS, build_settings, code_of, running
from tests.integration.test_serve import CONTEXT, CORRECTIONS, FACT, MEMORIES, SEARCH
from tests.integration.test_serve_answer import read_figures

ROLES = "guardian_context_records_total"


async def test_contexts_are_counted_by_what_became_of_what_was_found(fast_path: Path) -> None:
    """Roles, reasons, standing, searches, time and the shares of admission, of every context that was given."""
    async with running(build_settings(fast_path)) as service:
        await service.write("price", "Beans cost 16 dollars", by="tool", kind="fact", source={"kind": "tool"}, subject="price")
        await service.write("wish", "I wish beans cost 5 dollars", by="reviewer", kind="preference", source={"kind": "user"})
        for task in (FACT, FACT):
            given = await service.call("POST", CONTEXT, {"question": "What do beans cost?", "task": task})
            context = given.json()["id"]
        outcome = {"value": 0.0, "judged_by": "tests", "used": ["elsewhere"]}
        await service.call("POST", f"/v1/spaces/shop/contexts/{context}/outcome", outcome)
        figures = await read_figures(service)
    assert figures[f'{ROLES}{{reason="unverified_evidence",role="evidence_candidate"}}'] == 2
    assert figures[f'{ROLES}{{reason="not_evidence",role="reject"}}'] == 2
    assert figures['guardian_context_records_rendered_total{role="evidence_candidate",status="active"}'] == 2
    assert figures['guardian_contexts_total{advice="flag"}'] == 2
    assert figures["guardian_context_seconds_count"] == figures["guardian_context_searches_count"] == 2
    assert figures['guardian_task_guesses_total{outcome="silent"}'] == 2
    cases, hits = (
        {name: figures[f'guardian_admission_{part}_total{{figure="{name}"}}'] for name in FIGURES} for part in ("cases", "hits")
    )
    assert cases == {
        "objective_fact_contamination": 2,
        "superseded_render": 2,
        "rejected_audit_coverage": 2,
        "retrieved_but_wrong": 1,
        "override": 1,
    }
    assert hits == {
        "objective_fact_contamination": 0,
        "superseded_render": 0,
        "rejected_audit_coverage": 2,
        "retrieved_but_wrong": 1,
        "override": 1,
    }


FIGURES = ("objective_fact_contamination", "superseded_render", "rejected_audit_coverage", "retrieved_but_wrong", "override")


async def test_what_is_refused_is_counted_by_its_code(fast_path: Path) -> None:
    """Unknown keys, keys that ask too much, rights that are missing, bodies that are wrong: each once, wherever it was refused."""
    keys = {**KEYS, "other": KEYS["other"].model_copy(update={"burst": 1, "rate_per_s": 0.001})}
    async with running(build_settings(fast_path, keys=keys)) as service:
        await service.client.get(f"{MEMORIES}/m", headers={"Authorization": "Bearer nobodys"})
        await service.call("POST", CORRECTIONS, {"targets": ["m"]})
        for _ in range(2):
            await service.call("POST", SEARCH, {"text": "beans"}, by="other")
        await service.call("POST", SEARCH, {"text": 7})
        await service.call("POST", MEMORIES, {"memory_id": "m", "text": "  "})
        await service.client.get("/nowhere")
        figures = await read_figures(service)
    refused = {series: number for series, number in figures.items() if "requests_refused_total" in series and number}
    codes = ("body_wrong", "event_refused", "key_unknown", "may_not", "no_such_route", "not_your_space", "too_many_requests")
    assert refused == {f'guardian_requests_refused_total{{code="{code}"}}': 1 for code in codes}


async def test_a_ledger_that_takes_nothing_is_counted(fast_path: Path) -> None:
    """A context is given all the same, an outcome is not lost in silence."""
    (fast_path / "ledger").write_text("no folder")
    async with running(build_settings(fast_path)) as service:
        given = await service.call("POST", CONTEXT, {"question": "beans"})
        assert (given.status_code, given.json()["recorded"]) == (200, False)
        path = f"/v1/spaces/shop/contexts/{given.json()['id']}/outcome"
        assert code_of(await service.call("POST", path, {"value": 1.0, "judged_by": "tests"}), 503) == "away"
        figures = await read_figures(service)
    assert figures['guardian_ledger_failures_total{line="given"}'] == 1
    assert figures['guardian_ledger_failures_total{line="judged"}'] == 1
    assert figures['guardian_admission_cases_total{figure="override"}'] == 0
