"""The example of `docs/adding-a-source.md`, run as it stands there."""

from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest

from guardian.contracts.codec import DecodePolicy, decode
from guardian.sources import registry
from guardian.sources.live.translator import Translator
from guardian.sources.port import Broken, RowSource, SourceEvent, SourceOptions
from tests.builders import RECEIVED_AT
from tests.unit.sources.live.test_translator import arrive

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-source.md").read_text("utf-8")


def read_blocks(language: str) -> list[str]:
    """Give the page's blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Give the example as the module that its entry point names."""
    (code,) = read_blocks("python")
    example = ModuleType("desk_notes")
    exec(compile(code, "docs/adding-a-source.md", "exec"), example.__dict__)  # the page's own code
    monkeypatch.setitem(sys.modules, "desk_notes", example)
    return example


@pytest.fixture
def source(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:  # makes the module importable
    """Give the source as an installed package brings it."""
    name, value = re.findall(r'^([\w-]+) = "([\w.:]+)"$', read_blocks("toml")[0], re.MULTILINE)[0]
    point = EntryPoint(name=name, value=value, group=registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == registry.ENTRY_POINT_GROUP else [])
    return registry.by_name("desk-notes")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Give a file of notes, those of the page and a cut one."""
    path = tmp_path / "anything"
    path.write_text(read_blocks("")[0] + "n-3\t2026-05-01", "utf-8")
    return path


def test_the_example_is_found_by_its_entry_point_and_by_content(source: Any, notes: Path) -> None:
    """Nothing of Guardian was touched."""
    assert registry.detect(notes).name == source.name
    assert isinstance(source, RowSource)


def test_every_line_is_accounted_for_and_its_events_are_right(source: Any, notes: Path) -> None:
    """Two events, one dead letter; a time without a zone says so; nobody is invented."""
    first, second, third = source.iter_items([notes], SourceOptions())
    assert isinstance(third, Broken)
    assert sum(item.rows for item in (first, second, third)) == 3
    for item in (first, second):
        assert isinstance(item, SourceEvent)
        decode(orjson.dumps(item.event), policy=DecodePolicy(), received_at=RECEIVED_AT)
    assert first.event["data"]["source"] == {"kind": "user", "ref": "desk-notes:n-1", "actor": "ann"}
    assert second.event["data"]["source"] == {"kind": "unknown", "ref": "desk-notes:n-2"}
    assert second.event["data"]["metadata"]["tz_assumed"] is True


def test_a_note_has_one_event_live_and_replayed(source: Any, notes: Path) -> None:
    """Byte for byte."""
    (replayed, *_) = source.iter_items([notes], SourceOptions())
    row = {"id": "n-1", "time": "2026-05-01T08:00:00Z", "author": "ann", "text": "Desk 3 is by the window"}
    translation = Translator(row_sources=[source]).translate(arrive(row))
    assert translation.error is None
    assert translation.events == [(orjson.dumps(replayed.event), ())]
