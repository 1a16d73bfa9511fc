"""Laws of the number: how many records are given, and which of them go when there are too many."""

from __future__ import annotations

from dataclasses import replace

from guardian.core.model import Status
from guardian.read.admission.admit import admit
from guardian.read.admission.candidate import Candidate
from guardian.read.admission.decision import Reason, Role, Ruling
from tests.candidates import FACT, PERSONAL, candidate, ranked, setting

OTHERS = replace(PERSONAL, concerns_others=True)


def background(name: str) -> Candidate:
    """Build what may not decide."""
    return candidate(name, f"chatter {name}", source="agent")


def wish(name: str) -> Candidate:
    """Build what somebody wants."""
    return candidate(name, f"wish {name}", kind="preference", source="user")


def given(ruling: Ruling) -> list[str]:
    """Give the memory ids of what is rendered, in order."""
    return [item.candidate.memory_id for item in ruling.decisions if item.is_rendered]


def test_the_first_are_given_and_the_rest_is_told() -> None:
    """As many as were asked for, each other with the reason."""
    ruling = admit(ranked(*(wish(f"w{number}") for number in range(5))), setting(PERSONAL, limit=3))
    assert given(ruling) == ["w0", "w1", "w2"]
    assert [item.reason for item in ruling.decisions[3:]] == [Reason.OVER_LIMIT] * 2


def test_the_last_of_the_background_gives_way_to_a_constraint() -> None:
    """A wish in a choice of others, and an instruction, bind however far they lie from the question; order stays that of the places."""
    rule = candidate("rule", "Never call before nine", kind="instruction", source="user")
    found = ranked(background("b0"), background("b1"), background("b2"), wish("w"), rule)
    ruling = admit(found, setting(OTHERS, limit=3))
    assert given(ruling) == ["b0", "w", "rule"]
    assert {item.candidate.memory_id: item.reason for item in ruling.decisions if not item.is_rendered} == {
        "b1": Reason.OVER_LIMIT,
        "b2": Reason.OVER_LIMIT,
    }
    assert [item.is_admitted for item in ruling.decisions] == [True] * 3 + [False] * 2


def test_nothing_but_background_gives_way() -> None:
    """Evidence and wishes keep their places, and a wish that is no constraint takes nobody's."""
    facts = [candidate(f"f{number}", f"fact {number}", source="tool") for number in range(3)]
    rule = candidate("rule", "Never call before nine", kind="instruction", source="user")
    assert given(admit(ranked(*facts, rule), setting(FACT, limit=3))) == ["f0", "f1", "f2"]
    assert given(admit(ranked(background("b0"), background("b1"), wish("w")), setting(PERSONAL, limit=2))) == ["b0", "b1"]


def test_no_more_are_given_than_were_asked_for() -> None:
    """However many constraints there are."""
    found = ranked(background("b"), *(wish(f"w{number}") for number in range(6)))
    ruling = admit(found, setting(OTHERS, limit=2))
    assert given(ruling) == ["w0", "w1"]
    assert all(item.role is Role.REJECT for item in ruling.decisions if not item.is_rendered)
    assert all(item.candidate.status is Status.ACTIVE for item in ruling.decisions)
