"""`guardian demo`: the coffee-shop story, through a broker, a worker and a store, in one minute on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
from rich.rule import Rule

from guardian.cli.console import err, out, shorten, style_status
from guardian.cli.search import build_hit_row, build_table
from guardian.cli.show import build_revision, build_tree, describe_reason, describe_utility
from guardian.core.export import EXPORTED, build_row, sort_rows
from guardian.errors import DependencyError
from guardian.ports import Store
from guardian.read.explain import explain
from guardian.read.retrieve import Question, retrieve
from guardian.settings import Settings, load_settings
from guardian.stream.broker.embedded import EmbeddedBroker
from guardian.stream.broker.process import choose_port
from guardian.topics import apply, load_declarations
from guardian.wiring import build_store, forward_events, open_producer

SPACE = "coffee-shop"
# Longest wait for the worker to decide the story, seconds; it takes two or three.
PATIENCE_S = 60.0


def demo(
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Folder for the demo's store; default: .guardian/demo.", show_default=False)
    ] = None,
) -> int:
    """Run the coffee-shop story and show what was decided, and why. Needs nothing but this machine; takes some seconds.

    It starts an embedded Kafka-compatible broker and an embedded Qdrant engine, publishes a few memories of a coffee shop's
    purchasing agent through Kafka, and ends by itself; no process stays behind.
    """
    folder = keep or Path(".guardian/demo")
    story = read_story()
    with (
        tempfile.TemporaryDirectory(prefix="guardian-demo-") as scratch,
        EmbeddedBroker(log_path=Path(scratch) / "broker.log") as broker,
    ):
        settings = _build_settings(broker.bootstrap, folder)
        say("an embedded Kafka broker is up at " + broker.bootstrap)
        asyncio.run(apply(broker.bootstrap, load_declarations()))
        with _worker(settings, Path(scratch) / "worker.log") as url:
            say("a worker guards the topic guardian.events")
            asyncio.run(_publish(settings, story))
            say(f"{len(story)} events are published: notes, an invoice, a summary, an order")
            _wait(url, len(story))
        say(f"all are decided; the store is in {folder / 'store'}")
    asyncio.run(_show(folder / "store"))
    out.print(Rule(style="dim"))
    out.print("Try next:")
    place = folder / "store"
    out.print(f"  guardian show {SPACE} m6 --store {place}", style="bold")
    out.print(f'  guardian search {SPACE} "price of beans" --history --store {place}', style="bold")
    out.print(f"  guardian replay YOUR_EXPORT --store {folder / 'mine'}", style="bold")
    return 0


def say(message: str) -> None:
    """Say what happens, on stderr: the findings alone go to stdout."""
    err.print(f"· {message}", style="dim")


def read_story() -> list[bytes]:
    """Read the story's events, from the package or from the checkout."""
    packaged = resources.files("guardian.cli") / "coffee-shop.jsonl"
    checkout = Path(__file__).parents[2] / "examples" / "coffee-shop.jsonl"
    content = packaged.read_bytes() if packaged.is_file() else checkout.read_bytes()
    return [line for line in content.splitlines() if line.strip()]


def _build_settings(bootstrap: str, folder: Path) -> Settings:
    base = load_settings()
    return base.model_copy(
        update={
            "kafka": base.kafka.model_copy(
                update={"bootstrap": bootstrap, "group": f"demo-{os.getpid()}", "session_timeout_s": 6.0}
            ),
            "store": base.store.model_copy(update={"url": None, "path": folder / "store"}),
        }
    )


@contextmanager
def _worker(settings: Settings, log_path: Path) -> Iterator[str]:
    """Run a worker as a process; gives the address of its metrics."""
    port = choose_port()
    environment = {
        **os.environ,
        "GUARDIAN_KAFKA__BOOTSTRAP": settings.kafka.bootstrap,
        "GUARDIAN_KAFKA__GROUP": settings.kafka.group,
        "GUARDIAN_KAFKA__SESSION_TIMEOUT_S": str(settings.kafka.session_timeout_s),
        "GUARDIAN_STORE__PATH": str(settings.store.path),
        "GUARDIAN_WEB__PORT": str(port),
    }
    with log_path.open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "guardian", "worker"], env=environment, stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{port}"
            process.send_signal(signal.SIGTERM)
            if process.wait(timeout=30) != 0:
                raise DependencyError(f"the worker ended with {process.returncode}: {_tail(log_path)}", dependency="broker")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def _tail(path: Path) -> str:
    return path.read_text(errors="replace")[-2000:]


async def _publish(settings: Settings, story: list[bytes]) -> None:
    async with open_producer(settings) as producer:
        await forward_events(settings, producer, [(line, SPACE) for line in story])


def _wait(url: str, events: int) -> None:
    """Wait until the worker's own metrics say that every event is decided."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if _read_decided(url) >= events:
            return
        time.sleep(0.1)
    raise DependencyError(f"the worker did not decide {events} events within {PATIENCE_S:.0f} s", dependency="broker")


def _read_decided(url: str) -> float:
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=2) as answer:  # noqa: S310 # loopback, our own worker
            lines = answer.read().decode().splitlines()
    except (urllib.error.URLError, OSError):
        return 0.0
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("guardian_events_total{"))


async def _show(path: Path) -> None:
    store = build_store(load_settings().store.model_copy(update={"url": None, "path": path}), None)
    await store.open()
    try:
        await _show_families(store)
        await _show_reasons(store)
        await _show_one(store)
        await _show_search(store)
    finally:
        await store.close()


async def _show_families(store: Store) -> None:
    out.print(Rule("the families: what derives from what"))
    for memory_id in ("m1", "m4", "m5"):
        explanation = await explain(store, SPACE, memory_id)
        assert explanation is not None
        out.print(build_tree(explanation.descendants))


async def _show_reasons(store: Store) -> None:
    out.print(Rule("what the invoice superseded, and why"))
    rows = sort_rows([build_row(point) async for point in store.iter_points(space=SPACE, kinds=EXPORTED)])
    invoice = next(row for row in rows if row["memory_id"] == "m4")
    for row in rows:
        if row["status"] == "superseded":
            born = "  (born superseded: written after the invoice)" if row["observed_at"] >= invoice["observed_at"] else ""
            out.print(f"{row['memory_id']:4}", style_status(row["status"]), f"{shorten(row['text'], 64)}{born}")
            for reason in row["reasons"]:
                out.print(f"     {describe_reason(reason)}", style="dim")
    out.print(Rule("what the agent's own grade is worth"))
    episode = next(row for row in rows if row["memory_id"] == "ep1")
    out.print(f"ep1  {describe_utility(episode)}")


async def _show_one(store: Store) -> None:
    explanation = await explain(store, SPACE, "m4")
    assert explanation is not None
    out.print(Rule("one record, the invoice (m4), with its boundary card"))
    for part in build_revision(explanation.revisions[0]):
        out.print(part)


async def _show_search(store: Store) -> None:
    text = "price of Arabica Blend from Southfield"
    out.print(Rule(f'what a search for "{text}" returns now'))
    hits = await retrieve(store, Question(space=SPACE, text=text, limit=5))
    out.print(build_table([build_hit_row(hit) for hit in hits]))
