"""Draw records for a person to label, and read the labels back.

A sample has three strata: what is trusted most (highest utility), what is reused most (most reads), and a part at random. The first two find
errors where they do most harm; the random part is what shares may be estimated from.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.core.rules.utility import GOLD
from guardian.errors import ConfigError
from guardian.ports import Store
from guardian.trust.collect import Window, count_reads, list_spaces
from guardian.trust.sample import digest_key
from guardian.trust.truth import is_episode, is_standing, read_grade, read_verdict

COLUMNS = (
    "label",
    "stratum",
    "space",
    "memory_id",
    "revision",
    "kind",
    "self_grade",
    "utility",
    "reads",
    "task",
    "answer",
    "text",
)
# Of a sample, where the caller does not say; of the rest one half is what is trusted most, the other what is reused most.
RANDOM_SHARE = 0.4
# Characters of a cell; spreadsheets take some 32,000.
_MAX_CELL = 8_000
# A cell that begins so is a formula to a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_WORDS = {
    **dict.fromkeys(("right", "yes", "y", "true", "correct"), 1.0),
    **dict.fromkeys(("wrong", "no", "n", "false", "incorrect"), 0.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A record that may be drawn."""

    id: str
    utility: float | None
    reads: int
    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person said of one record.

    Attributes:
        value: U in [0, 1]; 1 is right.
        line: Of the file.
    """

    space: str
    memory_id: str
    revision: str | None
    value: float
    line: int


@dataclass(slots=True)
class _Best:
    """The candidates with the least keys, in bounded memory."""

    limit: int
    key: Callable[[Candidate], tuple[Any, ...]]
    found: list[Candidate] = field(default_factory=list)

    def add(self, candidate: Candidate) -> None:
        self.found.append(candidate)
        if len(self.found) >= 2 * self.limit + 100:
            self.found = self.sorted()

    def sorted(self) -> list[Candidate]:
        return sorted(self.found, key=self.key)[: self.limit]


async def draw_sample(
    store: Store,
    *,
    n: int,
    seed: int = 0,
    space: str | None = None,
    every: bool = False,
    random_share: float = RANDOM_SHARE,
) -> list[dict[str, Any]]:
    """Draw standing records without a `gold` verdict; the same store and seed give the same rows.

    Args:
        store: Where the records lie.
        n: Rows, at most.
        seed: Of the random part.
        space: Only this one.
        every: Any standing record, not only episodes.
        random_share: Of the rows, in [0, 1], drawn at random.

    Raises:
        DependencyError: The store is away.
    """
    trusted = _Best(n, lambda one: (-(one.utility or 0.0), one.id))
    reused = _Best(n, lambda one: (-one.reads, one.id))
    random = _Best(n, lambda one: (digest_key(one.id, seed=seed), one.id))
    for name in [space] if space is not None else await list_spaces(store):
        reads = await count_reads(store, name, Window())
        async for point in store.iter_points(space=name, kinds={PointKind.RECORD}):
            node = load_node(point)
            if not is_standing(node) or read_verdict(node, GOLD) is not None or not (every or is_episode(node)):
                continue
            candidate = _build_candidate(point.id, node, reads.values.get(node.memory_id, 0))
            random.add(candidate)
            if candidate.utility is not None:
                trusted.add(candidate)
            if candidate.reads:
                reused.add(candidate)
    first = round(n * (1 - random_share))
    rooms = (("trusted", trusted, first - first // 2), ("reused", reused, first), ("random", random, n))
    return list(_choose(rooms))


def _choose(strata: Iterable[tuple[str, _Best, int]]) -> Iterator[dict[str, Any]]:
    """Take from each stratum up to so many in all, no record twice; what one cannot fill the random part does."""
    taken: set[str] = set()
    for stratum, best, room in strata:
        for candidate in best.sorted():
            if len(taken) >= room:
                break
            if candidate.id not in taken:
                taken.add(candidate.id)
                yield {**candidate.row, "stratum": stratum}


def _build_candidate(point_id: str, node: Node, reads: int) -> Candidate:
    episode = node.claims[0].event.episode if node.claims else None
    row = {
        "label": "",
        "space": node.space,
        "memory_id": node.memory_id,
        "revision": node.revision,
        "kind": node.kind.value,
        "self_grade": read_grade(node),
        "utility": node.utility,
        "reads": reads,
        "task": _fit(None if episode is None else episode.task),
        "answer": _fit(None if episode is None else episode.answer),
        "text": _fit(node.text),
    }
    return Candidate(id=point_id, utility=node.utility, reads=reads, row=row)


def _fit(text: str | None) -> str:
    """Make a text fit a cell: cut, and no formula to a spreadsheet. Ids stay as they are: they are read back."""
    if text is None:
        return ""
    shown = text if len(text) <= _MAX_CELL else text[: _MAX_CELL - 1] + "…"
    return "'" + shown if shown.startswith(_FORMULA) else shown


def write_rows(rows: Iterable[Mapping[str, Any]], file: TextIO) -> None:
    """Write rows as CSV with a header."""
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def read_labels(file: TextIO, *, name: str) -> tuple[list[Label], int]:
    """Read the labels of a file, and count the rows without one; all or nothing.

    Raises:
        ConfigError: A column is missing, a label is none, or one record has two different ones; the message names the line.
    """
    labels: dict[tuple[str, str, str | None], Label] = {}
    unlabelled = 0
    try:
        reader = csv.DictReader(file, strict=True)
        reader.fieldnames = [column.strip().lower() for column in reader.fieldnames or ()]
        missing = [column for column in ("label", "space", "memory_id") if column not in reader.fieldnames]
        if missing:
            _refuse_other_separators(reader.fieldnames, name=name)
            raise ConfigError(
                f"{name} has no column {', '.join(missing)}.",
                mend="label a file that `guardian audit sample` wrote, header included.",
            )
        for row in reader:
            label = _read_label(row, name=name, line=reader.line_num)
            if label is None:
                unlabelled += 1
                continue
            key = (label.space, label.memory_id, label.revision)
            if key in labels and labels[key].value != label.value:
                raise ConfigError(
                    f"{name}, line {label.line}: another label than in line {labels[key].line} for the same record.",
                    mend="leave one.",
                )
            labels[key] = label
    except (csv.Error, UnicodeDecodeError) as exc:
        raise ConfigError(f"{name} cannot be read: {exc}.", mend="save it as CSV in UTF-8, with commas and a header.") from exc
    return list(labels.values()), unlabelled


def _refuse_other_separators(columns: Sequence[str], *, name: str) -> None:
    """Tell a header that a spreadsheet of another language wrote.

    Raises:
        ConfigError: Its columns stand apart by something else than commas.
    """
    found = next(
        (word for mark, word in ((";", "semicolons"), ("\t", "tabs")) if any(mark in column for column in columns)), None
    )
    if found is not None:
        raise ConfigError(f"{name} is separated by {found}.", mend="save it as CSV with commas.")


def _read_label(row: Mapping[str | None, Any], *, name: str, line: int) -> Label | None:
    text = (row["label"] or "").strip()
    if not text:
        return None
    value = _WORDS.get(text.casefold())
    if value is None:
        try:
            value = float(text.replace(",", "."))
        except ValueError:
            value = -1.0
    if not 0 <= value <= 1:
        raise ConfigError(
            f"{name}, line {line}: {text[:40]!r} is no label.",
            mend="write right or wrong, 1 or 0, a number between, or leave it empty.",
        )
    if not row["space"] or not row["memory_id"]:
        raise ConfigError(f"{name}, line {line}: no space or no memory_id.", mend="leave these columns as they were drawn.")
    return Label(space=row["space"], memory_id=row["memory_id"], revision=row.get("revision") or None, value=value, line=line)
