"""A calibration as a document: what `guardian audit report` exports, and what `guardian audit activate` reads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from guardian.contracts.wire import ChannelTrustWire, Id
from guardian.core.model import ChannelTrust
from guardian.core.moment import format_time
from guardian.core.policy import GOLD, SELF
from guardian.errors import ConfigError
from guardian.trust.calibrate import EVERYWHERE, MEASURED, Assessment, Calibration
from guardian.trust.gate import LEAST_FLAGS, LEAST_LABELLED, LEAST_TRUTH, MOST_BIAS

FORMAT = "guardian-calibration/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Calibrations of one run, with what they were asked with.

    Attributes:
        gain, harm: g and h, of demoting a wrong record and a right one.
        calibrations: Over all spaces first, then over those of each pattern.
    """

    made_at: datetime
    gain: float
    harm: float
    calibrations: tuple[Calibration, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activatable:
    """What of a document is activated: the id and the channels, for the spaces of a pattern."""

    id: str
    spaces: str
    channels: dict[str, ChannelTrust]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: Id
    spaces: str
    trusts: dict[Id, ChannelTrustWire]
    seal: str | None = None


class _Document(BaseModel):
    model_config = ConfigDict(extra="ignore")

    format: Literal["guardian-calibration/1"]
    calibrations: list[_Entry] = Field(min_length=1)


def build_document(report: Report) -> dict[str, Any]:
    """Build the document: all figures with intervals and sample sizes, the decision on each channel, and what an activation sends."""
    return {
        "format": FORMAT,
        "made_at": format_time(report.made_at),
        "gain": report.gain,
        "harm": report.harm,
        "rules": {
            "least_labelled": LEAST_LABELLED,
            "least_truth": LEAST_TRUTH,
            "most_bias": MOST_BIAS,
            "least_flags": LEAST_FLAGS,
        },
        "calibrations": [describe_calibration(one) for one in report.calibrations],
    }


def dump_document(report: Report) -> bytes:
    """Give the document as indented JSON."""
    return orjson.dumps(build_document(report), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def describe_calibration(calibration: Calibration) -> dict[str, Any]:
    """Give a calibration as a plain mapping."""
    plain = asdict(calibration)
    del plain["cells"]
    return plain | {
        "id": calibration.id,
        "alphas": calibration.alphas,
        "payoffs": calibration.payoffs,
        "detectors": calibration.detectors,
        "channels": [_describe(one) for one in calibration.channels],
        "ensembles": [_describe(one) for one in calibration.ensembles],
        "trusts": {name: _describe_trust(trust) for name, trust in calibration.trusts.items()},
        "seal": seal(calibration.id, calibration.spaces, calibration.trusts),
    }


def _describe(one: Assessment) -> dict[str, Any]:
    return {**asdict(one), "passes": one.passes, "detects": one.detects, "usable_alpha": one.usable_alpha}


def _describe_trust(trust: ChannelTrust) -> dict[str, Any]:
    return {name: value for name, value in asdict(trust).items() if value or name not in {"members", "detects"}}


def seal(calibration: str, spaces: str, trusts: Mapping[str, ChannelTrust]) -> str:
    """Digest what is activated, so that a measured id cannot come to stand for decisions that nobody measured."""
    said = {
        name: [float(one.alpha), float(one.payoff), one.passes, one.detects, sorted(set(one.members))]
        for name, one in trusts.items()
    }
    return hashlib.sha256(orjson.dumps([calibration, spaces, said], option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def read_document(content: bytes, *, name: str) -> list[Activatable]:
    """Read what a document lets activate.

    Raises:
        ConfigError: It is no such document, it was changed under the id that a report gave it, or it weighs what is no evidence.
    """
    try:
        document = _Document.model_validate_json(content)
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"])) or "it"
        raise ConfigError(
            f"{name} is no calibration: {place}: {fault['msg']}.",
            mend="export one with `guardian audit report --export FILE.json`.",
        ) from exc
    return [_check(_build_activatable(entry), entry, name=name) for entry in document.calibrations]


def _build_activatable(entry: _Entry) -> Activatable:
    channels = {
        name: ChannelTrust(
            alpha=one.alpha,
            payoff=one.payoff,
            passes=one.passes,
            members=tuple(sorted(set(one.members or ()))),
            detects=one.detects,
        )
        for name, one in sorted(entry.trusts.items())
    }
    return Activatable(id=entry.id, spaces=entry.spaces, channels=channels)


def _check(one: Activatable, entry: _Entry, *, name: str) -> Activatable:
    no_evidence = sorted({GOLD, SELF} & {channel for key, trust in one.channels.items() for channel in (key, *trust.members)})
    if no_evidence:
        raise ConfigError(
            f"{name}: {one.id} weighs the channel {no_evidence[0]}, which is no evidence beside the truth and the agent's own word.",
            mend="leave it out.",
        )
    if one.id.startswith(MEASURED) and entry.seal != seal(one.id, one.spaces, one.channels):
        raise ConfigError(
            f"{name}: {one.id} was changed after it was measured.",
            mend="export it again with `guardian audit report --export FILE.json`, or give decisions of your own an id of their own.",
        )
    return one


def choose_calibration(space: str, calibrations: Sequence[Activatable]) -> Activatable | None:
    """Choose for a space: the first whose pattern matches and is not every space, else that of every space."""
    matching = [one for one in calibrations if fnmatchcase(space, one.spaces)]
    return next((one for one in matching if one.spaces != EVERYWHERE), matching[0] if matching else None)
