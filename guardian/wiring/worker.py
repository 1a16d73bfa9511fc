"""The pipeline, and the worker around it. No logic."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from guardian.contracts.outcome import AuditRequest, CardRequest
from guardian.embed.port import Embedder
from guardian.pipeline import Pipeline
from guardian.ports import Publisher, Store
from guardian.settings import Settings
from guardian.telemetry.log import configure_logging
from guardian.wiring.audit import build_asks, build_audit_side
from guardian.wiring.broker import build_kafka_options
from guardian.wiring.drift import build_watch_setup
from guardian.wiring.induce import build_card_asks, build_card_side
from guardian.wiring.policy import build_decode_policy, build_policy_of
from guardian.wiring.source import build_schemas, build_translator
from guardian.wiring.state import build_embedder, build_identity, build_store

if TYPE_CHECKING:
    from guardian.stream.setup import WorkerSetup


def build_pipeline(settings: Settings, store: Store, embedder: Embedder | None, publisher: Publisher | None) -> Pipeline:
    """Build the pipeline."""
    asks = (*build_asks(settings), *build_card_asks(settings))
    return Pipeline(store=store, policy_of=build_policy_of(settings), embedder=embedder, publisher=publisher, asks=asks)


async def open_pipeline(settings: Settings, publisher: Publisher | None) -> Pipeline:
    """Open the model and the store, and build the pipeline over them; closing them is the caller's.

    Raises:
        ConfigError: One of them cannot work with these settings, or another process owns the embedded store.
        DependencyError: One of them is away; nothing stays open.
    """
    embedder = await build_embedder(settings.embedding)
    store = build_store(settings.store, build_identity(embedder))
    try:
        await store.open()
    except BaseException:
        await store.close()
        if embedder is not None:
            await embedder.close()
        raise
    return build_pipeline(settings, store, embedder, publisher)


def build_worker_setup(settings: Settings) -> WorkerSetup:
    """Build everything a worker is made of."""
    from guardian.stream.setup import WorkerSetup  # noqa: PLC0415 # Faust: half a second that only a worker needs

    schemas = build_schemas(settings.kafka)
    return WorkerSetup(
        kafka=settings.kafka,
        options=build_kafka_options(settings),
        limits=settings.limits,
        web=settings.web,
        roles=settings.roles,
        build_policy=functools.partial(build_decode_policy, settings),
        translator=build_translator(settings, schemas),
        schemas=schemas,
        watch=build_watch_setup(settings),
        open_pipeline=functools.partial(open_pipeline, settings),
        asked=(*((AuditRequest,) if build_asks(settings) else ()), *((CardRequest,) if build_card_asks(settings) else ())),
        sides=(*build_audit_side(settings), *build_card_side(settings)),
    )


def run_worker(settings: Settings) -> int:
    """Run a worker in this process until it is told to stop; gives the exit code (0, 2 or 70)."""
    from guardian.stream.running import run  # noqa: PLC0415 # as above
    from guardian.stream.worker import Worker  # noqa: PLC0415 # as above

    configure_logging(settings.log_level)
    return run(lambda: Worker(build_worker_setup(settings)))
