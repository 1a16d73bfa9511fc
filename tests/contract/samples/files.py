"""Write the files of samples: rows as lines, as an array, or one object."""

import json
import os
from pathlib import Path
from typing import Any

# Modification time of the first file of a sample; each further one is a second later.
FIRST_TIME = 1_700_000_000


def write_lines(path: Path, *rows: Any) -> Path:
    """Write a row a line; a text stays as it is, for lines that are no JSON."""
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows) + "\n")
    return path


def write_json(path: Path, value: Any, *, indent: int | None = None) -> Path:
    """Write one JSON value."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent))
    return path


def stamp_files(*paths: Path) -> list[Path]:
    """Give the files modification times that rise by a second."""
    for number, path in enumerate(paths):
        os.utime(path, (FIRST_TIME + number, FIRST_TIME + number))
    return list(paths)
