"""Model calls that an answer waits for, and what stored cards save of them: three (induction, reflection, reasoning), two, none.

The endpoint is a stub on loopback with a fixed latency: what is measured is the number of calls that follow one another, and what our code
adds to them, not a model. The induction online is taken in two shapes: one joint call over all that is admitted, as MemAdapter has it,
which favours the online side; and the author of `guardian.induce`, which asks several samples a memory, some at once.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from aiohttp import web

from benchmarks.bank import Bank, Mix, batched, decode_events
from benchmarks.laps import Advance
from benchmarks.limit import BATCH_EVENTS
from benchmarks.report import Aim, Report
from guardian.chat.budget import Budget, BudgetedChat, ChatLimits
from guardian.chat.openai_endpoint import OpenAIChat, build_openai_chat
from guardian.chat.port import ChatMessage, ChatRequest
from guardian.core.point import PointKind
from guardian.embed.bm25 import BM25_IDENTITY
from guardian.induce.answer import SCHEMA_NAME, build_schema
from guardian.induce.inducer import InduceLimits, Inducer
from guardian.induce.prompt import Content, load_prompt
from guardian.ports import Fence, Store, StoreIdentity
from guardian.read import Admission, Calibrator, ReadPolicy, Task
from guardian.read.prompt.section import parse_block
from guardian.read.stage.answer import Standing, answer
from guardian.read.stage.reflect import load_cards
from guardian.settings import Settings
from guardian.store.layout import SCHEMA_VERSION
from guardian.store.memory import MemoryStore
from guardian.wiring import build_pipeline

SPACE = "team-00"
TASK = Task(requires_objective_fact=False, personalization_allowed=True)
LIMIT = 10
# Samples a memory and questions at once of the author, as the settings have them by default.
_SAMPLES, _AT_ONCE = 3, 4
_MODEL = "stub"
_CLAIMS = {"E": "fact", "C": "rule", "P": "wish", "X": "precedent", "B": "context", "H": "past"}
_USES = {"E": "support", "C": "restrict", "P": "shape", "X": "precedent", "B": "attend", "H": "report"}
_CARD = {
    "task_types": ["work"],
    "settings": [
        {
            "request": "what is so",
            "evidence": "nothing else",
            "support": "partial",
            "scope": "this project",
            "limitation": "no proof",
        }
    ],
    "distinctions": ["whose word it is"],
    "rules": [{"condition": "nothing newer disagrees", "influence": "may direct attention, may not decide"}],
    "summary": "A statement about a project.",
    "slots": ["background"],
    "never": [],
    "must_use": [],
    "must_not": [],
    "conflict": "current_evidence_wins",
}


@dataclass(slots=True)
class Stub:
    """The endpoint: where it is, and how often it was asked."""

    base_url: str
    asked: int = 0


async def measure_stages(*, latency_ms: float, repetitions: int, advance: Advance) -> Report:
    """Measure answers to one question, each way in turn."""
    report = Report(name="stages", title=f"an answer with model stages, a stub endpoint of {latency_ms:g} ms")
    store = MemoryStore(StoreIdentity(schema_version=SCHEMA_VERSION, embedding="none", vector_size=0, bm25=BM25_IDENTITY))
    await store.open()
    question = await fill_store(store)
    calibrator = Calibrator(store, ReadPolicy(limit=LIMIT, token_budget=None))
    async with serve_stub(latency_ms / 1000) as stub:
        chat = build_openai_chat(model=_MODEL, base_url=stub.base_url, section="GUARDIAN_ANSWER")
        ways = build_ways(calibrator, store, question, chat)
        times: dict[str, list[float]] = {name: [] for name in ways}
        calls: dict[str, int] = {}
        for number in range(repetitions + 1):  # the first warms up
            advance(f"{number} of {repetitions}")
            for name, way in ways.items():
                before, started = stub.asked, time.perf_counter()
                await way()
                if number:
                    times[name].append((time.perf_counter() - started) * 1000)
                calls[name] = stub.asked - before
        await chat.close()
    _report(report, times, calls)
    return report


async def fill_store(store: Store) -> str:
    """Write generated memories through the pipeline; gives a question that finds more than enough of them."""
    pipeline = build_pipeline(Settings(), store, None, None)
    for events in batched(Bank(seed=3).iter_events(2_000, Mix(leaves=0.0, roots=1.0, reads=0.0)), BATCH_EVENTS):
        for event in events:
            event["data"].get("scope", {}).pop("user_id", None)
        await pipeline.process(decode_events(events), fence=Fence())
    texts = [point.payload["text"] async for point in store.iter_points(space=SPACE, kinds=[PointKind.RECORD])]
    return " ".join(word for text in texts[:4] for word in text.split()[:4])


def build_ways(calibrator: Calibrator, store: Store, question: str, chat: OpenAIChat) -> dict[str, Callable[[], Awaitable[None]]]:
    """Build the ways to an answer; each begins with the same context."""
    budget = Budget(ChatLimits(concurrency=_AT_ONCE))

    async def read() -> Admission:
        admission = await calibrator.context(question, TASK, space=SPACE)
        assert len(admission.rendered) >= LIMIT // 2, "too little is admitted to compare anything"
        return admission

    async def say(admission: Admission) -> None:
        found = await answer(admission, question, chat, cards=await load_cards(store, admission))
        assert found.standing is not Standing.FALLBACK, found.fault
        assert found.spans, "the stub said nothing"
        assert not found.removed, "the stub's own answer fell"

    async def none() -> None:
        await read()

    async def two() -> None:
        await say(await read())

    async def three() -> None:
        admission = await read()
        await chat.ask(build_joint_request(admission))
        await say(admission)

    async def author() -> None:
        admission = await read()
        inducer = Inducer(model=_MODEL, limits=InduceLimits(samples=_SAMPLES, cache_entries=0))
        paid = BudgetedChat(chat=chat, budget=budget)
        await asyncio.gather(*(inducer.induce(content, paid) for content in list_contents(admission)))
        await say(admission)

    return {"no stage": none, "stored cards": two, "joint induction online": three, "the author's induction online": author}


def list_contents(admission: Admission) -> list[Content]:
    """List what is admitted as an inducer is shown it."""
    found = [item.candidate for item in admission.rendered]
    return [Content(text=item.text, kind=item.kind, source_kind=item.source_kind) for item in found]


def build_joint_request(admission: Admission) -> ChatRequest:
    """Build one question for the cards of all that is admitted."""
    memories = [
        {"kind": item.kind.value, "source": item.source_kind.value, "memory": item.text} for item in list_contents(admission)
    ]
    schema = {
        "type": "object",
        "properties": {"cards": {"type": "array", "items": {"type": "object"}}},
        "required": ["cards"],
        "additionalProperties": False,
    }
    messages = (
        ChatMessage(
            role="system",
            content=f"{load_prompt()}\nWrite a list `cards`, one for each memory, each as this schema: {json.dumps(build_schema())}",
        ),
        ChatMessage(role="user", content=json.dumps(memories)),
    )
    return ChatRequest(messages=messages, schema=schema, schema_name="cards", max_tokens=20_000)


@asynccontextmanager
async def serve_stub(latency_s: float) -> AsyncIterator[Stub]:
    """Serve a model that answers every stage sensibly, after a fixed time."""
    stub = Stub("")

    async def respond(request: web.Request) -> web.Response:
        stub.asked += 1
        body = await request.json()
        await asyncio.sleep(latency_s)
        text = json.dumps(say_stub(body))
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        found = {"id": "1", "object": "chat.completion", "created": 0, "model": _MODEL, "choices": [choice], "usage": usage}
        return web.json_response(found)

    application = web.Application(client_max_size=16_000_000)
    application.router.add_post("/v1/chat/completions", respond)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    stub.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield stub
    finally:
        await runner.cleanup()


def say_stub(body: dict[str, Any]) -> dict[str, Any]:
    """Say what a model would at a stage: a use for each record, or each record's own words as a span of the answer."""
    name, shown = body["response_format"]["json_schema"]["name"], body["messages"][-1]["content"]
    if name == SCHEMA_NAME:
        return _CARD
    if name == "cards":
        return {"cards": [_CARD for _ in json.loads(shown)]}
    block = re.match(r"(?s).*?\[\[end [0-9a-f]+\]\]", shown)
    assert block is not None
    items = [item for section in parse_block(block[0]) for item in section.items]
    if name == "reflect":
        return {
            "instructions": [
                {"handle": item.handle, "use": _USES[item.handle[0]], "instruction": "Use it as its role says."} for item in items
            ]
        }
    spans = [(item.handle, item.fields["text"]) for item in items]
    return {
        "spans": [
            {"text": text, "claim": _CLAIMS[handle[0]], "support": [{"handle": handle, "quote": text}]} for handle, text in spans
        ]
    }


def _report(report: Report, times: dict[str, list[float]], calls: dict[str, int]) -> None:
    aims = {"no stage": 0, "stored cards": 2}
    for name, found in times.items():
        aim = Aim(value=aims[name], is_ceiling=True) if name in aims else None
        report.add(f"{name}: model calls", calls[name], "an answer", aim=aim)
        report.add(f"{name}: time", found, "ms")
    two = median(times["stored cards"])
    for name in ("joint induction online", "the author's induction online"):
        report.add(f"{name}, to stored cards", median(times[name]) / two, "ratio")
    report.add("no stage, to stored cards", median(times["no stage"]) / two, "ratio")
    report.notes.append(f"up to {LIMIT} records a context; the author asks {_SAMPLES} samples a record, {_AT_ONCE} at once")
    report.notes.append(
        "every latency is the stub's: a real induction writes a card a memory and takes longer than the other two calls"
    )
