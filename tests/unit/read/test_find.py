"""Laws of finding: one search where it is enough, more where it is not, and what is read of what was found."""

from __future__ import annotations

from datetime import UTC, datetime

from guardian.read import Calibrator, ReadPolicy, Reason, Role, Task
from tests import builders as build
from tests.property.bank import Bank
from tests.unit.read.asking import DENSE, FACT, PERSONAL, CountingStore, memories


class TestSearching:
    """How often the store is asked, and for what."""

    async def test_one_search_answers(self) -> None:
        """With the filter of status pushed down, and no card read."""
        bank = Bank(store=CountingStore())
        await bank.send(*(build.written(f"m{number}", f"kiln {number}", src="tool") for number in range(40)))
        admission = await Calibrator(bank.store, ReadPolicy(limit=5)).context("kiln", FACT, space="s")
        (asked,) = bank.store.asked  # type: ignore[attr-defined] # a counting store
        assert set(asked.statuses) == {"active", "verified"}
        assert "card" not in asked.fields
        assert len(admission.rendered) == 5
        assert (admission.searches, admission.retrieved) == (1, 13)  # the best five, and eight more that may be evidence

    async def test_a_personal_question_reads_what_is_best(self) -> None:
        """It may be given anything, so nothing is asked for apart."""
        bank = Bank(store=CountingStore())
        await bank.send(*(build.written(f"m{number}", f"kiln {number}", src="tool") for number in range(40)))
        admission = await Calibrator(bank.store, ReadPolicy(limit=5)).context("kiln", PERSONAL, space="s")
        assert (admission.searches, admission.retrieved) == (1, 10)

    async def test_a_large_family_does_not_fill_the_context(self) -> None:
        """Three hundred recaps that match better stand once, and the search goes on past their family."""
        bank = Bank(store=CountingStore())
        recaps = [
            build.written(f"r{number}", f"kiln kiln kiln kiln {number}", src="agent", parents=["root"], t=1)
            for number in range(300)
        ]
        others = [build.written(f"o{number}", f"a kiln stands in hall {number} near the door", src="tool") for number in range(5)]
        await bank.send(build.written("root", "kiln kiln kiln kiln", src="tool"), *recaps, *others)
        admission = await Calibrator(bank.store, ReadPolicy(limit=6)).context("kiln", FACT, space="s")
        given = {item.candidate.roots for item in admission.rendered}
        assert given == {("root",), *((f"o{number}",) for number in range(5))}
        assert admission.searches == 2
        assert bank.store.asked[1].without_roots == ("root",)  # type: ignore[attr-defined] # a counting store

    async def test_wishes_that_are_barred_do_not_fill_it(self) -> None:
        """They are told in the first search, and passed over in the second."""
        bank = Bank(store=CountingStore())
        wishes = [build.written(f"w{number}", f"kiln kiln {number}", src="user", kind="preference") for number in range(60)]
        await bank.send(*wishes, build.written("fact", "one kiln is in the hall by the door", src="tool"))
        admission = await Calibrator(bank.store, ReadPolicy(limit=2)).context("kiln", FACT, space="s")
        assert memories(admission, Role.EVIDENCE_CANDIDATE) == ["fact"]
        assert {item.reason for item in admission.decisions} == {Reason.NOT_EVIDENCE, Reason.UNVERIFIED_EVIDENCE}

    async def test_one_search_passes_over_wishes_that_are_barred(self) -> None:
        """The best of them are told; evidence behind them is read next, without the others and without another search."""
        bank = Bank(store=CountingStore())
        wishes = [build.written(f"w{number}", f"kiln kiln {number}", src="user", kind="preference") for number in range(15)]
        facts = [build.written(f"f{number}", f"a kiln stands in hall {number} by the door", src="tool") for number in range(2)]
        await bank.send(*wishes, *facts)
        admission = await Calibrator(bank.store, ReadPolicy(limit=2)).context("kiln", FACT, space="s")
        assert sorted(memories(admission, Role.EVIDENCE_CANDIDATE)) == ["f0", "f1"]
        assert (admission.searches, admission.retrieved) == (1, 4)

    async def test_what_is_barred_need_not_be_told(self) -> None:
        """Then it is not even found, and what is given is the same."""
        bank = Bank(store=CountingStore())
        wishes = [build.written(f"w{number}", f"kiln kiln {number}", src="user", kind="preference") for number in range(60)]
        facts = [build.written(f"f{number}", f"a kiln stands in hall {number} by the door", src="tool") for number in range(3)]
        await bank.send(*wishes, *facts)
        told, untold = [
            await Calibrator(bank.store, ReadPolicy(limit=3, tells_barred=tells)).context("kiln", FACT, space="s")
            for tells in (True, False)
        ]
        assert untold.prompt == told.prompt
        assert len(untold.decisions) == 3 < len(told.decisions)
        assert untold.searches == 1

    async def test_background_is_found_where_there_is_nothing_better(self) -> None:
        """What has no slot but background is none of what is looked for first; it comes when that leaves room, told or not."""
        bank = Bank(store=CountingStore())
        notes = [build.written(f"n{number}", f"kiln kiln {number}", src=None) for number in range(30)]
        await bank.send(*notes, build.written("fact", "one kiln is in the hall by the door", src="tool"))
        for tells in (True, False):
            policy = ReadPolicy(limit=40, tells_barred=tells)
            admission = await Calibrator(bank.store, policy).context("kiln", FACT, space="s")
            assert memories(admission, Role.EVIDENCE_CANDIDATE) == ["fact"]
            assert len(memories(admission, Role.BACKGROUND)) == 30

    async def test_the_number_of_searches_is_bounded(self) -> None:
        """A bank of other people's memories costs three searches, and says why each is out."""
        bank = Bank(store=CountingStore())
        scope = {"user_id": "ann"}
        await bank.send(*(build.written(f"m{number}", f"kiln {number}", src="tool", scope=scope) for number in range(400)))
        asked = Task(requires_objective_fact=True, user="bob")
        admission = await Calibrator(bank.store, ReadPolicy(limit=4)).context("kiln", asked, space="s")
        assert (admission.searches, admission.rendered) == (3, ())
        assert {item.reason for item in admission.decisions} == {Reason.OUT_OF_SCOPE}
        assert "No verified record" in admission.prompt.text

    async def test_time_asked_about(self) -> None:
        """A policy may ask about another time than now."""
        bank = Bank()
        await bank.send(
            build.written("m", "kiln 900", src="tool", valid_from="2026-03-01T00:00:00Z", valid_until="2026-04-01T00:00:00Z")
        )
        for month, found in ((3, ["m"]), (5, [])):
            policy = ReadPolicy(at=datetime(2026, month, 15, tzinfo=UTC))
            assert (
                memories(await Calibrator(bank.store, policy).context("kiln", FACT, space="s"), Role.EVIDENCE_CANDIDATE) == found
            )

    async def test_what_has_expired_does_not_fill_the_context(self) -> None:
        """It is told in the first search, with its reason; a deeper one is asked for what holds."""
        bank = Bank(store=CountingStore())
        past = [
            build.written(f"p{number}", f"kiln kiln {number}", src="tool", valid_until="2026-04-01T00:00:00Z")
            for number in range(60)
        ]
        await bank.send(*past, build.written("now", "one kiln is in the hall by the door", src="tool"))
        admission = await Calibrator(bank.store, ReadPolicy(limit=2)).context("kiln", FACT, space="s")
        assert memories(admission, Role.EVIDENCE_CANDIDATE) == ["now"]
        assert {item.reason for item in admission.decisions} == {Reason.EXPIRED, Reason.UNVERIFIED_EVIDENCE}
        assert [asked.at for asked in bank.store.asked] == [None, admission.asked_at]  # type: ignore[attr-defined] # a counting store

    async def test_only_the_own_space_answers(self) -> None:
        """Another bank's memories are not there."""
        bank = Bank()
        await bank.send(build.written("m", "kiln", src="tool", space="other"))
        assert (await Calibrator(bank.store).context("kiln", FACT, space="s")).decisions == ()

    async def test_a_question_with_a_vector_goes_down_the_ranking_of_plain_search(self) -> None:
        """However deep it looks, what it finds first is what a search for as many records finds; words alone keep their room for ties."""
        store = CountingStore(DENSE)
        reader = Calibrator(store, ReadPolicy(limit=5))
        for task, vector in ((FACT, (1.0, 0.0)), (PERSONAL, (1.0, 0.0)), (FACT, None)):
            await reader.context("kiln", task, space="s", vector=vector)
        assert [asked.ranked_for for asked in store.asked] == [5, 5, None]
        assert all(asked.limit > 5 for asked in store.asked)
