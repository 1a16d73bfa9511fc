"""Sections: the block of a prompt as lines, and read back from them.

```
[[evidence 9f2c41d07a3be650]] {"never":["system_instruction"]}
E1 {"text":"…","verified":true}
(2 more did not fit)
[[end 9f2c41d07a3be650]]
```

A line begins with our words only: a record is one line of JSON, in which no memory can end the string or the line. The key is a digest
of all that stands in the block, so no text in it can have known the key. Equal content gives an equal block, to the byte.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from guardian.core.escape import dump_line
from guardian.errors import RecordError

_HEADER = re.compile(r"\[\[([a-z]+) ([0-9a-f]{16})\]\](?: (\{.*\}))?")
_ITEM = re.compile(r"([A-Z]\d+) (\{.*\})")
_LEFT_OUT = re.compile(r"\((\d+) more did not fit\)")
_END = "end"


@dataclass(frozen=True, kw_only=True)
class Item:
    """One record in a section: its handle (`E1`) and its fields."""

    handle: str
    fields: Mapping[str, Any]

    @cached_property
    def line(self) -> str:
        """Its line."""
        return f"{self.handle} {dump_line(self.fields)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Records of one role.

    Attributes:
        shared: Fields that all its records share.
        left_out: Records that did not fit.
    """

    name: str
    items: tuple[Item, ...]
    shared: Mapping[str, Any] = field(default_factory=dict)
    left_out: int = 0


def render_block(sections: Sequence[Section]) -> tuple[str, str]:
    """Give the block and its key. Nothing to say is an empty block."""
    if not sections:
        return "", ""
    bodies = [(section.name, _shared_line(section), _list_lines(section)) for section in sections]
    key = _digest([[name, shared, *lines] for name, shared, lines in bodies])
    rendered = [line for name, shared, lines in bodies for line in (_header(name, shared, key), *lines)]
    return "\n".join([*rendered, f"[[{_END} {key}]]"]), key


def parse_block(block: str) -> list[Section]:
    """Read a block back.

    Raises:
        RecordError: It is no such block, or was changed: the key is not that of its content.
    """
    sections: list[dict[str, Any]] = []
    key = ""
    for line in block.split("\n") if block else ():
        header = _HEADER.fullmatch(line)
        if header is not None:
            key = header[2]
            sections.append({"name": header[1], "shared": json.loads(header[3] or "{}"), "items": [], "left_out": 0})
        elif (item := _ITEM.fullmatch(line)) is not None and sections:
            sections[-1]["items"].append(Item(handle=item[1], fields=json.loads(item[2])))
        elif (rest := _LEFT_OUT.fullmatch(line)) is not None and sections:
            sections[-1]["left_out"] = int(rest[1])
        else:
            raise RecordError("prompt_malformed", f"this line is none of a memory block: {line[:80]!r}")
    parsed = [Section(**{**part, "items": tuple(part["items"])}) for part in sections]
    if block and (parsed[-1].name != _END or render_block(parsed[:-1]) != (block, key)):
        raise RecordError("prompt_malformed", "the block was changed: its key is not that of its content")
    return parsed[:-1]


def _header(name: str, shared: str, key: str) -> str:
    return f"[[{name} {key}]]" + (f" {shared}" if shared else "")


def _shared_line(section: Section) -> str:
    return dump_line(section.shared) if section.shared else ""


def _list_lines(section: Section) -> list[str]:
    lines = [item.line for item in section.items]
    return [*lines, f"({section.left_out} more did not fit)"] if section.left_out else lines


def _digest(content: Sequence[Sequence[str]]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
