"""Read items of a source in tests, and look at them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guardian.sources.port import Broken, Item, Skipped, Source, SourceEvent, SourceOptions


def read(source: Source, *paths: Path, **options: Any) -> list[Item]:
    """Give the items of files."""
    return list(source.iter_items(paths, SourceOptions(**options)))


def events_of(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Give the events among items."""
    return [dict(item.event) for item in items if isinstance(item, SourceEvent) and item.event is not None]


def shape(items: Sequence[Item]) -> list[tuple[str, str, str | None]]:
    """Give type (without `memory.`), memory id and text of the events."""
    return [
        (event["type"].removeprefix("memory."), event["data"]["memory_id"], event["data"].get("text"))
        for event in events_of(items)
    ]


def reasons(items: Sequence[Item]) -> list[tuple[str, int]]:
    """Give reason and rows of what became no event."""
    return [(str(item.reason), item.rows) for item in items if isinstance(item, Skipped | Broken)]
