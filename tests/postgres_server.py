"""A Postgres server of the tests' own: a fresh cluster on a free loopback port, gone with the session.

Postgres refuses to run as root, so under root it runs as `postgres` or `nobody`. Where Debian's or any other server is not installed, tests
that need it are skipped with that reason.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from guardian.stream.broker.process import choose_port

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    port: int
    folder: Path

    def name(self, user: str, database: str = "music") -> str:
        """Give the connection string of a user."""
        return f"host=127.0.0.1 port={self.port} user={user} dbname={database}"


def find_programs() -> Path | None:
    """Find the folder of initdb and postgres; the newest version."""
    on_path = shutil.which("initdb")
    if on_path is not None and shutil.which("postgres") is not None:
        return Path(on_path).parent
    found = sorted(path for place in _PLACES for path in Path("/").glob(place.lstrip("/")) if (path / "initdb").exists())
    return found[-1] if found else None


@contextmanager
def run_postgres() -> Iterator[Postgres]:
    """Run a server with a database `music`, its owner `boss`, and `clerk`, whose rights to write are not what holds it back."""
    programs = find_programs()
    if programs is None:
        pytest.skip("no Postgres server is installed")
    user = _choose_user()
    folder = Path(tempfile.mkdtemp(prefix="guardian-postgres-"))
    if user is not None:
        shutil.chown(folder, user)
    run = {"user": user, "cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, "stdin": subprocess.DEVNULL}
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        server: subprocess.Popen[bytes] | None = None
        try:
            cluster = ("-D", "cluster", "-U", "boss", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
            subprocess.run([programs / "initdb", *cluster], check=True, stdout=log, stderr=log, **run)
            port = choose_port()
            options = (
                f"port={port}",
                "listen_addresses=127.0.0.1",
                "unix_socket_directories=",
                "fsync=off",
                "max_connections=20",
            )
            flags = [part for option in options for part in ("-c", option)]
            server = subprocess.Popen([programs / "postgres", "-D", "cluster", *flags], stdout=log, stderr=log, **run)
            _fill(Postgres(port, folder), server)
            yield Postgres(port, folder)
        finally:
            if server is not None:
                server.send_signal(signal.SIGINT)  # fast: it waits for no client
                server.wait(_PATIENCE_S)
            shutil.rmtree(folder, ignore_errors=True)
            Path(log.name).unlink(missing_ok=True)


def _choose_user() -> str | None:
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


def _fill(server: Postgres, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            with psycopg.connect(server.name("boss", "postgres"), autocommit=True) as admin:
                admin.execute("CREATE DATABASE music")
            break
        except psycopg.OperationalError:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
    with psycopg.connect(server.name("boss"), autocommit=True) as admin:
        admin.execute("CREATE TABLE track (id integer, name text, ms integer)")
        admin.execute("INSERT INTO track VALUES (1, 'Ash', 100), (2, 'Birch', NULL), (3, 'Cedar', 300)")
        admin.execute("CREATE ROLE clerk LOGIN")
        admin.execute("GRANT ALL ON track TO clerk")
        admin.execute("GRANT CREATE ON SCHEMA public TO clerk")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Run one server for the test session."""
    with run_postgres() as server:
        yield server
