"""Run queries of episodes where they can do no harm: admitted by the parser, each in a process of its own, with limits.

The database is given by settings, never by the event. A process costs some 50 ms; audits are off the hot path.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import signal
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from guardian.errors import ConfigError, DependencyError
from guardian.trust.sql.statement import Dialect, Refused, admit

# The interpreter starts and the database opens before the query's own time begins.
_START_S = 5.0
# What opens a database; SQLite is Python's own.
_DRIVERS = {Dialect.DUCKDB: "duckdb", Dialect.POSTGRES: "psycopg"}
# By its file: an isolated interpreter would look for the package elsewhere than this process does.
_RUNNER = Path(__file__).with_name("runner.py")
# An answer is a few numbers.
_MAX_ANSWER_BYTES = 65_536


class Status(StrEnum):
    """How a run ended."""

    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    TOO_MANY_ROWS = "too_many_rows"
    KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may take.

    Attributes:
        timeout_s: Seconds of the query.
        memory_bytes: Beyond what the engine takes at rest.
        max_rows: More make the run `too_many_rows`.
    """

    timeout_s: float = 5.0
    memory_bytes: int = 256 << 20
    max_rows: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run showed, never what it found.

    Attributes:
        ordered: Digest of the rows in order.
        members: Digest of the rows whatever their order.
        is_null: There are rows, and every value is NULL.
        is_zero: There are rows, and every value is NULL or the number 0.
        detail: Why it was refused or failed, for people.
    """

    status: Status
    rows: int = 0
    columns: int = 0
    is_null: bool = False
    is_zero: bool = False
    ordered: str = ""
    members: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """One database that queries of episodes may be run on.

    Attributes:
        database: A file for SQLite and DuckDB, a connection string for Postgres.
    """

    dialect: Dialect
    database: str
    limits: Limits = Limits()

    async def run(self, query: str) -> Run:
        """Run a query once.

        Raises:
            DependencyError: The process could not be started, or the database cannot be opened.
        """
        # In a thread: some queries take the parser a third of a second, and the loop may be a guard's as well.
        tree = await asyncio.to_thread(admit, query, self.dialect)
        if isinstance(tree, Refused):
            return Run(status=Status.REFUSED, detail=f"{tree.refusal.value}: {tree.detail}")
        return await self.execute(query)

    async def check(self) -> None:
        """See that the database opens, and that its driver is here.

        Raises:
            ConfigError: The driver is not installed.
            DependencyError: It cannot be opened.
        """
        driver = _DRIVERS.get(self.dialect)
        if driver is not None and importlib.util.find_spec(driver) is None:
            raise ConfigError(
                f"queries cannot be run on {self.dialect.value}: {driver} is not installed.",
                setting="GUARDIAN_AUDIT__DATABASE_DIALECT",
                mend="pip install 'guardian-memory[sql]'.",
            )
        await self.execute("SELECT 1")

    async def execute(self, query: str) -> Run:
        """Run a query behind the second wall alone; `run` is what callers want.

        Raises:
            DependencyError: The process could not be started, or the database cannot be opened, or not in time.
        """
        limits = self.limits
        request = {
            "dialect": self.dialect.value,
            "database": self.database,
            "query": query,
            "timeout_s": limits.timeout_s,
            "memory_bytes": limits.memory_bytes,
            "max_rows": limits.max_rows,
        }
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", str(_RUNNER)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={},
                limit=_MAX_ANSWER_BYTES,
                start_new_session=True,  # a terminal's interrupt is this process's to deal with
            )
        except OSError as exc:
            raise DependencyError(f"no process for a query can be started: {exc}", dependency="sandbox") from exc
        try:
            async with asyncio.timeout(limits.timeout_s + _START_S):
                answer, _ = await process.communicate(json.dumps(request).encode())
        except TimeoutError as exc:
            # A query's own time ends by the alarm in its process: what is here still has not begun one, which is held against no query.
            raise DependencyError("the database for queries of episodes did not open in time", dependency="database") from exc
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return _read(answer, process.returncode)


def _read(answer: bytes, code: int | None) -> Run:
    try:
        found = json.loads(answer)
    except json.JSONDecodeError:
        if code in {-signal.SIGALRM, -signal.SIGXCPU}:
            return Run(status=Status.TIMED_OUT, detail="its time was over")
        return Run(status=Status.KILLED, detail=f"the process ended with {code}, for memory or time")
    detail = found.get("error", "")
    if found["status"] == "unopened":
        raise DependencyError(f"the database for queries of episodes cannot be opened: {detail}", dependency="database")
    status = Status(found["status"])
    if status is Status.FAILED and any(word in detail.lower() for word in ("timeout", "interrupted")):
        status = Status.TIMED_OUT
    return Run(
        status=status,
        rows=found.get("rows", 0),
        columns=found.get("columns", 0),
        is_null=found.get("is_null", False),
        is_zero=found.get("is_zero", False),
        ordered=found.get("ordered", ""),
        members=found.get("members", ""),
        detail=detail,
    )
