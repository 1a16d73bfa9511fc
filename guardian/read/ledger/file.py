"""The ledger as files, for a reader without a broker: one JSON Lines file a topic, appended to.

`guardian.ledger.jsonl` is what `guardian ledger report` reads, and `guardian.events.jsonl` holds the `memory.read` events: `guardian
replay` takes them in. It is a publisher like that of Kafka.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import orjson
from pydantic import ValidationError

from guardian.contracts.ledger import ContextGiven, ContextJudged
from guardian.errors import DependencyError, RecordError
from guardian.ports import OutcomeMessage

Line = tuple[str, ContextGiven | ContextJudged]
_MODELS: dict[str, type[ContextGiven | ContextJudged]] = {model.event_type: model for model in (ContextGiven, ContextJudged)}


class LedgerFile:
    """Appends messages to files of a folder, which is made when missing.

    Each call is one write to the end of a file, so several processes may share a folder. Lines are not flushed to the disk: a
    ledger that misses the last second before a power failure is worth no wait in every answer. A line that such an end tore costs
    itself: what follows begins a line of its own.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(self) -> None:
        """Make the folder, and see that it can be written.

        Raises:
            DependencyError: It cannot.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=self.folder):
                pass
        except OSError as exc:
            raise DependencyError(f"the ledger in {self.folder} cannot be written: {exc}", dependency="ledger") from exc

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
        """Append all messages, those of one file although another cannot be written.

        Raises:
            DependencyError: The disk takes some of them not.
        """
        lines: defaultdict[str, list[bytes]] = defaultdict(list)
        for message in messages:
            if message.value is not None:
                lines[message.topic].append(message.value + b"\n")
        failed: OSError | None = None
        for topic, parts in lines.items():
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                _append(self.folder / f"{topic}.jsonl", b"".join(parts))
            except OSError as exc:  # a file that is full takes the others' lines with it else
                failed = exc
        if failed is not None:
            raise DependencyError(f"the ledger in {self.folder} cannot be written: {failed}", dependency="ledger") from failed


def _append(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        # No lock: what looks torn may be a line that another process is writing, and then this leaves a blank line.
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            content = b"\n" + content
        while content:
            content = content[os.write(descriptor, content) :]
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that is no ledger line: torn, of another version, or of something else.

    Attributes:
        path: Its file.
        number: Of the line, from 1.
        fault: What is wrong with it; no word of what it holds.
    """

    path: Path
    number: int
    fault: str


def iter_lines(path: Path) -> Iterator[Line | Unread]:
    """Give the ledger lines of a file with their ids, and what cannot be read in its place; events of other types are passed over.

    What a newer version added to a line is passed over, too. A last line without its end is still being written, and no fault.
    """
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = _read_line(raw) if raw.strip() else None
            except (orjson.JSONDecodeError, ValidationError, RecordError) as exc:
                if raw.endswith(b"\n"):
                    yield Unread(path, number, _tell(exc))
                continue
            if line is not None:
                yield line


def _read_line(raw: bytes) -> Line | None:
    document = orjson.loads(raw)
    kind, line_id = (document.get("type"), document.get("id")) if isinstance(document, dict) else (None, None)
    if not isinstance(kind, str):
        raise RecordError("ledger_line_bad", "it is no CloudEvent")
    if kind not in _MODELS:
        return None
    if not isinstance(line_id, str):
        raise RecordError("ledger_line_bad", "it has no id")
    return line_id, _MODELS[kind].model_validate(document.get("data"), extra="ignore")


def _tell(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(map(str, fault['loc'])) or 'data'}: {fault['type']}"
    return str(error)
