"""Structured answers: the schema that is sent with a question, and the reading of what comes back.

An answer that does not fit is a fault with a name in our own words; the answer itself is never part of a message.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from guardian.chat.port import ChatReply

_Model = TypeVar("_Model", bound=BaseModel)
# Words of JSON Schema that say nothing to a model, or that endpoints with strict schemas refuse.
_DROPPED: Final = frozenset({"title", "minItems", "maxItems", "minLength", "maxLength"})
# Faults of one answer that are named.
_MAX_NAMED: Final = 8


class FaultyAnswerError(Exception):
    """An answer that cannot be used; says why in our own words. Whoever asks repairs it or does without."""


@functools.cache  # a few forms
def build_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """Build the JSON Schema of an answer, without what strict endpoints refuse."""
    schema: Mapping[str, Any] = _strip(model.model_json_schema())
    return schema


def read_structured(reply: ChatReply, model: type[_Model]) -> _Model:
    """Read the one JSON object of a reply: bare, fenced, or with words around it.

    Raises:
        FaultyAnswerError: It is cut, there is no object, or it does not fit.
    """
    if reply.is_cut:
        raise FaultyAnswerError("it ended at the longest allowed; be shorter")
    start, end = reply.text.find("{"), reply.text.rfind("}")
    try:
        parts = orjson.loads(reply.text[start : end + 1]) if 0 <= start < end else None
    except orjson.JSONDecodeError:
        parts = None
    if not isinstance(parts, dict):
        raise FaultyAnswerError("it was no JSON object")
    try:
        return model.model_validate(parts)
    except ValidationError as exc:
        known = _list_names(build_schema(model))
        # A name that the schema does not have is the answer's own word, and stays out of the message.
        faults = sorted({f"{_write_place(fault['loc'], known)} ({fault['type']})" for fault in exc.errors()})
        raise FaultyAnswerError(f"it did not fit the schema at {', '.join(faults[:_MAX_NAMED])}") from exc


def _write_place(place: tuple[int | str, ...], known: frozenset[str]) -> str:
    return ".".join(str(part) for part in place if isinstance(part, int) or part in known)


def _list_names(schema: Any) -> frozenset[str]:
    """List the names of all properties of a schema."""
    if isinstance(schema, dict):
        own = frozenset(schema["properties"]) if isinstance(schema.get("properties"), dict) else frozenset()
        return own.union(*(_list_names(value) for value in schema.values()))
    return frozenset().union(*map(_list_names, schema)) if isinstance(schema, list) else frozenset()


def _strip(schema: Any) -> Any:
    if isinstance(schema, dict):
        if "$ref" in schema:
            return {"$ref": schema["$ref"]}  # strict endpoints take no word beside it
        return {name: _strip(value) for name, value in schema.items() if name not in _DROPPED or isinstance(value, dict)}
    return [_strip(one) for one in schema] if isinstance(schema, list) else schema
