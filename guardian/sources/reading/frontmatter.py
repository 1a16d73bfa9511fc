"""Split a markdown file into its YAML frontmatter and its body.

The header is read with every value as text: a date stays what was written, and nothing is built from a tag. Aliases are
refused, for a few lines of them describe more data than a machine holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

# Characters of a header; those that are written by hand or by agents have a few hundred.
_MAX_HEADER_CHARS = 16 * 1024
_HEADER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:^|\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """A markdown file.

    Attributes:
        fields: The header's mapping, all scalars as text; empty where there is none.
        body: What follows the header, without blank lines around it; the whole text where no header can be read.
        is_header_unreadable: A header stands there, but is no YAML mapping.
    """

    body: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    is_header_unreadable: bool = False


def split_page(text: str) -> Page:
    """Give header and body of a markdown text."""
    match = _HEADER.match(text)
    if match is None:
        return Page(text.strip())
    header = match.group(1)
    fields = _read_header(header) if len(header) <= _MAX_HEADER_CHARS else None
    if fields is None:
        return Page(text.strip(), is_header_unreadable=True)
    return Page(text[match.end() :].strip(), fields)


def _read_header(header: str) -> dict[str, Any] | None:
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(header)):
            return None
        # BaseLoader builds only texts, lists and mappings.
        value = yaml.load(header, Loader=yaml.BaseLoader)  # noqa: S506 # it is the safest loader there is
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if value in (None, ""):
        return {}
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else None
