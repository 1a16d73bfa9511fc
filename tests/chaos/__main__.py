"""Kill tests on real parts: `python -m tests.chaos --events 100000 --kills 100`; a run is told by its seed."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

from tests.chaos.command import add_places, open_stage, run_command
from tests.chaos.play import Play, Script
from tests.chaos.stage import StoreKind
from tests.chaos.verify import write_line


def main() -> int:
    """Play what the command line asks for; 1 when a promise was broken, 130 when interrupted."""
    options = _parse()
    return run_command(lambda folder: _play(options, folder), options.folder)


async def _play(options: argparse.Namespace, folder: Path) -> bool:
    async with open_stage(folder, options.store) as (stage, broker):
        is_alone = stage.kind is StoreKind.EMBEDDED
        script = Script(
            seed=options.seed,
            events=options.events,
            kills=options.kills,
            workers=options.workers or (1 if is_alone else 2),
            broker_stops=options.broker_stops,
        )
        write_line(str(script))
        play = Play(script, stage, broker=broker, say=write_line)
        verdict = await play.run()
    write_line(f"{script}\n{play.course.describe()}\n{verdict.describe()}")
    if stage.kind is StoreKind.LOOPBACK:
        write_line("fence of a real server: not shown here (set QDRANT_URL)")
    return not verdict.faults


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, help="distinct events (%(default)s)")
    parser.add_argument("--kills", type=int, default=100, help="workers killed without warning (%(default)s)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="of everything drawn (one of its own)")
    parser.add_argument("--broker-stops", type=int, default=0, help="kills of the broker, too, with one worker (%(default)s)")
    parser.add_argument("--workers", type=int, help="at once (1 for the embedded store, else 2)")
    add_places(parser, store=StoreKind.EMBEDDED)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
