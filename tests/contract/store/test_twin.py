"""The contract of the Store port: every store gives what the in-memory twin gives."""

from __future__ import annotations

import random
from typing import Any

from guardian.core.model import MemoryKind, Slot, Status
from guardian.core.needs import Needs
from guardian.core.point import Patch, Phase, PointKind, Upsert
from guardian.ports import SearchQuery
from guardian.store.layout import KEY_SETS
from guardian.store.memory import MemoryStore
from tests.contract.store.place import FENCE, IDENTITY, T0, Place, build_upsert, read_all


class TestTwin:
    """Every store gives what the in-memory twin gives."""

    @staticmethod
    def build_random_record(draw: random.Random, number: int) -> Upsert:
        """Build a record of few names, times and terms, so that much is shared and much ties."""
        names = [f"m{place}" for place in range(8)]
        optional: dict[str, Any] = {
            "roots": draw.sample(names, draw.randint(0, 3)),
            "parents": draw.sample(names, draw.randint(0, 2)),
            "subject": draw.choice("xyz"),
            "source_ref": draw.choice("def"),
            "session_id": draw.choice("uv"),
            "valid_from": f"2026-03-{draw.randint(1, 28):02}T09:00:00Z",
            "valid_until": f"2026-04-{draw.randint(1, 28):02}T09:00:00+02:00",
            "kind": draw.choice(list(MemoryKind)),
            "slots": draw.sample(list(Slot), 2),
            "dense": (*(float(draw.randint(-2, 2)) for _ in range(3)), 1.0),
            "sparse": (tuple(sorted(draw.sample(range(12), 3))), tuple(draw.choice((0.5, 1.0, 1.5)) for _ in range(3))),
        }
        chosen = {name: value for name, value in optional.items() if draw.random() < 0.7}
        return build_upsert(
            PointKind.RECORD,
            draw.choice(("s1", "s2")),
            f"r{number}",
            memory_id=draw.choice(names),
            status=draw.choice(list(Status)),
            text="t",
            **chosen,
        )

    async def test_random_writes_lookups_and_searches_give_what_the_twin_gives(self, place: Place) -> None:
        """After each of several random batches, points, lookups and hits are equal, hits in order too."""
        draw = random.Random(20260314)
        twin, store = MemoryStore(IDENTITY), await place.open(page_size=20)
        await twin.open()
        for batch in range(4):
            records = [self.build_random_record(draw, batch * 25 + number) for number in range(50)]
            known = [point.id async for point in twin.iter_points()]
            patched = draw.sample(known, min(10, len(known)))
            patches = tuple(
                Patch(id=point_id, payload={"status": "active", "roots": ["m1"], "kind": None}) for point_id in patched
            )
            deletes = tuple(draw.sample(known, min(5, len(known))))
            phases = [Phase(upserts=tuple(records)), Phase(patches=patches), Phase(deletes=deletes)]
            for each in (twin, store):
                await each.apply(phases, fence=FENCE)
            assert await read_all(store) == await read_all(twin)
            for name in ("roots", "status", "kind"):
                assert await store.count_values(name, space="s1") == await twin.count_values(name, space="s1")
            assert await store.count_without_vector() == await twin.count_without_vector()
            lacking = {point.id for point in await store.fetch_without_vector(1_000)}
            assert lacking == {point.id for point in await twin.fetch_without_vector(1_000)}
            for _ in range(10):
                keys = {(draw.choice(("s1", "s2")), draw.choice([*"xyzdefuv", "m1", "m2", "m3"])) for _ in range(4)}
                needs = Needs(**{key_set.name: keys for key_set in KEY_SETS}, ids=set(draw.sample(known, min(3, len(known)))))
                assert await store.fetch(needs) == await twin.fetch(needs)
                query = SearchQuery(
                    space=draw.choice(("s1", "s2")),
                    sparse=(tuple(sorted(draw.sample(range(12), 2))), (1.0, 0.5)),
                    dense=draw.choice((None, (1.0, float(draw.randint(-2, 2)), 0.5, 0.0))),
                    statuses=draw.sample(list(Status), 2),
                    slots=draw.choice((None, [Slot.FACTS, Slot.EXAMPLES])),
                    at=draw.choice((None, T0)),
                    without_roots=draw.choice(((), ("m1", "x"))),
                    fields=draw.choice((None, ("memory_id", "roots"))),
                    limit=draw.choice((3, 50)),
                    ranked_for=draw.choice((None, 1)),
                    payloads=draw.choice((None, 0, 2)),
                )
                assert await store.search(query) == await twin.search(query)
