"""What all models of the wire share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class WireModel(BaseModel):
    """Anything Guardian reads: frozen, and unknown fields stay."""

    model_config = ConfigDict(frozen=True, extra="allow")
