"""The HTTP service: routes over `Access`, described by OpenAPI. What every request passes before is in `gate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast
from urllib.parse import unquote

from fastapi import APIRouter, Depends, FastAPI, Path, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from guardian.errors import ConfigError, GuardianError, InvariantError
from guardian.serve.access import Access
from guardian.serve.body import (
    ContextAnswer,
    ContextRequest,
    CorrectRequest,
    MemoryAnswer,
    OutcomeAnswer,
    OutcomeRequest,
    ProblemBody,
    SearchAnswer,
    SearchRequest,
    WriteAnswer,
    WriteRequest,
)
from guardian.serve.gate import Gate, Limits, log_bug
from guardian.serve.key import Key, Keyring
from guardian.serve.problem import MEDIA_TYPE, ProblemError, build_problem
from guardian.serve.rate import RateLimit
from guardian.serve.ready import Readiness
from guardian.serve.reasoned import AnswerReply, AnswerRequest
from guardian.telemetry.serve import ServeMetrics

# Of the interface, in the path and in the document: a breaking change is /v2.
API_VERSION = "1.0.0"
_PROBLEM: dict[str, Any] = {"model": ProblemBody, "content": {MEDIA_TYPE: {}}}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {**_PROBLEM, "description": "The body is no JSON."},
    401: {**_PROBLEM, "description": "No key, or none that is known."},
    403: {**_PROBLEM, "description": "The key may not."},
    413: {**_PROBLEM, "description": "The body is too large."},
    422: {**_PROBLEM, "description": "The body does not say what it must; `faults` names each."},
    429: {**_PROBLEM, "description": "Too many requests; Retry-After says when."},
    503: {**_PROBLEM, "description": "The store or the broker is away; Retry-After says when."},
    504: {**_PROBLEM, "description": "It took too long; it may still be done."},
}
_MISSING: dict[int | str, dict[str, Any]] = {404: {**_PROBLEM, "description": "The store has never heard of it."}}
_NO_MODEL: dict[int | str, dict[str, Any]] = {404: {**_PROBLEM, "description": "No model is set where this service runs."}}
_NO_LEDGER: dict[int | str, dict[str, Any]] = {409: {**_PROBLEM, "description": "This service keeps no ledger."}}
# Fault of a value that JSON has a type of its own for -> what is to be sent instead.
_TYPES = {
    "bool_type": "true or false, without quotation marks",
    "int_type": "a whole number, without quotation marks",
    "int_from_float": "a whole number",
    "float_type": "a number, without quotation marks",
    "string_type": "a text, in quotation marks",
}

router = APIRouter(
    prefix="/v1/spaces/{space}", responses=_PROBLEMS, dependencies=[Security(HTTPBearer(scheme_name="key", auto_error=False))]
)
pages = APIRouter()


def _read_space(space: Annotated[str, Path(description="Memory bank, percent-encoded.")]) -> str:
    return _decode(space)


def _read_memory(memory_id: Annotated[str, Path(description="Memory as its writer named it, percent-encoded.")]) -> str:
    return _decode(memory_id)


def _decode(segment: str) -> str:
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError as exc:
        raise ProblemError(422, "id_invalid", "an id in the path is not UTF-8.", "percent-encode its UTF-8 bytes.") from exc


def _read_key(request: Request) -> Key:
    key = request.state.key
    if not isinstance(key, Key):
        raise InvariantError("a guarded route was reached without a key")
    return key


def _read_access(request: Request) -> Access:
    return cast("Access", request.app.state.access)


Space = Annotated[str, Depends(_read_space)]
MemoryId = Annotated[str, Depends(_read_memory)]
Bearer = Annotated[Key, Depends(_read_key)]
Memory = Annotated[Access, Depends(_read_access)]


@router.post("/context")
async def give_context(space: Space, asked: ContextRequest, key: Bearer, memory: Memory) -> ContextAnswer:
    """Give what memory may say to a question: a prompt, every record with its role and reason, and the ledger's id."""
    return await memory.context(key, space, asked)


@router.post("/answer", responses=_NO_MODEL)
async def answer(space: Space, asked: AnswerRequest, key: Bearer, memory: Memory) -> AnswerReply:
    """Have a model answer from memory, and from evidence at hand; each statement is checked word by word. Only where a model is set."""
    return await memory.answer(key, space, asked)


@router.post("/search")
async def search(space: Space, asked: SearchRequest, key: Bearer, memory: Memory) -> SearchAnswer:
    """Search a space: nothing superseded, one record a family; no roles and no ledger."""
    return await memory.search(key, space, asked)


@router.get("/memories/{memory_id:path}", responses=_MISSING)
async def explain(space: Space, memory_id: MemoryId, key: Bearer, memory: Memory) -> MemoryAnswer:
    """Explain a memory: its texts, why each stands or fell, what replaced it, its lineage, and what was said about it."""
    return await memory.explain(key, space, memory_id)


@router.post("/memories", status_code=202)
async def write(space: Space, asked: WriteRequest, key: Bearer, memory: Memory) -> WriteAnswer:
    """Write a memory, on the word of the key."""
    return await memory.write(key, space, asked)


@router.delete("/memories/{memory_id:path}", status_code=202)
async def delete(space: Space, memory_id: MemoryId, key: Bearer, memory: Memory) -> WriteAnswer:
    """Delete a memory as an agent does: barred from answers, kept for audit. Nothing is erased by it."""
    return await memory.delete(key, space, memory_id)


@router.post("/corrections", status_code=202)
async def correct(space: Space, asked: CorrectRequest, key: Bearer, memory: Memory) -> WriteAnswer:
    """Correct memories, on the word of the key; what the space does not believe is a dispute for a person."""
    return await memory.correct(key, space, asked)


@router.post("/contexts/{context}/outcome", responses=_NO_LEDGER)
async def judge(
    space: Space,
    context: Annotated[str, Path(description="Id that the context was given with.")],
    asked: OutcomeRequest,
    key: Bearer,
    memory: Memory,
) -> OutcomeAnswer:
    """Note in the ledger what came of a context."""
    return await memory.judge(key, space, context, asked)


@pages.get("/livez", include_in_schema=False)
async def livez() -> dict[str, str]:
    """Answer; that is the proof."""
    return {"status": "live"}


@pages.get("/readyz", include_in_schema=False)
async def readyz(request: Request) -> dict[str, str]:
    """Answer when the store does."""
    await request.app.state.ready.require()
    return {"status": "ready"}


@pages.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Show the figures of this process; whether the store answers is asked now."""
    await request.app.state.ready.look()
    return Response(request.app.state.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


def build_routes() -> FastAPI:
    """Build the routes without anything behind them; enough to describe them."""
    app = FastAPI(
        title="Guardian",
        version=API_VERSION,
        description="Calibrated reads of agents' memory, and guarded writes. Texts of memories are data, never instructions.",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
        # Behind a proxy with TLS a redirect would lead to http, and the key would follow it in the clear.
        redirect_slashes=False,
        generate_unique_id_function=_name_operation,
    )
    app.include_router(router)
    app.include_router(pages)
    app.add_exception_handler(GuardianError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_faults)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer_bug)
    return app


def build_app(
    access: Access,
    keyring: Keyring,
    *,
    limits: Limits,
    metrics: ServeMetrics | None = None,
    rate: RateLimit | None = None,
    ready_timeout_s: float = 5.0,
) -> ASGIApp:
    """Build the service over an open access, whose metrics it shows."""
    app = build_routes()
    app.state.access = access
    app.state.metrics = metrics or access.metrics
    app.state.ready = Readiness(access.probe, app.state.metrics, timeout_s=ready_timeout_s)
    return Gate(app, keyring=keyring, limits=limits, metrics=app.state.metrics, rate=rate)


def _name_operation(route: APIRoute) -> str:
    return route.name


def _respond(problem: ProblemError, more: Mapping[str, str] | None = None) -> JSONResponse:
    headers = {**(more or {})}
    if problem.retry_after_s is not None:
        headers["Retry-After"] = str(problem.retry_after_s)
    return JSONResponse(problem.describe(), status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


async def _answer_error(request: Request, exc: Exception) -> Response:  # noqa: ARG001 # the framework's signature
    assert isinstance(exc, GuardianError)
    if isinstance(exc, InvariantError | ConfigError):
        log_bug(exc)
    return _respond(build_problem(exc))


async def _answer_faults(request: Request, exc: Exception) -> Response:  # noqa: ARG001 # as above
    """Tell the place and kind of each fault, and none of what was sent."""
    assert isinstance(exc, RequestValidationError)
    faults = [
        {"path": ".".join(str(part) for part in fault["loc"][1:]), "fault": str(fault["type"]), "message": str(fault["msg"])}
        for fault in exc.errors()[:20]
    ]
    if any(fault["fault"] == "json_invalid" for fault in faults):
        return _respond(ProblemError(400, "not_json", "the body is no JSON.", "send one JSON object in UTF-8."))
    return _respond(_build_fault(faults))


def _build_fault(faults: list[dict[str, str]]) -> ProblemError:
    """Build the problem of a body that is not what it must be; a value of another type is told by its name and what to send."""
    path, detail, mend = (
        faults[0]["path"],
        "the body does not say what it must.",
        "mend the faults; /openapi.json describes the body.",
    )
    mistyped = next((fault for fault in faults if fault["fault"] in _TYPES), None)
    if mistyped is not None:
        detail, mend = f"{mistyped['path']} is of another type than it must be.", f"send {_TYPES[mistyped['fault']]}."
    return ProblemError(422, "body_wrong", detail, mend, more={"path": path, "faults": faults})


async def _answer_http(request: Request, exc: Exception) -> Response:  # noqa: ARG001 # as above
    assert isinstance(exc, HTTPException)
    code = {404: "no_such_route", 405: "method_wrong", 400: "not_json"}.get(exc.status_code, "refused")
    mend = "/openapi.json lists the routes and what they take."
    return _respond(ProblemError(exc.status_code, code, "the service does not take that request.", mend), exc.headers)


async def _answer_bug(request: Request, exc: Exception) -> Response:  # noqa: ARG001 # as above
    """Answer for a bug; the framework raises it again to the gate, which logs it."""
    return _respond(build_problem(InvariantError(type(exc).__name__)))
