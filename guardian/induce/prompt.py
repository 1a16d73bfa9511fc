"""What the model is asked: prompts as files of their own, one a version; a changed text is a new file.

The memory stands in one JSON document in the user's message, in which no text can close its string, begin a line or open a tag.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files

from guardian.chat.port import ChatMessage
from guardian.core.escape import dump_line
from guardian.core.model import MemoryKind, SourceKind

# The version in use: name of its file. Cards of another version are made anew by `guardian cards refresh`.
PROMPT_VERSION = "card-2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What of a memory is shown to a model, and digested for the cache: nothing else may decide a card."""

    text: str
    kind: MemoryKind
    source_kind: SourceKind


@functools.cache
def load_prompt(version: str = PROMPT_VERSION) -> str:
    """Load the system's message of a version."""
    return (files("guardian.induce") / "prompts" / f"{version}.md").read_text(encoding="utf-8")


def build_messages(content: Content, *, fault: str | None = None, version: str = PROMPT_VERSION) -> tuple[ChatMessage, ...]:
    """Build the messages of one question.

    Args:
        content: The memory.
        fault: What was wrong with the answer before, in our words; the answer itself is not shown again.
        version: Of the prompt.
    """
    # Letters of every script as they are, so that a model reads them and they cost what they should; all that hides, steers or opens, escaped.
    document = dump_line({"kind": content.kind.value, "source": content.source_kind.value, "memory": content.text})
    messages = [ChatMessage(role="system", content=load_prompt(version)), ChatMessage(role="user", content=document)]
    if fault is not None:
        repair = f"The answer before this one could not be used: {fault}. Answer again with one JSON object of the schema."
        messages.append(ChatMessage(role="user", content=repair))
    return tuple(messages)
