"""The contract of the Store port: what a store may be opened with, run against every implementation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from guardian.core.needs import Needs
from guardian.core.point import Patch
from guardian.errors import ConfigError
from guardian.ports import SearchQuery
from tests.contract.store.place import IDENTITY, SPARSE_ONLY, Place, build_record, read_all, write


class TestIdentity:
    """What a store may be opened with."""

    async def test_reopened_it_holds_what_it_held(self, place: Place) -> None:
        """Payloads, lookups and both vectors survive a close."""
        store = await place.open()
        records = [
            build_record("s", f"m{number}", dense=(1.0, float(number), 0, 0), sparse=((number,), (1.0,))) for number in range(20)
        ]
        await write(store, *records, patches=())
        await write(store, patches=(Patch(id=records[3].id, payload={"status": "verified"}),), deletes=(records[4].id,))
        kept = await read_all(store)
        query = SearchQuery(space="s", dense=(1.0, 3.0, 0, 0), sparse=((3,), (1.0,)))
        hits = await store.search(query)
        await store.close()
        again = await place.open()
        assert await read_all(again) == kept
        assert len(kept) == 19
        assert await again.search(query) == hits
        assert len(await again.fetch(Needs(memories={("s", "m3"), ("s", "m4")}))) == 1

    @pytest.mark.parametrize(
        ("change", "mend"),
        [
            ({"embedding": "other"}, "guardian migrate"),
            ({"vector_size": 5}, "guardian migrate"),
            ({"bm25": "german"}, "guardian migrate"),
            ({"schema_version": 2}, "guardian migrate"),
            ({"schema_version": 0}, "newer Guardian"),
            ({"embedding": "none", "vector_size": 0}, "guardian migrate"),
        ],
    )
    async def test_another_identity_is_refused_with_both_values_and_the_mend(
        self, place: Place, change: dict[str, Any], mend: str
    ) -> None:
        """Each single difference is refused, nothing is changed, and the right identity still opens."""
        store = await place.open()
        await write(store, build_record("s", "m"))
        await store.close()
        with pytest.raises(ConfigError, match=mend) as caught:
            await place.open(replace(IDENTITY, **change))
        for name, value in change.items():
            assert repr(value) in str(caught.value)
            assert repr(getattr(IDENTITY, name)) in str(caught.value)
        assert await (await place.open()).count() == 1

    async def test_a_store_without_embedding_names_the_command_that_fills_it(self, place: Place) -> None:
        """Opening it with an embedder is refused, with filling as the mend."""
        await (await place.open(SPARSE_ONLY)).close()
        with pytest.raises(ConfigError, match="guardian embed --fill"):
            await place.open()
        await place.open(SPARSE_ONLY)
