"""Draw single core events that collide: few memory ids, few instants, shared sessions, references and event ids."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from guardian.core.model import (
    Audited,
    Calibrated,
    ChannelTrust,
    Corrected,
    Event,
    EventRef,
    Extent,
    Induced,
    Linked,
    MemoryKind,
    Rated,
    Retracted,
    Scope,
    Source,
    SourceKind,
    Written,
)
from tests.reference.inductions import digest_of
from tests.reference.revisions import revision_of

START = datetime(2026, 3, 14, 9, tzinfo=UTC)
# Minutes: ties are common, and one step of 60 is exactly the window of a session, one is just outside.
MINUTES = (0, 1, 5, 30, 60, 61, 90, 150)
MEMORY_IDS = ("a", "b", "c", "d", "e", "s")
SUBJECTS = ("kiln", "depot")
SESSIONS = ("s1", "s2")
CHANNELS = ("gold", "self", "execution", "grounding")
MEANS = {"execution+grounding": ("execution", "grounding")}
CALIBRATIONS = ("cal-1", "cal-2", "default")
# Within a line the first texts restate each other; the last of it does not, for its number or its negation.
TEXTS = (
    "Kiln 4 fires at 900 degrees", "The kiln 4 fires at 900 degrees", "Kiln 4 fires at 950 degrees",
    "Depot Alder owns the blue trailer", "The blue trailer is owned by depot Alder",
    "Depot Alder does not own the blue trailer",
    "The caf\u00e9 opens at 8", "The cafe\u0301 opens at 8", "The caf\u00e9 opens at 9",
)  # fmt: skip
# Each joins the first texts of two lines; the last denies what one of them says.
JOINED = (
    "Summary: kiln 4 fires at 900 degrees; the blue trailer is owned by depot Alder",
    "Known: the caf\u00e9 opens at 8, and kiln 4 fires at 900 degrees",
    "Depot Alder owns the blue trailer, and the caf\u00e9 does not open at 8",
)

# Who writes cards, and by which prompt; who may not.
INDUCERS = ("/guardian/inducer", "/guardian/inducer", "/guardian/inducer/eu", "/guardian/inducers", "/one")
PROMPTS = ("card-1", "card-2")
NARROWINGS: tuple[dict[str, Any], ...] = (
    {},
    {"bars": ["facts"], "never": ["current_value", "objective_fact"], "conflict": "current_evidence_wins"},
    {"bars": ["background", "examples", "preferences"], "must_not": ["follow as an instruction"]},
    {"bars": ["constraints"], "never": ["user_preference"], "must_use": ["name its date"], "conflict": "human_review"},
    {"must_use": ["name it as unverified", "name its date"], "conflict": "latest_memory_wins"},
)

times = st.sampled_from(MINUTES).map(lambda minutes: START + timedelta(minutes=minutes))
memory_ids = st.sampled_from(MEMORY_IDS)
id_tuples = st.lists(memory_ids, max_size=3).map(tuple)
some_ids = st.lists(memory_ids, min_size=1, max_size=2).map(tuple)
scopes = st.builds(
    Scope,
    session_id=st.sampled_from((None, *SESSIONS)),
    user_id=st.sampled_from((None, None, "ann", "bo")),
    project_id=st.sampled_from((None, None, "p1", "p2", "p3")),
)
grades = st.sampled_from((0.0, 0.1, 0.3, 0.7, 0.95, 1.0))
sources = st.builds(
    Source,
    kind=st.sampled_from(SourceKind),
    ref=st.sampled_from((None, None, "doc-1", "doc-2")),
    actor=st.sampled_from((None, "kim")),
)
trusted = st.builds(
    Source,
    kind=st.sampled_from((SourceKind.DOCUMENT, SourceKind.TOOL, SourceKind.HUMAN_REVIEW)),
    ref=st.sampled_from((None, "doc-1")),
)
authorities = st.one_of(
    trusted,
    trusted,
    st.builds(Source, kind=st.just(SourceKind.USER)),
    st.sampled_from((None, Source(kind=SourceKind.AGENT), Source(kind=SourceKind.SYSTEM_IMPORT))),
)
extents = st.sampled_from((None, *Extent))


def sign(event: Any) -> Any:
    """Give the event with the digest of its content, so that equal content has equal identity.

    The time is digested too: one id with equal data at two times stays two events.
    """
    parts = [(each.name, getattr(event, each.name)) for each in fields(event) if each.name not in ("ref", "inline")]
    inline = getattr(event, "inline", None)
    inside = [(each.name, getattr(inline, each.name)) for each in fields(inline) if each.name != "ref"] if inline else []
    content = repr((type(event).__name__, event.ref.time, parts, inside))
    ref = replace(event.ref, digest=hashlib.sha256(content.encode()).hexdigest())
    return replace(event, ref=ref, inline=replace(inline, ref=ref)) if inline else replace(event, ref=ref)


class Forge:
    """Draw signed events of one set; it owns the ids given so far."""

    def __init__(self, draw: st.DrawFn, spaces: Sequence[str]) -> None:
        self.draw = draw
        self.spaces = spaces
        self.made: list[Event] = []
        self.reached: list[EventRef] = []

    def space(self) -> str:
        """Draw a space."""
        space: str = self.draw(st.sampled_from(self.spaces))
        return space

    def reason(self) -> str | None:
        """Give words for every other event, which an erasure may have to take away."""
        return "He said so" if len(self.made) % 2 else None

    def ref(self, time: datetime | None = None) -> EventRef:
        """Give a new event id, one time in ten one that is taken."""
        number = len(self.made)
        if number and self.draw(st.integers(0, 9)) == 9:
            number = self.draw(st.integers(0, number - 1))
        source = "/two" if number % 3 == 2 else "/one"
        return EventRef(time=time or self.draw(times), source=source, id=f"e{number}", digest="")

    def make(self, event_type: type[Any], /, **named: Any) -> None:
        """Build, sign and keep one event; what is not named here has its default."""
        if "space" not in named:
            named["space"] = self.space()
        event = sign(event_type(ref=named.pop("ref", None) or self.ref(), **named))
        self.made.append(event)
        if isinstance(event, Corrected | Audited | Calibrated | Induced) or (isinstance(event, Written) and event.verified):
            self.reached.append(event.ref)

    def write(self, **named: Any) -> None:
        """Write something, anything where it is not named."""
        ref = self.ref()
        drawn = {
            "memory_id": memory_ids,
            "text": st.sampled_from(TEXTS),
            "observed_at": st.one_of(st.just(ref.time), times),
            "kind": st.sampled_from((None, None, *MemoryKind)),
            "source": st.one_of(st.none(), trusted, sources),
            "parents": st.one_of(st.none(), id_tuples),
            "scope": st.one_of(st.none(), scopes),
            "subject": st.sampled_from((None, None, *SUBJECTS)),
            "verified": st.sampled_from((False, False, True)),
            "supersedes": st.one_of(st.just(()), st.just(()), some_ids),
            "self_grade": st.one_of(st.none(), grades),
        }
        values = {name: self.draw(strategy) for name, strategy in drawn.items() if name not in named}
        self.make(Written, ref=ref, **values, **named)

    def correct(self, **named: Any) -> None:
        """Correct targets or a subject, with or without a replacement, by any authority."""
        ref = self.ref()
        effective_at = min(ref.time, self.draw(times))
        by_subject = self.draw(st.integers(0, 3)) == 3
        drawn = {
            "targets": st.one_of(some_ids, st.just(())) if by_subject else some_ids,
            "subject": st.sampled_from(SUBJECTS) if by_subject else st.none(),
            "replacement": st.one_of(st.none(), memory_ids, memory_ids),
            "extent": extents,
            "authority": authorities,
        }
        values = {name: self.draw(strategy) for name, strategy in drawn.items() if name not in named}
        self.make(Corrected, ref=ref, **{"effective_at": effective_at, "reason": self.reason(), **values, **named})

    def correct_inline(self) -> None:
        """Correct with the replacement's text inside."""
        draw, space = self.draw, self.space()
        inside = Written(
            ref=EventRef(time=START, source="", id="", digest=""),
            space=space,
            memory_id=draw(memory_ids),
            text=draw(st.sampled_from(TEXTS)),
            observed_at=draw(times),
            kind=draw(st.sampled_from((None, MemoryKind.FACT))),
            source=draw(st.one_of(st.none(), sources)),
            parents=draw(st.one_of(st.none(), id_tuples)),
            verified=draw(st.booleans()),
            supersedes=draw(st.one_of(st.just(()), some_ids)),
        )
        self.correct(space=space, replacement=inside.memory_id, inline=inside)

    def retract(self) -> None:
        """Withdraw something that can be withdrawn, made before or perhaps only later."""
        named = self.draw(st.sampled_from(self.reached)) if self.reached else None
        self.make(
            Retracted,
            event_source=named.source if named else "/one",
            event_id=named.id if named else f"e{len(self.made) + self.draw(st.integers(1, 4))}",
            authority=self.draw(authorities),
        )

    def judge(self) -> None:
        """Give a verdict, now and then for one revision by its digest."""
        written = [event for event in self.made if isinstance(event, Written)]
        revision = None
        if written and self.draw(st.integers(0, 3)) == 3:
            judged = self.draw(st.sampled_from(written))
            memory_id, revision = judged.memory_id, revision_of(judged)
        else:
            memory_id = self.draw(memory_ids)
        channel = self.draw(st.sampled_from(CHANNELS))
        self.make(Audited, memory_id=memory_id, channel=channel, value=self.draw(grades), revision=revision)

    def calibrate(self, **named: Any) -> None:
        """Activate a calibration; one id may stand for several, and means of channels are among what passes."""
        ref = self.ref()
        judged = (*CHANNELS[2:], *MEANS)
        names = self.draw(st.lists(st.sampled_from(judged), max_size=3, unique=True))
        channels = {
            name: ChannelTrust(
                alpha=self.draw(st.sampled_from((0.0, 0.25, 0.75, 1.0))),
                payoff=self.draw(st.sampled_from((0.0, 0.125, 0.25))),
                passes=self.draw(st.sampled_from((True, True, False))),
                members=MEANS.get(name, ()),
                detects=self.draw(st.sampled_from((False, False, True))),
            )
            for name in sorted(names)
        }
        drawn = {"calibration": st.sampled_from(CALIBRATIONS), "authority": authorities}
        values = {name: self.draw(strategy) for name, strategy in drawn.items() if name not in named}
        effective_at = min(ref.time, self.draw(times))
        self.make(Calibrated, ref=ref, **{"channels": channels, "effective_at": effective_at, **values, **named})

    def rate(self) -> None:
        """Ask for memories to be rated again."""
        self.make(Rated, memory_ids=self.draw(some_ids))

    def induce(self, of: Written | None = None, **named: Any) -> None:
        """Say what a model makes of a write, known or not: by some model and prompt, of its content as named or as some other."""
        draw = self.draw
        written = [event for event in self.made if isinstance(event, Written)]
        if of is None:
            if not written:
                self.write()
            of = draw(st.sampled_from([event for event in self.made if isinstance(event, Written)]))
        kinds = [event.kind for event in written if event.memory_id == of.memory_id and event.kind is not None]
        speakers = [event.source.kind for event in written if event.memory_id == of.memory_id and event.source is not None]
        kind = draw(st.sampled_from((of.kind or MemoryKind.OTHER, *kinds)))
        own_speaker = of.source.kind if of.source is not None else SourceKind.UNKNOWN
        digest = digest_of(of.text, kind, draw(st.sampled_from((own_speaker, own_speaker, *speakers))))
        ref = self.ref()
        drawn = {
            "inducer": st.sampled_from(("stub", "stub", "other")),
            "version": st.sampled_from(PROMPTS),
            "confidence": st.sampled_from((0.25, 0.75)),
            "narrowing": st.sampled_from(NARROWINGS),
            "authority": st.one_of(trusted, trusted, authorities),
            "observed_at": st.sampled_from((of.observed_at, of.observed_at, of.observed_at, START)),
        }
        values = {name: draw(strategy) for name, strategy in drawn.items() if name not in named} | named
        summary = draw(st.sampled_from((None, "One view.", "Another view.")))
        card = None if summary is None else _card_of(summary, digest, values)
        ref = replace(ref, source=draw(st.sampled_from(INDUCERS)))
        values |= {"memory_id": of.memory_id, "revision": revision_of(of), "digest": digest, "card": card}
        self.make(Induced, ref=ref, space=of.space, **values)

    def link(self) -> None:
        """Set or cut lineage by hand; one event never does both to one parent."""
        add, remove = self.draw(id_tuples), self.draw(id_tuples)
        remove = tuple(each for each in remove if each not in add)
        self.make(
            Linked,
            memory_id=self.draw(memory_ids),
            add=add,
            remove=remove,
            authority=self.draw(authorities),
            reason=self.reason(),
        )


def _card_of(summary: str, digest: str, values: dict[str, Any]) -> dict[str, Any]:
    """Give a card as the core keeps it, told apart by its summary."""
    empty: dict[str, Any] = {"tasks": [], "settings": [], "distinctions": [], "rules": []}
    made = {"by": values["inducer"], "version": values["version"], "confidence": values["confidence"]}
    return {**empty, "summary": summary, **made, "digest": digest}
