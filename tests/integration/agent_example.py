"""What the examples need in tests: they are loaded as their reader runs them, in settings of a test's own."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from guardian.core.model import SourceKind
from guardian.serve.key import Key, Right
from guardian.settings import Settings

EXAMPLES = Path(__file__).parents[2] / "examples"
REVIEWER = Key(name="ann", may=frozenset(Right), highest=SourceKind.HUMAN_REVIEW, actor="ann", source="/desk")


def load(name: str) -> ModuleType:
    """Load an example as its reader runs it: a file, not a package."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def prepare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    """Give settings of a test's own; mem0 calls nobody and keeps its files here."""
    monkeypatch.syspath_prepend(EXAMPLES)  # as of a script that is run there
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path / "mem0"))
    return Settings()
