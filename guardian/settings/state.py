"""Where state lies, and how its vectors are made."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from guardian.settings.section import Section


class StoreSettings(Section):
    """Where state lies: a folder for the embedded engine, or a server."""

    path: Path = Field(Path(".guardian/store"), description="Folder of the embedded engine, used when no url is given.")
    url: str | None = Field(None, description="Qdrant server, such as http://127.0.0.1:6333.")
    collection: str = Field("guardian", description="Collection on the server.")
    api_key: SecretStr | None = Field(None, description="API key of the server.")
    ca_file: Path | None = Field(None, description="PEM file of the authority that signs the server's certificate.")
    timeout_s: float = Field(30.0, gt=0, description="Longest wait for one answer of the server, seconds.")
    prefer_grpc: bool = Field(False, description="Speak gRPC to the server.")
    min_free_bytes: int = Field(
        1_000_000_000,
        ge=0,
        description="The embedded engine refuses writes below this free disk: a full disk would kill the process.",
    )


class EmbeddingSettings(Section):
    """How dense vectors are made."""

    provider: Literal["none", "given", "sentence-transformers", "openai"] = Field(
        "none", description="Who makes the vectors; none stores records with BM25 alone, given takes those in the events."
    )
    model: str = Field("all-MiniLM-L6-v2", description="Name or folder of the model.")
    size: int | None = Field(None, gt=0, description="Vector size; needed for given, else told by the model.")
    device: str | None = Field(None, description="Device for sentence-transformers, such as cpu or cuda:0.")
    batch_size: int = Field(64, gt=0, description="Texts per call of the model.")
    cache_entries: int = Field(10_000, ge=0, description="Vectors kept in memory by text digest.")
    allow_download: bool = Field(False, description="Let sentence-transformers fetch a model that is not on this machine.")
    base_url: str = Field("https://api.openai.com/v1", description="Any OpenAI-compatible endpoint.")
    api_key: SecretStr | None = Field(None, description="Its key.")
    dimensions: int | None = Field(None, gt=0, description="Asks an OpenAI-compatible model for this vector size.")
    timeout_s: float = Field(30.0, gt=0, description="Longest wait for one answer, seconds.")
    max_retries: int = Field(3, ge=0, description="Tries after the first.")

    @model_validator(mode="after")
    def _needs_size(self) -> Self:
        if self.provider == "given" and self.size is None:
            raise ValueError("provider given needs size, the size of the vectors in your events")
        return self
