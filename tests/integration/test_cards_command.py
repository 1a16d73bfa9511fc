"""`guardian cards` as its users call it, over the embedded store and an endpoint on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests import chat_server
from tests.builders import envelope, written_data
from tests.chat_server import ChatServer, serve_chat
from tests.unit.induce.answers import card_answer

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    """Give an endpoint whose model answers with a sensible card."""
    async with serve_chat(answer=lambda _: card_answer()) as served:
        yield served


class Shell:
    """Runs `guardian …` in a folder, with the model of the server set."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")}
        self.environment = kept | {
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "200",
            "GUARDIAN_STORE__MIN_FREE_BYTES": "0",
            "GUARDIAN_INDUCE__MODEL": chat_server.MODEL,
            "GUARDIAN_INDUCE__BASE_URL": server.base_url,
            "GUARDIAN_INDUCE__COMPLETION_PRICE": "10",
            "GUARDIAN_INDUCE__CONCURRENCY": "2",
        }

    async def start(self, *arguments: str, **settings: str) -> asyncio.subprocess.Process:
        """Start a command."""
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "guardian", *arguments, "--store", "bank", cwd=self.folder,
            env=self.environment | settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            # Whoever runs tests in the background has SIGINT ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    async def run(self, *arguments: str, code: int = 0, **settings: str) -> str:
        """Run a command to its end, and give what it printed."""
        process = await self.start(*arguments, **settings)
        stdout, stderr = await asyncio.wait_for(process.communicate(), 120)
        assert process.returncode == code, stderr.decode()
        return stdout.decode() if code == 0 else stderr.decode()

    async def run_json(self, *arguments: str) -> Any:
        """Run a command and read its JSON."""
        return json.loads(await self.run(*arguments, "--json"))


@pytest.fixture
async def shell(tmp_path: Path, server: ChatServer) -> Shell:
    """Give a shell beside a store of twelve records."""
    made = Shell(tmp_path, server)
    events = [
        envelope("memory.written", written_data(f"m{n}", f"Depot {n} owns {n * 7} trailers.", src="document", kind="fact"))
        for n in range(12)
    ]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    await made.run("replay", "events.jsonl")
    return made


async def test_an_estimate_asks_nobody(shell: Shell, server: ChatServer) -> None:
    """Records, questions and cost, before a coin is spent."""
    found = await shell.run_json("cards", "refresh", "--dry-run")
    assert (found["records"], found["contents"], found["questions"]) == (12, 12, 36)
    assert found["cost"] == pytest.approx(36 * 2_000 * 10 / 1_000_000)
    assert not server.questions


async def test_cards_are_made_and_shown(shell: Shell, server: ChatServer) -> None:
    """Some at first, then the rest, then none; each card tells who made it, and what it took."""
    assert await shell.run_json("cards", "refresh", "s", "--limit", "5") == {
        "counts": {"induced": 5},
        "left": 7,
        "stopped_by": None,
    }
    assert (await shell.run_json("cards", "refresh"))["counts"] == {"induced": 7}
    page = await shell.run("cards", "show", "s", "m3")
    assert "stub card-2, agreement 1.00" in page
    assert "the request asks what is objectively so → no influence" in page
    assert re.search(r"slots +background\s*\n", page)
    assert "no memory" in await shell.run("cards", "show", "s", "nobody", code=2)


async def test_an_interrupted_refresh_goes_on(shell: Shell, server: ChatServer) -> None:
    """What was reported as done is done: the second run asks for the rest alone."""
    server.latency_s = 0.05
    process = await shell.start("cards", "refresh")
    while len(server.questions) < 18:
        assert process.returncode is None
        await asyncio.sleep(0.02)
    server.latency_s = 3_000.0  # what is asked from now on is in the air when the signal comes
    process.send_signal(signal.SIGINT)
    try:
        await asyncio.wait_for(process.wait(), 60)
    finally:  # nothing is left to be found by a later test, in a garbage collection that warns of it
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 130
    server.latency_s = 0.0
    left = (await shell.run_json("cards", "refresh", "--dry-run"))["records"]
    assert 0 < left < 12
    assert (await shell.run_json("cards", "refresh"))["counts"] == {"induced": left}


async def test_what_is_away_or_unset_is_told(shell: Shell, server: ChatServer) -> None:
    """An endpoint that is down ends it with 69, no model with 2; the message says what to do. `doctor` tries the model."""
    settings = {"GUARDIAN_KAFKA__BOOTSTRAP": "127.0.0.1:9", "GUARDIAN_KAFKA__REQUEST_TIMEOUT_S": "1"}
    process = await shell.start("doctor", "--json", **settings)
    stdout, _ = await asyncio.wait_for(process.communicate(), 120)
    says = {finding["check"]: finding["says"] for finding in json.loads(stdout)}
    assert says["cards"] == "stub writes cards by card-2, two samples agree to 1.00"
    server.is_down = True
    assert "cannot be reached" in await shell.run("cards", "refresh", code=69, GUARDIAN_INDUCE__MAX_RETRIES="0")
    shell.environment.pop("GUARDIAN_INDUCE__MODEL")
    assert "GUARDIAN_INDUCE__MODEL" in await shell.run("cards", "refresh", code=2)
