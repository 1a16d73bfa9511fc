"""Dead letters of replays: a file that anything may have happened to."""

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from guardian.contracts.letter import DeadLetter, build_dead_letter
from guardian.contracts.outcome import encode_outcome
from guardian.dead_letter_file import DeadLetterFile
from guardian.errors import RecordError

T0 = datetime(1970, 1, 1, tzinfo=UTC)


def letter(offset: int) -> DeadLetter:
    """Build a letter."""
    return build_dead_letter(RecordError("not_json", "no JSON"), b"{", topic="file:x", partition=0, offset=offset, timestamp=T0)


def line(offset: int) -> bytes:
    """Give the line of a letter."""
    return encode_outcome(letter(offset), time=T0)


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("missing", [(), ("id",)])
def test_a_letter_is_known_by_its_content(tmp_path: Path, prefix: bytes, missing: tuple[str, ...]) -> None:
    """A file that another program edited is added to, and repeats no letter that it holds, whatever its envelope says."""
    document = orjson.loads(line(0))
    path = tmp_path / "letters.jsonl"
    path.write_bytes(prefix + orjson.dumps({name: value for name, value in document.items() if name not in missing}) + b"\n")
    file = DeadLetterFile(path)
    file.append([letter(0), letter(1)])
    assert [found.offset for _, found in file.iter_letters()] == [0, 1]
    assert not file.torn


def test_a_torn_line_costs_itself(tmp_path: Path) -> None:
    """What a crash cut off is passed over and named, and the next letter gets a line of its own."""
    path = tmp_path / "letters.jsonl"
    path.write_bytes(line(0) + b"\n" + line(1)[:40])
    file = DeadLetterFile(path)
    file.append([letter(2)])
    assert [found.offset for _, found in file.iter_letters()] == [0, 2]
    assert file.torn == [2]
