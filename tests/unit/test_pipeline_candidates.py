"""The pipeline's own part in an outcome: candidates for a correction that waits for a target nobody knows."""

import asyncio
from collections.abc import Sequence

import orjson
import pytest

from guardian.core.policy import Policy
from guardian.embed.bm25 import BM25_IDENTITY
from guardian.pipeline import MAX_QUERY_CHARS, Pipeline
from guardian.ports import Fence, OutcomeMessage, StoreIdentity
from guardian.store.layout import SCHEMA_VERSION
from guardian.store.memory import MemoryStore
from tests.builders import corrected, written


class _Publisher:
    """Keeps what is published."""

    def __init__(self) -> None:
        self.messages: list[OutcomeMessage] = []

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
        self.messages += messages


@pytest.mark.parametrize(("words_before", "candidates"), [(0, ["m"]), (MAX_QUERY_CHARS, [])])
def test_a_waiting_correction_is_offered_candidates_by_its_first_words(words_before: int, candidates: list[str]) -> None:
    """A reason may be as long as a message; only its beginning is searched by."""
    identity = StoreIdentity(schema_version=SCHEMA_VERSION, embedding="none", vector_size=0, bm25=BM25_IDENTITY)
    publisher = _Publisher()
    pipeline = Pipeline(store=MemoryStore(identity), policy_of=lambda _: Policy(), publisher=publisher)
    events = [written("m", "Kiln 4 fires at 900"), corrected("nobody", reason="x " * (words_before // 2) + "kiln fires", t=1)]
    asyncio.run(pipeline.process(events, fence=Fence(version=1)))
    items = [orjson.loads(message.value or b"")["data"] for message in publisher.messages if message.topic == "guardian.reviews"]
    found = [item["detail"]["candidates"] for item in items if item["kind"] == "waiting_correction"]
    assert [[candidate["memory_id"] for candidate in one] for one in found] == [candidates]
