"""Cards made anew: only what is due, what is done stays done, and a budget that is used up ends or pauses it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from guardian.chat.budget import ChatLimits
from guardian.chat.port import ChatModel, LaterError
from guardian.core.model import Induced
from guardian.errors import DependencyError
from guardian.induce.prompt import PROMPT_VERSION
from guardian.induce.refresh import Refresh, estimate, iter_due
from tests.builders import deleted, induced, written
from tests.property.bank import Bank
from tests.unit.induce.answers import Model, card_answer
from tests.unit.induce.test_author import open_author

WRITES = [written(f"m{n}", f"Depot {n} owns trailers.", src="document", kind="fact", t=n) for n in range(6)]


async def fill() -> Bank:
    """Give a bank of six records, of which one is deleted and one has its card."""
    bank = Bank()
    await bank.send(*WRITES, deleted("m0", t=9), induced(WRITES[1], version=PROMPT_VERSION, t=9))
    return bank


async def list_due(bank: Bank, space: str | None = None) -> list[tuple[str, str]]:
    """Give what is due in a bank."""
    return [(node.space, node.id) async for node in iter_due(bank.store, open_author(bank), space)]


def open_refresh(bank: Bank, chat: ChatModel, **more: Any) -> Refresh:
    """Give a refresh that sends into the bank."""

    async def send(events: Sequence[Induced]) -> None:
        await bank.send(*events)

    return Refresh(open_author(bank), open_chat=lambda _: chat, send=send, **({"at_once": 2} | more))


async def test_all_that_is_due_is_done_and_then_nothing_is() -> None:
    """The store itself says what remains."""
    bank, done = await fill(), list[int]()
    due = await list_due(bank)
    assert len(due) == 4
    run = open_refresh(bank, Model(card_answer()), advance=done.append)
    await run.run(due)
    assert (run.counts, sum(done), run.stopped_by) == ({"induced": 4}, 4, None)
    assert await list_due(bank) == []


async def test_only_one_space_is_looked_at_when_asked() -> None:
    """Others are none of its affair."""
    bank = await fill()
    assert await list_due(bank, "other") == []


async def test_an_interrupted_run_goes_on_where_it_was() -> None:
    """What was sent before the endpoint failed is not asked about again."""
    bank = await fill()
    model = Model(*[card_answer()] * 6, DependencyError("away", dependency="model"))
    with pytest.raises(DependencyError):
        await open_refresh(bank, model).run(await list_due(bank))
    assert len(await list_due(bank)) == 2
    again = Model(card_answer())
    await open_refresh(bank, again).run(await list_due(bank))
    assert (len(again.asked), await list_due(bank)) == (6, [])


async def test_a_budget_of_the_minute_is_waited_for() -> None:
    """As long as it says."""
    bank, waits = await fill(), list[float]()

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    model = Model(LaterError("rate", wait_s=7), card_answer())
    run = open_refresh(bank, model, at_once=1, pause=pause)
    await run.run(await list_due(bank))
    assert (waits, run.counts["induced"]) == ([7], 4)


async def test_a_budget_of_the_day_ends_it() -> None:
    """What was done counts, and the reason is told."""
    bank = await fill()
    model = Model(*[card_answer()] * 6, LaterError("day", wait_s=40_000))
    run = open_refresh(bank, model)
    await run.run(await list_due(bank))
    assert run.counts == {"induced": 2}
    assert str(run.stopped_by) == "day"
    assert len(await list_due(bank)) == 2


async def test_a_space_without_budget_is_passed_over() -> None:
    """It is asked for once; the others go on."""
    bank = await fill()
    model = Model(LaterError("space", wait_s=40_000, is_for_one=True))
    run = open_refresh(bank, model, at_once=1)
    await run.run(await list_due(bank))
    assert (run.counts, run.stopped_by) == ({"over_budget": 4}, None)
    assert len(model.asked) <= 3


async def test_an_estimate_counts_each_content_once() -> None:
    """Questions by different contents, answers at their longest, money by the prices."""
    bank = await fill()
    twin = written("twin", WRITES[2].text, src="document", kind="fact", t=20)
    await bank.send(twin)
    found = await estimate(
        bank.store, open_author(bank, max_tokens=1_000), space=None, prices=ChatLimits(prompt_price=1.0, completion_price=2.0)
    )
    assert (found.records, found.contents, found.questions, found.completion_tokens) == (5, 4, 12, 12_000)
    assert found.prompt_tokens > 12 * 500
    assert found.cost == pytest.approx((found.prompt_tokens + 24_000) / 1_000_000)
