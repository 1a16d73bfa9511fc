"""Where agents reach memory: keys, the access over an open store, the HTTP service and the MCP server. No logic."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from guardian.embed.port import Embedder
from guardian.errors import ConfigError
from guardian.ports import Store
from guardian.serve.access import Access
from guardian.serve.key import Key, Keyring, Right, digest_secret
from guardian.serve.sending import PipelineSink, TopicSink
from guardian.settings import KeySettings, Settings
from guardian.telemetry.log import configure_logging
from guardian.telemetry.serve import ServeMetrics
from guardian.wiring.answer import build_answerer
from guardian.wiring.broker import build_publisher, forward_events, open_producer
from guardian.wiring.policy import build_decode_policy, build_policy_of
from guardian.wiring.read import build_calibrator, check_ledger
from guardian.wiring.state import build_embedder, build_identity, build_store, place_store
from guardian.wiring.worker import build_pipeline

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from guardian.stream.broker.kafka import Producer


def build_key(name: str, settings: KeySettings) -> Key:
    """Build a key."""
    digest = bytes.fromhex(settings.digest.removeprefix("sha256:")) if settings.digest is not None else None
    if settings.secret is not None:
        digest = digest_secret(settings.secret.get_secret_value())
    return Key(
        name=name,
        digest=digest,
        spaces=settings.spaces,
        may=frozenset(Right(right) for right in settings.may),
        highest=settings.highest,
        actor=settings.actor or name,
        source=settings.source or f"/guardian/keys/{name}",
        rate_per_s=settings.rate_per_s,
        burst=settings.burst,
    )


def build_own_key(name: str, *rights: Right) -> Key:
    """Build the key of a process of one's own: every space, an agent's word, no limit that would be felt."""
    return Key(name=name, may=frozenset(rights), actor=name, source=f"/guardian/{name}", rate_per_s=1_000_000.0, burst=1_000_000)


def build_keyring(settings: Settings) -> Keyring:
    """Build all keys; without any, whoever asks may read and write as an agent.

    Raises:
        ConfigError: Two have the same secret.
    """
    keys = [build_key(name, key) for name, key in settings.serve.keys.items()]
    if len({key.digest for key in keys}) < len(keys):
        raise ConfigError(
            "two keys have the same secret, so nobody knows which of them is meant.",
            setting="GUARDIAN_SERVE__KEYS",
            mend="give each key its own.",
        )
    return Keyring(keys, anonymous=None if keys else build_own_key("local", Right.READ, Right.ANSWER, Right.WRITE))


def choose_mcp_key(settings: Settings) -> Key:
    """Choose whose rights the MCP server has.

    Raises:
        ConfigError: There is no such key.
    """
    name = settings.serve.mcp_key
    if name is None:
        return build_own_key("mcp", Right.READ, Right.ANSWER)
    if name not in settings.serve.keys:
        known = ", ".join(sorted(settings.serve.keys)) or "none"
        raise ConfigError(
            f"there is no key {name!r}.", setting="GUARDIAN_SERVE__MCP_KEY", mend=f"declare [serve.keys.{name}]; known: {known}."
        )
    return build_key(name, settings.serve.keys[name])


@asynccontextmanager
async def open_access(settings: Settings, place: str | None = None) -> AsyncIterator[Access]:
    """Open model, store and broker; closed in the other order, after what is in hand.

    Events go to the broker where one is set, unless a store is named: then they are decided in this process.

    Raises:
        ConfigError: One of them cannot work with these settings, or another process owns the embedded store.
        DependencyError: One of them is away.
    """
    settings, to_topic = _settle_place(settings, place)
    async with AsyncExitStack() as stack:
        embedder = await build_embedder(settings.embedding)
        if embedder is not None:
            stack.push_async_callback(embedder.close)
        store = build_store(settings.store, build_identity(embedder))
        stack.push_async_callback(store.close)
        await store.open()
        producer = await stack.enter_async_context(open_producer(settings)) if to_topic else None
        access = build_access(settings, store, embedder, producer)
        stack.push_async_callback(access.sink.close)
        if access.answerer is not None:
            stack.push_async_callback(access.answerer.close)
        yield access


def _settle_place(settings: Settings, place: str | None) -> tuple[Settings, bool]:
    """Give the settings with a named store put in, and whether events go to the topic."""
    to_topic = settings.has_broker and place is None
    if to_topic and settings.store.url is None:
        raise ConfigError(
            "a broker is set, so a worker decides; an embedded store is open to one process, which could not be that worker.",
            setting="GUARDIAN_STORE__URL",
            mend="use a Qdrant server, or name the folder with --store: then this process decides.",
        )
    return settings.model_copy(update={"store": place_store(settings.store, place)}), to_topic


def build_access(settings: Settings, store: Store, embedder: Embedder | None, producer: Producer | None) -> Access:
    """Build the access over an open store; with a producer events go to the topic, else they are decided here."""
    publisher = None if producer is None else build_publisher(settings, producer)
    sink: TopicSink | PipelineSink
    on_read = None
    if producer is not None:
        sink = TopicSink(functools.partial(forward_events, settings, producer))
    else:
        sink = PipelineSink(build_pipeline(settings, store, embedder, None))
        on_read = sink.post
    calibrator = build_calibrator(settings, store, embedder=embedder, publisher=publisher, on_read=on_read)
    metrics = ServeMetrics()
    return Access(
        calibrator=calibrator,
        sink=sink,
        policy_of=build_policy_of(settings),
        decode_policy=build_decode_policy(settings, store.identity.vector_size),
        embedder=embedder,
        has_ledger=publisher is not None or settings.read.ledger_dir is not None,
        answerer=build_answerer(settings, metrics),
        max_answers=settings.serve.max_answers,
        metrics=metrics,
    )


async def run_serve(settings: Settings, place: str | None = None) -> None:
    """Serve over HTTP until told to stop; live and unready while the store is away, at the start as well.

    Raises:
        ConfigError: The address needs keys, is taken, or the extra is missing.
    """
    try:
        from guardian.serve.gate import Limits  # noqa: PLC0415 # an extra
        from guardian.serve.http import build_app  # noqa: PLC0415 # an extra
        from guardian.serve.server import bind_socket, require_keys  # noqa: PLC0415 # an extra
        from guardian.serve.waiting import serve_when_there  # noqa: PLC0415 # an extra
    except ImportError as exc:
        raise _miss_extra(exc) from exc
    configure_logging(settings.log_level)
    serve = settings.serve
    require_keys(serve.bind, has_keys=bool(serve.keys))
    check_ledger(settings)
    limits = Limits(
        timeout_s=serve.timeout_s,
        answer_timeout_s=serve.answer_timeout_s,
        max_body_bytes=serve.max_body_bytes,
        max_requests=serve.max_requests,
    )
    keyring = build_keyring(settings)

    @asynccontextmanager
    async def open_app() -> AsyncIterator[ASGIApp]:
        async with open_access(settings, place) as access:
            yield build_app(access, keyring, limits=limits, ready_timeout_s=serve.ready_timeout_s)

    with bind_socket(serve.bind, serve.port) as bound:
        await serve_when_there(open_app, bound, stop_s=serve.stop_s)


async def run_mcp(settings: Settings, place: str | None = None) -> None:
    """Serve MCP over standard input and output until the other end closes, or the process is told to stop.

    Raises:
        ConfigError: The key is not there, or the extra is missing.
    """
    try:
        from guardian.serve.mcp import build_mcp  # noqa: PLC0415 # an extra
        from guardian.serve.stdio import stoppable_stdin  # noqa: PLC0415 # of the same service
    except ImportError as exc:
        raise _miss_extra(exc) from exc
    key = choose_mcp_key(settings)
    check_ledger(settings)
    with stoppable_stdin():
        async with open_access(settings, place) as access:
            server = build_mcp(access, key)
            configure_logging(settings.log_level)  # after the SDK's own, which would log to where answers go
            await server.run_stdio_async()


def _miss_extra(exc: ImportError) -> ConfigError:
    return ConfigError(
        f"what serves memory is not installed: {exc}.", setting="serve", mend="pip install 'guardian-memory[serve]'."
    )
