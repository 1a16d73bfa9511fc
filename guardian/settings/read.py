"""How memory is read: how much is given, and what is done when nothing verified answers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from guardian.settings.section import Section


class ReadSettings(Section):
    """What a context may hold, and where its ledger goes."""

    limit: int = Field(10, ge=1, le=100, description="Most records of a context.")
    per_family: int = Field(1, ge=1, le=100, description="Most records of one family; restatements add nothing.")
    overfetch: int = Field(2, ge=1, le=100, description="Records read with the search for each one asked.")
    least_utility: float = Field(0.3, ge=0, le=1, description="Deflated utility below which an episode is no example.")
    when_unverified: Literal["flag", "ask", "abstain"] = Field(
        "flag", description="What is done when a question of fact finds no verified record."
    )
    token_budget: int | None = Field(
        2_000,
        ge=1,
        description="Most tokens of a prompt, by an estimate; null for no limit. One that holds no prompt at all (some 60) is refused.",
    )
    max_text_chars: int = Field(
        2_000, ge=20, le=100_000, description="Characters shown of one memory; the rest is marked as cut."
    )
    classifier: Literal["local", "none"] = Field(
        "local", description="Who guesses what a question asks for; local needs a store whose vectors are all-MiniLM-L6-v2's."
    )
    least_confidence: float = Field(0.5, ge=0, le=1, description="Confidence from which a classifier of questions is believed.")
    tells_barred: bool = Field(
        True,
        description="Whether what a question of fact may never be given is looked for and told; without, such reads cost less.",
    )
    ledger_dir: Path | None = Field(
        None, description="Folder for the ledger and the memory.read events of `guardian context`; without one nothing is kept."
    )
    query_key: SecretStr | None = Field(None, description="Key of the digests of questions in the ledger.")
