"""Laws of how the suite is shared out among processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sharing import LONGEST, PIECES, ROOT, find_piece, pytest_xdist_auto_num_workers

FILES = sorted(str(path.relative_to(ROOT)) for path in Path(ROOT, "tests").rglob("test_*.py"))


def test_the_longest_pieces_are_pieces() -> None:
    """A file that was moved would be begun last, and nobody would see why a run takes longer."""
    assert set(LONGEST) <= {find_piece(file) for file in FILES}


def test_whoever_needs_the_shared_broker_is_one_piece() -> None:
    """One JVM for all of them; whatever shares nothing costly is a piece of its own."""
    pieces = {file: find_piece(file) for file in FILES}
    assert set(PIECES.values()) <= set(pieces.values())
    assert pieces["tests/integration/test_worker.py"] == pieces["tests/integration/test_topics_on_kafka.py"] == "kafka"
    assert pieces["tests/unit/test_docs.py"] == "tests/unit/test_docs.py"


def test_the_environment_has_the_last_word_on_the_number_of_workers(
    monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """By itself there is always more than one: a test that waits for a broker leaves the machine to another."""
    monkeypatch.delenv("PYTEST_XDIST_AUTO_NUM_WORKERS", raising=False)
    assert (pytest_xdist_auto_num_workers(pytestconfig) or 0) >= 2
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "1")
    assert pytest_xdist_auto_num_workers(pytestconfig) is None
