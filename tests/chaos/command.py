"""What the commands of this folder share: a broker, a folder for what they leave, an exit code, and an end that leaves no process."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.brokers import KafkaBroker, kafka_available
from tests.chaos.stage import BROKER_SETTINGS, Stage, StoreKind
from tests.chaos.verify import write_line

WRONG, USAGE, INTERRUPTED = 1, 2, 130


def add_places(parser: argparse.ArgumentParser, *, store: StoreKind) -> None:
    """Add the options that say where the state and what is left shall lie."""
    parser.add_argument(
        "--store",
        choices=[StoreKind.EMBEDDED.value, StoreKind.LOOPBACK.value],
        default=store.value,
        help="embedded in the worker, or in a process of its own; QDRANT_URL names a server instead of the latter (%(default)s)",
    )
    parser.add_argument("--folder", help="for logs, topics and store; kept (a temporary one, removed when all is well)")


def run_command(play: Callable[[Path], Coroutine[Any, Any, bool]], folder: str | None) -> int:
    """Run something that tells whether all was well; gives the exit code."""
    if reason := kafka_available():
        write_line(f"Apache Kafka cannot run here: {reason}")
        return USAGE
    place = Path(folder or tempfile.mkdtemp(prefix="guardian-chaos-")).absolute()
    try:
        is_right = asyncio.run(play(place))
    except KeyboardInterrupt:
        write_line(f"interrupted; logs are in {place}")
        return INTERRUPTED
    if is_right and folder is None:
        shutil.rmtree(place, ignore_errors=True)
    else:
        write_line(f"logs, topics and store are in {place}")
    return 0 if is_right else WRONG


@asynccontextmanager
async def open_stage(folder: Path, store: str, **sections: Any) -> AsyncIterator[tuple[Stage, KafkaBroker]]:
    """Start a broker, and set up a stage on it; at the end no process is left."""
    url = None if store == StoreKind.EMBEDDED else os.environ.get("QDRANT_URL")
    kind = StoreKind(store) if url is None else StoreKind.SERVER
    write_line(f"{kind} store, in {folder}")
    with KafkaBroker(folder=folder / "kafka", settings=BROKER_SETTINGS) as broker:
        stage = Stage(bootstrap=broker.bootstrap, folder=folder, kind=kind, url=url, **sections)
        try:
            await stage.set_up()
            yield stage, broker
        finally:
            stage.end_all()
