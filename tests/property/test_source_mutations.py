"""Sources against rows that are almost right: a value of another type anywhere costs its row and nothing else."""

import importlib
import json
import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardian.contracts.codec import DecodePolicy, decode
from guardian.errors import RecordError
from guardian.sources.port import RowChange, RowOperation, SourceEvent, SourceOptions
from guardian.sources.registry import BUILT_IN, by_name
from tests.contract.samples.files import write_lines

NAMES = {
    "agent-kb": "agent_kb",
    "amem": "amem",
    "cognee-session": "cognee_session",
    "cogx": "cogx",
    "lightmem": "lightmem",
    "locomo": "locomo",
    "longmemeval": "longmemeval",
    "memento": "memento",
    "memos": "memos",
    "memsyco": "memsyco",
    "reasoning-bank": "reasoning_bank",
    "reflexion-tasks": "reflexion_tasks",
    "reflexion-trials": "reflexion_trials",
}
DOCUMENTS = {"memorybank": "memory_bank", "voyager": "voyager", "memos": "memos", "amem": "amem"}
# What each odd value is written as, so that none is shared between places.
ODD = st.sampled_from(
    [
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "9223372036854775808",
        '""',
        '"x"',
        '"\\u0000"',
        '"D1:1"',
        '"202605011200"',
        '"[1]"',
        '"{}"',
        "[]",
        "{}",
        "[null]",
        "[[]]",
        '{"a":1}',
    ]
).map(json.loads)
RECEIVED_AT = datetime(2027, 1, 1, tzinfo=UTC)


def spots_of(value: Any) -> list[tuple[Any, Any]]:
    """Give every (container, key) in a JSON value, from the outside in."""
    spots: list[tuple[Any, Any]] = []
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        spots += [(value, key), *spots_of(value[key])]
    return spots


def mutate(value: Any, data: st.DataObject) -> Any:
    """Replace or remove up to three parts of a value, in place."""
    for _ in range(data.draw(st.integers(1, 3))):
        spots = spots_of(value)
        if not spots:
            break
        container, key = spots[data.draw(st.integers(0, len(spots) - 1))]
        if isinstance(container, dict) and data.draw(st.booleans()):
            del container[key]
        else:
            container[key] = data.draw(ODD)
    return value


@cache
def sample_texts(module: str) -> tuple[str, ...]:
    """Give what the files of a sample hold as JSON: an object, or the rows of each."""
    texts = []
    with tempfile.TemporaryDirectory() as folder:
        for path in importlib.import_module(f"tests.contract.samples.{module}").write(Path(folder))[0]:
            text = path.read_text()
            lines = [line for line in text.splitlines() if line.endswith("}")]
            texts.append(f"[{','.join(lines)}]" if "}\n{" in text else text)
    return tuple(texts)


def draw_value(module: str, kind: type, data: st.DataObject) -> Any:
    """Draw what one file of a sample holds, of its own to be changed."""
    texts = [text for text in sample_texts(module) if isinstance(json.loads(text), kind)]
    return json.loads(data.draw(st.sampled_from(texts)))


# Why an event of an odd row may be refused: 2**63 is a time, too, in nanoseconds, of the year 2262.
REFUSALS = {None, "text_blank", "text_nul", "id_invalid", "time_in_future"}


def find_fault(event: Any) -> str | None:
    """Give the reason for which the stream refuses an event, or None."""
    try:
        decode(orjson.dumps(event), policy=DecodePolicy(), received_at=RECEIVED_AT)
    except RecordError as error:
        return str(error.reason)
    return None


def check(name: str, path: Path, rows: int | None) -> None:
    """Read twice alike, account for every row, and give events that can be encoded and judged."""
    source = by_name(name)
    assert isinstance(source.detect(path), bool)
    options = SourceOptions(default_time=datetime(2026, 1, 1, tzinfo=UTC))
    items = list(source.iter_items([path], options))
    assert items == list(source.iter_items([path], options))
    if rows is not None:
        assert sum(item.rows for item in items) == rows
    events = [item.event for item in items if isinstance(item, SourceEvent)]
    assert len({event["id"] for event in events if event is not None}) == len(events)
    assert {find_fault(event) for event in events} <= REFUSALS


@pytest.mark.parametrize("name", NAMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(st.data())
def test_a_row_with_odd_values_costs_itself(name: str, tmp_path: Path, data: st.DataObject) -> None:
    """Give one account of each row, whatever stands in it."""
    rows = [row if isinstance(row, dict) else {} for row in mutate(draw_value(NAMES[name], list, data), data)]
    check(name, write_lines(tmp_path / "rows", *rows), len(rows))


@pytest.mark.parametrize("name", DOCUMENTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(st.data())
def test_an_object_with_odd_values_costs_only_them(name: str, tmp_path: Path, data: st.DataObject) -> None:
    """Read what can be read of a file that is one object."""
    value = draw_value(DOCUMENTS[name], dict, data)
    path = tmp_path / "object"
    path.write_text(json.dumps(mutate(value, data)))
    check(name, path, None)


@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(by_name(name), "matches_row")])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(st.data(), st.sampled_from(RowOperation))
def test_a_row_that_arrives_with_odd_values_is_one_account(name: str, data: st.DataObject, operation: RowOperation) -> None:
    """Give items that sum to one row, of a row of this format as of any other's."""
    value = draw_value(NAMES[name], list, data)
    row = mutate([row for row in value if isinstance(row, dict)], data)[0]
    row = row if isinstance(row, dict) else {}
    side = "before" if operation is RowOperation.DELETE else "after"
    change = RowChange(position="t/0/1", identity="1", operation=operation, time=datetime(2026, 1, 1, tzinfo=UTC), **{side: row})
    for source in BUILT_IN:
        if hasattr(source, "matches_row") and (source.name == name or source.matches_row(change)):
            items = list(source.iter_row(change, SourceOptions()))
            assert sum(item.rows for item in items) == 1
            assert all(orjson.dumps(item.event) for item in items if isinstance(item, SourceEvent))
