"""docs/trust.md keeps its word: its commands print what stands there."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from examples.graded_bank import iter_events
from guardian.cli.main import call
from guardian.trust.simulated_bank import BankModel

DOCS = (Path(__file__).parents[2] / "docs" / "trust.md").read_text()


def test_the_examples_print_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each console block is run; the text block behind it is its last command's output."""
    for name in [name for name in os.environ if name.startswith("GUARDIAN_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```console\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", DOCS, flags=re.M | re.S)
    compared = 0
    for commands, expected in blocks:
        for line in commands.splitlines():
            capsys.readouterr()
            if line.startswith("python examples/graded_bank.py"):
                model = BankModel(kappa=0.38, leniency=0.76, sensitivity=0.90, base_error=0.32, places=100)
                Path("graded.jsonl").write_text("\n".join(json.dumps(event) for event in iter_events(model, episodes=400)))
                continue
            assert line.startswith("guardian "), line
            assert call(shlex.split(line)[1:]) == 0, capsys.readouterr().err
        if expected:
            printed = [row.rstrip() for row in capsys.readouterr().out.strip("\n").split("\n")]
            assert printed == expected.rstrip("\n").split("\n"), line
            compared += 1
    assert compared == 4
