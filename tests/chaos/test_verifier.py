"""Laws of the verifier: it tells of whatever is taken from a store, put into it, or changed in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from guardian.contracts.codec import DecodePolicy
from guardian.contracts.letter import is_erased
from guardian.contracts.names import Names
from guardian.core.model import Corrected, Written
from guardian.core.policy import Policy
from guardian.pipeline import Pipeline
from guardian.ports import Fence
from guardian.stream.guard import choose_partition
from guardian.stream.plane.origin import Record
from tests.chaos.evidence import compare_with_clean_run, compare_with_reference, find_lost, list_waiting
from tests.chaos.ledger import Fate, Ledger, Poison, count_fates, digest_value
from tests.chaos.loopback import IDENTITY
from tests.chaos.outcomes import Letters
from tests.chaos.population import Sent, iter_records
from tests.integration.worker_rig import open_shelf

Payloads = dict[str, dict[str, Any]]
PARTITIONS = (0, 1, 2)
# 2026-11-01: after everything that the forge draws.
NOW_MS = 1_793_491_200_000


def build_ledger(sent: list[Sent]) -> Ledger:
    """Sort records that lie where their key puts them."""
    ledger, ends = Ledger(DecodePolicy()), dict.fromkeys(PARTITIONS, 0)
    for one in sent:
        partition = choose_partition(one.key.decode(), PARTITIONS)
        ledger.take(
            Record(
                topic="events", partition=partition, offset=ends[partition], timestamp_ms=NOW_MS, key=one.key, value=one.value
            ),
            PARTITIONS,
        )
        ends[partition] += 1
    return ledger


@pytest.fixture
async def kept() -> tuple[Ledger, str, Payloads]:
    """Give a ledger, the space of it with the most events, and its points as the pipeline makes them."""
    ledger = build_ledger(list(iter_records(7, 400)))
    name = max(ledger.spaces, key=lambda name: len(ledger.spaces[name].events))
    store = open_shelf()
    await store.open()
    await Pipeline(store=store, policy_of=lambda _: Policy()).process(ledger.spaces[name].events, fence=Fence())
    return ledger, name, {point_id: dict(payload) for point_id, payload in store.shelf.payloads.items()}


async def find_faults(ledger: Ledger, name: str, payloads: Payloads) -> list[str]:
    """Give what the verifier tells of one space."""
    events = ledger.spaces[name].events
    told = [compare_with_reference(name, events, payloads), await compare_with_clean_run(name, events, payloads, IDENTITY)]
    return [*find_lost(ledger.spaces[name], payloads), *filter(None, told)]


async def test_a_right_store_has_no_faults(kept: tuple[Ledger, str, Payloads]) -> None:
    """What the pipeline makes of all events at once is what the verifier wants."""
    assert await find_faults(*kept) == []


async def test_every_point_is_missed(kept: tuple[Ledger, str, Payloads]) -> None:
    """Whichever point is taken away, somebody tells."""
    ledger, name, payloads = kept
    for point_id in payloads:
        left = {other: payload for other, payload in payloads.items() if other != point_id}
        assert await find_faults(ledger, name, left), payloads[point_id]


async def test_a_fact_that_is_there_twice_is_told(kept: tuple[Ledger, str, Payloads]) -> None:
    """The same event under another id is one too many."""
    ledger, name, payloads = kept
    kinds = {"read", "correction", "verdict", "link", "deletion"}
    fact = next(payload for payload in payloads.values() if payload["point"] in kinds)
    faults = list(find_lost(ledger.spaces[name], {**payloads, "another": fact}))
    assert faults
    assert "2 times" in faults[0]


def _turn_status(payload: dict[str, Any]) -> None:
    payload["status"] = "superseded" if payload["status"] != "superseded" else "active"


def _turn_root(payload: dict[str, Any]) -> None:
    payload["roots"] = ["somebody else"]


def _turn_text(payload: dict[str, Any]) -> None:
    payload["text"] += "."


@pytest.mark.parametrize("turn", [_turn_status, _turn_root, _turn_text])
async def test_a_changed_record_is_told(kept: tuple[Ledger, str, Payloads], turn: Callable[[dict[str, Any]], None]) -> None:
    """The reference has another status, root or text, and says so by itself."""
    ledger, name, payloads = kept
    turn(next(payload for payload in payloads.values() if payload["point"] == "record"))
    assert compare_with_reference(name, ledger.spaces[name].events, payloads) is not None


def test_every_record_has_one_fate() -> None:
    """The fates add up to the records, and each of them occurs."""
    ledger = build_ledger(list(iter_records(7, 2_000)))
    waiting = [place for space in ledger.spaces.values() for place in list_waiting(space)]
    fates = count_fates(ledger, waiting)
    assert sum(fates.values()) == ledger.count
    assert all(fates[fate] for fate in Fate)


def test_poison_wants_its_letter_and_good_records_none() -> None:
    """A missing letter, one of another fault, and one too many are told."""
    ledger = build_ledger(list(iter_records(7, 2_000)))
    letters = Letters()
    wanted = [poison for poison in ledger.poison.values() if not is_erased(poison.names, ledger.list_erased(poison.names.space))]
    assert len(list(letters.check(ledger, "events"))) == len(wanted) > 0
    (partition, offset), *_ = ledger.spaces[next(iter(ledger.spaces))].places
    letters.by_key["x"] = {"topic": "events", "partition": partition, "offset": offset, "reason": "text_blank", "raw": None}
    assert any("good record" in told for told in letters.check(ledger, "events"))


def test_the_letter_of_an_erased_memory_must_be_gone() -> None:
    """It may lack, and one that stands is told."""
    ledger, letters = build_ledger(list(iter_records(7, 2_000))), Letters()
    name, erased = next((name, erased) for name, space in ledger.spaces.items() if (erased := space.list_erased()))
    (memory_id, until), *_ = erased.items()
    before = len(list(letters.check(ledger, "events")))
    ledger.poison[9, 9] = Poison("vector_size", digest_value(None), Names(name, memory_id, until))
    assert len(list(letters.check(ledger, "events"))) == before
    letters.by_key["x"] = {"topic": "events", "partition": 9, "offset": 9, "reason": "vector_size", "raw": None}
    assert any("is erased" in told for told in letters.check(ledger, "events"))


def test_a_seed_draws_the_same_records_again() -> None:
    """All spaces, all sorts of events, from the seed alone."""
    assert list(iter_records(11, 300)) == list(iter_records(11, 300)) != list(iter_records(12, 300))
    kinds = {type(event) for space in build_ledger(list(iter_records(11, 300))).spaces.values() for event in space.events}
    assert {Written, Corrected} < kinds
    assert len(kinds) == 11
