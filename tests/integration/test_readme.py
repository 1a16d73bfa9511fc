"""The README keeps its word: every command in it is run, in its order, in a folder like a fresh clone."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from guardian.settings import Settings
from guardian.stream.broker.embedded import EmbeddedBroker
from guardian.stream.broker.process import choose_port
from guardian.topics import load_declarations

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def list_commands() -> list[str]:
    """List the commands of all console blocks, in order."""
    blocks = re.findall(r"^```console\n(.*?)^```", README, flags=re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """A broker of this test's own."""
    with EmbeddedBroker() as broker:
        yield broker


def test_every_guardian_command_of_the_readme_works(tmp_path: Path, broker: EmbeddedBroker) -> None:
    """Run them all, one after the other; `make demo` stands for `guardian demo`, and what serves is stopped when it is ready."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    port, serve_port = choose_port(), choose_port()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")},
        "PYTHONPATH": str(ROOT),
        "GUARDIAN_KAFKA__BOOTSTRAP": broker.bootstrap,
        "GUARDIAN_KAFKA__SESSION_TIMEOUT_S": "6",
        "GUARDIAN_WEB__PORT": str(port),
        "GUARDIAN_SERVE__PORT": str(serve_port),
    }
    expected = {"guardian doctor": 2}  # topics are applied two lines later
    ran = []
    for line in (command.replace("make demo", "guardian demo") for command in list_commands()):
        if line.startswith("make "):
            continue
        assert line.startswith("guardian "), line
        command = [sys.executable, "-m", *shlex.split(line)]
        if line == "guardian worker":
            stop_when_ready(command, tmp_path, environment, port)
        elif line.startswith("guardian serve "):
            stop_when_ready(command, tmp_path, environment, serve_port)
        else:  # `guardian mcp` ends with its input
            nothing = subprocess.DEVNULL
            done = subprocess.run(
                command, cwd=tmp_path, env=environment, stdin=nothing, capture_output=True, timeout=120, check=False
            )
            assert done.returncode == expected.get(line, 0), (line, done.stdout.decode(), done.stderr.decode())
        ran.append(line.split()[1])
    assert set(ran) == {
        "demo",
        "show",
        "search",
        "context",
        "replay",
        "export",
        "doctor",
        "topics",
        "worker",
        "serve",
        "mcp",
        "settings",
        "dead-letters",
        "migrate",
        "compact",
        "erase",
        "holdings",
        "simulate",
        "drift",
        "alerts",
        "audit",
        "cards",
    }


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    """Over the store that its commands made, word for word; the price that holds is given, the one that was corrected is not."""
    (block,) = re.findall(r"^```python\n(.*?)^```", README, flags=re.M | re.S)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")} | {
        "PYTHONPATH": str(ROOT)
    }
    replay = [sys.executable, "-m", "guardian", "replay", "examples/coffee-shop.jsonl", "--store", ".guardian/mine"]
    for command in (replay, [sys.executable, "-c", block]):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
    assert "$20/kg" in done.stdout
    assert "$16.50/kg" not in done.stdout


def stop_when_ready(command: list[str], folder: Path, environment: dict[str, str], port: int) -> None:
    """Start what serves, wait until it says that it is ready, and stop it as an operator would."""
    with (folder / "worker.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 60
            while not is_ready(port):
                assert process.poll() is None, (folder / "worker.log").read_text()
                assert time.monotonic() < deadline, (folder / "worker.log").read_text()
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0, (folder / "worker.log").read_text()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def is_ready(port: int) -> bool:
    """Ask the readiness page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def test_make_targets_of_the_readme_exist() -> None:
    """`make X` in the README is a target of the Makefile."""
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"`make (\w+)", README)) | {line.split()[1] for line in list_commands() if line.startswith("make ")}
    assert {"demo", "test"} <= named
    for target in named:
        assert re.search(rf"^{target}:", makefile, flags=re.M), target


def test_files_and_settings_of_the_readme_exist() -> None:
    """Links lead to files, setting names are settings, the example of a settings file is one, topics are declared."""
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
    for section, name in re.findall(r"GUARDIAN_([A-Z]+)__([A-Z_]+)", README):
        model = Settings.model_fields[section.lower()].annotation
        assert name.lower() in model.model_fields, (section, name)  # type: ignore[union-attr] # the test knows that it is there
    for block in re.findall(r"^```toml\n(.*?)^```", README, flags=re.M | re.S):
        Settings(**tomllib.loads(block))
    table = README[README.index("## Topics") : README.index("## How a decision")]
    assert set(re.findall(r"`(guardian\.[a-z-]+)`", table)) == {topic.name for topic in load_declarations()}
