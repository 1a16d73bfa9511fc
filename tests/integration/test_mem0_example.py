"""The mem0 example against the real package: mem0's calls beside mem0 itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from guardian.serve.body import CorrectRequest, TaskBody, WriteRequest
from guardian.settings import Settings
from tests.integration.agent_example import REVIEWER, load, prepare


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    """Give settings of a test's own."""
    return prepare(monkeypatch, tmp_path)


@pytest.fixture
def memory(settings: Settings, fast_path: Path) -> Iterator[Any]:
    """Give mem0's calls over Guardian."""
    with load("mem0_facade").open_memory(settings, space="assistant", place=str(fast_path / "store")) as memory:
        yield memory


class _Embedder:
    """Embeds by counting letters, so that mem0 needs no model."""

    config = None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Count letters."""
        return [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnop"]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        """Count the letters of each."""
        return [self.embed(text) for text in texts]


@pytest.fixture
def real(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Give mem0's own memory, over its local Qdrant, without any model."""
    from mem0 import Memory
    from mem0.utils.factory import EmbedderFactory, LlmFactory

    monkeypatch.setattr(EmbedderFactory, "create", lambda *_: _Embedder())
    monkeypatch.setattr(LlmFactory, "create", lambda *_: None)
    vectors = {"provider": "qdrant", "config": {"path": str(tmp_path / "qdrant"), "embedding_model_dims": 16, "on_disk": False}}
    memory = Memory.from_config({"vector_store": vectors, "history_db_path": str(tmp_path / "history.db")})
    yield memory
    memory.close()


def test_its_calls_are_mem0s(memory: Any) -> None:
    """What an application passes to mem0, by position or by name, can be passed here."""
    from mem0 import Memory
    from mem0.memory.base import MemoryBase

    assert isinstance(memory, MemoryBase)
    theirs_alone = {"from_config", "project", "entity_store"}  # how mem0 is set up, and its graph of entities
    public = {name for name in vars(Memory) if not name.startswith("_")} - theirs_alone
    assert public <= set(dir(memory))
    for name in sorted(public):
        own, theirs = (inspect.signature(getattr(each, name)).parameters for each in (type(memory), Memory))
        assert set(own) - set(theirs) <= {"task"}, name
        assert set(theirs) - set(own) <= {"kwargs"}, name
        assert all(own[part].kind == theirs[part].kind for part in own if part in theirs), name


@pytest.mark.filterwarnings("ignore")  # of mem0 and its dependencies
def test_its_answers_have_the_form_of_mem0s(memory: Any, real: Any) -> None:
    """Every field that mem0 gives is given, on the same calls with the same texts."""
    user = {"user_id": "ann"}
    told: list[dict[str, Any]] = []
    for each in (real, memory):
        added = each.add("I prefer tea without sugar", user_id="ann", infer=False, metadata={"topic": "tea"})
        memory_id = added["results"][0]["id"]
        each.update(memory_id, "I prefer tea with milk")
        told.append(
            {
                "add": added["results"][0],
                "search": each.search("How do I like tea?", filters=user, threshold=0.0)["results"][0],
                "get": each.get(memory_id),
                "get_all": each.get_all(filters=user)["results"][0],
                "history": each.history(memory_id)[-1],
            }
        )
        each.delete(memory_id)
        told[-1]["end"] = each.history(memory_id)[-1]
        assert each.get(memory_id) is None
        assert each.get_all(filters=user) == {"results": []}
    theirs, own = told
    for call, answer in theirs.items():
        told_by_mem0 = {name for name, value in answer.items() if value is not None}
        assert told_by_mem0 - {"actor_id", "updated_at", "is_deleted", "id", "role"} <= set(own[call]), call
        for name in ("memory", "user_id", "event", "old_memory", "new_memory"):
            assert own[call].get(name) == answer.get(name), (call, name)


def test_one_persons_memories_are_not_given_to_another(memory: Any) -> None:
    """Neither searched nor listed; and without an id nothing is."""
    memory.add("I prefer tea", user_id="ann")
    assert memory.search("tea", filters={"user_id": "eve"})["results"] == []
    assert memory.get_all(filters={"user_id": "eve"})["results"] == []
    for call in (lambda: memory.search("tea"), lambda: memory.add("tea"), memory.get_all):
        with pytest.raises(ValueError, match="user_id"):
            call()


def test_a_users_word_is_a_preference_and_never_evidence(memory: Any) -> None:
    """Asked as a question of fact, it does not answer."""
    memory.add(
        [{"role": "system", "content": "Be kind"}, {"role": "user", "content": "I think tea costs 5 dollars"}], user_id="ann"
    )
    user = {"user_id": "ann"}
    (found,) = memory.search("What does tea cost?", filters=user)["results"]
    assert (found["use"], found["memory"]) == ("preference", "I think tea costs 5 dollars")
    assert memory.search("What does tea cost?", filters=user, task=TaskBody(requires_objective_fact=True))["results"] == []


def test_inferring_is_refused_and_not_left_out(memory: Any) -> None:
    """Who asks for mem0's extraction is told that there is none."""
    with pytest.raises(ValueError, match="no model"):
        memory.add("tea", user_id="ann", infer=True)


def test_a_corrected_memory_is_in_its_history_only(memory: Any) -> None:
    """What mem0 has no word for is told as SUPERSEDED."""
    memory_id = memory.add("Tea costs 5 dollars", user_id="ann")["results"][0]["id"]
    memory._thread.run(memory._access.correct(REVIEWER, "assistant", CorrectRequest(targets=(memory_id,))))
    assert memory.get(memory_id) is None
    assert memory.search("tea", filters={"user_id": "ann"})["results"] == []
    assert [change["event"] for change in memory.history(memory_id)] == ["ADD", "SUPERSEDED"]


@pytest.mark.filterwarnings("ignore")  # of mem0 and its dependencies
def test_a_filter_is_kept_or_refused_and_never_passed_over(memory: Any, real: Any) -> None:
    """Metadata must be equal, as in mem0; what is more than equality is told, or an application would show what it filtered out."""
    user = {"user_id": "ann"}
    for each in (real, memory):
        each.add("I prefer tea without sugar", user_id="ann", infer=False, metadata={"topic": "tea"})
        each.add("I like hiking in the mountains", user_id="ann", infer=False, metadata={"topic": "sport"})
        sport = {**user, "topic": "sport"}
        found = each.search("tea sugar hiking mountains", filters=sport, threshold=0.0)["results"]
        assert [result["memory"] for result in found] == ["I like hiking in the mountains"]
        assert [result["memory"] for result in each.get_all(filters=sport)["results"]] == ["I like hiking in the mountains"]
        assert each.get_all(filters={**user, "topic": "music"})["results"] == []
    for more in ({"topic": {"ne": "tea"}}, {"OR": [{"topic": "tea"}]}, {"topic": "*"}):
        for call in (lambda filters: memory.search("tea", filters=filters), lambda filters: memory.get_all(filters=filters)):
            with pytest.raises(ValueError, match="more than equality"):
                call({**user, **more})


@pytest.mark.filterwarnings("ignore")  # as above
def test_all_of_somebody_is_deleted_and_nothing_of_others(memory: Any, real: Any) -> None:
    """Of several ids each must fit; without one, or with a blank one, nothing is deleted; a deletion stays in each history."""
    for each in (real, memory):
        ids = [
            each.add(f"I prefer tea number {number}", infer=False, **whose)["results"][0]["id"]
            for number, whose in enumerate(({"user_id": "ann"}, {"user_id": "ann", "agent_id": "bot"}, {"user_id": "eve"}))
        ]
        for blank in ({}, {"user_id": " "}, {"user_id": "", "agent_id": "bot"}, {"user_id": "a b"}):
            with pytest.raises(ValueError, match=r"reset|user_id"):
                each.delete_all(**blank)
        assert each.delete_all(user_id="ann", agent_id="bot") == {"message": "Memories deleted successfully!"}
        assert [each.get(name) is None for name in ids] == [False, True, False]
        each.delete_all("ann")
        assert [each.get(name) is None for name in ids] == [True, True, False]
        assert [change["event"] for change in each.history(ids[0])] == ["ADD", "DELETE"]
        assert each.delete_all(user_id="nobody") == {"message": "Memories deleted successfully!"}


@pytest.mark.filterwarnings("ignore")  # as above
def test_a_reset_leaves_nothing_of_anybody(memory: Any, real: Any) -> None:
    """For mem0's calls; here it is kept for audit, and what another wrote into the space stays."""
    other = WriteRequest.model_validate({"memory_id": "other", "text": "Tea costs 5 dollars", "source": {"kind": "agent"}})
    memory._thread.run(memory._access.write(memory._key, "assistant", other))
    for each in (real, memory):
        for whose in ({"user_id": "ann"}, {"agent_id": "bot"}):
            each.add("I prefer tea", infer=False, **whose)
        assert each.reset() is None
        for filters in ({"user_id": "ann"}, {"agent_id": "bot"}):
            assert each.get_all(filters=filters) == {"results": []}
            assert each.search("tea", filters=filters, threshold=0.0) == {"results": []}
        added = each.add("I prefer coffee", user_id="ann", infer=False)["results"][0]["id"]
        assert each.get(added)["memory"] == "I prefer coffee"
    assert memory.get("other")["memory"] == "Tea costs 5 dollars"


@pytest.mark.filterwarnings("ignore")  # as above
def test_what_has_expired_is_hidden_and_said_by_whom_is_kept(memory: Any, real: Any) -> None:
    """An expiration date hides from search and list, and can be changed; the name in a message is the actor's; ids stay ids."""
    user = {"user_id": "ann"}
    for each in (real, memory):
        said = [{"role": "user", "name": "bob", "content": "I prefer tea"}]
        wanted = {"topic": "tea", "user_id": "eve"}
        (added,) = each.add(said, user_id="ann", infer=False, metadata=wanted, expiration_date="2020-01-31")["results"]
        assert added["actor_id"] == "bob"
        got = each.get(added["id"])
        assert (got["expiration_date"], got["actor_id"], got["metadata"]) == ("2020-01-31", "bob", {"topic": "tea"})
        assert each.search("tea", filters=user, threshold=0.0)["results"] == each.get_all(filters=user)["results"] == []
        assert [one["id"] for one in each.get_all(filters=user, show_expired=True)["results"]] == [added["id"]]
        each.update(added["id"], data="I prefer green tea", expiration_date=None, metadata={"user_id": "eve"})
        (found,) = each.search("tea", filters={**user, "actor_id": "bob"}, threshold=0.0, explain=True, rerank=True)["results"]
        assert (found["memory"], found["user_id"]) == ("I prefer green tea", "ann")
        assert each.get_all(filters={**user, "actor_id": "eve"})["results"] == []
        for call in (
            lambda one=each: one.add("I prefer tea", user_id="ann", infer=False, expiration_date="soon"),
            lambda one=each: one.add("I prefer tea", user_id="ann", infer=False, timestamp=1),
            lambda one=each, name=added["id"]: one.update(name),
            lambda one=each: one.get_all(filters=user, top_k=-1),
        ):
            with pytest.raises(ValueError, match=r"expiration_date|timestamp|top_k|[Tt]emporal|Platform"):
                call()


def test_it_is_closed_as_mem0_is(settings: Settings, fast_path: Path) -> None:
    """At the end of a block or by `close`, again without harm; what was written is there for the next."""
    open_memory = load("mem0_facade").open_memory
    with open_memory(settings, space="assistant", place=str(fast_path / "store")) as memory, memory:
        added = memory.add("I prefer tea", user_id="ann")["results"][0]["id"]
    memory.close()
    with open_memory(settings, space="assistant", place=str(fast_path / "store")) as again:
        assert again.get(added)["memory"] == "I prefer tea"
        with pytest.raises(NotImplementedError):
            again.chat("tea?")


@pytest.mark.filterwarnings("ignore")  # as above
def test_what_is_gone_is_neither_updated_nor_deleted(memory: Any, real: Any) -> None:
    """An update does not bring a deleted memory back, and the caller is told, as by mem0; nor one that never was."""
    for each in (real, memory):
        memory_id = each.add("I prefer tea", user_id="ann", infer=False)["results"][0]["id"]
        each.delete(memory_id)
        for call in (lambda name, one=each: one.update(name, "I prefer coffee"), lambda name, one=each: one.delete(name)):
            for name in (memory_id, "00000000-0000-0000-0000-000000000000"):
                with pytest.raises(ValueError, match="not found"):
                    call(name)
        assert each.get(memory_id) is None
        assert each.get_all(filters={"user_id": "ann"})["results"] == []
        assert all(change["created_at"] for change in each.history(memory_id))


@pytest.mark.filterwarnings("ignore")  # as above
def test_messages_and_questions_are_read_as_mem0_reads_them(memory: Any, real: Any) -> None:
    """Parts of a message are its text, one without a text is none; an update may change metadata alone."""
    for each in (real, memory):
        parts = [{"role": "user", "content": [{"type": "text", "text": "I prefer tea"}]}, {"role": "user"}]
        (added,) = each.add(parts, user_id=" ann ", infer=False, metadata={"a": 1})["results"]
        assert added["memory"] == "I prefer tea"
        each.update(added["id"], metadata={"b": 2})
        got = each.get(added["id"])
        assert (got["memory"], got["metadata"], got["user_id"]) == ("I prefer tea", {"a": 1, "b": 2}, "ann")
        user = {"user_id": "ann"}
        assert each.search("tea", filters=user, top_k=0)["results"] == []
        assert each.search("tea " * 4_000, filters=user, threshold=0.0)["results"]
        for wrong in ({"query": " "}, {"query": "tea", "top_k": -1}, {"query": "tea", "threshold": 2.0}):
            with pytest.raises(ValueError, match=r"query|top_k|threshold"):
                each.search(**wrong, filters=user)
        with pytest.raises(ValueError, match="user_id"):
            each.add("I prefer tea", user_id=" ", infer=False)
        assert each.get("") is None
