"""The gate: everything a request must pass before it is routed, and how every answer leaves.

Who asks is known, and limited, before a byte of the body is read. A body is read whole, up to its limit, under the one deadline of the
request. Whatever goes wrong behind the gate becomes a problem; a bug is logged by its place, never with words of a request.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
import traceback
from dataclasses import dataclass, field
from typing import Any

import orjson
import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guardian.errors import GuardianError
from guardian.serve.key import Key, Keyring
from guardian.serve.problem import MEDIA_TYPE, RETRY_AWAY_S, ProblemError, build_problem, read_code
from guardian.serve.rate import RateLimit
from guardian.telemetry.serve import ServeMetrics

log = structlog.stdlib.get_logger(__name__)

# What needs a key; the rest is health, figures and the description of the interface.
GUARDED = "/v1/"
_ANSWERS = re.compile(r"/v1/spaces/[^/]+/answer")
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
# What is sent at once, so that a client that does not read meets its deadline. An answer that is sent whole would lie in the connection
# for as long as that stays open.
_PART_BYTES = 64 * 1024
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request may cost.

    Attributes:
        timeout_s: From its first byte to the last of the answer.
        answer_timeout_s: The same where a model answers.
        max_body_bytes: Of its body.
        max_requests: In hand at once.
    """

    timeout_s: float = 15.0
    answer_timeout_s: float = 60.0
    max_body_bytes: int = 256 * 1024
    max_requests: int = 64

    def time_for(self, path: str) -> float:
        """Give the seconds that a request to a path may take."""
        return self.answer_timeout_s if _ANSWERS.fullmatch(path) else self.timeout_s


@dataclass(slots=True)
class _Exchange:
    """One request and its answer."""

    scope: Scope
    send: Send
    started_at: float = field(default_factory=time.perf_counter)
    status: int = 0
    is_problem: bool = False
    code: str | None = None

    async def answer(self, message: Message) -> None:
        """Pass a part of the answer on, and note its status, and the code of a problem: whoever refuses is counted here."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.is_problem = (b"content-type", MEDIA_TYPE.encode()) in map(tuple, message.get("headers", ()))
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        elif self.is_problem and self.code is None and message.get("body"):
            self.code = read_code(message["body"])
        body = message.get("body", b"")
        last = max(0, len(body) - 1) // _PART_BYTES * _PART_BYTES
        for start in range(0, last, _PART_BYTES):
            await self.send({**message, "body": body[start : start + _PART_BYTES], "more_body": True})
        await self.send({**message, "body": body[last:]} if last else message)

    async def refuse(self, problem: ProblemError) -> None:
        """Answer with a problem, unless an answer has begun."""
        if self.status:
            return
        headers = [(b"content-type", MEDIA_TYPE.encode())]
        if problem.retry_after_s is not None:
            headers.append((b"retry-after", str(problem.retry_after_s).encode()))
        if problem.status == 401:
            headers.append((b"www-authenticate", b'Bearer realm="guardian"'))
        if problem.status in {408, 413}:
            headers.append((b"connection", b"close"))  # the rest of its body is not read
        await self.answer({"type": "http.response.start", "status": problem.status, "headers": headers})
        await self.answer({"type": "http.response.body", "body": orjson.dumps(problem.describe())})

    @property
    def route(self) -> str:
        """Name the route: a pattern, never the path, which names spaces and memories."""
        return str(getattr(self.scope.get("route"), "path", "none"))


class Gate:
    """Wraps the application.

    Args:
        app: What is behind.
        keyring: Who is known.
        limits: What one request may cost.
        metrics: Counts requests.
        rate: What each key may ask.
    """

    def __init__(
        self, app: ASGIApp, *, keyring: Keyring, limits: Limits, metrics: ServeMetrics, rate: RateLimit | None = None
    ) -> None:
        self._app, self._keyring, self._limits, self._metrics = app, keyring, limits, metrics
        self._rate = rate or RateLimit()
        self._in_hand = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through, or refuse it."""
        if scope["type"] != "http":
            return  # neither websockets nor lifespans are served
        exchange = _Exchange(scope, send)
        self._in_hand += 1
        self._metrics.in_hand.set(self._in_hand)
        try:
            await self._pass(exchange, receive)
        finally:
            self._in_hand -= 1
            self._metrics.in_hand.set(self._in_hand)
            self._note(exchange)

    async def _pass(self, exchange: _Exchange, receive: Receive) -> None:
        scope = exchange.scope
        limit_s = self._limits.time_for(scope["raw_path"].decode("latin-1"))
        try:
            async with asyncio.timeout(limit_s):
                # Segments stay as they were sent: an id may hold a slash, which must not become a part of the path.
                scope["path"] = scope["raw_path"].decode("ascii")
                self._admit(scope)
                body = await _read_body(scope, receive, self._limits.max_body_bytes)
                await self._app(scope, _replay(body, receive), exchange.answer)
        except TimeoutError:
            await exchange.refuse(
                ProblemError(
                    504,
                    "too_slow",
                    f"the request took longer than {limit_s:g} s; what it asked for may still be done.",
                    "try again with the same event id and time, which changes nothing twice.",
                )
            )
        except GuardianError as exc:
            await exchange.refuse(build_problem(exc))
        except Exception as exc:  # noqa: BLE001 # the service's outer edge: a bug costs one request, and no word of it is logged
            log_bug(exc)
            await exchange.refuse(build_problem(GuardianError()))

    def _admit(self, scope: Scope) -> None:
        """Find out who asks, put the key into the request's state, and see whether that is too much.

        Raises:
            ProblemError: It is nobody, or too much.
        """
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not scope["path"].startswith(GUARDED):
            return
        if self._in_hand > self._limits.max_requests:
            raise ProblemError(503, "too_busy", "too many requests are in hand.", "try again.", retry_after_s=RETRY_AWAY_S)
        key = self._keyring.find(_read_secret(headers.get("authorization")))
        if key is None:
            has_keys = self._keyring.anonymous is None
            mend = "send the header Authorization: Bearer KEY." if has_keys else "no keys are set: leave Authorization out."
            raise ProblemError(401, "key_unknown", "no key, or none that is known here.", mend)
        if key is self._keyring.anonymous and _host_of(headers.get("host", "")) not in _LOCAL_HOSTS:
            # A page in a browser can be led here by a name of its own that points to this machine.
            raise ProblemError(
                421, "not_this_host", "without a key only this machine is served.", "ask for 127.0.0.1, or set keys."
            )
        scope.setdefault("state", {})["key"] = key
        wait_s = self._rate.take(key)
        if wait_s:
            raise ProblemError(
                429,
                "too_many_requests",
                f"the key {key.name} may go on with {key.rate_per_s:g} requests a second.",
                "wait as long as Retry-After says; `rate_per_s` and `burst` of the key raise it.",
                retry_after_s=max(1, math.ceil(wait_s)),
            )

    def _note(self, exchange: _Exchange) -> None:
        seconds = time.perf_counter() - exchange.started_at
        self._metrics.note(exchange.route, exchange.status, seconds)
        if exchange.code is not None:
            self._metrics.note_refused(exchange.code)
        if exchange.scope["path"].startswith(GUARDED):
            key: Key | None = exchange.scope.get("state", {}).get("key")
            log.info(
                "request.answered",
                method=exchange.scope["method"],
                route=exchange.route,
                status=exchange.status,
                key=None if key is None else key.name,
                ms=round(seconds * 1000, 1),
            )


def log_bug(exc: BaseException) -> None:
    """Log a bug by its type and place: its message may quote what was asked."""
    frames = traceback.extract_tb(exc.__traceback__)
    log.error(
        "request.failed", error=type(exc).__name__, at=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
    )


def _read_secret(header: str | None) -> str | None:
    """Give the secret; the empty one, which is nobody's, for a header of another scheme."""
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _host_of(header: str) -> str:
    header = header.lower()
    return header.rpartition(":")[0] if header.rpartition(":")[2].isdigit() else header


async def _read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Read the whole body.

    Raises:
        ProblemError: It is too large, or no JSON by its type.
    """
    headers = dict(scope["headers"])
    declared = headers.get(b"content-length", b"0")
    too_large = ProblemError(
        413, "too_large", f"the body is larger than {limit} bytes.", "send less, or raise GUARDIAN_SERVE__MAX_BODY_BYTES."
    )
    if declared.isdigit() and int(declared) > limit:
        raise too_large
    parts, size = [], 0
    while True:
        message: Any = await receive()
        if message["type"] != "http.request":
            raise ProblemError(400, "gone", "the connection ended before the body did.", "send the whole body.")
        size += len(message.get("body", b""))
        if size > limit:
            raise too_large
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if size and kind != b"application/json":
        raise ProblemError(415, "not_json", "the body is not sent as JSON.", "send the header Content-Type: application/json.")
    return _check_json(b"".join(parts))


def _check_json(body: bytes) -> bytes:
    """Refuse what is no strict JSON: behind the gate a laxer parser reads NaN and halves of characters.

    Raises:
        ProblemError: It is not.
    """
    try:
        if body:
            orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise ProblemError(
            400, "not_json", "the body is no JSON.", "send one JSON object in UTF-8, with whole characters."
        ) from exc
    return body


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give a body once, and then what still comes."""
    is_given = False

    async def replay() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
