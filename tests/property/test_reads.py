"""Laws of the calibrated read over random banks: whatever happened to a bank, what one question is given is what it may be given."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.core.model import MemoryKind, SourceKind, Status
from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.point import Point, PointKind
from guardian.read import Admission, Calibrator, ReadPolicy, Role, Task, WhenUnverified
from guardian.read.prompt.section import parse_block
from tests.property.bank import Bank
from tests.reference.forge import START
from tests.strategies import event_sets

LINEAGE = frozenset({PointKind.RECORD, PointKind.TOMBSTONE})
# Nobody's evidence: what they say is what somebody holds or wants.
OWN_KINDS = frozenset({MemoryKind.BELIEF, MemoryKind.PREFERENCE})
# Who alone can begin what is evidence in the end.
OUTSIDE = frozenset({SourceKind.TOOL, SourceKind.DOCUMENT, SourceKind.HUMAN_REVIEW})
TASKS = st.builds(
    Task,
    requires_objective_fact=st.sampled_from((None, True, False)),
    personalization_allowed=st.sampled_from((None, True, False)),
    concerns_others=st.sampled_from((None, True)),
    is_history=st.sampled_from((None, True)),
    user=st.sampled_from((None, "u1")),
)
POLICIES = st.builds(
    ReadPolicy,
    limit=st.sampled_from((1, 3, 10)),
    overfetch=st.sampled_from((1, 2)),
    per_family=st.sampled_from((1, 1, 2)),
    when_unverified=st.sampled_from(WhenUnverified),
    token_budget=st.sampled_from((None, 80, 300, 400, 600)),
    at=st.sampled_from((0, 30, 100, 10_000)).map(lambda minutes: START + timedelta(minutes=minutes)),
)


async def load_nodes(bank: Bank) -> dict[str, Node]:
    """Give every record and tombstone of a bank, by its id."""
    return {point.id: load_node(point) async for point in iter_lineage(bank)}


async def iter_lineage(bank: Bank) -> AsyncIterator[Point]:
    """Give the points that have lineage."""
    async for point in bank.store.iter_points(kinds=LINEAGE):
        yield point


def list_line(node: Node, nodes: Mapping[str, Node]) -> list[Node]:
    """Give a record and all that it derives from, over any number of steps."""
    line, queue = {node.id: node}, [node]
    while queue:
        for edge in queue.pop().edges:
            if edge.node_id in nodes and edge.node_id not in line:
                line[edge.node_id] = nodes[edge.node_id]
                queue.append(nodes[edge.node_id])
    return list(line.values())


def is_own(line: list[Node]) -> bool:
    """Tell whether somebody's word is among what a record was made from; by the claims and kinds alone, without any permission."""
    return any(node.source_kind is SourceKind.USER or node.kind in OWN_KINDS for node in line)


@settings(max_examples=60)
@given(
    events=st.sampled_from((8, 16, 24)).flatmap(lambda size: event_sets(max_events=size)),
    asked=st.lists(st.tuples(TASKS, POLICIES), min_size=6, max_size=6),
)
def test_a_question_is_given_only_what_it_may_be_given(events: list[object], asked: list[tuple[Task, ReadPolicy]]) -> None:
    """Sources, standing, time, families, number, budget and advice, over random histories, tasks and policies."""

    async def play() -> None:
        bank = Bank()
        await bank.send(*events)  # type: ignore[arg-type] # events
        nodes = await load_nodes(bank)
        for space in sorted({node.space for node in nodes.values()}):
            question = " ".join(node.text for node in nodes.values() if node.space == space and node.text)[:400]
            for task, policy in asked:
                admission = await Calibrator(bank.store, policy).context(question, task, space=space)
                check_sources(admission, nodes)
                check_standing(admission, policy)
                check_prompt(admission, policy)

    asyncio.run(play())


def check_sources(admission: Admission, nodes: Mapping[str, Node]) -> None:
    """What somebody said, and whatever descends from it, is evidence nowhere, and background for a personal question at most."""
    for item in admission.rendered:
        line = list_line(nodes[item.candidate.record_id], nodes)
        if item.role is Role.EVIDENCE_CANDIDATE:
            assert any(node.source_kind in OUTSIDE for node in line), "agents that rest on each other"
        if is_own(line):
            assert item.role is not Role.EVIDENCE_CANDIDATE
            assert item.role is not Role.BACKGROUND or (admission.task.is_personal and not admission.task.may_be_objective)


def check_standing(admission: Admission, policy: ReadPolicy) -> None:
    """What fell is history alone, what was deleted or erased nothing; one a family; no more than were asked for."""
    families: Counter[str] = Counter()
    for item in admission.rendered:
        found = item.candidate
        assert found.status is not Status.ERASED
        assert found.valid_from is None or policy.at is None or found.valid_from <= policy.at
        if item.role is Role.SUPERSEDED:
            assert admission.task.is_history
            assert "deleted" not in found.felled_by
            continue
        assert found.status is not Status.SUPERSEDED
        assert found.valid_until is None or policy.at is None or policy.at < found.valid_until
        families.update(found.roots)
    assert all(count <= policy.per_family for count in families.values())
    assert sum(item.role is not Role.SUPERSEDED for item in admission.rendered) <= policy.limit
    assert admission.retrieved == len(admission.decisions)


def check_prompt(admission: Admission, policy: ReadPolicy) -> None:
    """It holds what is rendered and points to nothing else; it fits; its advice is about what it holds."""
    items = [item for section in parse_block(admission.prompt.block) for item in section.items]
    assert [item.handle for item in items] == list(dict.fromkeys(item.handle for item in items))
    assert {item.handle for item in items} == set(admission.prompt.handles)
    assert len(items) == len(admission.rendered)
    for item in items:
        instead = item.fields.get("replaced_by", [])
        assert instead == "another record" or set(instead) <= set(admission.prompt.handles)
    assert policy.token_budget is None or admission.prompt.tokens <= policy.token_budget
    evidence = [item.candidate.is_verified for item in admission.rendered if item.role is Role.EVIDENCE_CANDIDATE]
    is_wanting = admission.task.may_be_objective and not any(evidence)
    assert admission.ruling.advice is (policy.when_unverified if is_wanting else None)
    assert not (is_wanting and policy.when_unverified is WhenUnverified.ABSTAIN and evidence)
