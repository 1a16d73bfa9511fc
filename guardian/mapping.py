"""Mappings: how a plain JSON record becomes an event, as it is written in `guardian.toml`; declared here, carried out by the sources.

```toml
[maps.notes]
rows = "items"                                   # JMESPath of the rows inside a record; left out: the record is the row
space = "owner.id"
id = "uuid"                                      # left out: a digest of the row
type = { path = "op", values = { add = "memory.written", remove = "memory.deleted" } }
time = { path = "ts", convert = "unix_ms" }

[maps.notes.data]
memory_id = "uuid"
text = "body.text"
kind = { const = "fact" }
self_grade = { path = "stars", convert = "grade_1_5" }
parents = "refs[].id"
source = { kind = { path = "author.role", values = { human = "user" }, default = "unknown" }, actor = "author.name" }
```

A string is a path. A table names a `path` or a `const`, and what is done with what was found: first `convert`, then `values`; `default` where
nothing was found, or nothing that `values` knows.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Converter(StrEnum):
    """What can be done with a value that was found; one that it does not fit makes the row a dead letter."""

    TEXT = "text"
    NUMBER = "number"
    JSON = "json"
    SPLIT = "split"
    LOWER = "lower"
    UNIX_S = "unix_s"
    UNIX_MS = "unix_ms"
    UNIX_US = "unix_us"
    GRADE_0_1 = "grade_0_1"
    GRADE_1_5 = "grade_1_5"
    GRADE_0_100 = "grade_0_100"
    GRADE_WORD = "grade_word"


class Rule(BaseModel):
    """Where one field comes from.

    Attributes:
        path: JMESPath into the row.
        const: The value itself.
        convert: What is done with what was found.
        values: Word found → word meant; without a default a word that is not among them is kept.
        default: Where nothing was found; without it the field is left out. Also for a word that `values` does not know.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str | None = None
    const: Any = None
    convert: Converter | None = None
    values: dict[str, Any] | None = None
    default: Any = None

    @model_validator(mode="before")
    @classmethod
    def _takes_a_bare_path(cls, given: Any) -> Any:
        return {"path": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if (self.path is None) == (self.const is None):
            raise ValueError("name a path or a const, not both")
        return self


class EventMap(BaseModel):
    """How a row becomes an event.

    Attributes:
        rows: JMESPath of the rows inside a record, a list or one object; None for the record itself.
        source: Event source; part of each event's identity, so choose it once.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: str | None = Field(None, description="JMESPath of the rows inside a record.")
    source: str | None = Field(None, description="Event source; default: map:<name of the map>.", min_length=1)
    space: Rule | None = Field(None, description="The memory bank; default: the topic's or the command's.")
    id: Rule | None = Field(None, description="Event id, unique within the source; default: a digest of the row.")
    type: Rule = Field(Rule(const="memory.written"), description="Event type.")
    time: Rule | None = Field(None, description="When it happened; default: the record's timestamp.")
    data: dict[str, Any] = Field(description="The event's data: field → rule, nested as the data is.")
    deletes_by_tombstone: bool = Field(
        default=False, description="A record without a value deletes the memory that its key names; else it is skipped."
    )

    @model_validator(mode="after")
    def _names_a_memory(self) -> Self:
        object.__setattr__(self, "data", _read_fields(self.data, "data"))
        if "memory_id" not in self.data and not {"targets", "subject", "retrieved", "event"} & self.data.keys():
            raise ValueError("data names no memory_id")
        return self


def _read_fields(given: dict[str, Any], place: str) -> dict[str, Any]:
    """Give rules for leaves and mappings for what is nested; a table with `path` or `const` is a rule."""
    fields: dict[str, Any] = {}
    for name, value in given.items():
        is_rule = isinstance(value, str | Rule) or (isinstance(value, dict) and bool({"path", "const"} & value.keys()))
        if is_rule:
            fields[name] = Rule.model_validate(value)
        elif isinstance(value, dict):
            fields[name] = _read_fields(value, f"{place}.{name}")
        else:
            raise ValueError(f"{place}.{name} is neither a path nor a table")  # pydantic wants a ValueError
    return fields
