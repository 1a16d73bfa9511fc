"""What a space's rules may be set to; every default is the design's, with its unit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase

import orjson

from guardian.core.model import Audited, Authority, ChannelTrust, Source, SourceKind, Written

# Kinds whose word verifies: what they say is outside the agent.
VERIFYING_KINDS = frozenset({SourceKind.DOCUMENT, SourceKind.TOOL, SourceKind.HUMAN_REVIEW})
# The calibration of a space that has none: every channel is believed by its alpha or by `default_alpha`.
UNCALIBRATED = "default"
# Channels that say more than evidence does: the truth, and the agent's own word.
GOLD, SELF = "gold", "self"
# A verdict below it says wrong: the middle of [0, 1], where a verdict says neither.
WRONG_BELOW = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings that decide meaning; the same policy and the same events give the same state.

    Attributes:
        verify_kinds: Source kinds whose writes that say `verified` are believed.
        verify_actors: Actors (exact) that are believed, too, unless their kind is agent or unknown: what a sender may claim is
            capped by kind, and an actor's name alone is no proof.
        correct_kinds: Authority kinds that may correct, retract, link, erase and calibrate.
        correct_actors: Actors (exact) that may, too, unless their kind is agent or unknown.
        restate_threshold: Token-set ratio in [0, 1] from which one text restates another.
        session_window: How long before a write a read of its session counts.
        session_reads: How many of the latest reads of the session are looked at.
        max_roots: Roots kept on a record; more are cut to the smallest ids.
        alphas: Channel -> alpha in [0, 1] of LUCID, for channels that passed the error-independence test; 0 for those that failed.
        payoffs: Channel -> variance of the bias that it removes; of several channels the largest is used.
        detectors: Channels of the settings that count as detectors: their flags alone are heard.
        default_alpha: Alpha of any other channel while there is no calibration.
        calibration: Id of the calibration that the figures come from; utilities compare within one id.
        channels: Of a calibration that was activated by an event, all it says; it takes the place of `alphas`, `payoffs`
            and `detectors`.
        gold_sources: Patterns of event sources whose verdicts of the channels `gold` and `self` are believed.
    """

    verify_kinds: frozenset[SourceKind] = VERIFYING_KINDS
    verify_actors: frozenset[str] = frozenset()
    correct_kinds: frozenset[SourceKind] = VERIFYING_KINDS | {SourceKind.USER}
    correct_actors: frozenset[str] = frozenset()
    restate_threshold: float = 0.75
    session_window: timedelta = timedelta(minutes=60)
    session_reads: int = 20
    max_roots: int = 64
    alphas: Mapping[str, float] = field(default_factory=dict)
    payoffs: Mapping[str, float] = field(default_factory=dict)
    detectors: frozenset[str] = frozenset()
    default_alpha: float = 0.5
    calibration: str = UNCALIBRATED
    channels: Mapping[str, ChannelTrust] | None = None
    gold_sources: tuple[str, ...] = ("*",)

    @property
    def is_calibrated(self) -> bool:
        """Whether only channels that passed a calibration may demote."""
        return self.calibration != UNCALIBRATED

    @property
    def trusted(self) -> dict[str, ChannelTrust]:
        """What may demote by the calibration: passes, and moves a grade at all."""
        given = self.channels
        if given is None:
            given = {name: self._trust(name, alpha, self.payoffs.get(name, 0.0)) for name, alpha in self.alphas.items()}
        return {name: one for name, one in given.items() if one.passes and one.alpha > 0}

    def hear(self, channels: Iterable[str]) -> dict[str, ChannelTrust]:
        """Give what may move a grade that these channels judged: what a calibration trusts, else each of them, for no payoff is known."""
        if self.is_calibrated:
            return self.trusted
        return {name: self._trust(name, self.alphas.get(name, self.default_alpha), 0.0) for name in channels}

    def weighs(self, channel: str) -> bool:
        """Tell whether what a channel says moves grades as a score, by itself or in a mean; a detector's silence moves none."""
        heard = self.hear([channel])
        return any(one.alpha > 0 and not one.detects and channel in (one.members or (name,)) for name, one in heard.items())

    def _trust(self, channel: str, alpha: float, payoff: float) -> ChannelTrust:
        return ChannelTrust(alpha=alpha, payoff=payoff, passes=True, detects=channel in self.detectors)

    @property
    def mark(self) -> str | None:
        """What a record keeps of the calibration its utility was made by: id and a digest of the figures; None without one.

        The digest is there for ids that people make up, and for settings that change without their id.
        """
        if not self.is_calibrated:
            return None
        # Of a detector one more, so that the marks of calibrations without one are what they were.
        figures = {name: [one.alpha, one.payoff, *one.members, *[True] * one.detects] for name, one in self.trusted.items()}
        digest = hashlib.sha256(orjson.dumps(figures, option=orjson.OPT_SORT_KEYS)).hexdigest()
        return f"{self.calibration}#{digest[:12]}"

    def believes(self, event: Written) -> bool:
        """Tell whether the write's claim to be verified is granted by its own named source."""
        if not event.verified or event.source is None:
            return False
        if event.source.kind is SourceKind.USER and set(event.parents or ()) - {event.memory_id}:
            return False  # a user's word for what an agent derived is no verification
        return event.source.kind in self.verify_kinds or _is_named(event.source, self.verify_actors)

    def trusts(self, authority: Authority | None) -> bool:
        """Tell whether the authority may correct, retract, link, erase and calibrate."""
        if authority is None:
            return False
        return authority.kind in self.correct_kinds or _is_named(authority, self.correct_actors)

    def believes_verdict(self, event: Audited) -> bool:
        """Tell whether the event's source may say what it says: of `gold` and `self` not everybody may be believed."""
        if event.channel not in {GOLD, SELF}:
            return True
        return any(fnmatchcase(event.ref.source, pattern) for pattern in self.gold_sources)


def name_calibration(mark: str | None) -> str:
    """Give the id of the calibration in a record's mark."""
    return UNCALIBRATED if mark is None else mark.rpartition("#")[0]


def _is_named(source: Source, actors: frozenset[str]) -> bool:
    return source.actor in actors and source.kind not in {SourceKind.AGENT, SourceKind.UNKNOWN}
