"""Real files of other programs, in the folder that GUARDIAN_REAL_DATA names; nothing of them is part of this repository."""

from __future__ import annotations

import os
from pathlib import Path

from guardian.errors import ConfigError

VARIABLE = "GUARDIAN_REAL_DATA"


def find_real(*parts: str) -> Path:
    """Give a file or folder of the real data.

    Raises:
        ConfigError: The folder is not named, or does not hold it.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise ConfigError(f"{VARIABLE} names no folder of real files; skipped.", mend=f"set {VARIABLE} to one.")
    path = Path(folder, *parts)
    if not path.exists():
        raise ConfigError(f"{VARIABLE} holds no {'/'.join(parts)}; skipped.", mend="fetch it, as benchmarks/README.md says.")
    return path
