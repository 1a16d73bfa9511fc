"""Write a sample of files as bytes, so that a fuzzer can change it: every file a part, folders, archives and databases among them.

A part begins with a line that names its file; a folder is made for a name with a slash, an archive for one with `!`, and a database from
its description (see `frame`). A part without such a line is a file of its own, so that no input is lost:

```
file: memory/system/human.md
…
%%
file: export.zip!conversations.json
…
%%
database: store.sqlite
{"tables": […]}
```
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import zipfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.fuzz.frame import build_database
from tests.fuzz.mutate import SEPARATOR

# Files of a sample that are written; more tell nothing new.
MAX_FILES = 40
_FIRST_TIME = 1_700_000_000
_HEAD = re.compile(rb"(file|database): ([^\n]{1,200})\n")
_STEP = re.compile(r"[^A-Za-z0-9._ -]")


def pack_sample(folder: Path, paths: list[Path]) -> bytes:
    """Write the files of a sample, in its order."""
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*"))) if file.is_file()]
    return SEPARATOR.join(part for file in files for part in _pack_file(file, file.relative_to(folder).as_posix()))


def _pack_file(path: Path, name: str) -> list[bytes]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return [f"file: {name}!{inner}\n".encode() + archive.read(inner) for inner in archive.namelist()]
    raw = path.read_bytes()
    if raw.startswith(b"SQLite format 3\x00"):
        return [f"database: {name}\n".encode() + _describe_database(path)]
    return [f"file: {name}\n".encode() + raw]


def _describe_database(path: Path) -> bytes:
    """Give tables, columns and rows; what a description cannot say (a virtual table) is left out."""
    tables: list[dict[str, Any]] = []
    with closing(sqlite3.connect(path)) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [f'"{row[1]}" {row[2]}' for row in database.execute(f'PRAGMA table_info("{name}")')]
            rows = [[_describe_value(value) for value in row] for row in database.execute(f'SELECT * FROM "{name}"')]
            tables.append({"name": name, "columns": columns, "rows": rows})
    return json.dumps({"tables": tables}).encode()


def _describe_value(value: Any) -> Any:
    return {"blob": value.hex()} if isinstance(value, bytes) else value


def unpack_sample(data: bytes, folder: Path) -> list[Path]:
    """Write what an input describes below a folder; gives the files and folders at its top, in order, each a second younger."""
    paths: dict[Path, None] = {}
    archives: dict[Path, dict[str, bytes]] = {}
    for number, part in enumerate(data.split(SEPARATOR)[:MAX_FILES]):
        head = _HEAD.match(part)
        name = head.group(2).decode(errors="replace") if head else f"part-{number}"
        content = part[head.end() :] if head else part
        outer, _, inner = name.partition("!")
        path = folder.joinpath(*_clean(outer) or [f"part-{number}"])
        with suppress(OSError):  # a file stands where a folder should be
            path.parent.mkdir(parents=True, exist_ok=True)
            if inner:
                archives.setdefault(path, {})[inner[:100]] = content
            else:
                path.write_bytes(_build(content) if head and head.group(1) == b"database" else content)
            paths[folder / path.relative_to(folder).parts[0]] = None
    for path, members in archives.items():
        with suppress(OSError), zipfile.ZipFile(path, "w") as archive:
            for inner, content in members.items():
                archive.writestr(zipfile.ZipInfo(inner), content)
    found = [path for path in paths if path.exists()]
    for number, path in enumerate(found):
        os.utime(path, (_FIRST_TIME + number, _FIRST_TIME + number))
    return found


def _build(description: bytes) -> bytes:
    built = build_database(description)
    return b"" if built is None else built[0]


def _clean(name: str) -> list[str]:
    """Give the steps of a path that stays below its folder."""
    steps = (_STEP.sub("", step)[:60] for step in name.split("/")[:6])
    return [step for step in steps if step.strip(". ")]
