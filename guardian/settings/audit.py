"""Evidence channels: which judge, what they judge by, and what they may take."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from guardian.settings.chat import ChatSettings
from guardian.settings.section import DAY_S, Section


class AuditSettings(Section):
    """The evidence channels that judge by themselves, off the write path. Without a channel nothing is asked."""

    channels: tuple[str, ...] = Field(
        (), description="Names of the channels that judge: built in, or of installed packages; see docs/trust.md."
    )
    database_dialect: Literal["sqlite", "duckdb", "postgres"] = Field(
        "sqlite", description="Kind of the database that queries of episodes are run on."
    )
    database: SecretStr | None = Field(
        None, description="Its file (a copy that nobody writes), or its connection string, of a role that may only read."
    )
    query_timeout_s: float = Field(5.0, gt=0, le=3_600.0, description="Longest time of one query, seconds.")
    query_memory_bytes: int = Field(256 << 20, ge=16 << 20, description="Memory of one query beyond the engine's own, bytes.")
    query_rows: int = Field(100_000, ge=1, description="Rows from which a query has too many.")
    query_runs: int = Field(2, ge=1, le=100, description="Runs of a query, to see that they give the same.")
    documents_space: str | None = Field(
        None, min_length=1, description="Space of the documents that answers are checked against; unset: the answer's own."
    )
    documents_store: str | None = Field(
        None, min_length=1, description="Folder or URL of the store they lie in; unset: the worker's own."
    )
    concurrency: int = Field(4, ge=1, le=1_000, description="Cases judged at the same time.")
    case_timeout_s: float = Field(60.0, gt=0, le=DAY_S, description="Longest time of one channel on one case, each try, seconds.")
    tries: int = Field(3, ge=1, le=20, description="Tries of a channel that is away; then the case goes on without it.")
    retry_pause_s: float = Field(1.0, ge=0, le=3_600.0, description="Pause before the second try, doubled each time, seconds.")
    cases_per_minute: float | None = Field(None, ge=1, description="Cases that channels are asked about; unset for no limit.")

    @field_validator("channels")
    @classmethod
    def _names_each_once(cls, channels: tuple[str, ...]) -> tuple[str, ...]:
        """A channel that is named twice would be asked, and paid for, twice."""
        twice = sorted(name for name, times in Counter(channels).items() if times > 1)
        if twice:
            raise ValueError(f"{', '.join(map(repr, twice))}: named more than once; name each channel once")
        return channels


class JudgeSettings(ChatSettings):
    """The model that the channel `regrader` asks, and its budget."""

    agent_models: frozenset[str] = Field(
        frozenset(), description="Names of the models whose episodes are judged; a judge of the same family is flagged."
    )
    calls_per_day: int | None = Field(None, ge=1, description="Questions a day (UTC), for all spaces; unset for no limit.")
