"""Generates `docs/openapi.json` from the routes and bodies.

Run `python -m guardian.serve.openapi` after changing them, and with `--check` to learn whether the file is up to date (exit code 1 when
it is not).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from guardian.serve.http import build_routes

PLACE = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def build_document() -> str:
    """Build the document, as it lies on the disk."""
    return json.dumps(build_routes().openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def run(arguments: Sequence[str] | None = None) -> int:
    """Generate or check the file, and give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m guardian.serve.openapi", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when the file is out of date")
    parser.add_argument("--place", type=Path, default=PLACE, help="the generated file")
    options = parser.parse_args(arguments)
    document = build_document()
    if not options.check:
        options.place.write_text(document, encoding="utf-8")
        return 0
    if options.place.exists() and options.place.read_text("utf-8") == document:
        return 0
    sys.stderr.write(f"{options.place} is out of date. Mend: python -m guardian.serve.openapi\n")
    return 1


if __name__ == "__main__":
    sys.exit(run())
