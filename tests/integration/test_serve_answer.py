"""Answers by a model over the HTTP service: a real socket, an embedded store, and a chat endpoint on loopback with all its faults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from guardian.read.prompt.section import parse_block
from guardian.serve.gate import Limits
from guardian.settings import AnswerSettings, Settings
from tests.chat_server import MODEL, ChatServer, hang, refuse, serve_chat
from tests.integration.serve_rig import KEYS, SECRETS, Service, build_settings, code_of, running
from tests.integration.test_serve import CONTEXT, FACT
from tests.integration.worker_rig import wait_until
from tests.unit.read.stage.answers import span, spans, uses

ANSWER = "/v1/spaces/shop/answer"
PRICE = "Arabica beans cost $20 per kg"
TODAY = "Arabica beans cost $22 per kg today"
QUESTION = {"question": "What do Arabica beans cost?", "task": FACT}
INVOICE = {"source": "get_price", "text": f"{TODAY}."}
MAY_ANSWER = {**KEYS, "tool": KEYS["tool"].model_copy(update={"may": frozenset({"read", "write", "answer"})})}


def build_answering(folder: Path, server: ChatServer, **answer: Any) -> Settings:
    """Build the settings of a service with a model."""
    answer = {"model": MODEL, "base_url": server.base_url, "max_retries": 0, **answer}
    return build_settings(folder, keys=MAY_ANSWER).model_copy(update={"answer": AnswerSettings(**answer)})


def speak(question: Any) -> dict[str, Any]:
    """Answer each stage sensibly: from memory, and from evidence where there is any."""
    has_evidence = "[[given " in question.user
    if "may be used for one question" in question.system:
        return uses(E1="support", **({"S1": "support"} if has_evidence else {}))
    given = [span(f"{TODAY}.", ("S1", TODAY))] if has_evidence else []
    return spans(span(f"{PRICE}.", ("E1", PRICE)), *given)


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    """Run the endpoint."""
    async with serve_chat(answer=speak) as server:
        yield server


async def ask(service: Service, **more: Any) -> dict[str, Any]:
    """Have a question answered."""
    response = await service.call("POST", ANSWER, QUESTION | more, by="tool")
    assert response.status_code == 200, response.text
    return dict(response.json())


async def write_price(service: Service) -> None:
    """Write the price of a tool."""
    await service.write("price", f"{PRICE}.", by="tool", kind="fact", source={"kind": "tool"}, subject="price")


async def read_figures(service: Service) -> dict[str, float]:
    """Read the figures: series -> number."""
    page = (await service.client.get("/metrics")).text
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in page.splitlines() if not line.startswith("#")}


async def test_an_answer_rests_on_memory_and_on_what_the_caller_gave(fast_path: Path, server: ChatServer) -> None:
    """Each statement with its handles, the caller's word told as no memory, and the whole context beside it."""
    async with running(build_answering(fast_path, server)) as service:
        await write_price(service)
        plain = await ask(service)
        assert (plain["standing"], plain["text"]) == ("unverified", f"{PRICE}. [E1, unverified]")
        assert (plain["trace"], plain["evidence"]) == (None, [])
        found = await ask(service, evidence=[INVOICE], trace=True)
    assert found["text"].splitlines() == [f"{PRICE}. [E1, unverified]", f"{TODAY}. [S1, not memory]"]
    memory, given = (statement["support"][0] for statement in found["statements"])
    assert (memory["memory_id"], memory["given_by"]) == ("price", None)
    assert (given["memory_id"], given["given_by"]) == (None, "get_price")
    assert found["evidence"] == [{"handle": "S1", "source": "get_price", "shown": True, "cut": 0}]
    assert [one["handle"] for one in found["trace"]["instructions"]] == ["E1", "S1"]
    assert found["context"]["records"]["evidence_candidate"][0]["handle"] == "E1"
    assert found["context"]["recorded"]


async def test_a_question_that_points_back_is_answered_behind_its_turn(fast_path: Path, server: ChatServer) -> None:
    """The model sees what memory was asked: the asker's turn, then the question; alone it finds nothing."""
    question, turn = "What would you say in the situation we discussed?", "I want to know what Arabica beans cost now."
    async with running(build_answering(fast_path, server)) as service:
        await write_price(service)
        await ask(service, question=question)
        assert server.questions == []  # no memory has a word of it
        found = await ask(service, question=question, turns=[turn, "ok, thanks"])
    assert f"{turn}\\n{question}" in server.questions[-1].user
    assert found["standing"] == "unverified"


async def test_an_outcome_is_reported_to_the_context_of_an_answer(fast_path: Path, server: ChatServer) -> None:
    """An answer is a read like any other: in the ledger, and held against what was given."""
    async with running(build_answering(fast_path, server)) as service:
        await write_price(service)
        context = (await ask(service))["context"]["id"]
        path = f"/v1/spaces/shop/contexts/{context}/outcome"
        told = await service.call("POST", path, {"value": 1.0, "judged_by": "tests"}, by="tool")
        assert told.json()["known"]


async def test_answering_is_a_right_of_its_own(fast_path: Path, server: ChatServer) -> None:
    """Who may read may not spend; nobody is asked, and no other space is opened."""
    async with running(build_answering(fast_path, server)) as service:
        assert code_of(await service.call("POST", ANSWER, QUESTION, by="agent"), 403) == "may_not"
        assert code_of(await service.call("POST", "/v1/spaces/vault/answer", QUESTION, by="tool"), 403) == "not_your_space"
        assert (await service.call("POST", CONTEXT, QUESTION, by="agent")).status_code == 200
    assert server.questions == []


async def test_without_a_model_there_is_no_answer(fast_path: Path) -> None:
    """The route says so and names the setting; a context is given all the same."""
    async with running(build_settings(fast_path, keys=MAY_ANSWER)) as service:
        response = await service.call("POST", ANSWER, QUESTION, by="tool")
        assert code_of(response, 404) == "no_model"
        assert "GUARDIAN_ANSWER__MODEL" in response.json()["mend"]
        document = (await service.client.get("/openapi.json")).json()
        assert "404" in document["paths"]["/v1/spaces/{space}/answer"]["post"]["responses"]


@pytest.mark.parametrize(("fault", "told"), [(refuse(500), "away"), (refuse(429, retry_after="60"), "later")])
async def test_a_model_that_fails_leaves_the_context(fast_path: Path, server: ChatServer, fault: Any, told: str) -> None:
    """No error and no answer: the calibrated prompt, and a word for why; the endpoint's address is not told."""
    async with running(build_answering(fast_path, server)) as service:
        await write_price(service)
        server.faults.append(fault)
        found = await ask(service)
        figures = await read_figures(service)
    assert (found["standing"], found["fault"], found["text"], found["statements"]) == ("fallback", told, "", [])
    assert PRICE in found["context"]["prompt"]
    assert server.base_url not in json.dumps(found)
    assert figures[f'guardian_stage_calls_total{{outcome="{told}",stage="reflect"}}'] == 1
    assert figures['guardian_answers_total{standing="fallback"}'] == 1


async def test_a_key_that_the_endpoint_refuses_is_the_operators_to_mend(fast_path: Path, server: ChatServer) -> None:
    """Not a fallback for ever; the answer tells no setting to the caller."""
    server.key = "right"
    async with running(build_answering(fast_path, server, api_key="wrong")) as service:
        await write_price(service)
        assert code_of(await service.call("POST", ANSWER, QUESTION, by="tool"), 500) == "misconfigured"
        assert (await read_figures(service))['guardian_stage_calls_total{outcome="misconfigured",stage="reflect"}'] == 1


async def test_all_callers_share_one_budget(fast_path: Path, server: ChatServer) -> None:
    """Used up it is a fallback, without another question to the endpoint."""
    async with running(build_answering(fast_path, server, requests_per_minute=2)) as service:
        await write_price(service)
        assert (await ask(service))["standing"] == "unverified"
        assert len(server.questions) == 2
        found = await ask(service)
        assert (found["standing"], found["fault"], len(server.questions)) == ("fallback", "later", 2)


async def test_an_answer_has_more_time_than_other_requests_and_not_for_ever(fast_path: Path, server: ChatServer) -> None:
    """A question that was given up is counted, and its tokens are free again."""
    settings = build_answering(fast_path, server, tokens_per_day=8_000)
    async with running(settings) as service:
        await write_price(service)
    limits = Limits(timeout_s=0.6, answer_timeout_s=5.0)
    async with running(settings, limits=limits) as service:
        server.latency_s = 0.4
        assert (await ask(service))["standing"] == "unverified"  # two questions, longer than any other request may take
        server.faults.append(hang(server))
        assert code_of(await service.call("POST", ANSWER, QUESTION, by="tool"), 504) == "too_slow"
        assert (await read_figures(service))['guardian_stage_calls_total{outcome="given_up",stage="reflect"}'] == 1
        server.latency_s = 0.0
        assert (await ask(service))["standing"] == "unverified"


async def test_a_slow_model_takes_no_place_of_a_read(fast_path: Path, server: ChatServer) -> None:
    """Answers beyond their number are refused for later; contexts are given meanwhile, and answers again when there is a place."""
    settings = build_answering(fast_path, server)
    settings = settings.model_copy(update={"serve": settings.serve.model_copy(update={"max_answers": 2})})
    async with running(settings) as service:
        await write_price(service)
        server.faults.extend([hang(server), hang(server)])
        slow = [asyncio.create_task(service.call("POST", ANSWER, QUESTION, by="tool")) for _ in range(2)]
        await wait_until(lambda: len(server.questions) == 2, what="two questions to the model")
        refused = await service.call("POST", ANSWER, QUESTION, by="tool")
        assert code_of(refused, 503) == "too_busy"
        assert int(refused.headers["retry-after"]) > 0
        assert (await service.call("POST", CONTEXT, QUESTION, by="tool")).status_code == 200
        server.released.set()
        assert [(await each).status_code for each in slow] == [200, 200]
        assert (await ask(service))["standing"] == "unverified"


async def test_hostile_evidence_changes_nothing_but_its_own_line(fast_path: Path, server: ChatServer) -> None:
    """Over HTTP to the endpoint: the system's words are ours, memory's block is the same, every piece is one line."""
    corpus = sorted((Path(__file__).parents[1] / "data" / "injection").glob("*.jsonl"))
    texts = [json.loads(line)["text"] for path in corpus for line in path.read_text("utf-8").splitlines()][::8]
    assert len(texts) > 10
    async with running(build_answering(fast_path, server, evidence_tokens=None)) as service:
        await write_price(service)
        evidence = [{"source": text[:100], "text": text} for text in texts[:50]]
        found = await ask(service, evidence=evidence)
        assert all(piece["shown"] for piece in found["evidence"])
        asked = server.questions[0]
        assert not any(text in asked.system for text in texts)
        block = asked.user[asked.user.index("[[given ") : asked.user.index('\n{"question"')]
        (section,) = parse_block(block)
        assert [item.fields["text"] for item in section.items] == [piece["text"] for piece in evidence]
        assert asked.user.startswith(found["context"]["messages"][1]["content"] + "\n[[given ")


BAD = [
    {"evidence": [{"source": "", "text": "t"}]},
    {"evidence": [{"source": "s", "text": ""}]},
    {"evidence": [{"source": "s", "text": "t", "verified": True}]},
    {"evidence": [{"source": "s", "text": "t"}] * 51},
    {"evidence": [{"source": "s" * 201, "text": "t"}]},
    {"trace": "yes, please"},
    {"model": "other"},
]


async def test_a_bad_question_asks_nobody(fast_path: Path, server: ChatServer) -> None:
    """Evidence without a source, with a claim of its own, too much of it; and no body chooses the model."""
    async with running(build_answering(fast_path, server)) as service:
        for more in BAD:
            response = await service.call("POST", ANSWER, QUESTION | more, by="tool")
            assert code_of(response, 422) == "body_wrong", more
        assert server.questions == []


async def test_calls_tokens_money_and_what_was_found_are_counted(fast_path: Path, server: ChatServer) -> None:
    """By stage; and no space, no memory, no key, no model stands in a label."""

    def say_wrong(question: Any) -> dict[str, Any]:
        if "may be used for one question" in question.system:
            return uses(E1="support")
        return spans(span(f"{PRICE}.", ("E1", PRICE)), span("Beans cost $5.", ("E1", PRICE)))

    server.answer = say_wrong
    prices = {"prompt_price": 1_000_000.0, "completion_price": 0.0}
    async with running(build_answering(fast_path, server, **prices)) as service:
        await write_price(service)
        found = await ask(service, evidence=[INVOICE, {"source": "log", "text": "Beans are brown. " * 2_000}])
        figures = await read_figures(service)
    assert [call["stage"] for call in found["calls"]] == ["reflect", "reason", "revise"]
    for call in found["calls"]:
        stage = call["stage"]
        assert figures[f'guardian_stage_calls_total{{outcome="usable",stage="{stage}"}}'] == 1
        assert figures[f'guardian_stage_tokens_total{{direction="prompt",stage="{stage}"}}'] == call["prompt_tokens"] > 0
        assert figures[f'guardian_stage_seconds_count{{stage="{stage}"}}'] == 1
    assert figures["guardian_answer_cost_total"] == sum(call["prompt_tokens"] for call in found["calls"])
    assert figures['guardian_answers_total{standing="unverified"}'] == 1
    assert figures['guardian_answer_spans_total{outcome="stands"}'] == 1
    assert figures['guardian_answer_spans_total{outcome="removed"}'] == 1
    assert figures['guardian_answer_faults_total{fault="added_mark"}'] >= 1
    assert figures['guardian_answer_evidence_total{outcome="cut"}'] == 1
    assert not [series for series in figures for word in ("shop", "price", "tool", MODEL, "get_price") if f'"{word}"' in series]


async def test_what_may_be_done_is_asked_before_whether_there_is_a_model(fast_path: Path) -> None:
    """Who may not answer is not told what is set here."""
    async with running(build_settings(fast_path)) as service:
        headers = {"Authorization": f"Bearer {SECRETS['agent']}"}
        response: httpx.Response = await service.client.post(ANSWER, json=QUESTION, headers=headers)
        assert code_of(response, 403) == "may_not"
