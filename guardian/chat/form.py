"""The body of a chat request, in the best form that an endpoint takes; and what was learned about that.

Endpoints that speak OpenAI's protocol differ: some constrain an answer by a JSON Schema, some to any JSON object, some not at all; some
models want `max_completion_tokens`, refuse a temperature or a seed. A refusal that names its parameter is believed; one that names none
is taken as one of the structured output, until that has worked once: then it is the request's own fault. A step down is remembered when
what is below it worked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Final

from guardian.chat.port import ChatRequest

_ADVICE: Final = "Answer with one JSON object and nothing else, without a code fence. It must fit this JSON Schema:\n"
# Parameters without which a question can still be asked, and what stands in for them.
_STAND_INS: Final[dict[str, str | None]] = {"max_tokens": "max_completion_tokens", "temperature": None, "seed": None}


class Form(IntEnum):
    """How an answer is held to a schema, the strictest first."""

    SCHEMA = 0
    OBJECT = 1
    WORDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What one endpoint takes, as far as its refusals taught.

    Attributes:
        forms: Strictest form that is not known to be refused, by name of the schema: a server may take one schema and not another.
        proven: Names of schemas that a question was answered with.
        renamed: Parameters that are refused, and what stands in for them (None: nothing).
    """

    forms: Mapping[str, Form] = field(default_factory=dict)
    proven: frozenset[str] = frozenset()
    renamed: Mapping[str, str | None] = field(default_factory=dict)

    def form_of(self, request: ChatRequest) -> Form:
        """Give the form that a request goes out in."""
        return Form.WORDS if request.schema is None else self.forms.get(request.schema_name, Form.SCHEMA)

    def write(self, request: ChatRequest, *, model: str) -> dict[str, Any]:
        """Write the body of a request."""
        form = self.form_of(request)
        body: dict[str, Any] = {"model": model, "messages": _write_messages(request, form)}
        options = {"max_tokens": request.max_tokens, "temperature": request.temperature, "seed": request.seed}
        for name, value in options.items():
            known = self.renamed.get(name, name)
            if value is not None and known is not None:
                body[known] = value
        if request.schema is not None and form is not Form.WORDS:
            body["response_format"] = _write_format(request, form)
        return body

    def after_refusal(self, request: ChatRequest, *, parameter: str | None) -> Abilities | None:
        """Give what to try next, or None if the request itself is at fault."""
        name = (parameter or "").partition(".")[0]
        if name in _STAND_INS:
            return None if name in self.renamed else replace(self, renamed={**self.renamed, name: _STAND_INS[name]})
        form = self.form_of(request)
        is_about_form = name == "response_format" or (not name and request.schema_name not in self.proven)
        if form is Form.WORDS or not is_about_form:
            return None
        return replace(self, forms={**self.forms, request.schema_name: Form(form + 1)})

    def after_success(self, request: ChatRequest, tried: Abilities) -> Abilities:
        """Keep what was tried, now that it worked; what others learned meanwhile stays."""
        if request.schema is None:
            return replace(self, renamed={**self.renamed, **tried.renamed})
        form = max(self.form_of(request), tried.form_of(request))
        return Abilities(
            forms={**self.forms, request.schema_name: form},
            proven=self.proven | {request.schema_name},
            renamed={**self.renamed, **tried.renamed},
        )


def _write_format(request: ChatRequest, form: Form) -> dict[str, Any]:
    if form is Form.OBJECT:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": request.schema_name, "schema": request.schema, "strict": True}}


def _write_messages(request: ChatRequest, form: Form) -> list[dict[str, str]]:
    """Write the messages; without a schema in the body it stands at the end of the system's message, of which many models take only one."""
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    if request.schema is None or form is Form.SCHEMA:
        return messages
    advice = _ADVICE + json.dumps(request.schema, ensure_ascii=False, sort_keys=True)
    if messages and messages[0]["role"] == "system":
        return [{"role": "system", "content": f"{messages[0]['content']}\n\n{advice}"}, *messages[1:]]
    return [{"role": "system", "content": advice}, *messages]
