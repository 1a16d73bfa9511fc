"""Where readers stand: in bytes of the files as they lie on the disk, and never in the way of the reading."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from guardian.sources.reading.csv_rows import iter_csv_rows
from guardian.sources.reading.framing import iter_rows, sniff_objects
from guardian.sources.reading.position import metered

ROWS = b"".join(b'{"number":%d,"text":"shelf %d"}\n' % (number, number * 7919 % 10_007) for number in range(20_000))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
def test_the_position_grows_to_the_size_of_the_file(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """It is that of the packed file, lies between nothing and all on the way, and ends at its size."""
    path = tmp_path / "rows"
    path.write_bytes(pack(ROWS))
    size = path.stat().st_size
    with metered() as meter:
        seen = [meter.count_bytes() for row in iter_rows(path) if row.number % 1_000 == 0]
        assert meter.count_bytes() == size
    assert seen == sorted(seen)
    assert 0 < seen[0] < size


def test_a_look_at_the_beginning_does_not_count_when_the_file_is_read(tmp_path: Path) -> None:
    """The latest opening tells, and files are added up; reading without a meter is the same reading."""
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(ROWS)
    unmetered = list(iter_rows(paths[0]))
    with metered() as meter:
        list(sniff_objects(paths[0]))
        assert 0 < meter.count_bytes() < len(ROWS)
        assert list(iter_rows(paths[0])) == unmetered
        assert meter.count_bytes() == len(ROWS)
        rows = iter_rows(paths[1])
        next(rows)
        assert len(ROWS) < meter.count_bytes() < 2 * len(ROWS)
        rows.close()
        assert meter.count_bytes() < 2 * len(ROWS)


def test_a_reader_that_closes_its_file_has_read_it(tmp_path: Path) -> None:
    """Text readers close what they wrap; nothing breaks for it."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 50_000)
    with metered() as meter:
        for number, _ in iter_csv_rows(path):
            assert number > 25_000 or meter.count_bytes() <= path.stat().st_size
        assert meter.count_bytes() == path.stat().st_size
