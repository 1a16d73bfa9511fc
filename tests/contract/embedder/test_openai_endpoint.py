"""What the embedder behind a network makes of its endpoint's faults."""

from __future__ import annotations

import math
import socket
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from guardian.embed.openai_endpoint import open_openai_endpoint
from guardian.errors import ConfigError, DependencyError, RecordError
from tests.contract.embedder.endpoint import KEY, SIZE, Endpoint, digest_vector, good, needs_openai, open_endpoint, rows, status


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
