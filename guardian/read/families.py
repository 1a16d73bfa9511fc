"""Find what old logs do not say: recaps of one another, how many origins a statement really has, and what a verified record contradicts.

Most histories carry neither parents nor reads, so no correction can cascade through them. This goes through the records of a space and
*proposes*; nothing is changed before a person accepts, and what is then sent is an ordinary event with that person as its authority.

Records are grouped by what they say: in order of time, each joins the group whose first record's words it shares most (token-set ratio,
whatever their numbers), else it begins one. In a group records with the same marks (numbers, dates, codes, negations; `core.mark`) are one
*version* of the statement. A group is compared by its first record alone, so the cost is about linear in the records.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from guardian.core.model import SourceKind, Status
from guardian.core.node import Node
from guardian.core.rules.restate import THRESHOLD, restates, score_restatement
from guardian.core.signature import Signature, build_signature

# Words of a first record by which its group is found; more common ones find nothing.
_COMMON_GROUPS = 2_000
# Groups compared with a record, those that share most words.
_CANDIDATES = 12
# A text restated by these may be their own observation; one by the others is taken for a recap when it comes later.
_OBSERVERS = frozenset({SourceKind.USER, SourceKind.TOOL, SourceKind.DOCUMENT, SourceKind.HUMAN_REVIEW})
_STANDING = frozenset({Status.ACTIVE, Status.VERIFIED})


class ProposalKind(StrEnum):
    """What is proposed: that one memory recaps another, or that a verified one corrects it."""

    RECAP = "recap"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A record as far as it is compared."""

    memory_id: str
    revision: str
    observed_at: datetime
    text: str
    signature: Signature
    source_kind: SourceKind
    source_ref: str | None
    roots: tuple[str, ...]
    has_parents: bool
    is_verified: bool
    status: Status

    @classmethod
    def of(cls, node: Node) -> Statement | None:
        """Take over a record; None for a tombstone."""
        if node.is_erased or node.text is None or node.observed_at is None:
            return None
        source = node.claims[0].event.source if node.claims else None
        return cls(
            memory_id=node.memory_id,
            revision=node.revision or "",
            observed_at=node.observed_at,
            text=node.text,
            signature=build_signature(node.text),
            source_kind=node.source_kind,
            source_ref=None if source is None else source.ref,
            roots=tuple(node.roots),
            has_parents=bool(node.edges),
            is_verified=node.is_verified,
            status=node.status,
        )

    @property
    def place(self) -> tuple[datetime, str, str]:
        """Order in time; ties by id."""
        return (self.observed_at, self.memory_id, self.revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One thing that a person may accept.

    Attributes:
        memory_id: What it is about.
        other: The memory it recaps, or the verified one that contradicts it.
        similarity: In [0, 1].
        differing: Marks that only one of the two texts has, as `kind:value`; empty for a plain restatement.
    """

    kind: ProposalKind
    memory_id: str
    other: str
    similarity: float
    differing: tuple[str, ...]
    text: str
    other_text: str

    @property
    def id(self) -> str:
        """Stable name within a space: the same finding has the same one at every run."""
        return f"{self.kind.value}:{self.memory_id}~{self.other}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """Records of a group that say the same.

    Attributes:
        roots: Distinct roots, which is what support counts today.
        origins: Distinct sources outside the agent; 1 when only agents say it.
        is_verified: A verified record says it.
    """

    text: str
    marks: tuple[str, ...]
    records: int
    roots: int
    origins: int
    is_verified: bool
    memories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """What a space holds.

    Attributes:
        statements: Each with its versions, those with most records first; only those that have several records.
        proposals: Recaps, then contradictions, most similar first.
    """

    records: int
    statements: tuple[tuple[Version, ...], ...]
    proposals: tuple[Proposal, ...]


@dataclass(slots=True)
class _Group:
    members: list[Statement] = field(default_factory=list)

    @property
    def first(self) -> Statement:
        return self.members[0]


def find_families(nodes: Iterable[Node], *, threshold: float = THRESHOLD) -> Findings:
    """Go through the records of one space.

    Args:
        nodes: All of them, in any order; the result depends on none.
        threshold: Least similarity, in [0, 1].
    """
    statements = sorted(filter(None, map(Statement.of, nodes)), key=lambda statement: statement.place)
    groups = _group(statements, threshold)
    proposals = [proposal for group in groups for proposal in (*_iter_recaps(group, threshold), *_iter_contradicted(group))]
    return Findings(
        records=len(statements),
        statements=tuple(_list_versions(group) for group in groups if len(group.members) > 1),
        proposals=tuple(sorted(proposals, key=lambda one: (one.kind is not ProposalKind.RECAP, -one.similarity, one.id))),
    )


def _group(statements: Sequence[Statement], threshold: float) -> list[_Group]:
    groups: list[_Group] = []
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for statement in statements:
        words = set(statement.signature.text.split())
        if not words:
            continue
        shared = Counter(index for word in words if len(by_word[word]) <= _COMMON_GROUPS for index in by_word[word])
        candidates = [index for index, _ in sorted(shared.items(), key=lambda found: (-found[1], found[0]))[:_CANDIDATES]]
        scores = [(score_restatement(groups[index].first.signature, statement.signature), -index) for index in candidates]
        best, place = max(scores, default=(0.0, 0))
        if best >= threshold:
            groups[-place].members.append(statement)
            continue
        for word in words:
            by_word[word].append(len(groups))
        groups.append(_Group([statement]))
    return groups


def _iter_recaps(group: _Group, threshold: float) -> Iterator[Proposal]:
    """Propose the earliest record that a later one, of no parents and not an observer's, says again; else the group's first."""
    for index, statement in enumerate(group.members):
        if statement.has_parents or statement.is_verified or statement.source_kind in _OBSERVERS:
            continue
        earlier = [one for one in group.members[:index] if one.memory_id != statement.memory_id]
        same = ((one, restates(one.signature, statement.signature, threshold=threshold)) for one in earlier)
        found = next(((one, similarity) for one, similarity in same if similarity is not None), None)
        if found is None and earlier:
            found = (earlier[0], score_restatement(earlier[0].signature, statement.signature))
        if found is not None and not set(statement.roots) & set(found[0].roots):
            yield _propose(ProposalKind.RECAP, statement, *found)


def _iter_contradicted(group: _Group) -> Iterator[Proposal]:
    """Propose, for each standing record that says otherwise than a later verified one, the correction by the last of these."""
    verified = [one for one in group.members if one.is_verified and one.status in _STANDING]
    if not verified:
        return
    last = verified[-1]
    seen: set[str] = set()
    for statement in group.members:
        is_earlier = statement.place < last.place and statement.memory_id != last.memory_id and statement.status in _STANDING
        if is_earlier and statement.signature.marks != last.signature.marks and statement.memory_id not in seen:
            seen.add(statement.memory_id)
            yield _propose(ProposalKind.CONTRADICTED, statement, last, score_restatement(last.signature, statement.signature))


def _propose(kind: ProposalKind, statement: Statement, other: Statement, similarity: float) -> Proposal:
    return Proposal(
        kind=kind,
        memory_id=statement.memory_id,
        other=other.memory_id,
        similarity=round(similarity, 4),
        differing=tuple(sorted(statement.signature.marks ^ other.signature.marks)),
        text=statement.text,
        other_text=other.text,
    )


def _list_versions(group: _Group) -> tuple[Version, ...]:
    versions: dict[frozenset[str], list[Statement]] = {}
    for statement in group.members:
        versions.setdefault(statement.signature.marks, []).append(statement)
    listed = [_describe(marks, members) for marks, members in versions.items()]
    return tuple(sorted(listed, key=lambda version: (-version.records, version.text)))


def _describe(marks: frozenset[str], members: Sequence[Statement]) -> Version:
    return Version(
        text=members[0].text,
        marks=tuple(sorted(marks)),
        records=len(members),
        roots=len({root for one in members for root in one.roots}),
        origins=count_origins(members),
        is_verified=any(one.is_verified for one in members),
        memories=tuple(dict.fromkeys(one.memory_id for one in members)),
    )


def count_origins(members: Sequence[Statement]) -> int:
    """Count independent origins: distinct sources outside the agent that state it themselves; 1 when there is none.

    A source is told by its reference; one without is told by the record's roots.
    """
    observed = [one for one in members if one.source_kind in _OBSERVERS and not one.has_parents]
    return max(1, len({one.source_ref or one.roots for one in observed}))


def build_acceptance(proposal: Proposal, *, authority: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Give event type and data of an accepted proposal.

    Args:
        proposal: What was accepted.
        authority: `kind`, and `ref` or `actor`, of the person who accepts.
    """
    reason = f"accepted: {proposal.kind.value}, similarity {proposal.similarity:g}"
    if proposal.kind is ProposalKind.RECAP:
        data = {"memory_id": proposal.memory_id, "add": [proposal.other], "authority": dict(authority), "reason": reason}
        return "memory.linked", data
    data = {"targets": [proposal.memory_id], "replacement": proposal.other, "authority": dict(authority), "reason": reason}
    return "memory.corrected", data
