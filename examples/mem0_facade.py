"""mem0's `Memory` over Guardian: an application that speaks mem0 keeps its calls, and memory gets provenance and roles.

```python
with open_memory(load_settings(), space="assistant") as memory:
    memory.add("I am allergic to nuts", user_id="ann")
    memory.search("What may I cook?", filters={"user_id": "ann"})
```

Calls and answers have mem0's form. What differs, and is the point: nothing superseded is found, a restatement adds nothing, and each result
says as what it may be used (`use`), because a user's word is a preference and evidence of nothing. `delete`, `delete_all` and `reset` bar
memories from answers, one event each, and keep them for audit: `guardian erase` destroys. What mem0 infers with a model is the
agent's to write: `infer=True` is refused. Give users spaces of their own, or name `user_id`: it becomes the scope of what is written, and of
what is found.

Run it: `python examples/mem0_facade.py FOLDER`.
"""

from __future__ import annotations

import itertools
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mem0.memory.base import MemoryBase
from mem0_form import (
    STANDING,
    Messages,
    belongs,
    build_scope,
    describe,
    drop_identity,
    list_changes,
    list_messages,
    read_date,
    split_filters,
    stands,
)

from guardian.contracts.admission import CLAIM_RANK
from guardian.core.export import build_row
from guardian.core.model import SourceKind
from guardian.core.point import PointKind
from guardian.serve.access import Access, authorize
from guardian.serve.body import MAX_QUESTION_CHARS, ContextRecord, ContextRequest, MemoryAnswer, TaskBody, WriteRequest
from guardian.serve.key import Key, Right
from guardian.serve.problem import ProblemError
from guardian.serve.thread import LoopThread
from guardian.settings import Settings, load_settings
from guardian.wiring import open_access

_DEFAULT: Any = object()
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
        on_close: Closes what is open; may be called again.
    """

    def __init__(
        self, thread: LoopThread, access: Access, key: Key, *, space: str, on_close: Callable[[], None] = lambda: None
    ) -> None:
        self._thread, self._access, self._key, self._space, self._on_close = thread, access, key, space, on_close

    def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: date | str | None = None,
        infer: bool = False,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, list[dict[str, Any]]]:
        """Write each message as a memory of its own, which holds to the end of its expiration date.

        Raises:
            ValueError: None of the ids is given, a model is to infer, or a time is; mem0's open package takes none, either.
        """
        if infer or memory_type is not None or prompt is not None:
            raise ValueError("no model is asked here: write what the agent concludes, with its parents, through guardian.")
        if timestamp is not None:
            raise ValueError("timestamp is not taken here: replay a history with guardian.")
        kept = {
            "scope": build_scope({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}),
            "metadata": drop_identity(metadata),
            "expiration_date": read_date(expiration_date),
        }
        results = []
        for message in list_messages(messages):
            memory_id, role, actor = str(uuid.uuid4()), message.get("role", "user"), message.get("name") or None
            self._write(memory_id, message["content"], {**kept, "role": role, "actor_id": actor})
            results.append({"id": memory_id, "memory": message["content"], "event": "ADD", "actor_id": actor, "role": role})
        return {"results": results}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float = 0.1,
        rerank: bool = False,  # noqa: ARG002 # without a reranker mem0 passes it over, too
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        task: TaskBody = PERSONAL,
    ) -> dict[str, list[dict[str, Any]]]:
        """Give what may be said to a question, best first by its role's order.

        Args:
            query: What is asked.
            top_k: Most results.
            filters: mem0's ids, at least one; whose memories. Other names are of the metadata that was added, and must be equal.
            threshold: Least similarity.
            rerank: Nothing here reranks.
            explain: Each result says in `score_details` why it is given.
            reference_date: Refused, as by mem0's open package.
            show_expired: Refused: what has expired answers nothing; `get_all` shows it.
            task: What else is known of the question.

        Raises:
            ValueError: There is no query, a number is out of its range, or a filter is more than equality.
        """
        if reference_date is not None or show_expired:
            raise ValueError("what has expired is not searched here: get_all(show_expired=True) lists it.")
        scope, labels = split_filters(filters or {})
        if not query.strip() or top_k < 0 or not 0 <= threshold <= 1:
            raise ValueError("query must say something, top_k be at least 0, and threshold in [0, 1].")
        results = []
        for record in self._ask(query, task, scope, limit=_MOST if labels else top_k) if top_k else ():
            found = self.get(record.memory_id)
            if found is not None and record.similarity >= threshold and belongs(found, scope, labels):
                marks = {"use": record.role.value, "marks": list(record.marks), "reason": record.reason.value}
                why = {"score_details": {"similarity": record.similarity, "sentence": record.sentence}} if explain else {}
                results.append({**found, "score": record.similarity, **marks, **why})
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
        return describe(known) if known is not None and stands(known) else None

    def get_all(
        self, *, filters: Mapping[str, Any] | None = None, top_k: int = 20, show_expired: bool = False
    ) -> dict[str, list[dict[str, Any]]]:
        """List memories that stand, by id.

        Raises:
            ValueError: None of the ids is named, a filter is more than equality, or a number is out of its range.
        """
        scope, labels = split_filters(filters or {})
        if top_k < 0:
            raise ValueError("top_k must be at least 0.")
        today = datetime.now(UTC).date().isoformat()
        listed = (
            each for each in self._iter_own(scope, labels) if show_expired or (each.get("expiration_date") or today) >= today
        )
        return {"results": list(itertools.islice(listed, top_k))}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _DEFAULT,
        data: str | None = None,
    ) -> dict[str, str]:
        """Write another text of a memory, or put metadata to it; the earlier text is revised, and stays in its history.

        Args:
            memory_id: The memory.
            text: Its new text.
            metadata: Is put to what it has; whose memory it is does not change.
            expiration_date: The last day it holds; None for no end.
            data: Old name of `text`.

        Raises:
            ValueError: There is no such memory, or none that stands: what was deleted or corrected does not come back by an update;
                or nothing is to be changed.
        """
        wanted = data if text is None else text
        if wanted is None and metadata is None and expiration_date is _DEFAULT:
            raise ValueError("At least one of text, metadata, or expiration_date must be provided.")
        known = self._require(memory_id)
        kept, current = known.revisions[0].metadata.get("mem0", {}), known.revisions[0].text
        changed = {**kept, "metadata": {**(kept.get("metadata") or {}), **drop_identity(metadata)}}
        if expiration_date is not _DEFAULT:
            changed["expiration_date"] = read_date(expiration_date)
        self._write(memory_id, str(current) if wanted is None else wanted, changed)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Bar a memory from answers; `guardian erase` destroys one.

        Raises:
            ValueError: There is no such memory, or none that stands.
        """
        self._require(memory_id)
        self._thread.run(self._access.delete(self._key, self._space, memory_id))
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> dict[str, str]:
        """Bar all memories of somebody from answers, expired ones too; of several ids each must be a memory's.

        Raises:
            ValueError: None of the ids is given.
        """
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        if all(value is None for value in ids.values()):
            raise ValueError("At least one filter is required to delete all memories; reset() takes those of everybody.")
        self._delete_own(build_scope(ids))
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Bar all that came through these calls from answers, whose ever it is; what others wrote into the space stays."""
        self._delete_own({})

    def close(self) -> None:
        """Close the store that `open_memory` opened."""
        self._on_close()

    def __enter__(self) -> Self:
        """Give itself, as mem0 does."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def chat(self, query: str) -> str:
        """Refuse, as mem0 does.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("Chat function not implemented yet.")

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Give the changes of a memory, the first first; what a correction did is among them."""
        known = self._explain(memory_id)
        return [] if known is None else list_changes(known)

    def _explain(self, memory_id: str) -> MemoryAnswer | None:
        try:
            return self._thread.run(self._access.explain(self._key, self._space, memory_id))
        except ProblemError as exc:
            if exc.status in {404, 422}:  # unknown, or what can be no id
                return None
            raise

    def _require(self, memory_id: str) -> MemoryAnswer:
        known = self._explain(memory_id)
        if known is None or not stands(known):
            raise ValueError(f"Memory with id {memory_id} not found")
        return known

    def _iter_own(self, scope: Mapping[str, str], labels: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield what came through these calls, stands, and is whose it is asked to be."""
        for memory_id in self._thread.run(self._list_ids()):
            found = self.get(memory_id)
            if found is not None and belongs(found, scope, labels):
                yield found

    def _delete_own(self, scope: Mapping[str, str]) -> None:
        for found in list(self._iter_own(scope, {})):
            self._thread.run(self._access.delete(self._key, self._space, found["id"]))

    def _write(self, memory_id: str, text: str, kept: Mapping[str, Any]) -> None:
        """Write one text, with what mem0 keeps beside it."""
        last = kept.get("expiration_date")
        body = {
            "memory_id": memory_id,
            "text": text,
            "kind": "other",
            "source": {"kind": self._choose_kind(kept.get("role") or "user").value},
            "scope": dict(kept.get("scope") or {}),
            "valid_until": None if last is None else f"{date.fromisoformat(last) + timedelta(days=1)}T00:00:00Z",
            "metadata": {"mem0": {name: value for name, value in kept.items() if value is not None}},
        }
        self._thread.run(self._access.write(self._key, self._space, WriteRequest.model_validate(body)))

    def _choose_kind(self, role: str) -> SourceKind:
        wanted = SourceKind.USER if role == "user" else SourceKind.AGENT
        return wanted if CLAIM_RANK[wanted] <= CLAIM_RANK[self._key.highest] else SourceKind.AGENT

    async def _list_ids(self) -> list[str]:
        authorize(self._key, self._space, Right.READ)
        points = self._access.store.iter_points(space=self._space, kinds={PointKind.RECORD})
        rows = [build_row(point) async for point in points]
        return sorted(
            {row["memory_id"] for row in rows if row["current"] and row["status"] in STANDING and "mem0" in row["metadata"]}
        )


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
    with ExitStack() as stack:
        thread = stack.enter_context(LoopThread())
        access = thread.enter(open_access(settings, place))
        yield GuardedMemory(thread, access, own, space=space, on_close=stack.close)


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
