"""Kill tests on real parts: `python -m tests.chaos --events 100000 --kills 100`; a run is told by its seed."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from tests.brokers import KafkaBroker, kafka_available
from tests.chaos.play import Play, Script
from tests.chaos.stage import BROKER_SETTINGS, Stage, StoreKind
from tests.chaos.verify import write_line


def main() -> int:
    """Play what the command line asks for; 1 when a promise was broken, 130 when interrupted."""
    options = _parse()
    if reason := kafka_available():
        write_line(f"Apache Kafka cannot run here: {reason}")
        return 2
    folder = Path(options.folder or tempfile.mkdtemp(prefix="guardian-chaos-"))
    try:
        with KafkaBroker(folder=folder / "kafka", settings=BROKER_SETTINGS) as broker:
            is_right = asyncio.run(_play(options, broker, folder))
    except KeyboardInterrupt:
        write_line(f"interrupted; logs are in {folder}")
        return 130
    if is_right and not options.folder:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        write_line(f"logs, topics and store are in {folder}")
    return 0 if is_right else 1


async def _play(options: argparse.Namespace, broker: KafkaBroker, folder: Path) -> bool:
    url = os.environ.get("QDRANT_URL")
    kind = StoreKind(options.store) if url is None or options.store == StoreKind.EMBEDDED else StoreKind.SERVER
    script = Script(
        seed=options.seed, events=options.events, kills=options.kills, workers=options.workers or _count_workers(kind)
    )
    write_line(f"{script}, {kind} store, in {folder}")
    stage = Stage(bootstrap=broker.bootstrap, folder=folder, kind=kind, url=url if kind is StoreKind.SERVER else None)
    play = Play(script, stage, say=write_line)
    try:
        await stage.set_up()
        verdict = await play.run()
    finally:
        stage.end_all()
    write_line(f"seed {script.seed}\n{play.course.describe()}\n{verdict.describe()}")
    if kind is StoreKind.LOOPBACK:
        write_line("fence of a real server: not shown here (set QDRANT_URL)")
    return not verdict.faults


def _count_workers(kind: StoreKind) -> int:
    return 1 if kind is StoreKind.EMBEDDED else 2


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, help="distinct events (%(default)s)")
    parser.add_argument("--kills", type=int, default=100, help="workers killed without warning (%(default)s)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="of everything drawn (one of its own)")
    parser.add_argument("--workers", type=int, help="at once (1 for the embedded store, else 2)")
    parser.add_argument(
        "--store", choices=[StoreKind.EMBEDDED.value, StoreKind.LOOPBACK.value], default=StoreKind.EMBEDDED.value,
        help="embedded in the worker, or shared over loopback; QDRANT_URL names a server for the latter (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--folder", help="for logs, topics and store; kept (a temporary one, removed when all is well)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
