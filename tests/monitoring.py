"""Prometheus and Alertmanager for the tests: the real programs, on loopback ports, each with its data in a folder of the test.

They come from Debian's packages `prometheus` (2.42) and `prometheus-alertmanager` (0.25), which `apt-get download` fetches without
root into a cache and `dpkg-deb -x` unpacks there: nothing is installed and no service is started. Where that does not work, programs
on PATH do as well, if they are new enough; where neither works, the tests that need them are skipped and say why.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from guardian.errors import ConfigError
from guardian.stream.broker.process import _FOLLOW_PARENT, choose_port

ROOT = Path(__file__).parents[1]
RULES = ROOT / "deploy" / "prometheus" / "rules"
RULE_TESTS = ROOT / "deploy" / "prometheus" / "tests"
PACKAGES = ("prometheus", "prometheus-alertmanager")
# `keep_firing_for` is understood since this version of Prometheus.
LEAST_PROMETHEUS = (2, 42)
FETCH_TIMEOUT_S = 300.0
START_TIMEOUT_S = 60.0
# Debian builds the folder of the default templates into Alertmanager.
_TEMPLATES = "/usr/share/prometheus/alertmanager"


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Where the programs lie.

    Attributes:
        templates: Alertmanager's default templates, where the program does not find them itself.
    """

    prometheus: Path
    promtool: Path
    alertmanager: Path
    amtool: Path
    templates: Path | None = None


def find_programs() -> Programs:
    """Give the programs: unpacked before, else on PATH, else fetched now.

    Raises:
        ConfigError: There is no way to them here; the message says what was tried.
    """
    return _take_unpacked(unpacked_folder()) or _find_on_path() or _fetch(unpacked_folder())


def unpacked_folder() -> Path:
    """Give the folder of the unpacked packages, under `$XDG_CACHE_HOME` or `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "guardian" / "monitoring"


def _take_unpacked(folder: Path) -> Programs | None:
    programs = folder / "usr" / "bin"
    if not folder.is_dir():
        return None
    return Programs(
        prometheus=programs / "prometheus",
        promtool=programs / "promtool",
        alertmanager=programs / "prometheus-alertmanager",
        amtool=programs / "amtool",
        templates=folder / _TEMPLATES.removeprefix("/"),
    )


def _find_on_path() -> Programs | None:
    alertmanager = shutil.which("alertmanager") or shutil.which("prometheus-alertmanager")
    others = [shutil.which(name) for name in ("prometheus", "promtool", "amtool")]
    if alertmanager is None or None in others or not _is_new_enough(str(others[1])):
        return None
    prometheus, promtool, amtool = (Path(str(found)) for found in others)
    return Programs(prometheus=prometheus, promtool=promtool, alertmanager=Path(alertmanager), amtool=amtool)


def _is_new_enough(promtool: str) -> bool:
    told = subprocess.run([promtool, "--version"], capture_output=True, text=True, timeout=60, check=False)
    version = re.search(r"version (\d+)\.(\d+)", told.stdout + told.stderr)
    return version is not None and (int(version.group(1)), int(version.group(2))) >= LEAST_PROMETHEUS


def _fetch(folder: Path) -> Programs:
    """Fetch the packages with lists and a cache of our own: the system's may be missing, and are not ours to write."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise ConfigError(
            "no prometheus, promtool, alertmanager and amtool on PATH, and no apt-get and dpkg-deb to fetch them with."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        apt = _build_apt_command(Path(scratch))
        _run([*apt, "update"], Path(scratch))
        _run([*apt, "download", *PACKAGES], Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        for package in sorted(Path(scratch).glob("*.deb")):
            _run(["dpkg-deb", "-x", str(package), str(unpacked)], Path(scratch))
        programs = _take_unpacked(unpacked)
        if programs is None or not _is_new_enough(str(programs.promtool)):
            least = ".".join(map(str, LEAST_PROMETHEUS))
            raise ConfigError(f"the packages of this system bring no Prometheus of {least} or newer: put a newer one on PATH.")
        try:
            unpacked.rename(folder)
        except OSError:  # another session was quicker
            if not folder.is_dir():
                raise
    return _take_unpacked(folder) or programs


def _build_apt_command(scratch: Path) -> list[str]:
    (scratch / "lists" / "partial").mkdir(parents=True)
    (scratch / "cache" / "archives" / "partial").mkdir(parents=True)
    options = {
        "Dir::State::Lists": scratch / "lists",
        "Dir::Cache": scratch / "cache",
        "APT::Sandbox::User": "root",  # who has no way into the scratch folder cannot write there
        "Acquire::Retries": 1,
        "Acquire::http::Timeout": 15,
        "Acquire::Languages": "none",
    }
    return ["apt-get", "-q", *(part for name, value in options.items() for part in ("-o", f"{name}={value}"))]


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as exc:
        raise ConfigError(f"`{' '.join(command)}` took longer than {FETCH_TIMEOUT_S:g} s.") from exc
    if run.returncode != 0:
        raise ConfigError(f"`{' '.join(command)}` failed:\n{run.stdout}{run.stderr}")


class Daemon:
    """A program that serves HTTP on a free port of 127.0.0.1, as a context manager.

    Args:
        command: The program and its arguments; `{address}` in an argument is host and port. It ends when this process does.
        log_path: Where its output goes.
    """

    def __init__(self, command: Sequence[str], *, log_path: Path) -> None:
        self.address = f"127.0.0.1:{choose_port()}"
        self.url = f"http://{self.address}"
        self._command = [argument.replace("{address}", self.address) for argument in command]
        self._log_path = log_path
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the program and wait until it is ready."""
        command = ["sh", "-c", _FOLLOW_PARENT, "sh", *self._command]
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=self._log_path.parent)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise ConfigError(f"{self._command[0]} did not start:\n{self._log_path.read_text()[-4000:]}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        """End the program."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.communicate(b"\n", timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def ask(self, path: str, body: object = None) -> Any:
        """Give the JSON answer of a path; with a body it is posted."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def build_prometheus(programs: Programs, config: Mapping[str, Any], *, folder: Path) -> Daemon:
    """Build a Prometheus with its configuration and data in a folder of its own."""
    folder.mkdir(parents=True)
    (folder / "prometheus.yml").write_text(yaml.safe_dump(dict(config)))
    command = [str(programs.prometheus), f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    return Daemon([*command, "--web.listen-address={address}"], log_path=folder / "prometheus.log")


@contextmanager
def run_alertmanager(programs: Programs, config: Mapping[str, Any], *, folder: Path) -> Iterator[Daemon]:
    """Run an Alertmanager with its configuration and data in a folder of its own, without a cluster."""
    folder.mkdir(parents=True)
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(dict(config)))
    with _placed_templates(programs, folder) as program:
        command = [str(program), f"--config.file={folder / 'alertmanager.yml'}", f"--storage.path={folder / 'data'}"]
        command += ["--web.listen-address={address}", "--cluster.listen-address="]
        with Daemon(command, log_path=folder / "alertmanager.log") as alertmanager:
            yield alertmanager


@contextmanager
def _placed_templates(programs: Programs, folder: Path) -> Iterator[Path]:
    """Give an Alertmanager that finds its default templates.

    The path in Debian's program is that of an installed package. An unpacked one gets a copy of the program in which a path of the
    same length stands, under which the templates then lie.
    """
    if programs.templates is None or Path(_TEMPLATES, "default.tmpl").exists():
        yield programs.alertmanager
        return
    prefix = "guardian-alertmanager".ljust(len(_TEMPLATES) - len("/tmp/") - 8, "-")  # mkdtemp adds eight
    place = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
    try:
        assert len(str(place)) == len(_TEMPLATES)
        shutil.copytree(programs.templates, place, dirs_exist_ok=True)
        program = folder / "alertmanager"
        program.write_bytes(programs.alertmanager.read_bytes().replace(_TEMPLATES.encode(), str(place).encode()))
        program.chmod(0o755)
        yield program
    finally:
        shutil.rmtree(place, ignore_errors=True)


def copy_rules(target: Path, *, pause: str) -> Path:
    """Copy the shipped rules with every `for` and `keep_firing_for` shortened to `pause`; expressions and texts stay as they are."""
    target.mkdir(parents=True)
    for source in sorted(RULES.glob("*.yml")):
        content = yaml.safe_load(source.read_text())
        for rule in (rule for group in content["groups"] for rule in group["rules"]):
            rule.update({name: pause for name in ("for", "keep_firing_for") if name in rule})
        (target / source.name).write_text(yaml.safe_dump(content, sort_keys=False, width=1_000))
    return target


@pytest.fixture(scope="session")
def monitoring() -> Programs:
    """Give the real programs, or skip with the reason."""
    try:
        return find_programs()
    except ConfigError as exc:
        pytest.skip(f"no Prometheus and Alertmanager here: {exc}")
