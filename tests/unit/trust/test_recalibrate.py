"""Laws of recomputing: what is left shows in the records, so the work stops anywhere and goes on, and only what is stale is named."""

from __future__ import annotations

from datetime import UTC, datetime

from guardian.core.policy import Policy
from guardian.trust.recalibrate import build_rated, count_stale, iter_rated, load_calibrations
from tests.builders import audited, calibrated, retracted, trust, written
from tests.property.bank import Bank

NOW = datetime(2026, 4, 1, tzinfo=UTC)


def policy_of(_: str) -> Policy:
    """Give the settings' policy."""
    return Policy()


async def fill(bank: Bank, memories: int, *, space: str = "s") -> None:
    """Write graded memories: every second one judged by a channel, every fifth also known to be right."""
    for number in range(memories):
        await bank.send(written(f"m{number}", grade=0.9, space=space))
        if number % 2 == 0:
            await bank.send(audited(f"m{number}", 0.1, channel="x", t=1, space=space))
        if number % 5 == 0:
            await bank.send(audited(f"m{number}", 1.0, t=1, space=space))


async def test_only_what_another_calibration_made_is_counted_and_named() -> None:
    """Of ten memories four hang on one: judged, and the truth unknown; a space without an activation has none."""
    bank = Bank()
    await fill(bank, 10)
    await fill(bank, 4, space="other")
    assert await count_stale(bank.store, policy_of) == {}
    await bank.send(calibrated(t=2, x=trust(0.75)))
    assert await count_stale(bank.store, policy_of) == {"s": 4}
    assert await count_stale(bank.store, policy_of, space="other") == {}
    calibrations = await load_calibrations(bank.store, policy_of)
    (event,) = [event async for event in iter_rated(bank.store, calibrations, NOW)]
    assert (event.space, event.memory_ids) == ("s", ("m2", "m4", "m6", "m8"))
    assert [event async for event in iter_rated(bank.store, calibrations, NOW, pattern="o*")] == []


async def test_an_interrupted_run_goes_on_where_it_was() -> None:
    """Each event is done for good; the next run finds the rest, and the one after it nothing."""
    bank = Bank()
    await fill(bank, 20)
    await bank.send(calibrated(t=2, x=trust(0.75)))
    calibrations = await load_calibrations(bank.store, policy_of)
    left = [await count_left(bank)]
    async for event in iter_rated(bank.store, calibrations, NOW, size=3):
        await bank.send(event)
        left.append(await count_left(bank))
        break
    async for event in iter_rated(bank.store, calibrations, NOW, size=3):
        await bank.send(event)
        left.append(await count_left(bank))
    assert left == [8, 5, 2, 0]
    assert {row["utility"] for row in await bank.rows() if row["calibration"]} == {0.3}


async def count_left(bank: Bank) -> int:
    """Count what is left."""
    return sum((await count_stale(bank.store, policy_of)).values())


async def test_taking_back_is_recomputed_too() -> None:
    """After a retraction what the withdrawn calibration made is stale, and comes back to what it was, byte for byte."""
    bank = Bank()
    await fill(bank, 6)
    before = bank.payloads()
    before = {key: dict(payload) for key, payload in before.items()}
    activation = calibrated(t=2, x=trust(0.75))
    await bank.send(activation)
    await bank.recalibrate()
    await bank.send(retracted(activation))
    assert await count_stale(bank.store, policy_of) == {"s": 2}
    await bank.recalibrate()
    after = {key: payload for key, payload in bank.payloads().items() if payload["point"] != "retraction"}
    assert after == before


def test_the_same_wish_has_the_same_id() -> None:
    """Whenever it is made and in whatever order the memories were found; another calibration makes another."""
    one = build_rated("s", ["b", "a"], "cal#1", NOW)
    assert one.ref.id == build_rated("s", ["a", "b"], "cal#1", datetime(2027, 1, 1, tzinfo=UTC)).ref.id
    assert one.ref.id != build_rated("s", ["a", "b"], "cal#2", NOW).ref.id
