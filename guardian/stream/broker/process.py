"""One broker as a child process: started, awaited, stopped by its own process id, never left behind.

How a broker is kept from outliving its parent: the child is started through a line of shell that leaves one reader at a
pipe and then becomes the broker. When the pipe closes without a word the parent has died, however it died, and the
broker gets SIGTERM. (Linux's parent-death signal would fire already when the *thread* that started the child ends.)
"""

from __future__ import annotations

import asyncio
import random
import shutil
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from guardian.errors import DependencyError

PORTS = range(20_000, 32_000)
"""TCP ports to choose from: below Linux's ephemeral range, where a client's socket could take a stopped broker's."""

READY_TIMEOUT_S = 60.0
"""Longest wait for a first answer; a JVM on a busy machine with two cores needs about ten seconds."""

STOP_TIMEOUT_S = 15.0
"""Longest wait after SIGTERM before SIGKILL."""

# A line on the pipe means an orderly stop; end of file without a line means that the parent is gone.
_FOLLOW_PARENT = 'exec 3<&0 </dev/null; (read -r _ <&3 || kill -TERM "$$") 2>/dev/null & exec "$@" 3<&-'


def choose_port() -> int:
    """Choose a TCP port of 127.0.0.1 that nothing listens on right now.

    Raises:
        DependencyError: None was found in a hundred draws.
    """
    draw = random.SystemRandom()  # a seeded generator would give parallel test runs the same ports
    for _ in range(100):
        port = draw.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise DependencyError(f"no free port between {PORTS.start} and {PORTS.stop} on 127.0.0.1", dependency="broker")


class BrokerProcess:
    """A broker that this process has started and will end.

    Args:
        command: Program and arguments.
        bootstrap: `host:port` at which clients will find it.
        log_path: File that gets what the broker prints; appended to over restarts.
        env: The child's environment, or None for this process's own.
    """

    def __init__(self, command: list[str], *, bootstrap: str, log_path: Path, env: dict[str, str] | None = None) -> None:
        self.bootstrap = bootstrap
        self.log_path = log_path
        self._command = command
        self._env = env
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Give the process id of the running broker, or None."""
        return self._child.pid if self._child and self.is_running else None

    @property
    def is_running(self) -> bool:
        """Tell whether the child lives."""
        return self._child is not None and self._child.poll() is None

    def start(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Start the broker and wait until it answers clients; blocks. Does nothing while it runs.

        Raises:
            DependencyError: Its port is taken, it ended, or it did not answer in time; then with its last lines.
        """
        if self.is_running:
            return
        self._reap()  # of a child that ended by itself
        if _is_listening(self.bootstrap):  # another's answers would be taken for those of ours
            raise DependencyError(f"something else listens on {self.bootstrap}", dependency="broker")
        self._spawn()
        try:
            self._wait_until_ready(timeout_s)
        except BaseException:  # also Ctrl-C: nothing may stay behind
            self.kill()
            raise

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """End the broker in order: SIGTERM, then SIGKILL when it has not ended in time."""
        if self._child is None:
            return
        self._child.terminate()
        try:
            self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._child.kill()
        self._reap()

    def kill(self) -> None:
        """End the broker at once, as a crash would."""
        if self._child is not None:
            self._child.kill()
            self._reap()

    def read_log_tail(self, lines: int = 20) -> str:
        """Give the last lines that the broker printed."""
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])

    def _spawn(self) -> None:
        shell = shutil.which("sh")
        follow = [] if shell is None else [shell, "-c", _FOLLOW_PARENT, "sh"]
        with self.log_path.open("ab") as log:
            # A session of its own: Ctrl-C in a terminal reaches the parent alone, which stops the broker in its order.
            self._child = subprocess.Popen(  # noqa: S603 - the command is ours, nothing in it comes from outside
                [*follow, *self._command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._env,
                start_new_session=True,
            )

    def _reap(self) -> None:
        child, self._child = self._child, None
        if child is None or child.stdin is None:
            return
        child.wait()
        try:
            child.stdin.write(b"stopped\n")
            child.stdin.close()
        except BrokenPipeError:  # nobody reads where there is no shell
            pass

    def _wait_until_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while self.is_running and time.monotonic() < deadline:
            if is_answering(self.bootstrap):
                return
            time.sleep(0.1)
        what = "did not answer in time" if self.is_running else "ended while starting"
        raise DependencyError(
            f"the broker at {self.bootstrap} {what}; its last lines ({self.log_path}):\n{self.read_log_tail()}",
            dependency="broker",
        )


def is_answering(bootstrap: str) -> bool:
    """Tell whether a broker at `host:port` answers the real client and names itself as a member of its cluster.

    Usable inside and outside a running event loop: the question is asked from a thread with a loop of its own.
    """
    if not _is_listening(bootstrap):  # the client would log an error for each refusal
        return False
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _ask_for_brokers(bootstrap)).result()


def _is_listening(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1.0).close()
    except OSError:
        return False
    return True


async def _ask_for_brokers(bootstrap: str) -> bool:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=5_000)
    try:
        await admin.start()
        return bool((await admin.describe_cluster())["brokers"])
    except (KafkaError, OSError, TimeoutError):
        return False
    finally:
        await admin.close()
