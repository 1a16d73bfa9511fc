"""Where an interrupted replay goes on, with the figures of what is done.

A batch is entered twice: before it is applied, with the figures it is going to have (`doing`), and when it is durable
(`done`). After a crash in between nobody knows how much of it was applied. It is done again, which changes nothing, but its
events are duplicates now; what is counted then is what was entered before.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson

from guardian.replay.account import ReplaySummary

# Form of the file; a file in another form is none. Until 1 it was a number of items alone.
_FORM = 2
_COUNTERS = ("dispositions", "skipped", "dead_letters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What a checkpoint holds.

    Attributes:
        done: Figures of all that is durable; its `items` is the number of items done.
        doing: The same with the batch that was being applied; None when there was none.
    """

    done: ReplaySummary = field(default_factory=ReplaySummary)
    doing: ReplaySummary | None = None


class Checkpoint:
    """The figures of one replay, in a file that is replaced whole.

    Its name is a digest of the inputs (path, size, modification time), format, options and target: any change starts anew.
    """

    def __init__(self, folder: Path, inputs: Sequence[Path], *marks: str) -> None:
        parts: list[object] = [*marks]
        for path in inputs:
            parts += [str(path.resolve()), *_describe_input(path)]
        name = hashlib.sha256(orjson.dumps(parts)).hexdigest()[:24]
        self.path = folder / "replays" / f"{name}.json"

    def read(self) -> Saved:
        """Give what is saved; nothing done when there is no whole checkpoint of this form."""
        try:
            content = orjson.loads(self.path.read_bytes())
            saved = content["saved"]
            if content["form"] != _FORM or content["digest"] != self._digest(saved):
                return Saved()
            return Saved(done=_read(saved["done"]), doing=None if saved["doing"] is None else _read(saved["doing"]))
        except (OSError, ValueError, KeyError, TypeError):
            return Saved()

    def write(self, done: ReplaySummary, doing: ReplaySummary | None = None) -> None:
        """Keep the figures."""
        saved = {"done": _write(done), "doing": None if doing is None else _write(doing)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_bytes(orjson.dumps({"form": _FORM, "digest": self._digest(saved), "saved": saved}))
        os.replace(fresh, self.path)  # noqa: PTH105 # atomic on one file system

    def clear(self) -> None:
        """Forget a replay that is finished."""
        self.path.unlink(missing_ok=True)

    def _digest(self, saved: Any) -> str:
        """Digest what is saved, for this replay: a file that was torn, edited or copied from another is none."""
        return hashlib.sha256(orjson.dumps([self.path.name, saved], option=orjson.OPT_SORT_KEYS)).hexdigest()


def _write(summary: ReplaySummary) -> dict[str, Any]:
    values = {item.name: getattr(summary, item.name) for item in fields(summary)}
    return values | {name: {str(reason): count for reason, count in values[name].items()} for name in _COUNTERS}


def _read(values: dict[str, Any]) -> ReplaySummary:
    return ReplaySummary(**values | {name: Counter(values[name]) for name in _COUNTERS})


def _describe_input(path: Path) -> list[object]:
    """Give what changes when an input changes: size and time of a file, or of every file below a folder (a repository's too)."""
    if not path.is_dir():
        stat = path.stat()
        return [stat.st_size, stat.st_mtime_ns]
    parts: list[object] = []
    for folder, folders, names in os.walk(path, followlinks=False):
        folders.sort()
        for name in sorted(names):
            stat = Path(folder, name).lstat()
            parts += [name, stat.st_size, stat.st_mtime_ns]
    return parts
