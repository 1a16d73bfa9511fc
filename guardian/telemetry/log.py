"""Logging, configured once: a console on a terminal, JSON lines otherwise, one chain for everything in the process.

Records of the standard library (Faust, mode, aiokafka, asyncio, warnings) pass through the same processors as Guardian's own.
Never logged: memory texts, vectors, raw bytes, secrets. `drop_content` is the net below that rule, not the rule. Tracebacks are
plain: the renderings with local variables would show all of these.
"""

from __future__ import annotations

import logging
import logging.config
import sys
from typing import IO, Any

import structlog
from structlog.types import EventDict, Processor, WrappedLogger

# Fields that no log line may carry, whoever logs it.
FORBIDDEN_FIELDS = frozenset(
    {"text", "texts", "vector", "vectors", "dense", "raw", "value", "payload", "headers", "password", "api_key", "sasl_password"}
)
# Libraries that tell every connection, join and service at INFO; their warnings are kept.
_VENDORS = ("aiokafka", "faust", "mode", "aiohttp", "httpx", "httpcore", "httpx2", "httpcore2", "qdrant_client")
# Libraries that write whole requests at DEBUG, memory texts among them; never below WARNING.
_TALKERS = ("openai",)


def configure_logging(level: str = "INFO", *, stream: IO[str] | None = None, as_json: bool | None = None) -> None:
    """Configure logging for this process; a second call replaces the first.

    Args:
        level: Least level that is written, by its standard name; libraries speak below WARNING only at DEBUG.
        stream: Where lines go; standard error when None, so that a command's answer stays alone on standard output.
        as_json: JSON lines or console lines; None asks whether the stream is a terminal.
    """
    out = sys.stderr if stream is None else stream
    lines = not out.isatty() if as_json is None else as_json
    shared = _shared_processors()
    logging.config.dictConfig(_build_config(level, out, [*_rendering(lines, has_colors=out.isatty())], shared))
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def drop_content(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:  # noqa: ARG001 # structlog's signature
    """Take out fields that may hold a memory's content or a secret."""
    for name in FORBIDDEN_FIELDS & event.keys():
        del event[name]
    return event


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        drop_content,
    ]


def _rendering(as_json: bool, *, has_colors: bool) -> list[Processor]:
    if as_json:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=has_colors, exception_formatter=plain)]


def _build_config(level: str, out: IO[str], rendering: list[Processor], shared: list[Processor]) -> dict[str, Any]:
    quiet_level = max(level, "WARNING", key=logging.getLevelName)
    vendor_level = level if level == "DEBUG" else quiet_level
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "chain": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
                "foreign_pre_chain": shared,
            }
        },
        "handlers": {"out": {"class": "logging.StreamHandler", "formatter": "chain", "stream": out}},
        "root": {"handlers": ["out"], "level": level},
        "loggers": {name: {"level": vendor_level} for name in _VENDORS} | {name: {"level": quiet_level} for name in _TALKERS},
    }
