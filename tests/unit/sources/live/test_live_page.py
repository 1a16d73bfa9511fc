"""The page docs/live.md is true: its settings work as they stand, and its records become what it says."""

from __future__ import annotations

import re
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import decode
from guardian.contracts.reason import Reason
from guardian.core.model import SourceKind, Written
from guardian.errors import ConfigError, RecordError
from guardian.mapping import Converter
from guardian.settings import Settings, load_settings
from guardian.sources.live.arrival import Arrival
from guardian.sources.live.translator import Translation
from guardian.sources.reason import SourceReason
from guardian.stream.ingress import check_ingress
from guardian.telemetry.metrics import Metrics
from guardian.wiring import build_decode_policy, build_translator

PAGE = (Path(__file__).parents[4] / "docs" / "live.md").read_text()
ROWS = re.findall(r"^\| `([a-z.]+)` \| `(.+?)` \| (.+?) \|$", PAGE, re.MULTILINE)
AT = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Give the settings of the page."""
    for name in ("GUARDIAN_KAFKA__INGRESS_TOPICS", "GUARDIAN_KAFKA__BOOTSTRAP"):
        monkeypatch.delenv(name, raising=False)
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "guardian.toml").write_text(block)
    with chdir(tmp_path):
        return load_settings()


def translate(settings: Settings, topic: str, value: bytes | None, key: bytes | None = None) -> Translation:
    """Translate a record as a worker with the page's settings does."""
    return build_translator(settings, None).translate(
        Arrival(topic=topic, position=f"{topic}/0/1", time=AT, key=key, value=value)
    )


def tell(settings: Settings, translation: Translation, topic: str) -> list[str]:
    """Name what became of a record: types of events, and reasons."""
    policy, told = build_decode_policy(settings, 0), [str(reason) for reason in translation.skipped]
    for value, headers in translation.events:
        try:
            decode(value, headers, policy=policy, received_at=AT, ingress=topic)
        except RecordError as error:
            told.append(str(error.reason))
        else:
            told.append(orjson.loads(value or b"")["type"])
    return [*told, str(translation.error.reason)] if translation.error is not None else told


@pytest.mark.parametrize(("topic", "record", "outcome"), ROWS)
def test_a_record_becomes_what_the_page_says(settings: Settings, topic: str, record: str, outcome: str) -> None:
    """One event, skip or refusal, by its name."""
    expected = [] if outcome == "nothing" else [outcome.strip("`")]
    assert tell(settings, translate(settings, topic, record.encode()), topic) == expected


def test_the_page_shows_every_kind_of_outcome() -> None:
    """The table was found, and is no list of successes."""
    assert len(ROWS) >= 15
    assert {outcome.strip("`") for _, _, outcome in ROWS} >= {"memory.written", "memory.deleted", "map_misfit", "rowless_change"}


def test_every_word_in_the_lists_is_a_reason() -> None:
    """What is skipped and refused has the words that are counted."""
    lists = PAGE.partition("## What is skipped")[2].partition("## Who is believed")[0]
    named = set(re.findall(r"^- `([a-z_]+)`|\(`([a-z_]+)`\)|^- (?:`[a-z_]+`, )+`([a-z_]+)`", lists, re.MULTILINE))
    words = {word for group in named for word in group if word}
    assert len(words) >= 8
    assert words <= {*map(str, Reason), *map(str, SourceReason)}


def test_the_converters_are_all_that_there_are() -> None:
    """The page lists them in full."""
    listed = PAGE.partition("Converters: ")[2].partition(". What a converter")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == set(map(str, Converter))


def test_tombstones_are_deletions_only_where_a_map_says_so(settings: Settings) -> None:
    """By the page's map the key names the memory; elsewhere it follows the deletion of a row."""
    assert tell(settings, translate(settings, "app.notes", None, b"n1"), "app.notes") == ["memory.deleted"]
    bound = settings.maps["notes"].model_copy(update={"deletes_by_tombstone": False})
    unbound = settings.model_copy(update={"maps": {"notes": bound}})
    assert tell(unbound, translate(unbound, "app.notes", None, b"n1"), "app.notes") == ["tombstone"]
    assert tell(settings, translate(settings, "db.public.store", None, b'{"key":"k1"}'), "db.public.store") == ["tombstone"]


def test_a_topics_trust_lowers_what_a_map_claims_and_a_file_has_no_topic(settings: Settings) -> None:
    """The cap of the topic it came in by holds for a claim that the row's own map makes."""
    human = b'{"uuid":"u1","note":"n1","op":"add","body":{"text":"x"},"by":{"role":"human","name":"Ann"}}'
    (event, headers), *_ = translate(settings, "app.notes", human).events

    def kind(policy: DecodePolicy, ingress: str | None) -> SourceKind:
        written = decode(event, headers, policy=policy, received_at=AT, ingress=ingress).event
        assert isinstance(written, Written)
        return written.source.kind

    policy = build_decode_policy(settings, 0)
    assert kind(policy, "app.notes") is SourceKind.USER
    assert kind(policy, "db.notes") is SourceKind.AGENT
    assert kind(policy, None) is kind(policy, "elsewhere") is SourceKind.USER


def test_the_page_names_a_metric_that_is_exported_and_topics_that_may_be_read(settings: Settings) -> None:
    """Its counter exists, and its topics are none of Guardian's own."""
    (name,) = set(re.findall(r"`(guardian_\w+_total)`", PAGE))
    assert name.removesuffix("_total") in {metric.name for metric in Metrics().registry.collect()}
    check_ingress(settings.kafka.ingress_topics, None, own=["guardian.events"])


@pytest.mark.parametrize("ingress", [{"map": "note"}, {"format": "langgraf"}, {"format": "chatgpt"}])
def test_a_topic_bound_to_what_there_is_not_stops_at_the_start(settings: Settings, ingress: dict[str, str]) -> None:
    """An unknown map, an unknown format, and one that does not come on topics are errors of the settings."""
    wrong = Settings(maps=settings.maps, ingress={"app.*": ingress})
    with pytest.raises(ConfigError):
        build_translator(wrong, None)


def test_a_map_that_is_wrong_itself_stops_at_the_start(settings: Settings) -> None:
    """A path that is none names its place."""
    wrong = Settings(maps={"notes": {"data": {"memory_id": "a[", "text": "b"}}}, ingress={"app.*": {"map": "notes"}})
    with pytest.raises(ConfigError, match=r"maps\.notes\.data\.memory_id"):
        build_translator(wrong, None)
