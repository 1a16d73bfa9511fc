"""Trees of JSON, changed with the words of the contract and with values that readers trip over.

Equal arguments give equal results. Nothing here knows what is right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, get_args

from pydantic import BaseModel

from guardian.contracts.wire import EVENT_MODELS
from guardian.core.model import Confidence, Extent, MemoryKind, SourceKind

# Inputs that grow beyond this cost time and find nothing new.
MAX_BYTES = 64 * 1024

# Characters that stand for literals JSON writers do not write; put in after the tree is written.
_MARK = "\ue000"
LITERALS: tuple[bytes, ...] = (
    b"1e999",
    b"-1e999",
    b"NaN",
    b"-Infinity",
    b"-0",
    b"1" * 5000,
    b"-" + b"9" * 40,
    b"0." + b"0" * 400 + b"1",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1e-400",
    b"01",
    b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'"\\u0000"',
    b"\xff",
    b'"\xed\xa0\x80"',
    b"[" * 240 + b"]" * 240,
    b"[" * 300 + b"]" * 300,
    b'{"a":' * 249 + b"1" + b"}" * 249,
    b'{"a":' * 3000 + b"1" + b"}" * 3000,
    b'{"a":1,"a":2}',
    b"",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    0.5,
    -0.0,
    5e-324,
    1e-17,
    1e17,
    1.7e308,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    -(2**63),
    "",
    " ",
    "\u200b",
    "\x00",
    "a\x00b",
    "\u202eabc\u202c",
    "e\u0301",
    "\u0344\u0301\u0323" * 40,
    "\ufdfa" * 20,
    "\U0001f469\u200d\U0001f469",
    "\ufffe",
    "x" * 1024,
    "x" * 1025,
    "x" * 33_000,
    "\u00e9" * 17_000,
    "#",
    "…",
    "null",
    "{}",
    [],
    {},
    [[]],
    [None],
    [""],
    ["m1", "m1", "m2"],
    [0.0, 0.0],
    [3.0, 4.0],
    [1e-17, 0.0],
    [1e17, 1.0],
    [1e300, 1e300],
    {"": ""},
    {"kind": "human_review", "ref": "r", "actor": "a"},
    "1.0",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59:59-23:59",
    "2026-02-29T12:00:00Z",
    "2026-03-01T24:00:00Z",
    "2026-03-01T00:00:00",
    "2026-03-01t00:00:00z",
    "2026-03-01 00:00:00.123456789+01:00",
    "2026-06-30T23:59:60Z",
    "2026-W10-1",
    "٢٠٢٦-03-01T00:00:00Z",
)


def _iter_names(model: type[BaseModel]) -> Iterator[str]:
    """Yield the names of a model's fields and of the models in it."""
    for name, field in model.model_fields.items():
        yield name
        for part in _iter_parts(field.annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from _iter_names(part)


def _iter_parts(annotation: Any) -> Iterator[Any]:
    """Yield an annotation and all that it is made of."""
    yield annotation
    for part in get_args(annotation):
        yield from _iter_parts(part)


# Names that outside formats use, beside those of the contract, which are read off the models.
_OUTSIDE_NAMES = [
    "name",
    "entityType",
    "observations",
    "from",
    "to",
    "relationType",
    "type",
    "_type",
    "_savedAt",
    "createdAt",
    "updatedAt",
    "createdBy",
    "updatedBy",
    "validFrom",
    "validTo",
    "timestamp",
    "text",
    "content",
    "version",
    "datacontenttype",
    "data_base64",
    "subject",
    "dataschema",
    "topic",
    "partition",
    "offset",
    "headers",
    "raw",
    "reason",
    "message",
    "path",
    "items",
    "tables",
    "columns",
    "rows",
    "patches",
    "cut",
]
NAMES: tuple[str, ...] = tuple(
    sorted({*_OUTSIDE_NAMES, *(name for model in EVENT_MODELS.values() for name in _iter_names(model))})
)
WORDS: tuple[str, ...] = (
    *EVENT_MODELS,
    *SourceKind,
    *MemoryKind,
    *Extent,
    *Confidence,
    *NAMES,
    "m1",
    "m2",
    "m3",
    "s",
    "gold",
    "self",
)


def dump(tree: Any, random: Random) -> bytes:
    """Write a tree as JSON, with the literals that are marked in it."""
    try:
        text = json.dumps(tree, ensure_ascii=random.random() < 0.3, separators=random.choice(((",", ":"), (", ", ": "))))
    except (ValueError, RecursionError):
        return b"null"
    raw = text.encode(errors="surrogatepass")
    for number, literal in enumerate(LITERALS):
        mark = f"{_MARK}{number}{_MARK}"
        for written in (f'"{mark}"'.encode(), json.dumps(mark).encode()):
            raw = raw.replace(written, literal)
    return raw[:MAX_BYTES] if len(raw) > MAX_BYTES else raw


def mutate_tree(tree: Any, random: Random) -> Any:
    """Change one place of a tree: another value, a value from elsewhere in it, one more, one less, another name."""
    places = list(_iter_places(tree, ()))
    path = random.choice(places)
    return _replace(tree, path, lambda value: _change(value, tree, places, random))


def _change(value: Any, tree: Any, places: list[tuple[Any, ...]], random: Random) -> Any:
    if isinstance(value, dict) and random.random() < 0.8:
        return _change_object(value, tree, places, random)
    if isinstance(value, list) and random.random() < 0.8:
        return _change_list(value, tree, places, random)
    return draw_value(tree, places, random, value)


def _change_object(value: dict[str, Any], tree: Any, places: list[tuple[Any, ...]], random: Random) -> dict[str, Any]:
    changed = dict(value)
    name = random.choice(list(changed)) if changed else ""
    match random.randrange(4):
        case 0:
            changed.pop(name, None)
        case 1 if name:
            changed[random.choice(NAMES)] = changed.pop(name)
        case 2:
            changed[random.choice((*NAMES, "", "\x00", "\u202e", "x" * 1025))] = draw_value(tree, places, random, None)
        case _:
            changed[random.choice(NAMES)] = draw_value(tree, places, random, None)
    return changed


def _change_list(value: list[Any], tree: Any, places: list[tuple[Any, ...]], random: Random) -> list[Any]:
    changed = list(value)
    at = random.randrange(len(changed) + 1)
    match random.randrange(4):
        case 0:
            del changed[at : at + 1 + random.randrange(3)]
        case 1:
            changed[at:at] = changed[at : at + 1] * (1 << random.randrange(5))
        case 2:
            random.shuffle(changed)
        case _:
            changed.insert(at, draw_value(tree, places, random, changed[0] if changed else None))
    return changed


def draw_value(tree: Any, places: list[tuple[Any, ...]], random: Random, old: Any) -> Any:
    """Draw a value: a nasty one, a word of the contract, a literal, a copy from the tree, or the old one bent a little."""
    match random.randrange(7):
        case 0 | 1:
            return random.choice(VALUES)
        case 2:
            return random.choice(WORDS)
        case 3:
            return f"{_MARK}{random.randrange(len(LITERALS))}{_MARK}"
        case 4:
            return _find(tree, random.choice(places))
        case 5:
            nested: Any = old
            for _ in range(1 << random.randrange(9)):
                nested = [nested] if random.random() < 0.5 else {random.choice(("a", "data", "metadata")): nested}
            return nested
        case _:
            return _bend(old, random)


def _bend(value: Any, random: Random) -> Any:
    if isinstance(value, str):
        at = random.randrange(len(value) + 1)
        piece = random.choice((chr(random.randrange(0x110000)), *(some for some in VALUES if isinstance(some, str))))
        return value[:at] + piece + value[at + random.randrange(3) :]
    if isinstance(value, int | float) and abs(value) < 1e18:
        return random.choice((value + 1, -value, value * 10, value / 3, int(value), str(value)))
    return [value]


def _iter_places(tree: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all nodes of a tree, down to a depth that no recursion limit minds."""
    yield path
    if len(path) > 60:
        return
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from _iter_places(value, (*path, name))
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from _iter_places(value, (*path, number))


def _find(tree: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def _replace(tree: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """Give a tree with the value at a path changed; the old one stays as it is."""
    if not path:
        return change(tree)
    copied = dict(tree) if isinstance(tree, dict) else list(tree)
    copied[path[0]] = _replace(copied[path[0]], path[1:], change)
    return copied
