"""What records may be used for: a table of their own kind and source, less what a model takes, and never more than what they derive from.

The table is asked of the package. What a narrowing takes from it, and how permissions come down over lineage, is said here again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from guardian.core.model import MemoryKind, Scope, SourceKind
from tests.reference.inductions import RESTRICTIONS, Inductions, read_narrowing
from tests.reference.lineage import Lineage
from tests.reference.revisions import Node, Revision

# The stricter the later.
STRICTNESS = ("latest_memory_wins", "current_evidence_wins", "human_review")

Permission = Mapping[str, Any]


class Allows(Protocol):
    """Tells what a record's own kind and source allow, as plain values."""

    def __call__(self, each: Revision, source_kind: SourceKind, *, has_parents: bool, is_fed: bool) -> Permission:
        """Give slots, restrictions and conflict policy."""


def default_allows(each: Revision, source_kind: SourceKind, *, has_parents: bool, is_fed: bool) -> Permission:
    """Ask the package's own table, which the reference does not restate."""
    from guardian.core.permission import own_permission

    assert each.kind is not None
    own = own_permission(
        kind=each.kind,
        source_kind=source_kind,
        verified=each.verified,
        has_parents=has_parents,
        is_fed=is_fed,
        scope=each.scope or Scope(),
        subject=each.subject,
    )
    return own.to_json()


class Permissions:
    """What the records of a space may be used for.

    Args:
        source_kinds: Of each record, after lineage has lowered them.
        allows: The table.
    """

    def __init__(
        self,
        lineage: Lineage,
        inductions: Inductions,
        source_kinds: Mapping[Revision, SourceKind],
        allows: Allows = default_allows,
    ) -> None:
        self._lineage = lineage
        self._inductions = inductions
        self._source_kinds = source_kinds
        self._allows = allows
        self._known: dict[Node, Permission] = {}

    def of(self, each: Revision) -> Permission:
        """Give what a record may: its own less what a model takes, and never more than what it derives from; a circle is one node."""
        if each not in self._known:
            members = [node for node in self._lineage.circle[each] if isinstance(node, Revision)]
            outside: set[Node] = {parent for node in members for parent in self._lineage.parents[node]}.difference(members)
            records = [node for node in members if not node.erased]
            permission = _merge(
                [
                    *(self._own(record, is_fed=bool(outside)) for record in records),
                    *(self.of(parent) for parent in outside if isinstance(parent, Revision) and not parent.erased),
                ]
            )
            if len(records) < len(members) or not all(map(_is_record, outside)):  # something that it derives from is not there
                permission = {**permission, "slots": sorted(set(permission["slots"]) & {"background"})}
            self._known |= dict.fromkeys(records, permission)
        return self._known[each]

    def slots(self, each: Revision) -> list[str]:
        """Give the places that a record itself may enter: episodes and skills as examples alone."""
        slots = self.of(each)["slots"]
        return [slot for slot in slots if slot == "examples"] if each.kind in (MemoryKind.EPISODE, MemoryKind.SKILL) else slots

    def _own(self, each: Revision, *, is_fed: bool) -> Permission:
        """Give what a record may by itself; `is_fed` tells that something outside its circle stands behind it."""
        own = self._allows(each, self._source_kinds[each], has_parents=bool(self._lineage.parents[each]), is_fed=is_fed)
        said = self._inductions.holding.get(each)
        taken = {} if said is None else read_narrowing(said)
        return {
            "slots": [slot for slot in own.get("slots", ()) if slot not in taken.get("bars", ())],
            **{name: sorted({*own.get(name, ()), *taken.get(name, ())}) for name in RESTRICTIONS},
            "conflict": _strictest([own["conflict"], taken.get("conflict")]),
        }


def _is_record(node: Node) -> bool:
    return isinstance(node, Revision) and not node.erased


def _merge(permissions: list[Permission]) -> Permission:
    slots = set.intersection(*(set(one["slots"]) for one in permissions))
    restrictions = {name: sorted({word for one in permissions for word in one[name]}) for name in RESTRICTIONS}
    return {"slots": sorted(slots), **restrictions, "conflict": _strictest([one["conflict"] for one in permissions])}


def _strictest(policies: Iterable[str | None]) -> str:
    return max((policy for policy in policies if policy is not None), key=STRICTNESS.index)


def write_permission(permission: Permission) -> dict[str, Any]:
    """Give a permission as it is stored, without its validity: what is empty is left out."""
    return {name: value for name, value in permission.items() if value}
