"""Counts of one bank: how much of it is wrong, how much of it a correction felled, who wrote its families, how deep they go.

Each record is counted once and forgotten, so a bank of any size takes the same room; only families are kept apart, a bounded sample of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from guardian.core.model import SourceKind
from guardian.core.node import Node
from guardian.core.numbers.interval import Estimate, estimate_share
from guardian.trust.estimate import LEAST_SHARE, pool_wrong
from guardian.trust.sample import KeySample
from guardian.trust.truth import ACCEPT_LEVEL, StandIn, is_standing, judge_memory, read_grade

# Families of a space that are kept apart, some 20 MB; of more a sample stands for all.
MAX_FAMILIES = 100_000


@dataclass(slots=True)
class BankCounts:
    """What was counted; those of several spaces add up.

    Attributes:
        records: Records that have a text, standing or not.
        standing: Those a default read may return.
        felled: Those a correction fells: what superseded families hold of the bank.
        gold: (wrong, all) of the trusted ones whose truth is known: by ground truth, or since trusted authority verified them. Trusted is what
            stands and the agent did not grade below its level; that verdicts demote some is left aside, since p is what p* is compared with.
        other: The same by the stand-in.
        slots: Places in the answers of the window's reads whose memory is known here.
        felled_slots: Those whose memory a correction fells by now: what superseded families held of the top-k.
        members: Records in families of several whose writer is known.
        self_written: Those of them that the agent wrote.
        depth_sum, depth_max: Derivation steps from a root.
        refused: Recent records that claimed to be verified and were not believed.
    """

    records: int = 0
    standing: int = 0
    felled: int = 0
    gold: tuple[int, int] = (0, 0)
    other: tuple[int, int] = (0, 0)
    slots: int = 0
    felled_slots: int = 0
    members: int = 0
    self_written: int = 0
    depth_sum: int = 0
    depth_max: int = 0
    refused: int = 0

    def add(self, other: BankCounts) -> None:
        """Add another space's counts."""
        for name in ("records", "standing", "felled", "slots", "felled_slots", "members", "self_written", "depth_sum", "refused"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.gold = (self.gold[0] + other.gold[0], self.gold[1] + other.gold[1])
        self.other = (self.other[0] + other.other[0], self.other[1] + other.other[1])
        self.depth_max = max(self.depth_max, other.depth_max)

    def estimate(self, stand_in: StandIn | None) -> BankEstimate:
        """Give the shares with their intervals."""
        return BankEstimate(
            records=self.records,
            standing=self.standing,
            corrupted=pool_wrong(self.gold, self.other, stand_in),
            superseded_of_bank=estimate_share(self.felled, self.records, least=LEAST_SHARE),
            superseded_of_top_k=estimate_share(self.felled_slots, self.slots, least=LEAST_SHARE),
            self_written=estimate_share(self.self_written, self.members, least=LEAST_SHARE),
            depth_mean=self.depth_sum / self.records if self.records else None,
            depth_max=self.depth_max if self.records else None,
            refused=self.refused,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BankEstimate:
    """Shares of a bank.

    Attributes:
        corrupted: p, the share of wrong ones among the trusted records whose truth is known.
        superseded_of_bank: Share of all records that a correction fells.
        superseded_of_top_k: Share of what the window's reads returned that a correction fells by now.
        self_written: Share that the agent wrote, of the records in families of several whose writer is known.
        refused: Recent records that claimed to be verified and were not believed.
    """

    records: int
    standing: int
    corrupted: Estimate
    superseded_of_bank: Estimate
    superseded_of_top_k: Estimate
    self_written: Estimate
    depth_mean: float | None
    depth_max: int | None
    refused: int = 0


@dataclass(slots=True)
class BankCounter:
    """Counts the records of one space.

    Attributes:
        reads: Memory id -> how often the window's reads returned it.
        stand_in: The channel that stands in for the truth, if any.
        accept_level: Self-grade in [0, 1] from which the agent trusts a record.
        recent: Refused claims count from it on; None for all.
    """

    reads: Mapping[str, int]
    stand_in: StandIn | None = None
    accept_level: float = ACCEPT_LEVEL
    recent: datetime | None = None
    counts: BankCounts = field(default_factory=BankCounts)
    families: KeySample[list[int]] = field(default_factory=lambda: KeySample(MAX_FAMILIES))

    def count(self, node: Node) -> None:
        """Count one record."""
        counts = self.counts
        counts.records += 1
        counts.felled += bool(node.felled)
        counts.depth_sum += node.depth
        counts.depth_max = max(counts.depth_max, node.depth)
        counts.refused += self._is_recent(node) and not node.is_verified and any(one.event.verified for one in node.claims)
        if node.is_current:
            slots = self.reads.get(node.memory_id, 0)
            counts.slots += slots
            counts.felled_slots += slots if node.felled else 0
        if is_standing(node):
            counts.standing += 1
            grade = read_grade(node)
            if grade is None or grade >= self.accept_level:
                self._judge(node)
        self._place_in_families(node)

    def finish(self) -> BankCounts:
        """Give the counts with the families of several records summed up."""
        several = [family for family in self.families.values.values() if family[0] > 1]
        self.counts.members = sum(family[1] for family in several)
        self.counts.self_written = sum(family[2] for family in several)
        return self.counts

    def _is_recent(self, node: Node) -> bool:
        return self.recent is None or (node.observed_at is not None and node.observed_at >= self.recent)

    def _judge(self, node: Node) -> None:
        truth = judge_memory(node, self.stand_in)
        if truth is None:
            return
        name = "other" if truth.is_stand_in else "gold"
        wrong, total = getattr(self.counts, name)
        setattr(self.counts, name, (wrong + truth.is_wrong, total + 1))

    def _place_in_families(self, node: Node) -> None:
        is_known = node.source_kind is not SourceKind.UNKNOWN
        for root in node.roots:
            family = self.families.values.get(root, [0, 0, 0])
            family[0] += 1
            family[1] += is_known
            family[2] += node.source_kind is SourceKind.AGENT
            self.families.put(root, family)
