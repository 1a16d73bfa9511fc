"""What a worker is made of: settings, roles and what opens the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.outcome import REQUEST_MODELS, Outcome
from guardian.contracts.published import OUTCOME_MODELS
from guardian.pipeline import Pipeline
from guardian.ports import Publisher
from guardian.settings import KafkaSettings, LimitSettings, WebSettings
from guardian.sources.live.schema_frame import SchemaCache
from guardian.sources.live.translator import Translator
from guardian.stream.broker.kafka import KafkaOptions
from guardian.stream.plane.batch import Role
from guardian.stream.side import SideSetup
from guardian.stream.watching import WatchSetup


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetup:
    """Everything a worker is made of.

    Attributes:
        roles: What it does, of `guard`, `ingress` and the agents of `sides`.
        build_policy: Gives what the codec refuses, for a vector size.
        open_pipeline: Opens the store and the model; called again when it fails because something is away.
        asked: Requests that the guard publishes.
        sides: Side topics whose requests it answers.
        translator: Turns records of agents' topics into events; None where all are Guardian's own.
        schemas: Those of a schema registry, for the translator.
        watch: How banks are watched; None for not at all.
    """

    kafka: KafkaSettings
    options: KafkaOptions
    limits: LimitSettings
    web: WebSettings
    roles: frozenset[str]
    build_policy: Callable[[int], DecodePolicy]
    open_pipeline: Callable[[Publisher], Awaitable[Pipeline]]
    asked: tuple[type[Outcome], ...] = ()
    sides: tuple[SideSetup, ...] = ()
    translator: Translator | None = None
    schemas: SchemaCache | None = None
    watch: WatchSetup | None = None

    @property
    def events_topic(self) -> str:
        """Full name of the canonical topic."""
        return self.kafka.topic_prefix + self.kafka.events_topic

    @property
    def own_topics(self) -> frozenset[str]:
        """Full names of all topics that Guardian writes."""
        return frozenset({self.events_topic, *(self.kafka.topic_prefix + model.published_to for model in OUTCOME_MODELS)})

    @property
    def needed_topics(self) -> frozenset[str]:
        """Full names of those of them that must be there: a side topic is needed only where something is asked or answered on it."""
        unused = set(REQUEST_MODELS) - {side.request for side in self.sides} - set(self.asked)
        return self.own_topics - {self.kafka.topic_prefix + model.published_to for model in unused}

    def measure_patience_s(self, role: Role) -> float:
        """Give the longest time in which a data plane may finish nothing."""
        return max([self.limits.watchdog_s, *(side.patience_s for side in self.sides if side.role is role)])
