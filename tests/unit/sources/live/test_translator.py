"""Laws of translating a topic's records: bound by settings or told by content, never guessed, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

from guardian.mapping import EventMap
from guardian.sources.live.arrival import Arrival
from guardian.sources.live.mapping import CompiledMap
from guardian.sources.live.translator import Binding, Translator
from guardian.sources.port import Broken, Item, RowChange, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.envelope import WRITTEN, build_event

AT = datetime(2026, 5, 1, tzinfo=UTC)


class Shopping:
    """A format of rows with the field `item`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the field."""
        return "item" in (change.after or {})

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Give a write, a skip or a fault."""
        item = (change.after or {})["item"]
        if item == "skip":
            yield Skipped(position=change.position, reason="unchanged", detail="as before")
        elif item == "bad":
            yield Broken(position=change.position, reason="text_missing", message="no text", raw=b"")
        else:
            data = {"memory_id": item, "text": item}
            event = build_event(
                event_id=change.identity,
                source="/shop",
                event_type=WRITTEN,
                time=change.time,
                space=options.space or "shop",
                data=data,
            )
            yield SourceEvent(position=change.position, event=event)


def arrive(value: Any, topic: str = "shop") -> Arrival:
    """Build a record."""
    return Arrival(topic=topic, position=f"{topic}/0/1", time=AT, key=None, value=json.dumps(value).encode())


def test_a_row_that_one_format_knows_becomes_its_events() -> None:
    """Told by content, in the topic's space."""
    translator = Translator({"sh*": Binding(options=SourceOptions(space="kitchen"))}, row_sources=[Shopping("shopping")])
    translation = translator.translate(arrive({"item": "tea"}))
    (raw, headers), *_ = translation.events
    assert orjson.loads(raw or b"")["space"] == "kitchen"
    assert headers == ()
    assert translation.error is None


def test_a_row_that_nobody_or_two_know_is_refused_with_the_mend() -> None:
    """Nothing is guessed."""
    assert Translator().translate(arrive({"item": "tea"})).error is not None
    two = Translator(row_sources=[Shopping("one"), Shopping("two")]).translate(arrive({"item": "tea"}))
    assert two.error is not None
    assert "one, two" in str(two.error)
    unknown = Translator(row_sources=[Shopping("one")]).translate(arrive({"what": 1}))
    assert unknown.error is not None
    assert unknown.error.reason == "format_unknown"


def test_a_topic_can_be_bound_to_a_format_or_a_map() -> None:
    """Then nothing is told by content."""
    bound = Translator({"shop": Binding(row_source=Shopping("one"))}, row_sources=[Shopping("one"), Shopping("two")])
    assert bound.translate(arrive({"item": "tea"})).error is None
    declared = EventMap.model_validate({"data": {"memory_id": "item", "text": "item"}})
    mapped = Translator({"shop": Binding(map=CompiledMap("m", declared), options=SourceOptions(space="s"))})
    assert orjson.loads(mapped.translate(arrive({"item": "tea"})).events[0][0] or b"")["source"] == "map:m"


def test_what_is_right_in_a_record_goes_on_beside_what_is_wrong() -> None:
    """The record is refused once, its good rows and skips stay."""
    translator = Translator(row_sources=[Shopping("one")])
    translation = translator.translate(arrive([{"item": "tea"}, {"item": "bad"}, {"item": "skip"}, 7, {"item": "milk"}]))
    assert len(translation.events) == 2
    assert translation.skipped == {"unchanged": 1}
    assert translation.error is not None
    assert translation.error.reason == "text_missing"
