"""The task a context is asked for, and who can tell what sort of task a question is.

What a task does not say is unknown, and unknown is read on the careful side: a question that may be about an objective fact is treated
as one, and nobody's preferences are used for somebody who may not want it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is asked, by whom, and where.

    Attributes:
        requires_objective_fact: The answer is right or wrong whoever asks. Unknown counts as yes.
        personalization_allowed: The person's own memories may shape the answer. Unknown counts as no.
        concerns_others: The choice is also somebody else's, so one person's wish binds that person alone.
        is_history: Asks what was believed before; superseded and expired records then answer, marked. Unknown counts as no.
        domain: Field of knowledge.
        task_type: Sort of task.
        project: Project it belongs to.
        user: Who asks.
        agent: Which agent asks for the context.
        session: Session of the read: what is written in it afterwards may be a recap of what was read. It binds no record.
        task_id: Names this one task, so that what came of it can be attributed.
    """

    requires_objective_fact: bool | None = None
    personalization_allowed: bool | None = None
    concerns_others: bool | None = None
    is_history: bool | None = None
    domain: str | None = None
    task_type: str | None = None
    project: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    task_id: str | None = None

    @property
    def may_be_objective(self) -> bool:
        """Whether it has to be answered as a question of fact."""
        return self.requires_objective_fact is not False

    @property
    def is_personal(self) -> bool:
        """Whether the person's own memories may be used."""
        return self.personalization_allowed is True


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What a classifier makes of a question.

    Attributes:
        task: What it says; None where it says nothing.
        confidence: In [0, 1], of all that it says.
    """

    task: Task
    confidence: float


class TaskClassifier(Protocol):
    """Tells from a question alone what sort of task it is."""

    async def classify(self, question: str, vector: tuple[float, ...] | None) -> Classification:
        """Classify a question, behind the turn it points back to, if any; `vector` is its embedding where there is one.

        Raises:
            DependencyError: Its model is away.
        """


class UnknownTask:
    """The classifier that says nothing: every question stays unknown."""

    async def classify(self, question: str, vector: tuple[float, ...] | None) -> Classification:  # noqa: ARG002 # the port's
        """Say nothing."""
        return Classification(task=Task(), confidence=0.0)


# What a question can tell; who asks, and in which session, it cannot.
_CLASSIFIED = ("requires_objective_fact", "personalization_allowed", "concerns_others", "is_history", "domain", "task_type")


def needs_classifying(task: Task) -> bool:
    """Tell whether the caller left open what decides most; whom a choice concerns decides only where memories of a person may be used."""
    if task.requires_objective_fact is None or task.personalization_allowed is None:
        return True
    return task.personalization_allowed and task.concerns_others is None


def fill_task(task: Task, found: Classification, *, least_confidence: float) -> Task:
    """Fill in what the caller left open, where the classifier is sure enough; what the caller says stands."""
    if found.confidence < least_confidence:
        return task
    known = {name: value for name in _CLASSIFIED if (value := getattr(found.task, name)) is not None}
    return replace(task, **{name: value for name, value in known.items() if getattr(task, name) is None})
