"""`guardian settings`: the settings in force, secrets masked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from rich.table import Table

from guardian.cli.console import out, print_json
from guardian.cli.opening import JsonOption
from guardian.settings import load_settings


def settings(
    as_json: JsonOption = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each setting means.")] = False,
) -> None:
    """Print the settings in force: environment over guardian.toml over defaults. Secrets are masked."""
    model = load_settings()
    if as_json:
        print_json(model.model_dump(mode="json"))
        return
    table = Table(box=None, pad_edge=False)
    for name in ("setting", "value", *(["meaning"] if explain else [])):
        table.add_column(name, overflow="fold", no_wrap=name == "setting")  # a name is copied and searched for whole
    for name, value, meaning in iter_settings(model):
        table.add_row(name, str(value), *([meaning] if explain else []))
    out.print(table)


def iter_settings(model: BaseModel, prefix: str = "GUARDIAN_", heading: str = "") -> Iterator[tuple[str, Any, str]]:
    """Give (environment name, value, meaning) of each setting, sections opened.

    Args:
        model: The settings, or a section of them.
        prefix: Of the section's environment names.
        heading: Of the section in guardian.toml, with its dot; empty for the settings themselves.
    """
    values = model.model_dump(mode="json")
    for name, info in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from iter_settings(value, f"{prefix}{name.upper()}__", f"{heading}{name}.")
        elif isinstance(value, dict) and value and all(isinstance(entry, BaseModel) for entry in value.values()):
            for key, entry in value.items():
                yield from _iter_entry(entry, f"[{heading}{name}.{_quote(key)}]")
        else:
            yield f"{prefix}{name.upper()}", values[name], info.description or ""


def _iter_entry(entry: BaseModel, place: str) -> Iterator[tuple[str, Any, str]]:
    """Give the settings of one entry of a table, such as a map, under its heading in guardian.toml."""
    values = entry.model_dump(mode="json")
    for name, info in type(entry).model_fields.items():
        value = getattr(entry, name)
        told = _tell(value) if isinstance(value, BaseModel | dict) else values[name]
        yield f"{place} {name}", told, info.description or ""


def _tell(value: Any) -> Any:
    """Give rules as they are written: a bare path as text, else the keys that were set."""
    if isinstance(value, dict):
        return {name: _tell(part) for name, part in value.items()}
    if not isinstance(value, BaseModel):
        return value
    told = value.model_dump(mode="json", exclude_unset=True)
    return told["path"] if told.keys() == {"path"} else told


def _quote(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)
