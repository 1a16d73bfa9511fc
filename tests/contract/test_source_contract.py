"""The contract of every source: the laws of `guardian.sources.port`, run against each registered format.

A new format adds its sample to `SAMPLES`; a registered source without one fails the suite.
"""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardian.contracts.codec import DecodePolicy, decode
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, Skipped, Source, SourceEvent, SourceOptions
from guardian.sources.registry import BUILT_IN, detect
from tests.contract.samples import (
    agent_kb,
    amem,
    anthropic,
    chatgpt,
    claude_code,
    cognee_session,
    cogx,
    graphiti,
    langgraph,
    letta,
    lightmem,
    locomo,
    longmemeval,
    mem0,
    memento,
    memory_bank,
    memos,
    memsyco,
    reasoning_bank,
    reflexion_tasks,
    reflexion_trials,
    voyager,
)
from tests.contract.samples.rows import write_rows

DATA = Path(__file__).parents[1] / "data"
SMALL_BYTES = (
    st.binary(max_size=300)
    | st.text(max_size=100).map(str.encode)
    | st.builds(
        lambda value: json.dumps(value).encode(),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=5) | st.sampled_from(["name", "entity"]),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["name", "entityType", "observations", "from", "to", "relationType", "_type"]),
                    inner,
                )
            ),
            max_leaves=12,
        ),
    )
)


def _write_native(folder: Path) -> tuple[list[Path], int]:
    event = {
        "specversion": "1.0",
        "source": "/a",
        "type": "memory.written",
        "time": "2026-01-01T00:00:00Z",
        "space": "s",
    }
    rows = [{**event, "id": str(n), "data": {"memory_id": f"m{n}", "text": f"Fact {n}"}} for n in range(5)]
    path = folder / "events.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(orjson.dumps(row) for row in rows) + b'\n{"cut', mtime=0))
    return [path], 6


def _write_mem0(folder: Path) -> tuple[list[Path], int]:
    names = sorted(path.name for path in (DATA / "mem0").glob("*.db"))
    return [Path(shutil.copy2(DATA / "mem0" / name, folder)) for name in names], 22


def _write_mcp(folder: Path) -> tuple[list[Path], int]:
    entity = {"name": "A", "entityType": "t", "observations": ["x", "y"]}
    relation = {"from": "A", "to": "B", "relationType": "r"}
    versions: list[list[Any]] = [
        [entity, relation],
        [entity, {"odd": 1}],
        [{**entity, "observations": ["y", "z"]}],
        [relation],
    ]
    paths = [folder / f"memory.{number}" for number in range(len(versions))]
    for number, (path, version) in enumerate(zip(paths, versions, strict=True)):
        path.write_bytes(b"\n".join(orjson.dumps(line) for line in version))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return paths, 6


# Makes a sample in a folder; gives its files in order and the number of input rows in them.
SAMPLES: dict[str, Callable[[Path], tuple[list[Path], int]]] = {
    "cloudevents": _write_native,
    "mem0": _write_mem0,
    "mcp-memory": _write_mcp,
    "rows": write_rows,
    "mem0-ts": mem0.write_typescript,
    "mem0-points": mem0.write_points,
    "mem0-api": mem0.write_api,
    "mem0-plugin": mem0.write_plugin,
    "openmemory": mem0.write_openmemory,
    "langgraph": langgraph.write_store,
    "graphiti": graphiti.write_graph,
    "agent-kb": agent_kb.write,
    "amem": amem.write,
    "cognee-session": cognee_session.write,
    "cogx": cogx.write,
    "lightmem": lightmem.write,
    "locomo": locomo.write,
    "longmemeval": longmemeval.write,
    "memento": memento.write,
    "memorybank": memory_bank.write,
    "memos": memos.write,
    "memsyco": memsyco.write,
    "reasoning-bank": reasoning_bank.write,
    "reflexion-tasks": reflexion_tasks.write,
    "reflexion-trials": reflexion_trials.write,
    "voyager": voyager.write,
    "letta-memfs": letta.write_memfs,
    "letta-memory-log": letta.write_memory_log,
    "letta-agent-file": letta.write_agent_file,
    "letta-tables": letta.write_tables,
    "anthropic-memory-tool": anthropic.write_transcript,
    "anthropic-memory-store": anthropic.write_store,
    "claude-code": claude_code.write,
    "chatgpt": chatgpt.write,
}


def run(source: Source, paths: list[Path], **options: Any) -> list[Item]:
    """Give all items."""
    return list(source.iter_items(paths, SourceOptions(**options)))


def events_of(items: list[Item]) -> list[dict[str, Any]]:
    """Give the events as mappings."""
    found = [item for item in items if isinstance(item, SourceEvent)]
    return [dict(item.event) if item.event is not None else orjson.loads(item.raw or b"") for item in found]


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Give content and modification time of every file below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def copy(path: Path, target: Path) -> Path:
    """Copy a file or a folder with its times."""
    return Path(shutil.copytree(path, target) if path.is_dir() else shutil.copy2(path, target))


@pytest.fixture(params=BUILT_IN, ids=lambda source: source.name)
def source(request: pytest.FixtureRequest) -> Source:
    """Give each built-in source."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def sample(source: Source, tmp_path: Path) -> tuple[list[Path], int]:
    """Give the sample of the source: files and number of rows."""
    folder = tmp_path / "sample"
    folder.mkdir()
    return SAMPLES[source.name](folder)


class TestSourceContract:
    """What the rest of Guardian may rely on, whatever the format."""

    def test_it_recognises_its_sample_and_nobody_else_does(self, source: Source, sample: tuple[list[Path], int]) -> None:
        """Detect by content: also under a name that says nothing."""
        for path in sample[0]:
            assert detect(path) is source
            assert detect(path.rename(path.with_name(f"x{len(path.name)}{path.name[-1]}"))) is source

    def test_a_second_import_is_equal(self, source: Source, sample: tuple[list[Path], int]) -> None:
        """Use neither clock nor randomness."""
        assert run(source, sample[0]) == run(source, sample[0])

    def test_the_same_files_elsewhere_give_the_same_events(
        self, source: Source, sample: tuple[list[Path], int], tmp_path: Path
    ) -> None:
        """Let no path into an event."""
        elsewhere = tmp_path / "another place"
        elsewhere.mkdir()
        copies = [copy(path, elsewhere / f"renamed.{number}") for number, path in enumerate(sample[0])]
        assert events_of(run(source, copies)) == events_of(run(source, sample[0]))

    def test_event_ids_are_unique(self, source: Source, sample: tuple[list[Path], int]) -> None:
        """Never give two events of one import one identity."""
        identities = [(event["source"], event["id"]) for event in events_of(run(source, sample[0]))]
        assert len(set(identities)) == len(identities) > 0

    def test_every_event_has_its_envelope(self, source: Source, sample: tuple[list[Path], int], tmp_path: Path) -> None:
        """Give CloudEvents with a space, an aware time in UTC, and the data that the type requires."""
        for event in events_of(run(source, sample[0])):
            assert event["specversion"] == "1.0"
            assert all(isinstance(event[name], str) and event[name] for name in ("id", "source", "type", "space"))
            assert str(tmp_path) not in json.dumps(event)
            assert event["time"].endswith("Z")
            assert datetime.fromisoformat(event["time"]).utcoffset() is not None
            assert {"memory_id", "targets", "retrieved", "event"} & event["data"].keys()
            assert event["type"] in {"memory.written", "memory.deleted", "memory.read", "memory.audited", "memory.corrected"}
            assert (event["type"] == "memory.written") == isinstance(event["data"].get("text"), str)

    def test_every_row_is_accounted_for(self, source: Source, sample: tuple[list[Path], int]) -> None:
        """Reconcile rows read with events, skipped and broken."""
        items = run(source, sample[0])
        assert sum(item.rows for item in items) == sample[1]
        assert all(item.position for item in items)
        assert all(item.reason and item.detail for item in items if isinstance(item, Skipped))
        assert all(item.reason and item.message for item in items if isinstance(item, Broken))

    def test_the_input_is_not_touched(self, source: Source, sample: tuple[list[Path], int]) -> None:
        """Leave bytes, times and the folder as they were."""
        folder = sample[0][0].parent
        before = snapshot(folder)
        for path in sample[0]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        run(source, sample[0])
        assert snapshot(folder) == before

    def test_the_space_option_never_overwrites_a_stated_space(self, source: Source, sample: tuple[list[Path], int]) -> None:
        """Put events in the given space unless the input names one."""
        spaces = {event["space"] for event in events_of(run(source, sample[0], space="given"))}
        assert spaces == ({"s"} if source.name in {"cloudevents", "rows"} else {"given"})

    def test_reading_is_lazy_and_can_be_left(self, source: Source, sample: tuple[list[Path], int]) -> None:
        """Release the files when the reader stops early."""
        items = source.iter_items(sample[0], SourceOptions())
        assert next(iter(items)).position
        items.close()  # type: ignore[attr-defined]

    def test_every_event_is_decoded_by_the_wire_contract(self, source: Source, sample: tuple[list[Path], int]) -> None:
        """Give what the codec of the stream accepts, with the same identity, space and time."""
        received_at = datetime(2027, 1, 1, tzinfo=UTC)
        for event in events_of(run(source, sample[0])):
            core = decode(orjson.dumps(event), policy=DecodePolicy(), received_at=received_at).event
            assert (core.ref.source, core.ref.id, core.space) == (event["source"], event["id"], event["space"])
            assert core.ref.time == datetime.fromisoformat(event["time"])

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(SMALL_BYTES)
    def test_no_content_crashes_it(self, source: Source, tmp_path: Path, content: bytes) -> None:
        """Answer any bytes with items or with a record error, and agree with itself."""
        path = tmp_path / "any"
        path.write_bytes(content)
        source.detect(path)
        with suppress(RecordError):
            items = run(source, [path])
            assert items == run(source, [path])
            for event in events_of([item for item in items if isinstance(item, SourceEvent) and item.raw is None]):
                assert json.loads(orjson.dumps(event)) == event


REAL_DATA = os.environ.get("GUARDIAN_REAL_DATA")


@pytest.mark.skipif(not REAL_DATA, reason="GUARDIAN_REAL_DATA names no folder of real files")
@pytest.mark.parametrize(
    ("folder", "pattern", "written", "deleted"),
    [
        ("mem0_generated", "*.db", 16, 6),
        ("mem0_generated", "history_api*.json", 10, 4),
        ("mem0_generated", "get_all*.json", 4, 0),
        ("mem0_generated", "search*.json", 4, 0),
        ("mem0_generated", "qdrant*.jsonl", 4, 0),
        ("langgraph_generated", "store.sqlite", 2, 0),
        ("langgraph_generated", "items.json", 1, 0),
        ("mcp_memory_graph", "v*.jsonl", 778, 0),
        ("mcp_memory_mindstrike", "v*.jsonl", 176, 0),
    ],
)
def test_real_files_import_whole_and_repeatably(folder: str, pattern: str, written: int, deleted: int) -> None:
    """Read every real file without a fault, alone and as a series, twice alike, with a row for every line."""
    paths = sorted((Path(REAL_DATA or "") / folder).glob(pattern))
    assert paths
    source = detect(paths[0])
    items = run(source, paths)
    assert items == run(source, paths)
    assert not [item for item in items if isinstance(item, Broken)]
    types = [event["type"] for event in events_of(items)]
    assert (types.count("memory.written"), types.count("memory.deleted")) == (written, deleted)
    for path in paths:
        assert detect(path) is source
        alone = run(source, [path])
        if pattern.endswith("jsonl"):
            assert sum(item.rows for item in alone) == len(path.read_bytes().split(b"\n")) - path.read_bytes().endswith(b"\n")
        assert not [item for item in alone if isinstance(item, Broken)]
