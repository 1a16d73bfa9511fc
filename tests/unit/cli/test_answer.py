"""`guardian answer` as people and programs use it, against an endpoint that speaks the protocol."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.cli.main import call
from tests.builders import envelope, written_data
from tests.chat_server import MODEL, ChatServer, serve_chat
from tests.unit.read.stage.answers import span, spans, uses

PRICE = "Arabica beans cost $20"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """Run the double in a thread of its own: the command has a loop of its own."""
    ready, stopped, found = threading.Event(), asyncio.Event(), list[Any]()

    async def serve() -> None:
        async with serve_chat() as running:
            found.extend((running, asyncio.get_running_loop()))
            ready.set()
            await stopped.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait(10)
    try:
        yield found[0]
    finally:
        found[1].call_soon_threadsafe(stopped.set)
        thread.join(10)


@pytest.fixture
def store(fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give a store with one verified price."""
    monkeypatch.chdir(fast_path)
    monkeypatch.setenv("GUARDIAN_STORE__MIN_FREE_BYTES", "0")
    event = envelope("memory.written", written_data("m1", PRICE, src="document", kind="fact", verified=True), t=1)
    Path("history.jsonl").write_bytes(orjson.dumps(event))
    place = str(fast_path / "store")
    assert call(["replay", "history.jsonl", "--store", place]) == 0
    return place


def ask(store: str, *more: str, question: str = "What do arabica beans cost?") -> int:
    """Ask the command what beans cost."""
    return call(["answer", question, "--space", "s", "--store", store, "--objective", *more])


def speak(question: Any) -> dict[str, Any]:
    """Answer each stage sensibly, with one wrong span."""
    if "may be used for one question" in question.system:
        return uses(E1="support")
    return spans(span(f"{PRICE}.", ("E1", PRICE)), span("They cost $5.", ("E1", PRICE)))


@pytest.fixture
def model(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ChatServer:
    """Set the model of the command to the double."""
    monkeypatch.setenv("GUARDIAN_ANSWER__MODEL", MODEL)
    monkeypatch.setenv("GUARDIAN_ANSWER__BASE_URL", server.base_url)
    monkeypatch.setenv("GUARDIAN_ANSWER__MAX_RETRIES", "0")
    server.answer = speak
    return server


def test_an_answer_is_printed_with_its_handles(model: ChatServer, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On stdout the checked statements alone; what it took, and with --trace what fell, on stderr."""
    capsys.readouterr()
    assert ask(store, "--trace") == 0
    printed = capsys.readouterr()
    assert printed.out == f"{PRICE}. [E1]\n"
    assert "supported; 3 calls" in printed.err
    assert "its quotes do not have" in " ".join(printed.err.split())


def test_turns_are_put_before_a_question_that_points_back(
    model: ChatServer, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only this one is read behind them; they reach the model, too."""
    turn = "I want to know what beans cost now."
    assert ask(store, "--turn", turn) == 0
    assert turn not in model.questions[-1].user
    assert ask(store, "--turn", turn, question="What would you say in the situation we discussed?") == 0
    assert turn in model.questions[-1].user
    capsys.readouterr()


def test_programs_get_answer_calls_and_trace(model: ChatServer, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As one JSON document; the trace only on request."""
    capsys.readouterr()
    assert ask(store, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [item["stage"] for item in found["answer"]["calls"]] == ["reflect", "reason", "revise"]
    assert found["answer"]["spans"][0]["support"][0]["memory_id"] == "m1"
    assert found["answer"]["trace"] is None
    assert found["context"]["handles"] == {"E1": "m1"}
    assert ask(store, "--json", "--trace") == 0
    trace = json.loads(capsys.readouterr().out)["answer"]["trace"]
    assert "added_mark" in trace["removed"][0]["faults"]


def test_a_model_that_is_away_leaves_the_prompt(model: ChatServer, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Marked as such, with an exit code of its own."""
    model.is_down = True
    capsys.readouterr()
    assert ask(store) == 69
    printed = capsys.readouterr()
    assert "[[evidence " in printed.out
    assert "no answer" in printed.err


def test_without_a_model_the_mend_is_named(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong settings are exit code 2."""
    assert ask(store) == 2
    assert "GUARDIAN_ANSWER__MODEL" in capsys.readouterr().err


def speak_of_the_invoice(question: Any) -> dict[str, Any]:
    """Answer from what the caller gave."""
    if "may be used for one question" in question.system:
        return uses(E1="support", S1="support")
    return spans(span("Arabica beans cost $22.", ("S1", "Arabica beans cost $22")))


@pytest.mark.parametrize(
    ("name", "content", "source"),
    [
        ("invoice.txt", "Arabica beans cost $22 today.", "invoice.txt"),
        ("tools.jsonl", '{"source": "get_price", "text": "Arabica beans cost $22 today."}\n\n', "get_price"),
    ],
)
def test_evidence_of_the_caller_is_cited_and_told_as_no_memory(
    model: ChatServer, store: str, capsys: pytest.CaptureFixture[str], name: str, content: str, source: str
) -> None:
    """A file is one text under its name; JSON lines name theirs."""
    model.answer = speak_of_the_invoice
    Path(name).write_text(content)
    capsys.readouterr()
    assert ask(store, "--evidence", name) == 0
    printed = capsys.readouterr()
    assert printed.out == "Arabica beans cost $22. [S1, not memory]\n"
    assert "given; 2 calls" in printed.err
    assert ask(store, "--evidence", name, "--json") == 0
    found = json.loads(capsys.readouterr().out)["answer"]
    assert found["evidence"] == [{"handle": "S1", "source": source, "cut": 0, "is_shown": True}]
    (cite,) = found["spans"][0]["support"]
    assert (cite["memory_id"], cite["given_by"]) == ("", source)


@pytest.mark.parametrize("content", [b"\xff", b'{"text": "no source"}', b'{"source": "", "text": "t"}', b"[1]", b"{"])
def test_evidence_that_cannot_be_read_is_refused(
    model: ChatServer, store: str, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    """Before anything is asked; the message names the file."""
    Path("bad.jsonl").write_bytes(content)
    assert ask(store, "--evidence", "bad.jsonl") == 2
    assert "bad.jsonl" in capsys.readouterr().err
    assert model.questions == []
