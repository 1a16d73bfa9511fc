"""Open an agent file of either version: agents, blocks, and the calls that write memory, each with its answer.

v1 is one agent with `core_memory` and `messages`; v2 lists agents and blocks that name one another by ids of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from guardian.errors import RecordError
from guardian.sources.formats.letta.block_edit import find_label
from guardian.sources.reading.fields import render
from guardian.sources.reading.stamp import Stamp, read_time
from guardian.sources.reason import SourceReason

_LAST = datetime.max.replace(tzinfo=UTC)
_GOOD = frozenset({"ok", "success"})
ARCHIVAL = "archival_memory_insert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call that writes memory.

    Attributes:
        fault: Why it does not count: it failed, or nothing answers it; None when it was confirmed.
        rows: 1 for the first of a message, which answers for it.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    agent: str
    position: str
    stamp: Stamp | None
    fault: SourceReason | None
    rows: int


@dataclass(slots=True, kw_only=True)
class Block:
    """A block as the file holds it.

    Attributes:
        value: None when the file does not hold it any more.
        owners: Names of the agents that share it.
        calls: Those that edit it, in the order of their times.
    """

    memory_id: str
    label: str
    value: str | None
    owners: tuple[str, ...]
    created: Stamp | None = None
    updated: Stamp | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    rows: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent: its name, its earliest time, and the number of its messages that write no memory."""

    name: str
    first_time: Stamp | None
    other_messages: int
    calls: tuple[Call, ...]
    broken: tuple[BrokenPart, ...]


@dataclass(frozen=True, slots=True)
class BrokenPart:
    """A block or message that is none."""

    position: str
    message: str
    raw: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file as a whole; `lone_calls` edit no block that it holds."""

    agents: tuple[Agent, ...]
    blocks: tuple[Block, ...]
    lone_calls: tuple[Call, ...]
    broken: tuple[BrokenPart, ...]
    exported: Stamp | None


def open_agents(value: Mapping[str, Any]) -> Document:
    """Give the parts of a parsed file."""
    is_new = isinstance(value.get("agents"), list)
    raw_agents = value["agents"] if is_new else [value]
    broken: list[BrokenPart] = []
    agents: list[Agent] = []
    owned: list[tuple[str, list[Any]]] = []
    for number, raw in enumerate(raw_agents):
        if not isinstance(raw, dict):
            broken.append(_break(f"agent {number}", "the agent is no object", raw))
            continue
        name = _name_agent(raw, number, {agent.name for agent in agents})
        agents.append(_read_agent(raw, name))
        broken += agents[-1].broken
        ids = raw.get("block_ids")
        owned.append((name, ids if isinstance(ids, list) else []))
    raw_blocks = value["blocks"] if is_new else value["core_memory"]
    blocks: list[Block] = []
    for number, raw in enumerate(raw_blocks):
        if not isinstance(raw, dict) or not isinstance(raw.get("label"), str) or not isinstance(raw.get("value"), str):
            broken.append(_break(f"block {number}", "the block has no label or no value", raw))
            continue
        owners = tuple(name for name, ids in owned if not is_new or raw.get("id") in ids)
        blocks.append(_read_block(raw, owners))
    lone = _assign(agents, blocks)
    exported = _read_stamp(value.get("created_at")) if is_new else _read_stamp(value.get("updated_at"))
    return Document(agents=tuple(agents), blocks=tuple(blocks), lone_calls=tuple(lone), broken=tuple(broken), exported=exported)


def _assign(agents: list[Agent], blocks: list[Block]) -> list[Call]:
    """Give each call to the block that it edits, in the order of times, and return those that edit none."""
    lone: list[Call] = []
    for agent in agents:
        for call in agent.calls:
            label = find_label(call.tool, call.arguments)
            block = next((block for block in blocks if block.label == label and agent.name in block.owners), None)
            (lone if block is None else block.calls).append(call)
    for block in blocks:
        if len(block.owners) > 1 and all(call.stamp is not None for call in block.calls):
            block.calls.sort(key=lambda call: call.stamp.time if call.stamp is not None else _LAST)
    return lone


def _name_agent(raw: Mapping[str, Any], number: int, taken: set[str]) -> str:
    name = raw.get("name")
    wanted = name[:200] if isinstance(name, str) and name else f"agent-{number}"
    return wanted if wanted not in taken else f"{wanted}#{number}"


def _read_agent(raw: Mapping[str, Any], name: str) -> Agent:
    listed = raw.get("messages")
    raw_messages = list(enumerate(listed if isinstance(listed, list) else []))
    messages = [(number, message) for number, message in raw_messages if isinstance(message, dict)]
    broken = [
        _break(f"message {number} of {name}", "the message is no object", message)
        for number, message in raw_messages
        if not isinstance(message, dict)
    ]
    stamps = {number: _read_stamp(message.get("created_at")) for number, message in messages}
    times = [stamp for stamp in stamps.values() if stamp is not None]
    if len(times) == len(messages):
        # They stand in any order.
        messages.sort(key=lambda item: (stamp.time if (stamp := stamps[item[0]]) is not None else _LAST, item[0]))
    answers = dict(answer for _, message in messages for answer in _iter_answers(message))
    calls: list[Call] = []
    seen: set[str] = set()
    for number, message in messages:
        rows = 1
        for call_id, tool, arguments in _iter_calls(message):
            if call_id in seen or (find_label(tool, arguments) is None and tool != ARCHIVAL):
                continue
            seen.add(call_id)
            is_good = answers.get(call_id)
            fault = SourceReason.WRITE_UNCONFIRMED if is_good is None else None if is_good else SourceReason.WRITE_FAILED
            position = f"message {number} of {name}"
            calls.append(
                Call(
                    id=call_id,
                    tool=tool,
                    arguments=arguments,
                    agent=name,
                    position=position,
                    stamp=stamps[number],
                    fault=fault,
                    rows=rows,
                )
            )
            rows = 0
    return Agent(
        name=name,
        first_time=min(times, key=lambda stamp: stamp.time, default=None),
        other_messages=len(messages) - sum(call.rows for call in calls),
        calls=tuple(calls),
        broken=tuple(broken),
    )


def _read_block(raw: Mapping[str, Any], owners: tuple[str, ...]) -> Block:
    fields = {key: raw[key] for key in ("description", "read_only", "limit", "tags") if raw.get(key) not in (None, [], "")}
    return Block(
        memory_id=f"{'+'.join(owners)[:400]}/{raw['label'][:400]}",
        label=raw["label"],
        value=raw["value"],
        owners=owners,
        created=_read_stamp(raw.get("created_at")),
        updated=_read_stamp(raw.get("updated_at") or raw.get("created_at")),
        fields=fields,
    )


def _iter_calls(message: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield id, name and arguments of each call; arguments are a JSON text."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        arguments = function.get("arguments")
        try:
            parsed = orjson.loads(arguments) if isinstance(arguments, str) else arguments
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            continue
        if isinstance(parsed, dict):
            yield str(call.get("id")), str(function.get("name")), parsed


def _iter_answers(message: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield (id of the call, whether it succeeded) for each answer that a tool message holds."""
    if message.get("role") != "tool":
        return
    if isinstance(call_id := message.get("tool_call_id"), str):
        yield call_id, _is_good(_find_text(message))
    returns = message.get("tool_returns")
    for answer in returns if isinstance(returns, list) else []:
        if isinstance(answer, dict) and isinstance(call_id := answer.get("tool_call_id"), str):
            yield call_id, str(answer.get("status")).lower() in _GOOD


def _find_text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return "".join(text for text in texts if isinstance(text, str))


def _is_good(text: str) -> bool:
    """Tell by the `status` of the JSON that a tool message wraps its answer in."""
    try:
        answer = orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return False
    return isinstance(answer, dict) and str(answer.get("status")).lower() in _GOOD


def _read_stamp(value: Any) -> Stamp | None:
    try:
        return read_time(value) if isinstance(value, str) else None
    except RecordError:
        return None


def _break(position: str, message: str, raw: Any) -> BrokenPart:
    return BrokenPart(position, message, render(raw))
