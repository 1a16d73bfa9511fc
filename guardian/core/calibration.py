"""Calibrations of a space: activated by an event, and laid over what the settings say.

Of several that stand, the one that took effect last holds. An activation rewrites nothing by itself: a utility is worked out anew when
its memory is touched, or when a `memory.rated` event names it, and a record keeps which calibration its utility was made by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from guardian.core.claim import dump_ref, dump_source, load_ref, load_source
from guardian.core.fact import build_event_key, build_fact_id
from guardian.core.model import Authority, Calibrated, ChannelTrust, EventRef
from guardian.core.moment import format_time, parse_time
from guardian.core.point import PointKind
from guardian.core.policy import UNCALIBRATED, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A calibration that was activated for a space.

    Attributes:
        key: Point id.
        name: The calibration's id.
    """

    key: str
    ref: EventRef
    name: str
    channels: Mapping[str, ChannelTrust]
    effective_at: datetime
    authority: Authority | None = None
    reason: str | None = None

    @property
    def order(self) -> tuple[datetime, str, str, str, str]:
        """Place among calibrations: effective time, then event source and id."""
        return (self.effective_at, self.ref.source, self.ref.id, self.ref.digest, self.key)


def build_calibration(event: Calibrated) -> Calibration:
    """Build the fact of an activation."""
    return Calibration(
        key=build_fact_id(event.space, PointKind.CALIBRATION, event.ref),
        ref=event.ref,
        name=event.calibration,
        channels=event.channels,
        effective_at=event.effective_at,
        authority=event.authority,
        reason=event.reason,
    )


def dump_calibration(calibration: Calibration, space: str) -> dict[str, Any]:
    """Give the payload of an activation's point."""
    facts = {
        "o": dump_ref(calibration.ref),
        "n": calibration.name,
        "c": {name: _dump_trust(one) for name, one in sorted(calibration.channels.items())},
        "e": format_time(calibration.effective_at),
        "a": dump_source(calibration.authority),
        "y": calibration.reason,
    }
    return {
        "point": PointKind.CALIBRATION.value,
        "space": space,
        "events": [build_event_key(calibration.ref.source, calibration.ref.id)],
        "facts": orjson.dumps(facts).decode(),
    }


def load_calibration(point_id: str, payload: Any) -> Calibration:
    """Read an activation from its payload."""
    facts = orjson.loads(payload["facts"])
    return Calibration(
        key=point_id,
        ref=load_ref(facts["o"]),
        name=facts["n"],
        channels={name: _load_trust(*facts) for name, facts in facts["c"].items()},
        effective_at=parse_time(facts["e"]),
        authority=load_source(facts["a"]),
        reason=facts["y"],
    )


def _dump_trust(trust: ChannelTrust) -> list[Any]:
    """Give what is stored of a channel; only a detector has the last, so a Guardian that knows none reads the others."""
    return [trust.alpha, trust.payoff, trust.passes, list(trust.members), *[True] * trust.detects]


def _load_trust(alpha: float, payoff: float, passes: bool, members: list[str], detects: bool = False) -> ChannelTrust:
    return ChannelTrust(alpha=alpha, payoff=payoff, passes=passes, members=tuple(members), detects=detects)


def overlay(policy: Policy, calibrations: Iterable[Calibration]) -> Policy:
    """Give the policy of a space under the last of its calibrations; one named `default` gives it back to the settings."""
    last = max(calibrations, key=lambda one: one.order, default=None)
    if last is None or last.name == UNCALIBRATED:
        return policy
    return replace(policy, calibration=last.name, channels=last.channels)
