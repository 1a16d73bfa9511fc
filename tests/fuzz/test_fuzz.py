"""What fuzzing takes in the suite: the kept inputs, some fresh ones of a fixed seed, and proofs that the laws can be broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from guardian.contracts.codec import Decoded
from guardian.errors import RecordError
from guardian.sources.formats.native import NativeSource
from guardian.sources.port import Broken, Item, Skipped, Source, SourceEvent, SourceOptions
from guardian.sources.registry import BUILT_IN
from guardian.stream.plane.origin import Record
from tests.builders import written
from tests.contract.test_source_contract import SAMPLES
from tests.fuzz.file_target import clear_scratch
from tests.fuzz.frame import build_database, pack_record, unpack_record
from tests.fuzz.hunt import Hunt
from tests.fuzz.law import check_decoded, check_import, check_refusal
from tests.fuzz.live_seeds import build_sample
from tests.fuzz.mutate import mutate_json, mutate_rows
from tests.fuzz.sample import unpack_sample
from tests.fuzz.seeds import CLOUDEVENTS, DATABASES, ROWS
from tests.fuzz.target import CORPUS, SAMPLE_PREFIX, TARGETS, Target
from tests.fuzz.tree import MAX_BYTES

SEED = 20_260_301
KEPT = [path for target in TARGETS.values() for path in target.list_corpus()]


@pytest.fixture(autouse=True, scope="module")
def _remove_scratch() -> Iterator[None]:
    """Leave no folder behind."""
    yield
    clear_scratch()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_kept_input_holds(path: Path) -> None:
    """What once broke a law does so no more."""
    TARGETS[path.parent.name].run(path.read_bytes())


def test_every_kept_input_belongs_to_a_target() -> None:
    """A folder of the corpus that no target reads would test nothing."""
    assert {path.name for path in CORPUS.iterdir()} <= set(TARGETS)


def test_every_format_is_a_target() -> None:
    """A format that is registered is fuzzed, from its sample."""
    assert {f"{SAMPLE_PREFIX}{source.name}" for source in BUILT_IN} <= set(TARGETS)


@pytest.mark.parametrize("source", BUILT_IN, ids=lambda source: source.name)
def test_a_packed_sample_is_the_sample(source: Source, tmp_path: Path) -> None:
    """The frame keeps a sample: as many items of each kind come of what was written again."""
    kinds = []
    for folder in (tmp_path / "written", tmp_path / "unpacked"):
        folder.mkdir()
        packed = folder.name == "unpacked"
        paths = unpack_sample(build_sample(source.name), folder) if packed else SAMPLES[source.name](folder)[0]
        kinds.append(Counter(type(item) for item in source.iter_items(paths, SourceOptions())))
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_fresh_inputs_hold(target: Target) -> None:
    """Every reader holds its laws on the same inputs everywhere; `make fuzz` looks for others."""
    known = len(target.list_corpus())
    for data in islice(target.iter_inputs(SEED), known, known + target.fresh):
        try:
            target.run(data)
        except Exception as error:
            error.add_note(f"target {target.name}, input {data[:2000]!r}")
            raise


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_a_seed_is_one_series_of_inputs(target: Target) -> None:
    """The same seed gives the same inputs, another seed others."""
    start = len(target.list_corpus()) + len(target.seeds)
    first, again, other = (list(islice(target.iter_inputs(seed), start, start + 20)) for seed in (1, 1, 2))
    assert first == again != other


class _Faulty:
    """A source with a fault of choice: it drops, repeats, renames or crashes."""

    name, title = "faulty", "a source with a fault"

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.runs = 0

    def detect(self, path: Path) -> bool:
        """Know nothing."""
        return False

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the items of a file of events, with the fault."""
        self.runs += 1
        items = list(NativeSource().iter_items(paths, options))
        match self.fault:
            case "drops" if self.runs > 1:
                yield from items[1:]
            case "crashes":
                yield from items
                raise KeyError("id")
            case "invents a reason":
                yield Broken(position="p", reason="because", message="m", raw=b"")
            case "skips without a reason":
                yield Skipped(position="p", reason="", detail="d")
            case "counts rows below nothing":
                yield SourceEvent(position="p", raw=ROWS[0], rows=-1)
            case _:
                yield from items


@pytest.mark.parametrize("fault", ["drops", "crashes", "invents a reason", "skips without a reason", "counts rows below nothing"])
def test_a_faulty_source_breaks_a_law(tmp_path: Path, fault: str) -> None:
    """The laws of imports can be broken, and a crash is let through."""
    path = tmp_path / "events"
    path.write_bytes(CLOUDEVENTS[0])
    check_import(_Faulty("none"), [path], SourceOptions(), tmp_path / "letters")
    with pytest.raises((AssertionError, KeyError)):
        check_import(_Faulty(fault), [path], SourceOptions(), tmp_path / "letters")


def test_a_refusal_for_an_unknown_reason_breaks_a_law() -> None:
    """A reason is counted, so a word that nobody declared is a fault; so is a message that repeats its input."""
    check_refusal(RecordError("not_json", "m"))
    with pytest.raises(AssertionError):
        check_refusal(RecordError("because", "m"))
    with pytest.raises(AssertionError):
        check_refusal(RecordError("not_json", "m" * 30_000))


def test_an_event_that_another_policy_decoded_breaks_a_law() -> None:
    """What is decoded must pass the same reader again."""
    check_decoded(Decoded(event=written("m", "x" * 32_768)))
    with pytest.raises(RecordError):
        check_decoded(Decoded(event=written("m", t="2099-01-01T00:00:00Z")))


@pytest.mark.parametrize("value", [None, b"", b"{}\n\n{}"])
def test_a_packed_record_reads_back(value: bytes | None) -> None:
    """The frame loses nothing of what Kafka gives, but the key."""
    record = Record(
        topic="t", partition=1, offset=2, timestamp_ms=-1, key=None, value=value, headers=(("a", b"b: c"), ("n", None))
    )
    assert unpack_record(pack_record(record)) == record


def test_any_bytes_are_a_record() -> None:
    """No input is lost on the frame."""
    random = Random(SEED)
    for _ in range(300):
        record = unpack_record(random.randbytes(random.randrange(80)).replace(b"\x00", b"\nheader "))
        assert -(2**63) <= record.timestamp_ms < 2**63


def test_a_description_is_a_database_with_its_rows_counted() -> None:
    """Rows are counted as the database took them, and not at all where it was damaged afterwards."""
    built = build_database(DATABASES[0])
    assert built is not None
    assert built[0].startswith(b"SQLite format 3\x00")
    assert built[1] == {"history": 4, "messages": 1, "history_old": 1}
    damaged = build_database(b'{"tables":[{"name":"t","columns":["a"],"rows":[[1]]}],"patches":[[5000,1]]}')
    assert damaged is not None
    assert damaged[1] == {}
    assert build_database(b"[]") is None


def test_changed_inputs_stay_within_bounds() -> None:
    """Inputs grow to a bound and not beyond, whatever is copied into them."""
    random, data, rows = Random(SEED), ROWS[0], CLOUDEVENTS[0]
    for _ in range(300):
        data, rows = mutate_json(data, random), mutate_rows(rows, random)
        assert max(len(data), len(rows)) <= 2 * MAX_BYTES


def test_a_hunt_keeps_the_smallest_input_of_each_finding(tmp_path: Path) -> None:
    """One kind of error at one place is one finding, however often it comes."""

    def run(data: bytes) -> None:
        if data:
            raise ValueError(data)

    hunt = Hunt(Target(name="t", run=run, seeds=(b"",), mutate=lambda data, _: data), tmp_path)
    for data in (b"", b"aaa", b"a", b"aa"):
        hunt.try_input(data)
    hunt.report()
    (name,) = hunt.found
    assert (hunt.inputs, hunt.found[name]) == (4, 3)
    assert (tmp_path / name).read_bytes() == b"a"
    assert "ValueError" in (tmp_path / f"{name}.txt").read_text()
