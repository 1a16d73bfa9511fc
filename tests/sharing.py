"""How the suite is shared out among processes: `make test` runs it so, with pytest-xdist; by hand pytest stays one process.

What is handed out at a time is a file, so that what a file makes once is made once. Files that need the same costly thing are one piece: for
all tests on the shared Apache Kafka there is one JVM, and while they wait for it the other processes have the machine; a local model is loaded
in one process. An embedded broker costs next to nothing: each process that needs one has its own. The longest pieces are begun first, so
that none is left to the end; among the others, and within each, the order is random as ever.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

try:
    from xdist.scheduler import LoadFileScheduling
except ImportError:  # a run by hand needs no xdist
    LoadFileScheduling = object

ROOT = Path(__file__).parents[1]
# What a file that belongs to a piece names: the fixture of the shared broker, what opens a local model.
PIECES = {"kafka_broker": "kafka", "open_sentence_transformers": "model"}
# The longest first, all others after them. What is missing here may cost time at the end of a run, and nothing else.
LONGEST: tuple[str, ...] = (
    "kafka",
    "tests/chaos/test_faults.py",
    "tests/simulation/test_simulation.py",
    "tests/integration/test_cli.py",
    "tests/property/test_laws.py",
)
# Tests that wait for brokers, timers and children leave a core idle now and then; more workers than that only cost memory.
_WORKERS_BEYOND_CORES = 1
_MOST_WORKERS = 6


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Give one worker more than this process has cores; None where the environment names a number."""
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores + _WORKERS_BEYOND_CORES, _MOST_WORKERS)


def pytest_configure(config: pytest.Config) -> None:
    """Take from a process that is one of several what its parent's readline left it: a width of the terminal, which there is none of."""
    if hasattr(config, "workerinput"):
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Bring the longest pieces to the front, where this process is one of several."""
    yield
    if hasattr(config, "workerinput"):
        places = {piece: place for place, piece in enumerate(LONGEST)}
        items.sort(key=lambda item: places.get(find_piece(_get_file(item.nodeid)), len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out pieces where files are asked for."""
    return _PieceScheduling(config, log) if config.getoption("dist") == "loadfile" else None


class _PieceScheduling(LoadFileScheduling):
    """Hands out files, and some of them together."""

    def _split_scope(self, nodeid: str) -> str:
        return find_piece(_get_file(nodeid))


def _get_file(nodeid: str) -> str:
    return nodeid.split("::", maxsplit=1)[0]


@cache
def find_piece(file: str) -> str:
    """Give the name of the piece that a file of tests belongs to: its own path, if it shares nothing costly."""
    text = (ROOT / file).read_text("utf-8")
    return next((piece for word, piece in PIECES.items() if word in text), file)
