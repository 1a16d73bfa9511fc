"""The table of targets: what reads bytes that others wrote, what it is fed first, and how that is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from guardian.sources.port import Source
from tests.fuzz import file_target, live_seeds, live_target, seeds, stream_target
from tests.fuzz.frame import build_database
from tests.fuzz.mutate import (
    Mutate,
    in_parts,
    mutate_bytes,
    mutate_file,
    mutate_json,
    mutate_mapped,
    mutate_record,
    mutate_rows,
    mutate_toml,
)

# Inputs that once broke a law, or that reach what the seeds do not; one file each, named after what it shows.
CORPUS = Path(__file__).parent / "corpus"


# Of the targets of formats, each of which begins from the format's sample.
SAMPLE_PREFIX = "format-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One reader under test.

    Attributes:
        run: Takes an input and raises when a law is broken.
        seeds: Inputs to begin from.
        mutate: Changes an input, knowing its form.
        fresh: Inputs that the suite takes beside the kept ones; about a second's worth.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    mutate: Mutate
    fresh: int = 400

    def list_corpus(self) -> list[Path]:
        """Give the kept inputs."""
        return sorted(path for path in (CORPUS / self.name).glob("*") if path.is_file())

    def iter_inputs(self, seed: int) -> Iterator[bytes]:
        """Give the kept inputs, the seeds, then changed ones without end: the same for the same seed."""
        random = Random(seed)
        pool = [*(path.read_bytes() for path in self.list_corpus()), *self.seeds]
        yield from pool
        while True:
            data = random.choice(pool)
            for _ in range(1 + random.randrange(4)):
                data = self.mutate(data, random)
            yield data
            # Some changes are built upon; what they replace stays in the table above.
            if random.random() < 0.02:
                pool.append(data)


def _mutate_letters(data: bytes, random: Random) -> bytes:
    return mutate_json(data, random) if b"\n" not in data.strip() else mutate_rows(data, random)


def _build_files() -> tuple[bytes, ...]:
    built = [build_database(data) for data in seeds.DATABASES]
    return tuple(one[0] for one in built if one is not None)


def _build_sample_target(source: Source) -> Target:
    """Build the target of a format: its sample is the seed, and a few changed ones stand for it in the suite."""
    return Target(
        name=f"{SAMPLE_PREFIX}{source.name}",
        run=file_target.build_sample_run(source),
        seeds=(live_seeds.build_sample(source.name),),
        mutate=in_parts(mutate_file),
        fresh=5,
    )


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target(
            name="event",
            run=stream_target.run_decoder,
            seeds=(*seeds.RECORDS, *seeds.BARE_RECORDS),
            mutate=mutate_record,
        ),
        Target(name="stream", run=stream_target.run_stream, seeds=seeds.BATCHES, mutate=in_parts(mutate_record)),
        Target(name="cloudevents", run=file_target.run_cloudevents, seeds=seeds.CLOUDEVENTS, mutate=mutate_rows, fresh=60),
        Target(name="mem0", run=file_target.run_mem0, seeds=seeds.DATABASES, mutate=mutate_json),
        Target(name="mem0-file", run=file_target.run_mem0_file, seeds=_build_files(), mutate=mutate_bytes),
        Target(name="mcp-memory", run=file_target.run_mcp, seeds=seeds.MCP, mutate=in_parts(mutate_rows), fresh=120),
        Target(name="letter", run=stream_target.run_letter, seeds=seeds.LETTERS, mutate=mutate_json),
        Target(name="letter-file", run=file_target.run_letter_file, seeds=seeds.LETTER_FILES, mutate=_mutate_letters),
        Target(name="checkpoint", run=file_target.run_checkpoint, seeds=seeds.CHECKPOINTS, mutate=mutate_json, fresh=100),
        Target(name="settings", run=file_target.run_settings, seeds=seeds.SETTINGS, mutate=mutate_toml),
        Target(name="live", run=live_target.run_live, seeds=live_seeds.build_live(), mutate=in_parts(mutate_record), fresh=200),
        Target(name="maps", run=live_target.run_maps, seeds=live_seeds.MAPS, mutate=in_parts(mutate_mapped), fresh=100),
        *map(_build_sample_target, live_seeds.list_formats()),
    )
}
