"""Laws of the topic declarations: what may be declared, and how a difference is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from guardian.contracts.wire import EVENT_MODELS
from guardian.errors import ConfigError
from guardian.topics import (
    ConfigDrift,
    Plan,
    Standing,
    TopicComparison,
    TopicDeclaration,
    find_drift,
    load_declarations,
    refuse_other_partition_counts,
)

TOPICS = Path(__file__).parents[2] / "topics"
VALID = {
    "name": "a.topic",
    "purpose": "Something.",
    "key": "space",
    "partitions": 4,
    "cleanup_policy": ["delete"],
    "retention_ms": 1000,
}


def declare(**changes: object) -> TopicDeclaration:
    """Build a valid declaration with changes."""
    return TopicDeclaration.model_validate(VALID | changes)


def write(folder: Path, *, file: str | None = None, **changes: object) -> Path:
    """Write a valid declaration with changes as a YAML file."""
    content = VALID | changes
    path = folder / (file or f"{content['name']}.yaml")
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_package_declares_the_topics_in_use() -> None:
    """The topics in use, found without naming a folder."""
    assert [topic.name for topic in load_declarations()] == [
        "guardian.alerts",
        "guardian.audit-requests",
        "guardian.card-requests",
        "guardian.dead-letters",
        "guardian.drift",
        "guardian.enriched",
        "guardian.events",
        "guardian.ledger",
        "guardian.reviews",
        "guardian.supersessions",
    ]


def test_the_canonical_topic_keeps_its_events_for_ever() -> None:
    """State is rebuilt from offset zero, so neither age nor key may remove an event."""
    events = {topic.name: topic for topic in load_declarations()}["guardian.events"]
    assert events.full_config == {"cleanup.policy": "delete", "retention.ms": "-1"}


def test_every_event_type_has_a_declared_schema() -> None:
    """What may stand in the canonical topic and what its declaration names are the same set."""
    events = {topic.name: topic for topic in load_declarations()}["guardian.events"]
    assert {schema.removesuffix(".json") for schema in events.schemas} == set(EVENT_MODELS)


def test_every_declared_schema_exists() -> None:
    """A reader of a declaration can open each schema it names."""
    named = {schema for topic in load_declarations() for schema in topic.schemas}
    assert {name for name in named if not (TOPICS / "schemas" / name).is_file()} == set()


def test_a_compacted_topic_forgets_erased_texts_in_bounded_time() -> None:
    """Without a largest lag, compaction passes over the newest segment for as long as nothing new comes."""
    compacted = [topic for topic in load_declarations() if "compact" in topic.cleanup_policy]
    assert compacted
    assert [topic.name for topic in compacted if "max.compaction.lag.ms" not in topic.config] == []


def test_a_prefix_stands_before_every_name() -> None:
    """Several Guardians share a cluster by prefix."""
    plain = [topic.name for topic in load_declarations()]
    assert [topic.name for topic in load_declarations(prefix="eu.")] == [f"eu.{name}" for name in plain]


def test_a_folder_replaces_the_packages_declarations(tmp_path: Path) -> None:
    """An operator who needs other counts declares them in files of their own."""
    write(tmp_path, partitions=24)
    assert load_declarations(tmp_path) == (declare(partitions=24),)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"retention": 5}, "retention"),
        ({"partitions": 0}, "partitions"),
        ({"cleanup_policy": []}, "cleanup_policy"),
        ({"cleanup_policy": ["shred"]}, "cleanup_policy"),
        ({"cleanup_policy": ["compact"]}, "retention_ms"),
        ({"config": {"retention.ms": "5"}}, "retention.ms"),
        ({"retention_ms": -2}, "retention_ms"),
    ],
)
def test_a_wrong_declaration_is_refused_by_file_and_field(tmp_path: Path, changes: dict[str, object], named: str) -> None:
    """The message names the file and the field."""
    write(tmp_path, **changes)
    with pytest.raises(ConfigError, match=rf"a\.topic\.yaml.*(?s:.*){named}"):
        load_declarations(tmp_path)


def test_a_name_that_kafka_does_not_take_is_refused(tmp_path: Path) -> None:
    """A slash would be refused by the broker only after other topics had been created."""
    write(tmp_path, file="a.yaml", name="a/b")
    with pytest.raises(ConfigError, match=r"a\.yaml"):
        load_declarations(tmp_path)


@pytest.mark.parametrize("content", ["", "- a\n", "name: [", "\x00"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, content: str) -> None:
    """Broken YAML is a setting that cannot work, not a traceback."""
    (tmp_path / "a.topic.yaml").write_text(content)
    with pytest.raises(ConfigError, match=r"a\.topic\.yaml"):
        load_declarations(tmp_path)


def test_a_file_is_named_after_its_topic(tmp_path: Path) -> None:
    """Two files can then never declare one topic."""
    write(tmp_path, file="other.yaml")
    with pytest.raises(ConfigError, match=r"rename it to a\.topic\.yaml"):
        load_declarations(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    """A mistyped folder must not look like a clean plan."""
    with pytest.raises(ConfigError, match="no topic is declared"):
        load_declarations(tmp_path)


def test_copartitioned_topics_have_one_count(tmp_path: Path) -> None:
    """The refusal names the group, both topics and both counts."""
    write(tmp_path, name="a", copartitioned="space", partitions=4)
    write(tmp_path, name="b", copartitioned="space", partitions=6)
    write(tmp_path, name="c", partitions=9)
    with pytest.raises(ConfigError, match=r"space.*a has 4, b has 6"):
        load_declarations(tmp_path)


def test_policies_in_another_order_are_no_drift() -> None:
    """Kafka gives the list back as it was set."""
    topic = declare(cleanup_policy=["compact", "delete"])
    assert find_drift(topic, {"cleanup.policy": "delete,compact", "retention.ms": "1000"}) == ()


def test_drift_tells_what_is_declared_and_what_is() -> None:
    """A setting with another value and one without a value are told; one that nobody declared is not."""
    topic = declare(config={"max.message.bytes": "5"})
    actual = {"cleanup.policy": "delete", "retention.ms": "2000", "segment.ms": "1"}
    assert find_drift(topic, actual) == (
        ConfigDrift(setting="retention.ms", declared="1000", actual="2000"),
        ConfigDrift(setting="max.message.bytes", declared="5", actual=None),
    )


def test_another_partition_count_weighs_more_than_drift() -> None:
    """A topic has one standing: the worst that holds."""
    drift = (ConfigDrift(setting="retention.ms", declared="1000", actual="2000"),)
    found = {
        partitions: TopicComparison(declaration=declare(), partitions=partitions, drift=drift).standing
        for partitions in (None, 3, 4)
    }
    assert found == {None: Standing.MISSING, 3: Standing.PARTITIONS_DIFFER, 4: Standing.DRIFTED}
    assert TopicComparison(declaration=declare(), partitions=4).standing is Standing.OK


def test_a_refused_count_names_topic_counts_and_reason() -> None:
    """An operator reads what differs, why it matters and what to do."""
    found = Plan(topics=(TopicComparison(declaration=declare(), partitions=3),))
    with pytest.raises(ConfigError, match=r"a\.topic has 3 partitions, declared are 4.*moves keys.*Mend"):
        refuse_other_partition_counts(found)


def test_a_plan_is_clean_only_when_all_is_as_declared() -> None:
    """One missing topic is enough."""
    good = TopicComparison(declaration=declare(), partitions=4)
    missing = TopicComparison(declaration=declare(name="b"), partitions=None)
    assert Plan(topics=(good,)).is_clean
    assert not Plan(topics=(good, missing)).is_clean
    assert Plan(topics=(good, missing)).list_standing(Standing.MISSING) == (missing,)
