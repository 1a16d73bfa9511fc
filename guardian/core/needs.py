"""What a decision has to know: keys, asked in rounds.

`decide` either gives a plan or says what is missing; the pipeline fetches that and asks again. All keys of one round go to
the store in one call. Each key is exact: having asked for it and received nothing means that there is nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

Key = tuple[str, str]  # (space, name within the space)


@dataclass(slots=True, kw_only=True)
class Needs:
    """Sets of keys to look up; every set is of (space, name), but `ids`, which are point ids.

    Attributes:
        memories: All nodes (records, tombstones, the unseen) and all deletions, links and erasures of a memory id.
        verdicts: Verdicts on a memory id, and what models said of its revisions.
        mentions: Corrections that have the memory id among their `mentions`.
        corrected_subjects: Corrections that name the subject.
        subjects: Records with the subject.
        children: Nodes that have the memory id among their parents. Lineage fields only.
        families: Nodes that have the id among their roots. Lineage fields only; may be large, read in pages.
        sessions: Reads and records of a session id.
        refs: Records with the source ref.
        retrieved: Reads that have the memory id among their `mentions`.
        chains: Corrections of one chain, by its label.
        events: Points that some event put there, by `events` ("source#id"): corrections, verdicts, calibrations, and records
            with believed or inline claims.
        calibrations: Calibrations of the space; the name is the kind of point.
        ids: Points by id, whole.
    """

    memories: set[Key] = field(default_factory=set)
    verdicts: set[Key] = field(default_factory=set)
    mentions: set[Key] = field(default_factory=set)
    corrected_subjects: set[Key] = field(default_factory=set)
    subjects: set[Key] = field(default_factory=set)
    children: set[Key] = field(default_factory=set)
    families: set[Key] = field(default_factory=set)
    sessions: set[Key] = field(default_factory=set)
    refs: set[Key] = field(default_factory=set)
    retrieved: set[Key] = field(default_factory=set)
    chains: set[Key] = field(default_factory=set)
    events: set[Key] = field(default_factory=set)
    calibrations: set[Key] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return any(getattr(self, item.name) for item in fields(self))

    def minus(self, known: Needs) -> Needs:
        """Give the keys that `known` does not have."""
        return Needs(**{item.name: getattr(self, item.name) - getattr(known, item.name) for item in fields(self)})

    def update(self, other: Needs) -> None:
        """Add all keys of `other` in place."""
        for item in fields(self):
            getattr(self, item.name).update(getattr(other, item.name))

    def count(self) -> int:
        """Give the number of keys asked for."""
        return sum(len(getattr(self, item.name)) for item in fields(self))
