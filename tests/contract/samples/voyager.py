"""A sample of Voyager: two versions of a skill library."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import stamp_files, write_json


def skill(name: str, body: str = "") -> dict[str, Any]:
    """Give a skill as the library holds it."""
    return {
        "code": f"async function {name}(bot) {{{body}}}",
        "description": f"async function {name}(bot) {{\n // It is {name}.\n}}",
    }


def write(folder: Path) -> tuple[list[Path], int]:
    """Write a library and its next version, in which one skill is broken."""
    first = write_json(folder / "a.json", {"mineLog": skill("mineLog"), "digDown": skill("digDown")}, indent=4)
    second = write_json(folder / "bb.json", {"mineLog": skill("mineLog", " dig(); "), "odd": 1})
    return stamp_files(first, second), 4
