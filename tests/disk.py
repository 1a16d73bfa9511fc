"""Looks for words on a disk, byte by byte: what an erasure or a compaction has taken must not be in any file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def iter_files_with(folder: Path, *words: bytes) -> Iterator[Path]:
    """Give the files under a folder in whose bytes one of some words stands; compressed pages hide theirs."""
    for path in sorted(folder.rglob("*")):
        try:
            content = path.read_bytes() if path.is_file() else b""
        except FileNotFoundError:  # a segment that was just taken away
            continue
        if any(word in content for word in words):
            yield path
