"""The ledger as files, for a reader without a broker: one JSON Lines file a topic, appended to.

`guardian.ledger.jsonl` is what `guardian ledger report` reads, and `guardian.events.jsonl` holds the `memory.read` events: `guardian
replay` takes them in. It is a publisher like that of Kafka.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
from pydantic import ValidationError

from guardian.contracts.ledger import LEDGER_MODELS, ContextGiven, ContextJudged
from guardian.errors import DependencyError, RecordError
from guardian.ports import OutcomeMessage

_MODELS = {model.event_type: model for model in LEDGER_MODELS}


class LedgerFile:
    """Appends messages to files of a folder, which is made when missing.

    Each call is one write to the end of a file, so several processes may share a folder. Lines are not flushed to the disk: a
    ledger that misses the last second before a power failure is worth no wait in every answer.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
        """Append all messages.

        Raises:
            DependencyError: The disk takes them not.
        """
        lines: defaultdict[str, list[bytes]] = defaultdict(list)
        for message in messages:
            if message.value is not None:
                lines[message.topic].append(message.value + b"\n")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for topic, parts in lines.items():
                _append(self.folder / f"{topic}.jsonl", b"".join(parts))
        except OSError as exc:
            raise DependencyError(f"the ledger in {self.folder} cannot be written: {exc}", dependency="ledger") from exc


def _append(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        while content:
            content = content[os.write(descriptor, content) :]
    finally:
        os.close(descriptor)


def iter_lines(path: Path) -> Iterator[tuple[str, ContextGiven | ContextJudged]]:
    """Give the ledger lines of a file with their ids; lines of other types are passed over, a torn last line too.

    Raises:
        RecordError: A line is no CloudEvent, or no ledger line of this version; names file and line.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                document = orjson.loads(line)
                model = _MODELS.get(document["type"])
                if model is not None:
                    yield document["id"], model.model_validate(document["data"])  # type: ignore[misc] # one of the two
            except (orjson.JSONDecodeError, ValidationError, KeyError, TypeError) as exc:
                if not line.endswith(b"\n"):
                    return  # still being written
                raise RecordError("ledger_line_bad", f"{path}, line {number} is no ledger line: {exc}", path=str(number)) from exc
