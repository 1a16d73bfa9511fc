"""Laws of logging: one chain for all, JSON where nobody watches, and never a memory's content."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator

import pytest
import structlog

from guardian.telemetry.log import FORBIDDEN_FIELDS, configure_logging


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Leave logging as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(False)
    structlog.reset_defaults()


def read_lines(stream: io.StringIO) -> list[dict[str, object]]:
    """Give the JSON lines that were written."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_own_and_foreign_records_pass_one_chain() -> None:
    """Both are JSON lines with the same fields."""
    stream = io.StringIO()
    configure_logging("INFO", stream=stream)
    structlog.stdlib.get_logger("guardian.test").info("batch.finished", events=3)
    logging.getLogger("elsewhere").warning("%s went", "it")
    own, foreign = read_lines(stream)
    assert own.keys() - {"events"} == foreign.keys() == {"event", "level", "logger", "timestamp"}
    assert (own["event"], own["events"], foreign["event"]) == ("batch.finished", 3, "it went")


@pytest.mark.parametrize(("level", "spoken"), [("INFO", ["warned"]), ("DEBUG", ["told", "warned"]), ("ERROR", [])])
def test_vendors_speak_of_trouble_only(level: str, spoken: list[str]) -> None:
    """Their INFO is for DEBUG; and no setting makes them louder than Guardian."""
    stream = io.StringIO()
    configure_logging(level, stream=stream)
    logging.getLogger("aiokafka.consumer").info("told")
    logging.getLogger("mode").warning("warned")
    assert [line["event"] for line in read_lines(stream)] == spoken


def test_a_client_that_writes_whole_requests_is_quiet_at_every_level() -> None:
    """The chat client's DEBUG lines hold the messages, and these hold memories."""
    stream = io.StringIO()
    configure_logging("DEBUG", stream=stream)
    logging.getLogger("openai._base_client").debug("Request options: %s", {"json_data": {"messages": ["Kiln 4"]}})
    logging.getLogger("openai._base_client").warning("warned")
    assert [line["event"] for line in read_lines(stream)] == ["warned"]


@pytest.mark.parametrize("as_json", [True, False])
def test_content_is_dropped_and_tracebacks_show_no_locals(as_json: bool) -> None:
    """Neither a careless field nor an exception shows what a memory says."""
    stream = io.StringIO()
    configure_logging("INFO", stream=stream, as_json=as_json)
    log = structlog.stdlib.get_logger("guardian.test")

    def fail(secret: str) -> None:
        raise ValueError(len(secret))

    content = " ".join(["Kiln", "4", "fires"])  # not in the source, which a traceback quotes
    try:
        fail(content)
    except ValueError:
        log.exception("batch.failed", **dict.fromkeys(FORBIDDEN_FIELDS, content))
    assert "Kiln 4" not in stream.getvalue()
    assert "ValueError" in stream.getvalue()


def test_warnings_are_lines_too() -> None:
    """What Python warns of is not lost on standard error."""
    stream = io.StringIO()
    configure_logging("INFO", stream=stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old thing", DeprecationWarning, stacklevel=1)
    assert any("old thing" in str(line["event"]) for line in read_lines(stream))


def test_configuring_twice_writes_once() -> None:
    """The second call replaces the first."""
    first, second = io.StringIO(), io.StringIO()
    configure_logging("INFO", stream=first)
    configure_logging("INFO", stream=second)
    structlog.stdlib.get_logger("guardian.test").info("worker.started")
    assert (first.getvalue(), len(read_lines(second))) == ("", 1)
