"""The generated files: up to date, sound, and agreeing with what the codec does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
import yaml

from guardian.contracts import schema
from guardian.contracts.codec import encode_event
from guardian.contracts.ledger import ContextGiven, ContextJudged, LedgerTask
from guardian.contracts.outcome import REQUEST_MODELS, Outcome, encode_outcome
from guardian.contracts.published import OUTCOME_MODELS
from guardian.contracts.schema import SENT_MODELS, name_schema
from guardian.contracts.wire import EVENT_MODELS
from guardian.core.model import Event
from tests import builders as build
from tests.unit.contracts.test_outcome import CAUSE, T0, enriched, letter

EVENTS: list[Event] = [
    build.written("m", ref="r", parents=["p"], session="i", grade=0.5, vector=[0.5], metadata={"a": [1]}, surprise=1),
    build.read(["m"], used=["m"]),
    build.corrected("m", build.written_data("n", "y"), extent="family", reason="why"),
    build.corrected("m", "n"),
    build.corrected(subject="k"),
    build.audited("m", 0.5, evidence={"k": 1}),
    build.retracted(build.corrected("m")),
    build.deleted("m"),
    build.linked("m", add=["p"], remove=["q"]),
    build.erased("m", cascade=True),
]
OUTCOMES: list[Outcome] = [
    enriched(),
    enriched(utility=0.25, utility_basis="gold", subject="k", reasons=()),
    letter(),
    letter(None, [("h", None), ("g", b"\xff")]),
    *[
        model.model_validate(fields)
        for model, fields in (
            (
                OUTCOME_MODELS[1],
                {
                    "space": "s",
                    "correction": CAUSE.model_dump(),
                    "targets": ["m"],
                    "replacement": "n",
                    "extent": "descendants",
                    "waiting": False,
                    "felled": [{"memory_id": "k", "revision": "r", "record_id": "u", "via": "m", "mixed": True}],
                },
            ),
            (OUTCOME_MODELS[2], {"space": "s", "kind": "mixed", "subjects": ["m"], "caused_by": CAUSE.model_dump()}),
        )
    ],
    ContextGiven(
        space="s",
        asked_at=T0,
        query_digest="0" * 32,
        task=LedgerTask(requires_objective_fact=True, session="i"),
        retrieved=1,
        records=[
            {
                "record_id": "u",
                "memory_id": "m",
                "revision": "r",
                "role": "reject",
                "reason": "expired",
                "rendered": False,
                "status": "active",
                "kind": "fact",
                "source_kind": "tool",
                "may_be_evidence": True,
            }
        ],
        conflict_policy="current_evidence_wins",
        advice="flag",
        searches=1,
        has_vector=False,
        tokens=3,
        latency_ms=0.5,
    ),
    ContextJudged(space="s", context="c", judged_at=T0, value=0.0, judged_by="gold", used=("m",)),
]


def load(name: str) -> dict[str, Any]:
    """Load a generated schema."""
    loaded: dict[str, Any] = json.loads((schema.TOPICS / "schemas" / f"{name}.json").read_text())
    return loaded


def check(name: str, document: Any) -> None:
    """Validate a document against a generated schema."""
    jsonschema.Draft202012Validator(load(name)).validate(document)


def test_the_generated_files_are_up_to_date() -> None:
    """A changed model without changed schemas fails here. Mend: python -m guardian.contracts.schema."""
    assert schema.find_drift() == []


def test_drift_is_found_and_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing, a changed and a stray file are each reported; writing mends all three."""
    arguments = ["--root", str(tmp_path)]
    assert schema.run(["--check", *arguments]) == 1
    assert schema.run(arguments) == 0
    (tmp_path / "schemas" / "memory.read.json").write_text("{}")
    (tmp_path / "schemas" / "stray.json").write_text("{}")
    capsys.readouterr()
    assert schema.run(["--check", *arguments]) == 1
    assert [line.split(" is out")[0].split("/")[-1] for line in capsys.readouterr().err.splitlines()] == [
        "memory.read.json",
        "stray.json",
    ]
    assert (schema.run(arguments), schema.run(["--check", *arguments])) == (0, 0)


@pytest.mark.parametrize("name", [*EVENT_MODELS, *map(name_schema, SENT_MODELS)])
def test_every_schema_is_a_schema_whose_fields_are_described(name: str) -> None:
    """Sound by the dialect it names, and no field without a meaning."""
    loaded = load(name)
    jsonschema.Draft202012Validator.check_schema(loaded)
    objects = [loaded["properties"].get("data", {}), *loaded.get("$defs", {}).values()]
    fields = [field for part in objects for field in part.get("properties", {}).items()]
    assert fields
    assert [field for field, content in fields if "description" not in content] == []


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_that_decodes_satisfies_its_schema(event: Event) -> None:
    """Builders send what users send; the normal form does too."""
    wire = orjson.loads(encode_event(event))
    check(wire["type"], wire)


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: type(outcome).__name__)
def test_an_outcome_satisfies_its_schema(outcome: Outcome) -> None:
    """What is published is what is promised."""
    check(name_schema(type(outcome)), orjson.loads(encode_outcome(outcome, time=T0)))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("memory.written", {"memory_id": "m"}),
        ("memory.written", {"memory_id": "m", "text": ""}),
        ("memory.written", {"memory_id": "", "text": "x"}),
        ("memory.written", {"memory_id": "m", "text": "x", "kind": "rumour"}),
        ("memory.written", {"memory_id": "m", "text": "x", "self_grade": 2}),
        ("memory.corrected", {"replacement": "n"}),
        ("memory.corrected", {"targets": ["m"], "replacement": {"memory_id": "n"}}),
        ("memory.audited", {"memory_id": "m", "channel": "gold", "value": "1"}),
    ],
)
def test_what_the_codec_refuses_for_its_shape_the_schema_refuses_too(kind: str, data: dict[str, Any]) -> None:
    """Producers can test against the schema instead of waiting for dead letters."""
    with pytest.raises(jsonschema.ValidationError):
        check(kind, build.envelope(kind, data))


def test_an_outcome_with_an_unknown_field_breaks_its_schema() -> None:
    """Outcome schemas are closed, envelope and data."""
    wire = orjson.loads(encode_outcome(enriched(), time=T0))
    for broken in ({**wire, "more": 1}, {**wire, "data": {**wire["data"], "more": 1}}):
        with pytest.raises(jsonschema.ValidationError):
            check("guardian.enriched", broken)


# Topics on which Guardian asks itself.
REQUESTS = {model.published_to for model in REQUEST_MODELS}


def resolve(document: dict[str, Any], reference: str) -> Any:
    """Follow a local JSON pointer, or load a file beside the document."""
    if reference.startswith("./"):
        return json.loads((schema.TOPICS / reference).read_text())
    place: Any = document
    for part in reference.removeprefix("#/").split("/"):
        place = place[part]
    return place


def iter_references(part: Any) -> list[str]:
    """List all `$ref` of a document."""
    if isinstance(part, dict):
        return [value for key, value in part.items() if key == "$ref"] + [
            reference for value in part.values() for reference in iter_references(value)
        ]
    return [reference for item in part for reference in iter_references(item)] if isinstance(part, list) else []


def test_the_asyncapi_document_is_whole() -> None:
    """Version, channels, operations and messages are there, every reference leads somewhere, nothing is unused."""
    document = yaml.safe_load((schema.TOPICS / "asyncapi.yaml").read_text())
    assert document["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= document["info"].keys()
    assert {channel["address"] for channel in document["channels"].values()} == {
        "guardian.events",
        "guardian.ledger",
        "guardian.enriched",
        "guardian.supersessions",
        "guardian.reviews",
        "guardian.dead-letters",
        *REQUESTS,
        "guardian.drift",
        "guardian.alerts",
    }
    references = iter_references(document)
    assert all(resolve(document, reference) for reference in references)
    assert {f"#/components/messages/{name}" for name in document["components"]["messages"]} <= set(references)
    assert {f"./schemas/{path.name}" for path in (schema.TOPICS / "schemas").glob("*.json")} <= set(references)
    actions: dict[str, set[str]] = {}
    for operation in document["operations"].values():
        actions.setdefault(operation["channel"]["$ref"].removeprefix("#/channels/"), set()).add(operation["action"])
    assert actions.pop("guardian.events") == {"receive"}
    assert all(actions.pop(topic) == {"send", "receive"} for topic in REQUESTS)
    assert set(map(frozenset, actions.values())) == {frozenset({"send"})}
    assert actions.keys() | {"guardian.events", *REQUESTS} == document["channels"].keys()
    for operation in document["operations"].values():
        channel = operation["channel"]["$ref"]
        assert all(message["$ref"].startswith(f"{channel}/messages/") for message in operation["messages"])


def test_message_titles_are_event_types() -> None:
    """A schema names what it describes, and its type attribute agrees."""
    for kind in EVENT_MODELS:
        assert load(kind)["title"] == load(kind)["properties"]["type"]["const"] == kind
