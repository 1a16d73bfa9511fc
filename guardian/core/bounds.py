"""Bounds: where a record may be used, after the scopes that it and all it derives from name.

A recap is for nobody and nowhere that what it recaps is not for: a question must match every value that one of them names. The scope itself
stays what its writer said. A question matches one value of a part at most, so of several the two least tell all there is to
tell, whatever their number, in any order and any grouping. The session says where a memory was written, and bounds nothing: it would end with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from guardian.core.model import Scope

# Parts of a scope that bound.
PARTS = tuple(part for part in Scope.__slots__ if part != "session_id")
# Values kept of a part: with two, no question matches both.
MOST = 2

Bounds = tuple[tuple[str, str], ...]
"""Pairs of a part and a value, sorted."""


def read_bounds(scope: Scope | None) -> Bounds:
    """Give the bounds that a scope sets by itself."""
    if scope is None:
        return ()
    return tuple(sorted((part, value) for part in PARTS if (value := getattr(scope, part)) is not None))


def merge_bounds(parts: Iterable[Bounds]) -> Bounds:
    """Give the bounds of what all of these stand behind."""
    distinct = {bounds for bounds in parts if bounds}
    if len(distinct) < MOST:  # mostly there are none, or a record's are its parent's
        return next(iter(distinct), ())
    every = sorted({pair for bounds in distinct for pair in bounds})
    return tuple(pair for place, pair in enumerate(every) if place < MOST or every[place - MOST][0] != pair[0])


def group_bounds(bounds: Bounds) -> dict[str, list[str]]:
    """Give the values of each part."""
    grouped: dict[str, list[str]] = defaultdict(list)
    for part, value in bounds:
        grouped[part].append(value)
    return dict(grouped)


def list_bounds(grouped: Mapping[str, Sequence[str]]) -> Bounds:
    """Give what `group_bounds` was made of."""
    return tuple(sorted((part, value) for part, values in grouped.items() for value in values))
