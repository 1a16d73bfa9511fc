"""Checkpoints of replays: a number, or nothing."""

from pathlib import Path

import pytest

from guardian.replay import Checkpoint


def test_a_checkpoint_gives_back_what_was_written(tmp_path: Path) -> None:
    """The number of items done survives the process, until the replay is finished."""
    Checkpoint(tmp_path, [], "x").write(7)
    checkpoint = Checkpoint(tmp_path, [], "x")
    assert checkpoint.read() == 7
    checkpoint.clear()
    assert checkpoint.read() == 0


@pytest.mark.parametrize(
    "content",
    [b"", b"7", b"[]", b"{}", b'{"items":-1}', b'{"items":1e300}', b'{"items":18446744073709551615}', b'{"items":true}'],
)
def test_a_checkpoint_that_holds_no_count_begins_anew(tmp_path: Path, content: bytes) -> None:
    """What cannot be a number of items is none; a replay never fails for its checkpoint."""
    checkpoint = Checkpoint(tmp_path, [], "x")
    checkpoint.write(7)
    checkpoint.path.write_bytes(content)
    assert checkpoint.read() == 0
