"""A decision in the making: what was worked out for one space, handed from stage to stage."""

from __future__ import annotations

from collections import defaultdict

from guardian.core.chain import Standing
from guardian.core.intake import Intake
from guardian.core.node import Node
from guardian.core.policy import Policy
from guardian.core.world import World


class Decision:
    """What was worked out for one space.

    Attributes:
        standings: The corrections that were looked at, by key.
        context: Chains of corrections that this batch does not change, by key.
        recomputed: Ids of the nodes whose derived fields may have changed.
        order: The same in components, parents first.
        ordered: Ids in `order`.
        reached: Records that each correction that was looked at reaches, by its key.
    """

    def __init__(self, world: World, intake: Intake, policy: Policy) -> None:
        self.world = world
        self.intake = intake
        self.policy = policy
        self.standings: dict[str, Standing] = {}
        self.context: dict[str, Standing] = {}
        self.recomputed: dict[str, None] = {}
        self.order: list[list[str]] = []
        self.ordered: set[str] = set()
        self.reached: dict[str, list[Node]] = defaultdict(list)
