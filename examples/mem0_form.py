"""mem0's forms: its ids, filters, messages, results and history, from and to Guardian's. Pure; `mem0_facade.py` has the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from guardian.serve.body import MemoryAnswer, Revision

Messages = str | Mapping[str, str] | Sequence[Mapping[str, str]]
# mem0's ids -> parts of a scope.
SCOPE = {"user_id": "user_id", "agent_id": "agent_id", "run_id": "session_id"}
STANDING = ("active", "verified")
# What takes a memory away.
_ENDING = frozenset({"deletion", "correction", "erasure"})
# What mem0 keeps apart from the metadata of a memory, and takes from nobody's metadata.
_IDENTITY = frozenset({*SCOPE, "actor_id"})
# Of mem0's filters, what is more than equality.
_LOGIC = frozenset({"AND", "OR", "NOT", "$and", "$or", "$not"})


def split_filters(filters: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Split filters into a scope and what metadata must equal; one that was passed over would give what was not asked for.

    Raises:
        ValueError: None of the ids is named, or a filter is more than equality.
    """
    labels = {name: value for name, value in filters.items() if name not in SCOPE}
    for name, value in labels.items():
        if name in _LOGIC or isinstance(value, Mapping) or value == "*":
            raise ValueError(f"the filter {name!r} is more than equality, which is all that is filtered by here.")
    return build_scope(filters), labels


def build_scope(ids: Mapping[str, Any]) -> dict[str, str]:
    """Build the scope that mem0's ids name; one that says nothing is refused, since without it more would be meant.

    Raises:
        ValueError: None of them is given, or one is blank or of several words.
    """
    scope = {}
    for name, part in SCOPE.items():
        if ids.get(name) is not None:
            words = str(ids[name]).split()
            if len(words) != 1:
                raise ValueError(f"Invalid {name}: cannot be empty or contain whitespace.")
            scope[part] = words[0]
    if not scope:
        raise ValueError("At least one of 'user_id', 'agent_id', or 'run_id' must be provided.")
    return scope


def drop_identity(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Take out whose memory it is: that is said by the ids alone."""
    return {name: value for name, value in (metadata or {}).items() if name not in _IDENTITY}


def read_date(value: date | str | None) -> str | None:
    """Give a date as mem0 keeps it.

    Raises:
        ValueError: It is none.
    """
    if value is None:
        return None
    try:
        last = value.date() if isinstance(value, datetime) else date.fromisoformat(str(value))
    except ValueError as exc:
        raise ValueError("expiration_date must be a valid date in YYYY-MM-DD format.") from exc
    return last.isoformat()


def list_messages(messages: Messages) -> list[Mapping[str, str]]:
    """List the messages that have a text and are no system's.

    Raises:
        ValueError: They are no messages.
    """
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    given = [messages] if isinstance(messages, Mapping) else messages
    if not isinstance(given, Sequence) or not all(isinstance(message, Mapping) for message in given):
        raise ValueError("messages must be str, dict, or list[dict]")  # as mem0 says it
    said = [{**message, "content": _read_content(message.get("content"))} for message in given if message.get("role") != "system"]
    return [message for message in said if message["content"]]


def _read_content(content: Any) -> str:
    """Give the text of a message, which may come in parts; pictures have none."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping)).strip()
    return str(content or "")


def stands(known: MemoryAnswer) -> bool:
    """Tell whether a memory has a text in force."""
    return bool(known.revisions) and known.revisions[0].status in STANDING


def belongs(found: Mapping[str, Any], scope: Mapping[str, str], labels: Mapping[str, Any]) -> bool:
    """Tell whether a result is of a scope, and its metadata equal what is wanted."""
    is_own = all(found.get(name) == scope[part] for name, part in SCOPE.items() if part in scope)
    metadata = {**(found.get("metadata") or {}), "actor_id": found.get("actor_id")}
    return is_own and all(name in metadata and metadata[name] == value for name, value in labels.items())


def describe(known: MemoryAnswer) -> dict[str, Any]:
    """Give a memory as mem0 does."""
    current: Revision = known.revisions[0]
    kept = current.metadata.get("mem0", {})
    times = sorted(revision.observed_at for revision in known.revisions if revision.observed_at is not None)
    scope = kept.get("scope", {})
    return {
        "id": known.memory_id,
        "memory": current.text,
        "hash": current.revision,
        "metadata": kept.get("metadata") or None,
        "created_at": times[0],
        "updated_at": times[-1],
        **{name: scope[part] for name, part in SCOPE.items() if part in scope},
        **{name: kept.get(name) for name in ("actor_id", "role", "expiration_date")},
    }


def list_changes(known: MemoryAnswer) -> list[dict[str, Any]]:
    """List the changes of a memory as mem0's history has them, the first first; a correction is SUPERSEDED."""
    revisions = sorted(known.revisions, key=lambda each: each.observed_at or "")
    changes, before = [], None
    for revision in revisions:
        event = "ADD" if before is None else "UPDATE"
        changes.append(_build_change(known.memory_id, before, revision.text, event, revision.observed_at))
        before = revision.text
    if revisions and revisions[-1].status not in STANDING:
        ends = [str(event["time"]) for event in known.events if event["what"] in _ENDING]
        changes.append(_build_change(known.memory_id, before, None, _name_end(revisions[-1]), max(ends, default=None)))
    return changes


def _build_change(memory_id: str, old: str | None, new: str | None, event: str, when: str | None) -> dict[str, Any]:
    return {
        "memory_id": memory_id,
        "old_memory": old,
        "new_memory": new,
        "event": event,
        "created_at": when,
        "is_deleted": int(new is None),
    }


def _name_end(revision: Revision) -> str:
    reasons = {str(reason["reason"]) for reason in revision.reasons}
    return "DELETE" if "deleted" in reasons or revision.status == "erased" else "SUPERSEDED"
