"""Turns: what a question means that points back to the talk before it.

"What would you do in the situation we discussed?" has no words of its own: neither what it asks for nor what memory has to say to it can be
told from it alone. Then, and only then, the asker's latest turn that says something is put before it. Only what the asker said is ever
given; what an assistant or a tool said would let a document choose how it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from guardian.read.task.cue import read_cues

# Characters of a turn that says something: "ok, thanks" is passed over.
_LEAST_CHARS: Final = 20
# Of a long turn its end counts, where people come to their point; a small embedder reads some 1,000 characters, and the question is to be among them.
_MAX_CHARS: Final = 700


def resolve_question(question: str, turns: Sequence[str]) -> str:
    """Give a question as it is to be understood: itself, or behind the turn it points back to.

    Args:
        question: As it was asked.
        turns: What the asker said before it in this conversation, oldest first.
    """
    latest = next((turn.strip() for turn in reversed(turns) if len(turn.strip()) >= _LEAST_CHARS), None)
    if latest is None or not read_cues(question).shows("back"):
        return question
    return f"{latest[-_MAX_CHARS:]}\n{question}"
