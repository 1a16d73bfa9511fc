"""Time and turns: coroutines that are driven by hand, one step at a time, in an order that the seed draws.

There is no event loop and nothing sleeps. Whoever awaits a pause hands the turn back; a pause of some virtual milliseconds is over when
the clock is there, and when nobody is ready the clock leaps. A task that is killed never gets another turn: the crash of a process.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from random import Random
from typing import Any

# Milliseconds since 1970 at which every world begins: a day after the forge's events.
START_MS = 1_773_565_200_000


@dataclass(frozen=True, slots=True)
class Pause:
    """A turn handed back.

    Attributes:
        place: What is about to happen.
        ms: Virtual milliseconds until it can.
    """

    place: str
    ms: int = 0

    def __await__(self) -> Generator[Pause, None, None]:
        """Hand the turn to the schedule."""
        yield self


class Task:
    """A coroutine and when it can go on."""

    def __init__(self, name: str, coroutine: Coroutine[Pause, None, None]) -> None:
        self.name = name
        self.place = "start"
        self.ready_ms = 0
        self.is_done = False
        self._coroutine = coroutine

    def step(self, now_ms: int) -> None:
        """Go on to the next pause, or to the end."""
        try:
            pause = self._coroutine.send(None)
        except StopIteration:
            self.is_done = True
        else:
            self.place, self.ready_ms = pause.place, now_ms + pause.ms

    def kill(self) -> None:
        """End the task where it stands."""
        self.is_done = True
        self._coroutine.close()


class Schedule:
    """Gives turns.

    Attributes:
        now_ms: The virtual clock.
        steps: Turns given so far.
    """

    def __init__(self, random: Random) -> None:
        self.now_ms = START_MS
        self.steps = 0
        self.tasks: list[Task] = []
        self._random = random

    def start(self, name: str, coroutine: Coroutine[Any, Any, None]) -> Task:
        """Add a task."""
        task = Task(name, coroutine)
        self.tasks.append(task)
        return task

    def choose(self) -> Task | None:
        """Choose whose turn it is, leaping ahead when all wait; None when all are done."""
        self.tasks = [task for task in self.tasks if not task.is_done]
        if not self.tasks:
            return None
        self.now_ms = max(self.now_ms, min(task.ready_ms for task in self.tasks))
        return self._random.choice([task for task in self.tasks if task.ready_ms <= self.now_ms])

    def kill_all(self) -> None:
        """End all tasks, so that what they hold is given back."""
        for task in self.tasks:
            task.kill()

    def give_turn(self, task: Task) -> None:
        """Let a task go on."""
        self.steps += 1
        self.now_ms += 1
        task.step(self.now_ms)
