"""Laws of sources whose rows are JSON: whatever the fields hold, every row is answered for, and no exception leaves."""

from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.sources.formats.graphiti.dump import GraphitiSource
from guardian.sources.formats.langgraph.store import LanggraphSource
from guardian.sources.formats.mem0.api import Mem0ApiSource
from guardian.sources.formats.mem0.points import Mem0PointsSource
from guardian.sources.port import RowChange, RowOperation, SourceEvent, SourceOptions
from tests.contract.samples.graphiti import DUMP

TIME = datetime(2026, 6, 1, tzinfo=UTC)
ITEM = {
    "namespace": ["a", "b"],
    "key": "k",
    "value": {"kind": "M", "content": {"content": "x"}},
    "updated_at": "2026-05-01T00:00:00Z",
}
POINT = {"id": "m", "payload": {"data": "x", "hash": "h", "created_at": "2026-05-01T00:00:00Z", "user_id": "u", "role": "user"}}
HISTORY = {
    "id": "h",
    "memory_id": "m",
    "old_memory": None,
    "new_memory": "x",
    "event": "ADD",
    "created_at": "2026-05-01",
    "role": "user",
}
SAMPLES: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "graphiti": (GraphitiSource(), [row for rows in DUMP.values() for row in rows] + [{"invalidated_edge_uuid": "e1", "invalidating_edges": [{"uuid": "e2"}]}]),
    "langgraph": (LanggraphSource(), [ITEM, {"prefix": "a", "key": "k", "value": '{"content": "x"}', "ttl_minutes": 5}]),
    "mem0-points": (Mem0PointsSource(), [POINT, {"id": "e", "payload": {"data": "x", "entity_type": "y", "linked_memory_ids": []}}]),
    "mem0-api": (
        Mem0ApiSource(),
        [
            HISTORY,
            {**HISTORY, "event": "DELETE", "created_at": None},
            {**HISTORY, "input": [{"role": "user", "content": "y"}], "user_id": "u"},
            {"id": "m", "memory": "x", "metadata": {"a": 1}, "replaced_by": "n", "expiration_date": "2026-05-01", "created_at": "2026-05-01"},
            {"id": "m", "memory": "x", "event": "ADD"},
            {"event_details": {"id": "m", "data": {"memory": "x"}, "event": "ADD"}},
            {"memory_id": "m", "feedback": "POSITIVE", "feedback_reason": "r"},
        ],
    ),
}  # fmt: skip
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["2026-05-01", "9999-12-31T23:59:59Z", "user", "DELETE", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "uuid", "memory", "content", "a"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@st.composite
def bent_rows(draw: Callable[..., Any], name: str) -> list[Any]:
    """Give rows of a format with some fields lost and some holding anything, and values that are no rows."""
    rows: list[Any] = []
    for row in draw(st.lists(st.sampled_from(SAMPLES[name][1]), max_size=6)):
        bent = deepcopy(row)
        for key in draw(st.lists(st.sampled_from(sorted(row)), max_size=3)):
            inner = bent.get(key)
            place = inner if isinstance(inner, dict) and inner and draw(st.booleans()) else bent
            field = key if place is bent else draw(st.sampled_from(sorted(place)))
            if draw(st.booleans()):
                place.pop(field, None)
            else:
                place[field] = draw(JUNK)
        rows.append(bent)
    return rows


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=60)
@given(data=st.data())
def test_every_line_is_answered_for(name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give items whose rows are the lines, twice alike, with events that can be written as JSON."""
    source = SAMPLES[name][0]
    rows = data.draw(bent_rows(name))
    path = tmp_path_factory.mktemp("rows") / "x"
    path.write_bytes(b"\n".join(orjson.dumps(row) for row in rows))
    items = list(source.iter_items([path], SourceOptions(default_time=TIME)))
    assert sum(item.rows for item in items) == len(rows)
    assert items == list(source.iter_items([path], SourceOptions(default_time=TIME)))
    for item in items:
        assert not isinstance(item, SourceEvent) or orjson.loads(orjson.dumps(item.event)) == item.event


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=60)
@given(data=st.data(), operation=st.sampled_from(RowOperation))
def test_every_record_is_answered_for(name: str, data: st.DataObject, operation: RowOperation) -> None:
    """Answer for a record that arrives by itself with items that count it once, whatever it holds and whatever it was."""
    source = SAMPLES[name][0]
    before, after = ((rows or [None])[0] for rows in (data.draw(bent_rows(name)), data.draw(bent_rows(name))))
    change = RowChange(position="p", identity="i", operation=operation, time=TIME, before=before, after=after)
    source.matches_row(change)
    items = list(source.iter_row(change, SourceOptions()))
    assert sum(item.rows for item in items) == 1
    assert items == list(source.iter_row(change, SourceOptions()))
