"""mem0's `add` and `search` over Guardian: an application that speaks mem0 keeps its calls, and memory gets provenance and roles.

```python
with open_memory(load_settings(), space="assistant") as memory:
    memory.add("I am allergic to nuts", user_id="ann")
    memory.search("What may I cook?", filters={"user_id": "ann"})
```

Calls and answers have mem0's form. What differs, and is the point: nothing superseded is found, a restatement adds nothing, and each result
says as what it may be used (`use`), because a user's word is a preference and evidence of nothing. What mem0 infers with a model is the
agent's to write: `infer=True` is refused. Give users spaces of their own, or name `user_id`: it becomes the scope of what is written, and of
what is found.

Run it: `python examples/mem0_facade.py FOLDER`.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mem0.memory.base import MemoryBase

from guardian.contracts.admission import CLAIM_RANK
from guardian.core.export import build_row
from guardian.core.model import SourceKind
from guardian.core.point import PointKind
from guardian.serve.access import Access, authorize
from guardian.serve.body import MAX_QUESTION_CHARS, ContextRecord, ContextRequest, MemoryAnswer, Revision, TaskBody, WriteRequest
from guardian.serve.key import Key, Right
from guardian.serve.problem import ProblemError
from guardian.serve.thread import LoopThread
from guardian.settings import Settings, load_settings
from guardian.wiring import open_access

Messages = str | Mapping[str, str] | Sequence[Mapping[str, str]]
# mem0's ids -> parts of a scope.
_SCOPE = {"user_id": "user_id", "agent_id": "agent_id", "run_id": "session_id"}
_STANDING = ("active", "verified")
# What takes a memory away.
_ENDING = frozenset({"deletion", "correction", "erasure"})
# Of mem0's filters, what is more than equality.
_LOGIC = frozenset({"AND", "OR", "NOT", "$and", "$or", "$not"})
# Records that one question may be given.
_MOST = 100
# An assistant's memory is about its user; say otherwise for questions that are right or wrong whoever asks.
PERSONAL = TaskBody(requires_objective_fact=False, personalization_allowed=True)


class GuardedMemory(MemoryBase):  # type: ignore[misc] # mem0 has no types
    """mem0's interface over one space.

    Args:
        thread: The loop in which the access lives.
        access: Open.
        key: Whose rights the application has; a user's word is kept as such if the key may claim it, else as the agent's.
        space: Where the memories lie.
    """

    def __init__(self, thread: LoopThread, access: Access, key: Key, *, space: str) -> None:
        self._thread, self._access, self._key, self._space = thread, access, key, space

    def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        infer: bool = False,
    ) -> dict[str, list[dict[str, Any]]]:
        """Write each message as a memory of its own.

        Raises:
            ValueError: None of the ids is given, or a model is to infer.
        """
        if infer:
            raise ValueError("no model is asked here: write what the agent concludes, with its parents, through guardian.")
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        scope = _build_scope(ids)
        results = []
        for message in _list_messages(messages):
            memory_id = str(uuid.uuid4())
            self._write(memory_id, message["content"], role=message.get("role", "user"), scope=scope, metadata=metadata)
            results.append({"id": memory_id, "memory": message["content"], "event": "ADD", "role": message.get("role", "user")})
        return {"results": results}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float = 0.1,
        task: TaskBody = PERSONAL,
    ) -> dict[str, list[dict[str, Any]]]:
        """Give what may be said to a question, best first by its role's order.

        Args:
            query: What is asked.
            top_k: Most results.
            filters: mem0's ids, at least one; whose memories. Other names are of the metadata that was added, and must be equal.
            threshold: Least similarity.
            task: What else is known of the question.

        Raises:
            ValueError: There is no query, a number is out of its range, or a filter is more than equality.
        """
        scope, labels = _split_filters(filters or {})
        if not query.strip() or top_k < 0 or not 0 <= threshold <= 1:
            raise ValueError("query must say something, top_k be at least 0, and threshold in [0, 1].")
        results = []
        for record in self._ask(query, task, scope, limit=_MOST if labels else top_k) if top_k else ():
            found = self.get(record.memory_id)
            if found is not None and record.similarity >= threshold and _belongs(found, scope, labels):
                marks = {"use": record.role.value, "marks": list(record.marks), "reason": record.reason.value}
                results.append({**found, "score": record.similarity, **marks})
        return {"results": results[:top_k]}

    def _ask(self, query: str, task: TaskBody, scope: Mapping[str, str], *, limit: int) -> list[ContextRecord]:
        """Give what is rendered, most similar first; of a very long query the beginning is asked."""
        named = {"user": scope.get("user_id"), "agent": scope.get("agent_id"), "session": scope.get("session_id")}
        question = query[:MAX_QUESTION_CHARS]
        asked = ContextRequest(question=question, task=task.model_copy(update=named), limit=min(limit, _MOST))
        given = self._thread.run(self._access.context(self._key, self._space, asked))
        records = [record for each in given.records.values() for record in each if record.rendered]
        return sorted(records, key=lambda record: -record.similarity)

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """Give a memory that stands, or None."""
        known = self._explain(memory_id)
        return _describe(known) if known is not None and _stands(known) else None

    def get_all(self, *, filters: Mapping[str, Any] | None = None, top_k: int = 20) -> dict[str, list[dict[str, Any]]]:
        """List memories that stand, by id.

        Raises:
            ValueError: A filter is more than equality.
        """
        scope, labels = _split_filters(filters or {})
        found = [self.get(memory_id) for memory_id in self._thread.run(self._list_ids())]
        return {"results": [each for each in found if each is not None and _belongs(each, scope, labels)][:top_k]}

    def update(self, memory_id: str, text: str | None = None, metadata: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Write another text of a memory, or put metadata to it; the earlier text is revised, and stays in its history.

        Raises:
            ValueError: There is no such memory, or none that stands: what was deleted or corrected does not come back by an update.
        """
        known = self._require(memory_id)
        kept, current = known.revisions[0].metadata.get("mem0", {}), known.revisions[0].text
        self._write(
            memory_id,
            str(current) if text is None else text,
            role=kept.get("role", "user"),
            scope=kept.get("scope", {}),
            metadata={**(kept.get("metadata") or {}), **(metadata or {})},
        )
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Bar a memory from answers; `guardian erase` destroys one.

        Raises:
            ValueError: There is no such memory, or none that stands.
        """
        self._require(memory_id)
        self._thread.run(self._access.delete(self._key, self._space, memory_id))
        return {"message": "Memory deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Give the changes of a memory, the first first; what a correction did is among them."""
        known = self._explain(memory_id)
        revisions = sorted(known.revisions, key=lambda each: each.observed_at or "") if known is not None else []
        changes, before = [], None
        for revision in revisions:
            changes.append(
                _build_change(memory_id, before, revision.text, "ADD" if before is None else "UPDATE", revision.observed_at)
            )
            before = revision.text
        if revisions and revisions[-1].status not in _STANDING:
            ends = [str(event["time"]) for event in known.events if event["what"] in _ENDING] if known is not None else []
            changes.append(_build_change(memory_id, before, None, _name_end(revisions[-1]), max(ends, default=None)))
        return changes

    def _explain(self, memory_id: str) -> MemoryAnswer | None:
        try:
            return self._thread.run(self._access.explain(self._key, self._space, memory_id))
        except ProblemError as exc:
            if exc.status in {404, 422}:  # unknown, or what can be no id
                return None
            raise

    def _require(self, memory_id: str) -> MemoryAnswer:
        known = self._explain(memory_id)
        if known is None or not _stands(known):
            raise ValueError(f"Memory with id {memory_id} not found")
        return known

    def _write(
        self, memory_id: str, text: str, *, role: str, scope: Mapping[str, str], metadata: Mapping[str, Any] | None
    ) -> None:
        body = {
            "memory_id": memory_id,
            "text": text,
            "kind": "other",
            "source": {"kind": self._choose_kind(role).value},
            "scope": dict(scope),
            "metadata": {"mem0": {"role": role, "scope": dict(scope), "metadata": dict(metadata or {})}},
        }
        self._thread.run(self._access.write(self._key, self._space, WriteRequest.model_validate(body)))

    def _choose_kind(self, role: str) -> SourceKind:
        wanted = SourceKind.USER if role == "user" else SourceKind.AGENT
        return wanted if CLAIM_RANK[wanted] <= CLAIM_RANK[self._key.highest] else SourceKind.AGENT

    async def _list_ids(self) -> list[str]:
        authorize(self._key, self._space, Right.READ)
        points = self._access.store.iter_points(space=self._space, kinds={PointKind.RECORD})
        rows = [build_row(point) async for point in points]
        return sorted({row["memory_id"] for row in rows if row["current"] and row["status"] in _STANDING})


def _split_filters(filters: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Split filters into a scope and what metadata must equal; one that was passed over would give what was not asked for.

    Raises:
        ValueError: None of the ids is named, or a filter is more than equality.
    """
    labels = {name: value for name, value in filters.items() if name not in _SCOPE}
    for name, value in labels.items():
        if name in _LOGIC or isinstance(value, Mapping) or value == "*":
            raise ValueError(f"the filter {name!r} is more than equality, which is all that is filtered by here.")
    return _build_scope(filters), labels


def _build_scope(ids: Mapping[str, Any]) -> dict[str, str]:
    given = {part: str(ids[name]).strip() for name, part in _SCOPE.items() if ids.get(name)}
    scope = {part: value for part, value in given.items() if value}
    if not scope:
        raise ValueError("At least one of 'user_id', 'agent_id', or 'run_id' must be provided.")
    return scope


def _list_messages(messages: Messages) -> list[Mapping[str, str]]:
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


def _stands(known: MemoryAnswer) -> bool:
    return bool(known.revisions) and known.revisions[0].status in _STANDING


def _belongs(found: Mapping[str, Any], scope: Mapping[str, str], labels: Mapping[str, Any]) -> bool:
    is_own = all(found.get(name) == scope[part] for name, part in _SCOPE.items() if part in scope)
    metadata = found.get("metadata") or {}
    return is_own and all(name in metadata and metadata[name] == value for name, value in labels.items())


def _describe(known: MemoryAnswer) -> dict[str, Any]:
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
        **{name: scope[part] for name, part in _SCOPE.items() if part in scope},
        "role": kept.get("role"),
    }


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


@contextmanager
def open_memory(settings: Settings, *, space: str, place: str | None = None, key: Key | None = None) -> Iterator[GuardedMemory]:
    """Open a memory for this process.

    Args:
        settings: Guardian's.
        space: Where the memories lie.
        place: Folder of an embedded store, or URL of a server; None for the settings'.
        key: Whose rights it has; None for one that may read and write this space and carry a user's word.
    """
    rights = frozenset({Right.READ, Right.WRITE})
    own = key or Key(name="mem0", spaces=(space,), may=rights, highest=SourceKind.USER, actor="mem0", source="/mem0")
    with LoopThread() as thread:
        yield GuardedMemory(thread, thread.enter(open_access(settings, place)), own, space=space)


def main(folder: Path) -> None:
    """Add and search."""
    with open_memory(load_settings(), space="assistant", place=str(folder)) as memory:
        memory.add("I prefer tea without sugar", user_id="ann")
        for result in memory.search("How do I like tea?", filters={"user_id": "ann"})["results"]:
            print(result["memory"], result["use"], result["score"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python examples/mem0_facade.py FOLDER")
    main(Path(sys.argv[1]))
