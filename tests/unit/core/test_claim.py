"""Claims: what is kept of write events, and the digests that name revisions."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

import orjson
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.claim import (
    Claim,
    build_revision,
    build_tombstone_revision,
    digest_subject,
    digest_text,
    dump_claims,
    dump_rest,
    load_claims,
    mark_withdrawn,
    prune_claims,
)
from guardian.core.model import Confidence, Episode, MemoryKind, Scope, Source, SourceKind, Written
from tests.builders import written

BASE = written("m", "Kiln 4 fires at 900", src="tool")

claims = st.builds(
    lambda number, event, **flags: Claim(event=replace(event, ref=replace(event.ref, id=f"e{number}")), **flags),
    number=st.integers(0, 20),
    event=st.builds(
        lambda **fields: replace(BASE, **fields),
        kind=st.sampled_from((None, *MemoryKind)),
        source=st.one_of(st.none(), st.builds(Source, kind=st.sampled_from(SourceKind), ref=st.sampled_from((None, "doc")))),
        parents=st.sampled_from((None, ())),
        scope=st.one_of(st.none(), st.builds(Scope, session_id=st.sampled_from((None, "s1")))),
        subject=st.sampled_from((None, "kiln", "depot")),
        verified=st.booleans(),
        supersedes=st.sampled_from(((), ("a",))),
        confidence=st.sampled_from((None, *Confidence)),
        self_grade=st.sampled_from((None, 0.0, 0.5)),
        episode=st.sampled_from((None, Episode(task="t", retrieved=("a", "b")))),
        metadata=st.sampled_from(({}, {"a": {"b": [1]}})),
        extra=st.sampled_from(({}, {"unknown": True})),
        text=st.sampled_from((BASE.text, "Kiln\u00a04 fires at 900")),
    ),
    believed=st.booleans(),
    is_inline=st.booleans(),
    is_withdrawn=st.booleans(),
)
# One event is one claim: an id names its content.
claim_sets = st.lists(claims, max_size=8, unique_by=lambda claim: claim.event.ref.id)


@given(claim_sets.map(prune_claims))
def test_claims_come_back_as_they_were(kept: tuple[Claim, ...]) -> None:
    """What is dumped to JSON and loaded again is equal, unknown fields and the writer's own bytes included."""
    if not kept:
        return
    text = kept[0].event.text
    light, rest = orjson.loads(orjson.dumps([dump_claims(kept), dump_rest(kept, text)]))
    loaded = load_claims(light, rest, space=BASE.space, memory_id="m", text=text, observed_at=BASE.observed_at)
    assert loaded == kept


@given(claim_sets, st.randoms())
def test_pruning_is_free_of_order(many: Sequence[Claim], random: st.DataObject) -> None:
    """However the claims come together, and pruned in between or not, the same ones are kept."""
    other = list(many)
    random.shuffle(other)  # type: ignore[attr-defined]
    step_by_step: tuple[Claim, ...] = ()
    for claim in other:
        step_by_step = prune_claims((*step_by_step, claim))
    assert step_by_step == prune_claims(many)


@given(claim_sets)
def test_pruning_keeps_what_can_matter(many: Sequence[Claim]) -> None:
    """The least claim, every believed and inline one, and every way to declare the record stay."""
    kept = prune_claims(many)
    assert kept[:1] == tuple(sorted(many, key=lambda claim: claim.order))[:1]
    assert {c.order for c in many if c.believed or c.is_inline} <= {c.order for c in kept}
    assert {way(c) for c in many} == {way(c) for c in kept}


def way(claim: Claim) -> tuple[MemoryKind | None, str | None, bool]:
    """Give how a claim declares its record."""
    return (claim.event.kind, claim.event.subject, claim.event.parents is None)


def test_a_withdrawn_claim_still_says_what_it_said() -> None:
    """Only its corrections are withdrawn."""
    claim = Claim(event=BASE, believed=True)
    assert mark_withdrawn(claim) == Claim(event=BASE, believed=True, is_withdrawn=True)


def revision_of(event: Written) -> str:
    """Give the revision a write makes."""
    return build_revision(observed_at=event.observed_at, text=event.text, parents=event.parents)


def test_a_revision_is_named_by_time_text_and_parents() -> None:
    """Spelling, order and repetition do not matter, absent is none; each of the three parts does."""
    composed = replace(BASE, text=unicodedata.normalize("NFC", "Cafe\u0301"))
    decomposed = replace(BASE, text=unicodedata.normalize("NFD", "Caf\u00e9"))
    assert revision_of(composed) == revision_of(decomposed)
    assert digest_text(composed.text) == digest_text(decomposed.text)
    assert revision_of(replace(BASE, parents=("a", "b", "a"))) == revision_of(replace(BASE, parents=("b", "a")))
    assert revision_of(replace(BASE, parents=None)) == revision_of(replace(BASE, parents=()))
    later = replace(BASE, observed_at=BASE.observed_at.replace(microsecond=1))
    assert len({revision_of(each) for each in (BASE, later, composed, replace(BASE, parents=("a",)))}) == 4


def test_a_tombstone_tells_nothing_of_the_text() -> None:
    """Its revision is made of what it keeps, so no guess at the text can be checked against it."""
    parts = {"observed_at": BASE.observed_at, "kind": None, "parents": ("b", "a")}
    assert build_tombstone_revision(**parts) == build_tombstone_revision(**{**parts, "parents": ("a", "b")})  # type: ignore[arg-type]
    assert build_tombstone_revision(**parts) != build_tombstone_revision(**{**parts, "parents": None})  # type: ignore[arg-type]
    assert len(build_tombstone_revision(**parts)) == len(revision_of(BASE))  # type: ignore[arg-type]
    assert digest_subject("kiln") != digest_subject("depot")
