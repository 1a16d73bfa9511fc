"""Laws of the letters of replays under erasures: the file keeps none of an erased memory, whichever comes first."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.contracts.admission import DecodePolicy
from guardian.dead_letter_file import DeadLetterFile, redrive_file
from guardian.replay import Replay, ReplaySummary
from guardian.sources.port import SourceOptions
from guardian.sources.registry import by_name
from tests.builders import RECEIVED_AT, envelope, written_data
from tests.property.bank import Bank

TOKEN = "t0ken"
BAD: dict[str, Any] = envelope("memory.written", {"memory_id": "a", "text": TOKEN, "vector": ["bad"]})
OTHER: dict[str, Any] = envelope("memory.written", {"memory_id": "b", "text": "other", "vector": ["bad"]})
GOOD: dict[str, Any] = envelope("memory.written", written_data("a", TOKEN))
ERASURE: dict[str, Any] = envelope("memory.erased", {"memory_id": "a", "authority": {"kind": "user"}}, t=5)


async def replay(folder: Path, bank: Bank, *wires: dict[str, Any], batch_events: int = 500) -> ReplaySummary:
    """Replay events from a file of their own into a bank, with dead letters in the folder."""
    path = folder / f"{uuid.uuid4().hex}.jsonl"
    path.write_bytes(b"".join(orjson.dumps(wire) + b"\n" for wire in wires))
    job = Replay(
        source=by_name("cloudevents"),
        paths=[path],
        options=SourceOptions(space=None),
        decode_policy=DecodePolicy(),
        received_at=datetime.now(UTC),
        dead_letters=DeadLetterFile(folder / "dead-letters.jsonl"),
        pipeline=bank.pipeline,
        batch_events=batch_events,
    )
    return await job.run()


@pytest.mark.parametrize("batch_events", [1, 500])
@pytest.mark.parametrize("order", ["before", "after"])
async def test_the_file_keeps_no_letter_of_an_erased_memory(tmp_path: Path, order: str, batch_events: int) -> None:
    """Before, with or after the erasure, and at a second replay; what was refused is counted all the same."""
    wires = [GOOD, BAD, OTHER, ERASURE] if order == "before" else [ERASURE, OTHER, BAD, GOOD]
    bank = Bank()
    for _ in range(2):
        summary = await replay(tmp_path, bank, *wires, batch_events=batch_events)
        assert (summary.dead_letters["wrong_type"], summary.letters_erased) == (2, 1)
        content = (tmp_path / "dead-letters.jsonl").read_text()
        letters = [letter.memory_id for _, letter in DeadLetterFile(tmp_path / "dead-letters.jsonl").iter_letters()]
        assert (letters, TOKEN in content) == (["b"], False)


async def test_a_redriven_erasure_takes_the_letters_with_it(tmp_path: Path) -> None:
    """A letter that turns out to be an erasure erases the others of its memory."""
    future = {**ERASURE, "time": "2031-01-01T00:00:00Z"}
    bank = Bank()
    await replay(tmp_path, bank, BAD, OTHER, future)
    file = DeadLetterFile(tmp_path / "dead-letters.jsonl")
    driven, left = await redrive_file(
        file, bank.pipeline, DecodePolicy(), received_at=RECEIVED_AT, selects=lambda letter: letter.reason == "time_in_future"
    )
    assert (driven, left, [letter.memory_id for _, letter in file.iter_letters()]) == (1, 0, ["b"])
