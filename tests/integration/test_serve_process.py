"""`guardian serve` as its operator sees it: log, figures, the document of the interface, and the process that starts and stops."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
import structlog

from guardian.serve import openapi
from guardian.serve.gate import Limits
from guardian.serve.http import build_app
from guardian.serve.key import Keyring
from guardian.serve.server import bind_socket, serve_http
from guardian.telemetry.log import configure_logging
from guardian.wiring import open_access
from tests.integration.serve_rig import Service, build_settings, running
from tests.integration.worker_rig import PATIENCE_S, wait_until

CONTEXT, MEMORIES = "/v1/spaces/shop/context", "/v1/spaces/shop/memories"
ROOT = Path(__file__).parents[2]


@pytest.fixture
async def service(fast_path: Path) -> AsyncIterator[Service]:
    """Run a service with four keys."""
    async with running(build_settings(fast_path)) as service:
        yield service


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Take the log, and leave logging as it was."""
    root = logging.getLogger()
    handlers, level, stream = root.handlers[:], root.level, io.StringIO()
    configure_logging("INFO", stream=stream, as_json=True)
    yield stream
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(False)
    structlog.reset_defaults()


async def test_the_log_has_a_line_a_request_and_no_word_of_memory(service: Service, logged: io.StringIO) -> None:
    """Route, status and key's name; no text, no question, no id, no secret."""
    await service.write("memory-4711", "The vault opens with 4712")
    await service.call("POST", CONTEXT, {"question": "What about 4713?"})
    await service.call("POST", MEMORIES, {"memory_id": "m", "text": 4714})
    await service.call("GET", f"{MEMORIES}/memory-4711")
    lines = [line for line in map(json.loads, logged.getvalue().splitlines()) if line["event"] == "request.answered"]
    assert [(line["route"].rpartition("/")[2], line["status"], line["key"]) for line in lines] == [
        ("memories", 202, "agent"),
        ("context", 200, "agent"),
        ("memories", 422, "agent"),
        ("{memory_id:path}", 200, "agent"),
    ]
    assert not re.search("471[1-4]|secret-of", logged.getvalue())


async def test_figures_name_routes_and_nothing_else(service: Service) -> None:
    """A figure a memory would be a leak and a flood."""
    await service.write("memory-4711", "Beans")
    await service.call("GET", f"{MEMORIES}/memory-4711")
    await service.client.get("/nowhere-4711")
    page = (await service.client.get("/metrics")).text
    assert 'guardian_requests_total{route="/v1/spaces/{space}/memories",status="202"} 1.0' in page
    assert 'guardian_requests_total{route="none",status="404"} 1.0' in page
    assert not re.search("4711|shop|agent", page)


async def test_the_document_that_is_served_is_the_one_that_is_kept(service: Service) -> None:
    """docs/openapi.json is what the service says of itself."""
    served = (await service.client.get("/openapi.json")).json()
    assert served == json.loads(openapi.PLACE.read_text("utf-8"))
    assert openapi.run(["--check"]) == 0


def test_drift_of_the_document_is_seen(tmp_path: Path) -> None:
    """A file that is missing or of yesterday is drift."""
    place = tmp_path / "openapi.json"
    assert openapi.run(["--check", "--place", str(place)]) == 1
    assert openapi.run(["--place", str(place)]) == 0
    assert openapi.run(["--check", "--place", str(place)]) == 0
    place.write_text(place.read_text().replace("1.0.0", "1.0.1"))
    assert openapi.run(["--check", "--place", str(place)]) == 1


def _start(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")}
    return subprocess.Popen(
        [sys.executable, "-m", "guardian", "serve", *arguments],
        cwd=tmp_path,
        env={**env, "PYTHONPATH": str(ROOT), **environment},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _read_port(process: subprocess.Popen[bytes]) -> int:
    assert process.stderr is not None
    for line in process.stderr:
        if b"serve.started" in line:
            return int(json.loads(line)["port"])
    raise AssertionError("it did not start")


async def _write_slowly(client: httpx.AsyncClient, go: asyncio.Event) -> httpx.Response:
    """Send a write whose second half waits."""
    body = b'{"memory_id": "m", "text": "Beans"}'

    async def drip() -> AsyncIterator[bytes]:
        yield body[:10]
        await go.wait()
        yield body[10:]

    return await client.post(MEMORIES, content=drip(), headers={"Content-Type": "application/json"})


async def _wait_until_in_hand(client: httpx.AsyncClient) -> None:
    """Wait until the service has another request in hand than this very look."""

    async def is_in_hand() -> bool:
        return "guardian_requests_in_hand 2.0" in (await client.get("/metrics")).text

    await wait_until(is_in_hand, what="the request to arrive")


async def test_a_process_that_is_told_to_stop_answers_what_it_has_in_hand(tmp_path: Path) -> None:
    """SIGTERM ends it with 0, the store is closed and can be opened again, and what was written is there."""
    for expected in (404, 200):
        process = _start(tmp_path, "--port", "0", GUARDIAN_STORE__PATH="store")
        try:
            url, go = f"http://127.0.0.1:{await asyncio.to_thread(_read_port, process)}", asyncio.Event()
            async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as client:
                assert (await client.get(f"{MEMORIES}/m")).status_code == expected
                pending = asyncio.create_task(_write_slowly(client, go))
                await _wait_until_in_hand(client)
                process.send_signal(signal.SIGTERM)
                await asyncio.sleep(0.2)
                go.set()
                assert (await pending).status_code == 202
            assert await asyncio.to_thread(process.wait, PATIENCE_S) == 0
        finally:
            process.kill()
            process.communicate()


@pytest.mark.usefixtures("logged")
async def test_who_connects_on_its_word_gets_through(fast_path: Path) -> None:
    """From the very line that says so: a probe or a test that waits for it is not refused."""
    answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    class Visitor(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "serve.started" in str(record.msg):
                with socket.create_connection(bound.getsockname(), timeout=PATIENCE_S):
                    answered.set_result(True)

    visitor, log = Visitor(), logging.getLogger("guardian.serve.server")
    log.addHandler(visitor)
    try:
        async with open_access(build_settings(fast_path)) as access:
            bound = bind_socket("127.0.0.1", 0)
            limits = Limits()
            serving = asyncio.create_task(serve_http(build_app(access, Keyring([]), limits=limits), bound, stop_s=1))
            done, _ = await asyncio.wait({serving, answered}, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
            assert answered in done
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving
    finally:
        log.removeHandler(visitor)


def test_a_process_refuses_to_serve_others_without_keys(tmp_path: Path) -> None:
    """Exit code 2, and the message names the setting; nothing was opened."""
    process = _start(tmp_path, "--bind", "0.0.0.0", "--port", "0")
    _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"serve.keys" in told
    assert not (tmp_path / ".guardian").exists()


def test_a_ledger_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    """Before an answer is given that nobody could account for."""
    (tmp_path / "taken").write_text("a file")
    process = _start(tmp_path, "--port", "0", GUARDIAN_READ__LEDGER_DIR=str(tmp_path / "taken"))
    _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"the ledger in" in told
    assert b"Mend: name a folder" in told


def test_a_broker_and_an_embedded_store_do_not_go_together(tmp_path: Path) -> None:
    """A worker could not decide what this process sends while this process owns the store."""
    process = _start(tmp_path, "--port", "0", GUARDIAN_KAFKA__BOOTSTRAP="127.0.0.1:1")
    _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"--store" in told
