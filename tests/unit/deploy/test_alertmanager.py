"""Laws of the example for Alertmanager: valid, without a secret, and every shipped alert finds the receiver of its severity."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.monitoring import ROOT, Programs
from tests.unit.deploy.queries import load_alerts

CONFIG = ROOT / "deploy" / "alertmanager" / "alertmanager.yml"
RECEIVERS = {"critical": "pager", "warning": "ticket", "info": "ticket"}


def run_amtool(programs: Programs, *arguments: str) -> str:
    """Give what amtool says; it must succeed."""
    done = subprocess.run([str(programs.amtool), *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def iter_leaves(content: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Give all texts of a configuration with the names they stand under."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from iter_leaves(value, str(key))
    elif isinstance(content, list):
        for value in content:
            yield from iter_leaves(value, name)
    else:
        yield name, str(content)


def test_alertmanager_takes_the_example(monitoring: Programs) -> None:
    """As amtool checks it."""
    assert "SUCCESS" in run_amtool(monitoring, "check-config", str(CONFIG))


@pytest.mark.parametrize("name", sorted(load_alerts()))
def test_every_alert_finds_the_receiver_of_its_severity(monitoring: Programs, name: str) -> None:
    """Critical wakes somebody, the rest waits for the morning."""
    labels = {"alertname": name, "job": "guardian", **load_alerts()[name].labels}
    asked = [f"{label}={value}" for label, value in labels.items()]
    found = run_amtool(monitoring, "config", "routes", "test", f"--config.file={CONFIG}", *asked)
    assert found.split() == [RECEIVERS[labels["severity"]]]


def test_an_alert_without_severity_is_not_lost(monitoring: Programs) -> None:
    """Nobody is woken, and somebody finds it."""
    found = run_amtool(monitoring, "config", "routes", "test", f"--config.file={CONFIG}", "alertname=Other")
    assert found.split() == ["ticket"]


def test_no_secret_stands_in_the_example() -> None:
    """Keys are files of a folder that git ignores; addresses are nobody's."""
    leaves = dict(iter_leaves(yaml.safe_load(CONFIG.read_text())))
    secret = re.compile(r"key|token|password|secret|credentials", re.IGNORECASE)
    named = {name for name in leaves if secret.search(name)}
    assert named
    assert all(name.endswith("_file") and leaves[name].startswith("/etc/alertmanager/secrets/") for name in named)
    assert re.fullmatch(r"http://[\w.]+\.example(:\d+)?/\w+", leaves["url"])
    ignored = (CONFIG.parent / "secrets" / ".gitignore").read_text().split()
    assert ignored == ["*", "!.gitignore", "!README.md"]


def test_alerts_are_grouped_by_what_tells_them_apart() -> None:
    """One kind of one deployment is one notification, however many workers tell it."""
    assert yaml.safe_load(CONFIG.read_text())["route"]["group_by"] == ["alert", "job", "namespace"]
