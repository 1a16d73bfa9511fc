"""What a reader may set: how many records, which, and what is done when nothing verified answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from guardian.core.model import Status

STANDING = frozenset({Status.ACTIVE, Status.VERIFIED})


class WhenUnverified(StrEnum):
    """What is done when a question of fact finds no verified record."""

    FLAG = "flag"
    ASK = "ask"
    ABSTAIN = "abstain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPolicy:
    """The settings of a read; the same policy, task and store give the same admission.

    Attributes:
        limit: Most records that are given (k), 1 to 100.
        per_family: Most records of one family; restatements add nothing, so 1.
        overfetch: Records read with the search for each one asked, or somewhat more where persons' memories are barred. What
            families, scopes and roles take away is often made up by that; more are read, and at last searched for, where it is not.
        max_searches: Most searches of one call.
        least_utility: Deflated utility in [0, 1] below which an episode or skill is no example. One without any grade is taken
            to have just this.
        passing_channels: Evidence channels that may demote: those that passed as a score or as a detector, and `gold`. Where a
            calibration is activated in a space, that one says which.
        when_unverified: What is done when a question of fact finds no verified record.
        token_budget: Tokens that the prompt takes at most, by the counter in use; None for no limit. A reader refuses one that holds no
            prompt at all (some 60 by the estimate).
        max_text_chars: Characters shown of one text; the rest is cut, and marked as cut.
        at: Time asked about; None for the present. Records that do not hold then are out.
        tells_barred: Whether a read that uses no memory of persons tells what it found and may never give, such as a wish where a
            fact is asked for. Without, such records are not searched for: it costs less, and the ledger cannot say what was kept out.
        statuses: Statuses that are looked at. Superseded ones among them are listed as such, and shown to history questions only.
        least_confidence: Confidence in [0, 1] from which a classifier is believed; one that abstains by itself needs no more.
    """

    limit: int = 10
    per_family: int = 1
    overfetch: int = 2
    max_searches: int = 3
    least_utility: float = 0.3
    passing_channels: frozenset[str] = frozenset({"gold"})
    when_unverified: WhenUnverified = WhenUnverified.FLAG
    token_budget: int | None = 2_000
    max_text_chars: int = 2_000
    at: datetime | None = None
    tells_barred: bool = True
    statuses: frozenset[Status] = field(default=STANDING)
    least_confidence: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what no read could be made with.

        Raises:
            ValueError: Names the field and its range.
        """
        for name, least, most in (
            ("limit", 1, 100),
            ("per_family", 1, 100),
            ("overfetch", 1, 100),
            ("max_searches", 1, 10),
            ("least_utility", 0, 1),
            ("least_confidence", 0, 1),
            ("max_text_chars", 20, 100_000),
        ):
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} is {getattr(self, name)}, not {least} to {most}")
        if self.token_budget is not None and self.token_budget < 1:
            raise ValueError(f"token_budget is {self.token_budget}; None means no limit")
        if self.at is not None and self.at.tzinfo is None:
            raise ValueError("at has no time zone")
        if self.at is not None:
            try:
                object.__setattr__(self, "at", self.at.astimezone(UTC))  # stores compare in UTC
            except OverflowError as exc:
                raise ValueError(f"at is {self.at}, which is none of the years 1 to 9999 in UTC") from exc
