"""Cases: what channels are shown of a record, looked up in the store.

A record without an episode answers with its own text. Its evidence are the texts of the memories it retrieved, else of its declared
parents, each in the revision in force when it was written; erased ones have no text and are left out.

Tools report on a task by writing a record that is no episode, of source kind `tool` (people: `human_review`) with an `episode.outcome`,
whose `source.ref` is the id of the task; the episode has the same `source.ref`, or names the task in `metadata.task_id`. So what was reported
later is found by an index that is there already, whichever of the two comes first. The text of a tool's record is no report: what a tool
returned may be `0`, or `no`. Nor is an outcome that an agent wrote into its own episode: it is a grade by another name.
"""

from __future__ import annotations

from collections.abc import Sequence

from guardian.core.model import SourceKind, Written
from guardian.core.needs import Needs
from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.ports import Store
from guardian.trust.channel import Case, Report
from guardian.trust.collect import fetch_memories, find_in_force
from guardian.trust.truth import is_episode, list_retrieved

# Evidence shown to a channel: of an episode that names a thousand memories the first say enough.
MAX_EVIDENCE = 50
MAX_REPORTS = 100
# Whose word on an outcome is not the agent's.
REPORTERS = frozenset({SourceKind.TOOL, SourceKind.HUMAN_REVIEW})
# Episodes that one report has judged anew: a ref that a whole history bears is no task.
MAX_REPORTED = 100


async def build_case(store: Store, node: Node) -> Case:
    """Build the case of a whole record.

    Raises:
        DependencyError: The store is away.
    """
    event = node.claims[0].event
    episode = event.episode
    task_id = name_task(node)
    return Case(
        space=node.space,
        memory_id=node.memory_id,
        revision=node.revision or "",
        task=None if episode is None else episode.task,
        answer=node.text if episode is None else episode.answer,
        language=None if episode is None or episode.language is None else episode.language.strip().lower(),
        evidence=await _fetch_evidence(store, node),
        outcome=None if episode is None or node.source_kind not in REPORTERS else episode.outcome,
        task_id=task_id,
        reports=() if task_id is None else await _fetch_reports(store, node, task_id),
    )


def name_task(node: Node) -> str | None:
    """Give the id of the task that a record is about."""
    event = node.claims[0].event
    named = event.metadata.get("task_id")
    if isinstance(named, str) and named:
        return named
    return None if event.source is None else event.source.ref


def is_report(node: Node) -> bool:
    """Tell whether a record is a report on a task."""
    return (
        node.is_record
        and node.source_kind in REPORTERS
        and not is_episode(node)
        and bool(node.claims)
        and reports_on_task(node.claims[0].event)
    )


def reports_on_task(event: Written) -> bool:
    """Tell whether a write has what a report has, whoever it is by."""
    has_outcome = event.episode is not None and event.episode.outcome is not None
    return has_outcome and event.source is not None and event.source.ref is not None


async def fetch_record(store: Store, record_id: str) -> Node | None:
    """Fetch a record whole; None when it is there no more, or erased.

    Raises:
        DependencyError: The store is away.
    """
    nodes = [load_node(point) for point in await store.fetch(Needs(ids={record_id}))]
    return next((node for node in nodes if node.is_record and node.claims), None)


async def fetch_reported(store: Store, report: Node) -> list[Node]:
    """Fetch the episodes that a report speaks of: those that name the task by `source.ref`, of very many the latest.

    Raises:
        DependencyError: The store is away.
    """
    source = report.claims[0].event.source
    nodes = [] if source is None else await _fetch_by_ref(store, report.space, source.ref)
    episodes = [node for node in nodes if is_episode(node)]
    return sorted(episodes, key=lambda node: node.order)[-MAX_REPORTED:]


async def _fetch_reports(store: Store, node: Node, task_id: str) -> tuple[Report, ...]:
    nodes = await _fetch_by_ref(store, node.space, task_id)
    return tuple(
        Report(id=one.id, text=read_report(one))
        for one in nodes
        if is_report(one) and one.id != node.id and one.is_current and one.deleted_by is None
    )[:MAX_REPORTS]


def read_report(node: Node) -> str:
    """Give what a report says."""
    episode = node.claims[0].event.episode
    return "" if episode is None or episode.outcome is None else episode.outcome


async def _fetch_by_ref(store: Store, space: str, ref: str | None) -> list[Node]:
    found = [] if ref is None else await store.fetch(Needs(refs={(space, ref)}))
    nodes = [load_node(point) for point in found if point.payload["point"] == PointKind.RECORD]
    return sorted((node for node in nodes if node.claims), key=lambda node: node.id)


async def _fetch_evidence(store: Store, node: Node) -> tuple[str, ...]:
    names = (list_retrieved(node) or ())[:MAX_EVIDENCE]
    memories = await fetch_memories(store, node.space, set(names))
    moment = node.order[0]
    found: Sequence[Node | None] = [find_in_force(memories.get(name, ()), moment) for name in names]
    return tuple(one.text for one in found if one is not None and one.text is not None)
