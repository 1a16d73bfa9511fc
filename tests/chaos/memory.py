"""Memory of a process, as Linux tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process has in memory, bytes.

    Attributes:
        resident: All of it, with pages of files it has mapped: the engine maps its segments, which the system may drop at any time.
        private: What nothing but the process itself can give back.
    """

    resident: int
    private: int


def read_memory(pid: int) -> Memory | None:
    """Read the memory of a process; None when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    sizes = {
        name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines) if rest.endswith(" kB")
    }
    return Memory(sizes["VmRSS"], sizes["RssAnon"]) if "VmRSS" in sizes else None
