"""The topics that Guardian declares: read from YAML, compared with a broker, and created where they are missing.

A topic is created once and lives for years, so this module never deletes, never alters, and never creates by asking:
what differs from the declaration is told, and another partition count is refused. Topics that are partitioned together may
have more than they are declared with, all of them equally many: `guardian.stream.broker.partition` raises them.

`plan` compares, `apply` creates what is missing and compares again; both give data for the command line to print.
"""

from __future__ import annotations

import asyncio
import importlib.resources
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, NoError, TopicAlreadyExistsError, for_code
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from guardian.errors import ConfigError, DependencyError

ASYNCAPI = "asyncapi.yaml"
"""The generated document that stands beside the declarations."""

BROKER_TIMEOUT_S = 30.0
"""Longest time for one comparison or creation, all answers of the broker together."""

TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=249)]
"""What Kafka takes as a name."""


class CleanupPolicy(StrEnum):
    """How Kafka frees a topic's space: by age, by key, or both when both are named."""

    DELETE = "delete"
    COMPACT = "compact"


class TopicDeclaration(BaseModel):
    """One topic as declared in `topics/<name>.yaml`.

    Attributes:
        purpose: What it carries, in a sentence.
        key: What the message key is; a description for readers, checked by nobody.
        copartitioned: Name of a group of topics with one key and one partition count: a key has the same number in all.
        retention_ms: Age in ms at which records go; -1 for never.
        schemas: Files under `topics/schemas/` that describe its values.
        config: Further topic settings by Kafka's own names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: TopicName
    purpose: str = Field(min_length=1)
    key: str = Field(min_length=1)
    partitions: int = Field(ge=1)
    copartitioned: str | None = None
    cleanup_policy: tuple[CleanupPolicy, ...] = Field(min_length=1)
    retention_ms: int = Field(ge=-1)
    schemas: tuple[str, ...] = ()
    config: Mapping[str, str] = Field(default_factory=dict)

    @field_validator("config")
    @classmethod
    def _has_own_fields(cls, config: Mapping[str, str]) -> Mapping[str, str]:
        if doubled := config.keys() & {"cleanup.policy", "retention.ms"}:
            raise ValueError(f"{', '.join(sorted(doubled))} has a field of its own")
        return config

    @model_validator(mode="after")
    def _ages_only_where_deleted(self) -> Self:
        if self.retention_ms != -1 and CleanupPolicy.DELETE not in self.cleanup_policy:
            raise ValueError("retention_ms does nothing without the cleanup policy `delete`; set it to -1")
        return self

    @property
    def full_config(self) -> dict[str, str]:
        """Give every declared setting by Kafka's name."""
        policy = ",".join(self.cleanup_policy)
        return {"cleanup.policy": policy, "retention.ms": str(self.retention_ms), **self.config}


class Standing(StrEnum):
    """How a declared topic stands on a broker."""

    OK = "ok"
    MISSING = "missing"
    DRIFTED = "drifted"
    PARTITIONS_DIFFER = "partitions_differ"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDrift:
    """One setting that is not as declared; `actual` is None where the broker names no value."""

    setting: str
    declared: str
    actual: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicComparison:
    """One declared topic against the broker's; `partitions` is the broker's count, None where the topic is missing."""

    declaration: TopicDeclaration
    partitions: int | None
    drift: tuple[ConfigDrift, ...] = ()

    @property
    def standing(self) -> Standing:
        """Give the worst that holds."""
        if self.partitions is None:
            return Standing.MISSING
        if self.partitions != self.declaration.partitions:
            return Standing.PARTITIONS_DIFFER
        return Standing.DRIFTED if self.drift else Standing.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All declared topics against a broker, in order of name."""

    topics: tuple[TopicComparison, ...]

    def list_standing(self, standing: Standing) -> tuple[TopicComparison, ...]:
        """Give the topics that stand so."""
        return tuple(topic for topic in self.topics if topic.standing is standing)

    @property
    def is_clean(self) -> bool:
        """Tell whether the broker has every topic as declared."""
        return all(topic.standing is Standing.OK for topic in self.topics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What `apply` did: the names of the topics it created, and how everything stands now."""

    created: tuple[str, ...]
    plan: Plan


def load_declarations(folder: Path | None = None, *, prefix: str = "") -> tuple[TopicDeclaration, ...]:
    """Load all declarations, in order of name.

    Args:
        folder: Where the `*.yaml` files lie; None for those that come with the package.
        prefix: Put before every name, for several Guardians on one cluster.

    Raises:
        ConfigError: A file is not a declaration, its name is not the topic's, or a group's partition counts differ.
    """
    source: Traversable = importlib.resources.files("topics") if folder is None else folder
    files = [file for file in source.iterdir() if file.name.endswith(".yaml") and file.name != ASYNCAPI]
    if not files:
        raise ConfigError(f"no topic is declared in {source}", mend="name a folder with one YAML file a topic")
    declared = [_read_declaration(file) for file in sorted(files, key=lambda file: file.name)]
    check_copartitioned(declared)
    return tuple(topic.model_copy(update={"name": prefix + topic.name}) for topic in declared)


def _read_declaration(file: Traversable) -> TopicDeclaration:
    try:
        declaration = TopicDeclaration.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError, ValidationError) as exc:
        raise ConfigError(f"{file.name} is not a topic declaration: {exc}", mend="see TopicDeclaration") from exc
    if file.name != f"{declaration.name}.yaml":
        raise ConfigError(f"{file.name} declares {declaration.name}", mend=f"rename it to {declaration.name}.yaml")
    return declaration


def check_copartitioned(declarations: Iterable[TopicDeclaration]) -> None:
    """Refuse declarations whose co-partitioned topics have unlike partition counts.

    Raises:
        ConfigError: Names the group, its topics and their counts.
    """
    groups: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for topic in declarations:
        if topic.copartitioned is not None:
            groups[topic.copartitioned][topic.name] = topic.partitions
    for group, counts in groups.items():
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name} has {count}" for name, count in sorted(counts.items()))
            raise ConfigError(
                f"topics co-partitioned by {group} must have one partition count: {listed}",
                mend="give them one count, or leave the group",
            )


async def plan(
    bootstrap: str | list[str],
    declarations: Sequence[TopicDeclaration],
    *,
    security: Mapping[str, Any] | None = None,
    timeout_s: float = BROKER_TIMEOUT_S,
) -> Plan:
    """Compare declared topics with a broker's; changes nothing.

    Args:
        bootstrap: `host:port` of one or more brokers.
        declarations: What should be there.
        security: TLS and SASL arguments of aiokafka's clients (`security_protocol`, `ssl_context`, `sasl_…`).
        timeout_s: For everything together.

    Raises:
        DependencyError: The broker is away.
        ConfigError: The broker refuses to tell (no permission).
    """
    check_copartitioned(declarations)
    async with _connect(bootstrap, security, timeout_s) as admin:
        return await _compare(admin, declarations)


async def apply(
    bootstrap: str | list[str],
    declarations: Sequence[TopicDeclaration],
    *,
    replication_factor: int = 1,
    security: Mapping[str, Any] | None = None,
    timeout_s: float = BROKER_TIMEOUT_S,
) -> Applied:
    """Create the missing topics and compare again; what drifted is told in the answer, not altered.

    Args:
        bootstrap: `host:port` of one or more brokers.
        declarations: What should be there.
        replication_factor: Copies of each new partition; 3 on a cluster that must survive the loss of a broker.
        security: TLS and SASL arguments of aiokafka's clients.
        timeout_s: For everything together.

    Raises:
        DependencyError: The broker is away, or does not show the new topics in time.
        ConfigError: A topic exists with another partition count (then nothing is created), or the broker refuses one.
    """
    check_copartitioned(declarations)
    async with _connect(bootstrap, security, timeout_s) as admin:
        before = await _compare(admin, declarations)
        refuse_other_partition_counts(before)
        missing = [topic.declaration for topic in before.list_standing(Standing.MISSING)]
        created = await _create(admin, missing, replication_factor) if missing else ()
        after = await _compare(admin, declarations)
        while after.list_standing(Standing.MISSING):  # brokers learn of a new topic one after the other
            await asyncio.sleep(0.1)
            after = await _compare(admin, declarations)
        refuse_other_partition_counts(after)  # someone else may have created one meanwhile
        return Applied(created=created, plan=after)


async def fetch_configs(
    bootstrap: str | list[str],
    wanted: Callable[[str], bool],
    *,
    security: Mapping[str, Any] | None = None,
    timeout_s: float = BROKER_TIMEOUT_S,
) -> dict[str, dict[str, str]]:
    """Give the settings of a broker's topics, by topic and Kafka's name.

    Args:
        bootstrap: `host:port` of one or more brokers.
        wanted: Tells for a topic's name whether it is asked for.
        security: As for `plan`.
        timeout_s: For everything together.

    Raises:
        DependencyError: The broker is away.
        ConfigError: The broker refuses to tell (no permission).
    """
    async with _connect(bootstrap, security, timeout_s) as admin:
        return await _fetch_configs(admin, sorted(filter(wanted, await admin.list_topics())))


def refuse_other_partition_counts(found: Plan) -> None:
    """Refuse a broker on which a declared topic has another partition count.

    Raises:
        ConfigError: Names the topics, both counts, and the ways out.
    """
    differing = found.list_standing(Standing.PARTITIONS_DIFFER)
    if not differing:
        return
    listed = ", ".join(
        f"{topic.declaration.name} has {topic.partitions} partitions, declared are {topic.declaration.partitions}"
        for topic in differing
    )
    raise ConfigError(
        f"{listed}. Another count moves keys to other partitions: events of one space would no longer be in one order.",
        mend="where it has fewer, `guardian topics apply --partitions N` raises it, with the topics that are partitioned like it; where "
        "it has more, they cannot be taken away: copy it to a new topic with the declared count and move producers over.",
    )


@asynccontextmanager
async def _connect(
    bootstrap: str | list[str], security: Mapping[str, Any] | None, timeout_s: float
) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(
        bootstrap_servers=bootstrap,
        client_id="guardian-topics",
        request_timeout_ms=int(timeout_s * 1000),
        **(security or {}),
    )
    try:
        async with asyncio.timeout(timeout_s):
            await admin.start()
            yield admin
    except (KafkaError, OSError, TimeoutError) as exc:
        raise DependencyError(f"the broker at {bootstrap} does not answer: {exc!r}", dependency="broker") from exc
    finally:
        await admin.close()


async def _compare(admin: AIOKafkaAdminClient, declarations: Sequence[TopicDeclaration]) -> Plan:
    # Asked for all topics: a broker with auto-creation would create each missing topic that is asked for by name.
    counts = {topic["topic"]: len(topic["partitions"]) for topic in await admin.describe_topics()}
    declarations = [_follow_group(topic, declarations, counts) for topic in declarations]
    present = [topic.name for topic in declarations if topic.name in counts]
    configs = await _fetch_configs(admin, present)
    compared = [
        TopicComparison(
            declaration=topic,
            partitions=counts.get(topic.name),
            drift=find_drift(topic, configs[topic.name]) if topic.name in configs else (),
        )
        for topic in sorted(declarations, key=lambda topic: topic.name)
    ]
    return Plan(topics=tuple(compared))


def _follow_group(
    topic: TopicDeclaration, declarations: Sequence[TopicDeclaration], counts: Mapping[str, int]
) -> TopicDeclaration:
    """Give a declaration with the count that its group was raised to, so that all of the group are held to it."""
    if topic.copartitioned is None:
        return topic
    group = [counts.get(other.name, 0) for other in declarations if other.copartitioned == topic.copartitioned]
    return topic.model_copy(update={"partitions": max(topic.partitions, *group)})


def find_drift(declaration: TopicDeclaration, actual: Mapping[str, str]) -> tuple[ConfigDrift, ...]:
    """List the declared settings that a broker has otherwise; settings that are not declared are nobody's concern."""
    return tuple(
        ConfigDrift(setting=setting, declared=declared, actual=actual.get(setting))
        for setting, declared in declaration.full_config.items()
        # Kafka gives a list of policies back in the order it was set.
        if sorted(declared.split(",")) != sorted(actual.get(setting, "").split(","))
    )


async def _fetch_configs(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    # All settings, not the declared ones: the embedded broker hangs up when asked for some by name.
    answers = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in names])
    configs: dict[str, dict[str, str]] = {}
    for code, message, _, name, entries in (resource for answer in answers for resource in answer.resources):
        _refuse_error(code, f"the broker does not tell the settings of {name}: {message}")
        configs[name] = {entry[0]: entry[1] for entry in entries if entry[1] is not None}
    return configs


async def _create(
    admin: AIOKafkaAdminClient, declarations: Sequence[TopicDeclaration], replication_factor: int
) -> tuple[str, ...]:
    new = [NewTopic(topic.name, topic.partitions, replication_factor, topic_configs=topic.full_config) for topic in declarations]
    answer = await admin.create_topics(new)
    created = []
    for name, code, message in answer.topic_errors:
        if for_code(code) is TopicAlreadyExistsError:  # someone else was quicker; the next comparison judges theirs
            continue
        _refuse_error(code, f"the broker refuses to create {name}: {message}")
        created.append(name)
    return tuple(sorted(created))


def _refuse_error(code: int, message: str) -> None:
    error = for_code(code)
    if error is NoError:
        return
    if error.retriable:
        raise DependencyError(f"{message} ({error.__name__})", dependency="broker")
    raise ConfigError(f"{message} ({error.__name__})", mend="see the broker's message; its log may say more")
