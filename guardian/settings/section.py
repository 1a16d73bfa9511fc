"""What all groups of settings share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

# Longest durations, seconds. Kafka counts milliseconds in 32 bits, which is 24 days; and a time plus a century is still in the calendar,
# for no record is taken for later than the year 9000.
DAY_S = 86_400.0
CENTURY_S = 3_155_760_000.0


class Section(BaseModel):
    """A group of settings; frozen, and a wrong name in it is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
