"""A running endpoint, and each embedder in turn."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web

from guardian.embed.given import GivenEmbedder
from guardian.embed.port import Embedder
from guardian.embed.sentence_transformers import open_sentence_transformers
from tests.contract.embedder.endpoint import SIZE, Endpoint, needs_model, needs_openai, open_endpoint


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
