"""Fixtures that several files of real processes share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.command import EXAMPLES, Run
from tests.integration.worker_rig import Rig


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `guardian …` in a folder of its own, with no settings from outside."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")}

    def call(
        *arguments: object, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "guardian", *map(str, arguments)],
            cwd=cwd or tmp_path,
            env={**environment, "PYTHONPATH": str(EXAMPLES.parent), "COLUMNS": "160", **(env or {})},
            capture_output=True,
            timeout=120,
            check=False,
        )

    return call


@pytest.fixture
def small_rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    """Give a rig on the embedded broker, for what does not depend on the broker."""
    bootstrap = request.getfixturevalue("embedded_broker").bootstrap
    return Rig(bootstrap=bootstrap, folder=tmp_path, session_timeout_s=2.0)
