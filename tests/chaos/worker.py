"""A worker over the loopback store: `python -m tests.chaos.worker PORT`, all else from the settings, as `guardian worker` has it."""

from __future__ import annotations

import sys
from dataclasses import replace

from guardian.pipeline import Pipeline
from guardian.ports import Publisher
from guardian.settings import Settings, load_settings
from guardian.stream.running import run
from guardian.stream.setup import WorkerSetup
from guardian.stream.worker import Worker
from guardian.telemetry.log import configure_logging
from guardian.wiring import build_pipeline, build_worker_setup
from tests.chaos.loopback import LoopbackStore


def build_setup(settings: Settings, port: int) -> WorkerSetup:
    """Build a worker's parts as the wiring does, with the loopback store in the place of the settings' own."""

    async def open_pipeline(publisher: Publisher) -> Pipeline:
        store = LoopbackStore(port)
        await store.open()
        return build_pipeline(settings, store, None, publisher)

    return replace(build_worker_setup(settings), open_pipeline=open_pipeline)


def main() -> int:
    """Run until told to stop; gives the exit code."""
    settings = load_settings()
    configure_logging(settings.log_level)
    return run(lambda: Worker(build_setup(settings, int(sys.argv[1]))))


if __name__ == "__main__":
    sys.exit(main())
