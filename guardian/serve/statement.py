"""Statements: what a caller says becomes an event, on the word of its key and never of more.

The event's source and the authority's actor are the key's; kinds are capped by it, and a claim above the cap is refused, not lowered in
silence. The codec's own cap stands behind that, so one missed check is not enough. An actor whom the space trusts by name is a name
that only its own key may use.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson
from pydantic import BaseModel

from guardian.contracts.admission import CLAIM_RANK, DecodePolicy
from guardian.contracts.codec import decode
from guardian.core.model import Event, SourceKind
from guardian.core.moment import format_time
from guardian.core.policy import Policy
from guardian.serve.body import CorrectRequest, WriteRequest
from guardian.serve.key import Key, Right
from guardian.serve.problem import ProblemError

_NAMING = {"event_id", "time"}


def build_statement(
    kind: str,
    data: Mapping[str, Any],
    *,
    key: Key,
    space: str,
    policy: DecodePolicy,
    now: datetime,
    event_id: str | None = None,
    time: datetime | None = None,
) -> Event:
    """Build an event as a worker would read it.

    Raises:
        RecordError: It can never succeed.
        ProblemError: It claims more than the key may.
    """
    envelope = {
        "specversion": "1.0",
        "id": event_id or str(uuid.uuid4()),
        "source": key.source,
        "type": kind,
        "time": format_time(now) if time is None else time.isoformat(),
        "space": space,
        "data": data,
    }
    try:
        raw = orjson.dumps(envelope)
    except orjson.JSONEncodeError as exc:
        raise _refuse_content() from exc
    capped = replace(policy, trust_topics=(("*", key.highest),))
    decoded = decode(raw, policy=capped, received_at=now, ingress=key.source)
    if decoded.trust_lowered:
        raise _refuse_claim(key)
    return decoded.event


def build_written_data(asked: WriteRequest, key: Key, policy: Policy) -> dict[str, Any]:
    """Build the data of a write.

    Raises:
        ProblemError: It claims more than the key may.
    """
    if (asked.verified or asked.supersedes) and Right.CORRECT not in key.may:
        raise ProblemError(
            403,
            "may_not_verify",
            f"the key {key.name} may write, but neither verify nor supersede.",
            "leave out verified and supersedes, or use a key that may correct.",
        )
    data = _dump(asked)
    _check_source(data.get("source"), key, policy)
    return data


def build_corrected_data(asked: CorrectRequest, key: Key, policy: Policy) -> dict[str, Any]:
    """Build the data of a correction, on the word of the key.

    Raises:
        ProblemError: It claims more than the key may.
    """
    data = _dump(asked)
    authority = {**(data.get("authority") or {})}
    if authority.get("actor") not in (None, key.actor):
        raise ProblemError(403, "actor_not_yours", f"the key {key.name} acts as {key.actor}.", "leave out authority.actor.")
    data["authority"] = {"ref": authority.get("ref"), "kind": authority.get("kind") or key.highest.value, "actor": key.actor}
    _check_kind(data["authority"]["kind"], key)
    if isinstance(data.get("replacement"), dict):
        _check_source(data["replacement"].get("source"), key, policy)
    return data


def _dump(asked: BaseModel) -> dict[str, Any]:
    try:
        return asked.model_dump(mode="json", exclude=_NAMING, exclude_unset=True)
    except (ValueError, RecursionError) as exc:  # metadata of too many levels
        raise _refuse_content() from exc


def _refuse_content() -> ProblemError:
    return ProblemError(
        422,
        "not_json",
        "the body holds what cannot be kept as JSON: half a character, a whole number beyond 64 bits, or too many levels.",
        "cut texts at characters, send such a number as a string, and nest metadata less than 200 levels deep.",
    )


def _check_source(source: Mapping[str, Any] | None, key: Key, policy: Policy) -> None:
    if source is None:
        return
    _check_kind(source.get("kind"), key)
    trusted = (policy.verify_actors | policy.correct_actors) - {key.actor}
    if source.get("actor") in trusted:
        raise ProblemError(
            403, "actor_not_yours", "the source names an actor whom this space trusts by name.", "use that actor's own key."
        )


def _check_kind(kind: str | None, key: Key) -> None:
    if kind is not None and CLAIM_RANK[SourceKind(kind)] > CLAIM_RANK[key.highest]:
        raise _refuse_claim(key)


def _refuse_claim(key: Key) -> ProblemError:
    return ProblemError(
        403,
        "claims_too_much",
        f"the key {key.name} may claim to be {key.highest.value} at most.",
        "name a source or authority of that kind or below, or use another key.",
    )
