"""Known cases of lineage, inference, authority and evidence, told in few words, against the reference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from guardian.core.model import Source, SourceKind
from tests.reference.policy import ReferencePolicy, default_restates
from tests.reference.story import Story


def test_rewordings_read_in_the_session_are_one_family() -> None:
    """A recap without parents has what it restates, of what its session read, as inferred parent."""
    story = Story()
    story.write("m1", "Kiln 4 fires at 900", source="user")
    for number in range(2, 21):
        story.read("m1", t=number, session="s")
        named = {"parents": ["m1"]} if number % 2 else {"session": "s"}
        story.write(f"m{number}", "So kiln 4 fires at 900", t=number + 0.5, source="agent", **named)
    rows = {row["memory_id"]: row for row in story.rows()}
    assert all(row["roots"] == ["m1"] for row in rows.values())
    assert {rows["m2"]["provenance"], rows["m3"]["provenance"]} == {"inferred", "declared"}
    assert rows["m2"]["parents"] == ["m1"]


def test_a_summary_of_what_was_read_is_of_every_family_it_joins() -> None:
    """What neither source accounts for alone has both as parents, and falls with either, mixed; a third text is no parent."""
    story = Story()
    story.write("m", "Kiln 4 fires at 900", source="user")
    story.write("n", "Depot Alder owns the blue trailer", source="user")
    story.write("o", "The hall has a red roof", source="user")
    story.read("m", "n", "o", t=1, session="s")
    story.write("r", "Kiln 4 fires at 900; depot Alder owns the blue trailer", t=2, source="agent", session="s")
    row = story.row("r", restates=default_restates)
    assert (row["parents"], row["roots"], row["provenance"]) == (["m", "n"], ["m", "n"], "inferred")
    story.correct("n", "o", t=3)
    row = story.row("r", restates=default_restates)
    assert (row["status"], [reason["mixed"] for reason in row["reasons"]]) == ("superseded", [True])


def test_an_agents_own_paraphrases_verify_nothing() -> None:
    """Fifty claims by the agent stay one unverified family, unaudited."""
    story = Story()
    story.write("h1", source="agent", self_grade=0.5)
    for number in range(50):
        story.write(f"p{number}", parents=["h1"], source="agent", verified=True, self_grade=0.9, t=number)
    assert {(row["status"], row["verified"], *row["roots"]) for row in story.rows()} == {("active", False, "h1")}
    assert story.row("h1")["utility"] == 0.5
    assert story.row("p7")["utility_basis"] == "unaudited"


def test_reading_changes_nothing_but_inference() -> None:
    """Use raises no status: a summary of a summary has one root, however often it is read."""
    story = Story()
    story.write("a", source="tool")
    story.write("b", parents=["a"], kind="summary", t=1)
    story.write("c", parents=["a", "b"], kind="summary", t=2)
    before = story.rows()
    for number in range(30):
        story.read("a", t=number, session="s")
    assert story.rows() == before
    assert (story.row("c")["roots"], story.row("c")["depth"]) == (["a"], 2)


def test_an_unverified_rewrite_does_not_displace_a_verified_revision() -> None:
    """Source and parents carry over to a revision that names none, the verification does not."""
    story = Story()
    story.write("a", source="tool", parents=["z"], verified=True, session="s")
    story.write("a", "other words", t=5)
    old, new = story.rows()
    assert (old["status"], old["current"]) == ("verified", True)
    assert (new["status"], new["source_kind"], new["roots"]) == ("superseded", "tool", ["z"])
    assert new["reasons"] == [{"reason": "revised", "id": old["revision"]}]


def test_a_circle_is_one_node() -> None:
    """An unfed circle has its earliest member as root; a fed one has the roots of what feeds it."""
    story = Story()
    story.write("q", parents=["p"], t=1)
    story.write("p", parents=["q"], t=2)
    assert [(row["roots"], row["depth"]) for row in story.rows()] == [(["q"], 0), (["q"], 0)]
    story.link("p", t=5, add="w")
    assert [(row["roots"], row["depth"]) for row in story.rows()] == [(["w"], 1), (["w"], 1)]


def test_roots_beyond_the_limit_are_cut_but_still_fell() -> None:
    """The smallest ids are kept, and a correction reaches over the parents."""
    story = Story()
    story.write("m", parents=["r1", "r2", "r3"])
    story.write("k", parents=["m"], t=1)
    story.correct("r3", "n")
    row = story.row("k", policy=ReferencePolicy(max_roots=2))
    assert (row["roots"], row["roots_truncated"], row["status"]) == (["r1", "r2"], True, "superseded")


def test_a_users_name_on_the_agents_own_is_lowered() -> None:
    """What derives from the agent alone is kept as the agent's."""
    story = Story()
    story.write("a", source="agent")
    story.write("b", source="user", parents=["a"], t=1)
    story.write("c", source="user", parents=["a", "unseen"], t=1)
    assert [row["source_kind"] for row in story.rows()] == ["agent", "agent", "user"]


def test_one_instant_is_one_revision() -> None:
    """Offsets of one instant give one record, in UTC."""
    instants = [datetime(2026, 1, 1, 5, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-5)))]
    story = Story()
    for instant in instants:
        story.write("a", observed_at=instant.astimezone(UTC))
    assert [row["observed_at"] for row in story.rows()] == ["2026-01-01T05:00:00.000000Z"]


def test_a_rewording_of_one_document_has_the_earliest_as_parent() -> None:
    """Same reference and restated: inferred from the earliest; another number of the same document stays apart."""
    story = Story()
    story.write("a", "Kiln 4 fires at 900", source=Source(kind=SourceKind.DOCUMENT, ref="doc"))
    story.write("b", "Kiln 4 fires at 900 daily", t=1, source=Source(kind=SourceKind.DOCUMENT, ref="doc"))
    story.write("c", "Kiln 4 fires at 950", t=2, source=Source(kind=SourceKind.DOCUMENT, ref="doc"))
    story.write("d", "Kiln 4 fires at 900", t=3, source=Source(kind=SourceKind.DOCUMENT, ref="other"))
    assert [(row["roots"], row["provenance"]) for row in story.rows()] == [
        (["a"], "none"),
        (["a"], "inferred"),
        (["c"], "none"),
        (["d"], "none"),
    ]
    story.link("b", t=5, remove="a")
    assert story.row("b")["roots"] == ["b"]


def test_nothing_is_inferred_from_an_erased_text() -> None:
    """An inferred edge goes with the text it was read from, in any order."""
    story = Story()
    story.write("m", "Kiln 4 fires at 900")
    story.read("m", t=1, session="s")
    story.write("r", "So kiln 4 fires at 900", t=2, source="agent", session="s")
    assert story.row("r")["roots"] == ["m"]
    story.erase("m", t=1)
    assert (story.row("r")["roots"], story.row("r")["provenance"]) == (["r"], "none")


def test_a_users_word_for_a_recap_verifies_nothing() -> None:
    """Even where users may verify, they do so only for what names no parents."""
    story = Story()
    story.write("a", source="user", verified=True)
    story.write("b", source="user", verified=True, parents=["a"], t=1)
    trusting = ReferencePolicy(verifying_kinds=frozenset({SourceKind.USER}))
    assert [row["verified"] for row in story.rows(policy=trusting)] == [True, False]
    assert [row["verified"] for row in story.rows()] == [False, False]


def test_evidence_is_as_old_as_the_oldest_root_that_was_seen() -> None:
    """A merge does not freshen; an erased root counts, an unseen one has no time."""
    story = Story()
    story.write("a", t=3)
    story.write("z", t=7)
    story.write("m", parents=["a", "z", "unseen"], t=50)
    story.write("lone", parents=["unseen"], t=60)
    story.erase("a", t=5)
    assert story.row("m")["evidence_at"] == "2026-03-14T09:03:00.000000Z"
    assert story.row("lone")["evidence_at"] == "2026-03-14T10:00:00.000000Z"


def test_a_link_counts_for_the_revisions_anchored_before_it() -> None:
    """Lineage set by hand outlives later revisions that name no parents, and yields to ones that do."""
    story = Story()
    story.write("a", parents=["x"])
    story.write("a", "second words", t=5)
    story.link("a", t=10, add="y", remove="x")
    story.write("a", "third words", t=20)
    story.write("a", "fourth words", t=30, parents=["z"])
    assert [(row["parents"], row["provenance"]) for row in story.rows()] == [
        (["y"], "linked"),
        (["y"], "linked"),
        (["y"], "linked"),
        (["z"], "declared"),
    ]
