"""Hypothesis strategies for nasty sets of core events: few ids, few instants, everything collides.

`event_sets` mixes single events of every type with motifs, short stories that a uniform draw seldom finds (loops of
corrections, an update in place, a recap of what a session had just read, a cascade over an inline text). Events of one
set share memory ids, times, sessions, source references and sometimes event ids; nothing says in which order they
come. `shuffled` and `split` give arrivals of one set: any order, any multiplicity, any batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from guardian.core.model import (
    Audited,
    Authority,
    Deleted,
    Erased,
    Event,
    Linked,
    MemoryKind,
    Read,
    Scope,
    Source,
    SourceKind,
    Written,
)
from tests.reference.forge import (
    JOINED,
    SESSIONS,
    START,
    SUBJECTS,
    TEXTS,
    Forge,
    authorities,
    extents,
    grades,
    id_tuples,
    memory_ids,
    some_ids,
    times,
    trusted,
)

USER = Authority(kind=SourceKind.USER)
AGENT = Source(kind=SourceKind.AGENT)
TOOL = Source(kind=SourceKind.TOOL)


def read(forge: Forge) -> None:
    """Retrieve some memories in a session, or in none."""
    session_id = forge.draw(st.sampled_from((None, *SESSIONS)))
    forge.make(Read, retrieved=forge.draw(some_ids), session_id=session_id)


def delete(forge: Forge) -> None:
    """Delete a memory up to some instant."""
    forge.make(Deleted, memory_id=forge.draw(memory_ids), observed_at=forge.draw(times))


def erase(forge: Forge) -> None:
    """Erase a memory, often with what declares descent from it."""
    forge.make(
        Erased,
        memory_id=forge.draw(memory_ids),
        observed_at=forge.draw(times),
        cascade=forge.draw(st.booleans()),
        authority=forge.draw(authorities),
    )


def chain_of_recaps(forge: Forge) -> None:
    """Write a line of derivations, perhaps closed to a circle, and correct one of its memories."""
    space = forge.space()
    line = forge.draw(st.lists(memory_ids, min_size=3, max_size=4, unique=True))
    first = forge.draw(st.sampled_from(((), None, (line[-1],))))
    for memory_id, parents in zip(line, [first, *[(above,) for above in line]], strict=False):
        forge.write(space=space, memory_id=memory_id, parents=parents, supersedes=())
    forge.correct(space=space, targets=(forge.draw(st.sampled_from(line)),), authority=USER)


def loop_of_corrections(forge: Forge) -> None:
    """Correct one memory to the next, and the last to the first or to nothing."""
    space = forge.space()
    ring = forge.draw(st.lists(memory_ids, min_size=2, max_size=3, unique=True))
    for old, new in zip(ring, [*ring[1:], forge.draw(st.sampled_from((ring[0], None)))], strict=True):
        forge.correct(space=space, targets=(old,), subject=None, replacement=new, authority=USER)


def fork_of_corrections(forge: Forge) -> None:
    """Correct one memory twice, to itself, to another or to nothing."""
    space, target = forge.space(), forge.draw(memory_ids)
    for _ in range(2):
        others = forge.draw(id_tuples)
        forge.correct(
            space=space,
            targets=(target, *others),
            replacement=forge.draw(st.one_of(st.just(target), memory_ids, st.none())),
            extent=forge.draw(extents),
            authority=USER,
        )


def update_in_place(forge: Forge) -> None:
    """Write a memory, what derives from it, and a verified revision with another text."""
    space, draw = forge.space(), forge.draw
    memory_id, child = draw(st.lists(memory_ids, min_size=2, max_size=2, unique=True))
    forge.write(space=space, memory_id=memory_id, text=TEXTS[0], observed_at=START, supersedes=())
    forge.write(space=space, memory_id=child, parents=(memory_id,), supersedes=())
    forge.write(
        space=space,
        memory_id=memory_id,
        text=TEXTS[2],
        parents=draw(st.sampled_from((None, (), (child,)))),
        source=draw(trusted),
        verified=True,
        supersedes=draw(st.sampled_from(((), (child,), (memory_id,)))),
    )


def echo(forge: Forge) -> None:
    """Read a memory in a session and write a rewording of it there, without parents."""
    space, draw = forge.space(), forge.draw
    memory_id, recap = draw(st.lists(memory_ids, min_size=2, max_size=2, unique=True))
    session_id = draw(st.sampled_from(SESSIONS))
    row = draw(st.sampled_from((0, 3, 6)))
    at = draw(times)
    forge.write(space=space, memory_id=memory_id, text=TEXTS[row], supersedes=())
    forge.make(Read, ref=forge.ref(at), space=space, retrieved=(memory_id, recap), session_id=session_id)
    forge.write(
        space=space,
        memory_id=recap,
        text=TEXTS[row + draw(st.sampled_from((0, 1, 1, 2)))],
        parents=draw(st.sampled_from((None, None, ()))),
        source=draw(st.sampled_from((AGENT, AGENT, Source(kind=SourceKind.AGENT, ref="doc-1"), None))),
        scope=Scope(session_id=session_id),
        observed_at=at + timedelta(minutes=draw(st.sampled_from((0, 1, 60, 61)))),
        supersedes=(),
    )
    if draw(st.booleans()):
        forge.make(Linked, space=space, memory_id=recap, remove=(memory_id,), authority=USER)


def join(forge: Forge) -> None:
    """Read two memories in a session, write both down there as one without parents, and perhaps correct or cut off one of the two."""
    space, draw = forge.space(), forge.draw
    one, other, summary = draw(st.lists(memory_ids, min_size=3, max_size=3, unique=True))
    session_id, at, joined = draw(st.sampled_from(SESSIONS)), draw(times), draw(st.sampled_from((0, 0, 1, 2)))
    rows = ((0, 3), (6, 0), (3, 6))[joined]
    for memory_id, row in zip((one, other), rows, strict=True):
        forge.write(space=space, memory_id=memory_id, text=TEXTS[row + draw(st.sampled_from((0, 0, 1)))], supersedes=())
    forge.make(Read, ref=forge.ref(at), space=space, retrieved=(one, other), session_id=session_id)
    forge.write(
        space=space,
        memory_id=summary,
        text=JOINED[joined],
        parents=draw(st.sampled_from((None, None, ()))),
        source=AGENT,
        scope=Scope(session_id=session_id),
        observed_at=at + timedelta(minutes=draw(st.sampled_from((0, 1, 60)))),
        supersedes=(),
    )
    match draw(st.integers(0, 2)):
        case 1:
            forge.make(Linked, space=space, memory_id=summary, remove=(other,), authority=USER)
        case 2:
            forge.correct(space=space, targets=(one,), authority=USER)


def subject_twice(forge: Forge) -> None:
    """Correct one subject twice, each time with memories named beside it."""
    space, subject = forge.space(), forge.draw(st.sampled_from(SUBJECTS))
    forge.write(space=space, subject=subject)
    for _ in range(2):
        forge.correct(space=space, targets=forge.draw(id_tuples), subject=subject, authority=USER)


def twins(forge: Forge) -> None:
    """Write one record by two events that differ in what no digest covers."""
    space, memory_id, at, text = forge.space(), *map(forge.draw, (memory_ids, times, st.sampled_from(TEXTS)))
    for parents, kind in ((None, None), ((), forge.draw(st.sampled_from((None, MemoryKind.FACT))))):
        forge.write(space=space, memory_id=memory_id, observed_at=at, text=text, parents=parents, kind=kind)


def cascade(forge: Forge) -> None:
    """Erase a memory with all that declares descent from it, and write such descent around the erasure's time."""
    space, draw = forge.space(), forge.draw
    line = draw(st.lists(memory_ids, min_size=2, max_size=3, unique=True))
    for above, memory_id in pairwise(line):
        forge.write(space=space, memory_id=memory_id, parents=(above,), supersedes=())
    forge.make(Erased, space=space, memory_id=line[0], observed_at=draw(times), cascade=True, authority=USER)


def lend_a_name(forge: Forge) -> None:
    """Write what claims a user though it derives from the agent's own, or from nothing seen."""
    space = forge.space()
    parent, child = forge.draw(st.lists(memory_ids, min_size=2, max_size=2, unique=True))
    forge.write(space=space, memory_id=parent, source=AGENT)
    forge.write(space=space, memory_id=child, parents=(parent,), source=Source(kind=SourceKind.USER))


def judged_twice(forge: Forge) -> None:
    """Grade a memory, let channels judge it, and activate a calibration before or after, perhaps one after another."""
    space, draw = forge.space(), forge.draw
    memory_id = draw(memory_ids)
    forge.write(space=space, memory_id=memory_id, self_grade=draw(st.sampled_from((0.95, 0.7))), supersedes=())
    steps = [lambda: forge.calibrate(space=space, authority=USER), forge.rate]
    steps += [
        lambda channel=channel: forge.make(Audited, space=space, memory_id=memory_id, channel=channel, value=draw(grades))
        for channel in draw(st.sampled_from((("execution",), ("execution", "grounding"), ("grounding", "gold"))))
    ]
    steps += [lambda: forge.calibrate(space=space)] * draw(st.integers(0, 1))
    for step in draw(st.permutations(steps)):
        step()


def induced_again(forge: Forge) -> None:
    """Have a model speak of a memory and of what derives from it, again by another prompt, and perhaps end or change it in between."""
    space, draw = forge.space(), forge.draw
    memory_id, child = draw(st.lists(memory_ids, min_size=2, max_size=2, unique=True))
    source = draw(trusted)
    forge.write(space=space, memory_id=memory_id, source=source, supersedes=())
    of = forge.made[-1]
    assert isinstance(of, Written)
    forge.write(space=space, memory_id=child, parents=(memory_id,), source=draw(st.sampled_from((source, AGENT))), supersedes=())
    between: tuple[Callable[[], Any], ...] = (
        lambda: forge.write(space=space, memory_id=memory_id, observed_at=of.observed_at, text=of.text, parents=of.parents),
        lambda: forge.correct(space=space, targets=(memory_id,), replacement=child, authority=USER),
        lambda: forge.make(Erased, space=space, memory_id=memory_id, observed_at=draw(times), authority=USER),
        lambda: forge.write(space=space, memory_id=memory_id, source=source, supersedes=()),
    )
    steps: list[Callable[[], Any]] = [
        lambda: forge.induce(of, version="card-1", authority=TOOL, observed_at=of.observed_at),
        lambda: forge.induce(of, version="card-2", authority=TOOL, observed_at=of.observed_at),
        *draw(st.lists(st.sampled_from(between), max_size=1)),
    ]
    for step in draw(st.permutations(steps)):
        step()


MOTIFS: tuple[Callable[[Forge], Any], ...] = (
    Forge.write, Forge.write, Forge.write, Forge.write, Forge.write,
    Forge.correct, Forge.correct, Forge.correct_inline, Forge.retract, Forge.judge, Forge.link, judged_twice,
    read, delete, erase, twins, cascade, echo, join, update_in_place, subject_twice, fork_of_corrections, loop_of_corrections,
    chain_of_recaps, lend_a_name, Forge.induce, induced_again,
)  # fmt: skip


@st.composite
def event_sets(draw: st.DrawFn, max_events: int = 30, spaces: Sequence[str] = ("S1", "S2")) -> list[Event]:
    """Draw a set of at most `max_events` events in one or more of the spaces."""
    forge = Forge(draw, draw(st.sampled_from([spaces[:count] for count in range(1, len(spaces) + 1)])))
    # Hypothesis favours short lists; a floor now and then brings the crowded sets in which rules meet.
    least = min(draw(st.sampled_from((1, 3, 8, 12))), max_events)
    for motif in draw(st.lists(st.sampled_from(MOTIFS), min_size=least, max_size=max_events)):
        motif(forge)
        if len(forge.made) >= max_events:
            break
    return forge.made[:max_events]


@st.composite
def shuffled(draw: st.DrawFn, events: Sequence[Event]) -> list[Event]:
    """Draw an arrival of the events: every one at least once, some again, in any order."""
    again = draw(st.lists(st.sampled_from(list(events)), max_size=5)) if events else []
    arrival: list[Event] = draw(st.permutations([*events, *again]))
    return arrival


@st.composite
def split(draw: st.DrawFn, events: Sequence[Event]) -> list[list[Event]]:
    """Draw a cut of an arrival into batches that follow each other."""
    cuts = sorted(draw(st.sets(st.integers(1, len(events) - 1), max_size=6))) if len(events) > 1 else []
    return [list(events[start:end]) for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True)]
