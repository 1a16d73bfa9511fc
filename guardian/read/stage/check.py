"""Check an answer span by span: source, support, permission. Pure code; the same answer and the same context give the same verdicts.

1. Source: a cite names a handle that was rendered. Handles that do not exist and memories that were rejected carry nothing.
2. Permission: the record's use allows the claim, and its permission neither withholds nor bars it.
3. Support: the quote stands in the record as it was shown, and the span says no number, name or negation beyond its quotes,
   and no word that neither its records nor the question has.

A cite that fails is dropped; a span has to stand on those that are left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from guardian.core.card import Withheld
from guardian.core.narrowing import Bar
from guardian.read.admission.decision import Mark
from guardian.read.admission.task import Task
from guardian.read.stage.form import CLAIMS, MAX_SPAN, CiteAnswer, Claim, SpanAnswer, Use
from guardian.read.stage.source import Source
from guardian.read.stage.vocabulary import add_words
from guardian.read.stage.wording import adds_marks, adds_names, is_quoted, score_overlap, turns_meaning

# Share of a sentence's content that has to stand in the record or the question. Higher and paraphrases fail, lower and a sentence
# of other things passes that shares a word.
LEAST_OVERLAP: Final = 0.5
# What a model writes to look like a cite of ours.
_FORGED: Final = re.compile(r"[\[(\uff08\u3010]\s*[A-Za-z]\d+[^\])\uff09\u3011]*[\])\uff09\u3011]")


class Fault(StrEnum):
    """What is wrong with a cite or a span."""

    NO_SUPPORT = "no_support"
    INVENTED = "invented"
    REJECTED = "rejected"
    IGNORED = "ignored"
    NOT_ALLOWED = "not_allowed"
    WITHHELD = "withheld"
    BARRED = "barred"
    NOT_QUOTED = "not_quoted"
    ADDED_MARK = "added_mark"
    ADDED_NAME = "added_name"
    ADDED_WORD = "added_word"
    TURNED = "turned"
    UNRELATED = "unrelated"
    EMPTY = "empty"
    TOO_LONG = "too_long"


SENTENCES: Final[dict[Fault, str]] = {
    Fault.NO_SUPPORT: "no cite is left that may carry it",
    Fault.INVENTED: "it cites a handle that does not exist",
    Fault.REJECTED: "it cites a memory that was rejected for this question",
    Fault.IGNORED: "it cites a record that is to be ignored",
    Fault.NOT_ALLOWED: "the use of the cited record does not allow such a claim",
    Fault.WITHHELD: "the cited record may not establish this",
    Fault.BARRED: "this use of the cited record is barred",
    Fault.NOT_QUOTED: "the quote is not in the text of the cited record",
    Fault.ADDED_MARK: "it has a number, date, currency, unit or code that its quotes do not have",
    Fault.ADDED_NAME: "it has a name that its records do not have",
    Fault.ADDED_WORD: "it has a word that neither its records nor the question has",
    Fault.TURNED: "it adds or drops a negation, or adds a word that turns what is said",
    Fault.UNRELATED: "its words are not those of its quotes",
    Fault.EMPTY: "it says nothing",
    Fault.TOO_LONG: "it is too long",
}
# Claim -> what of a permission stands against it.
_WITHHELD: Final = {Claim.FACT: Withheld.OBJECTIVE_FACT, Claim.WISH: Withheld.USER_PREFERENCE}
_BARS: Final = {Claim.FACT: Bar.OBJECTIVE, Claim.RULE: Bar.INSTRUCTION}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cite:
    """One thing that a span rests on, and what is wrong with that.

    Attributes:
        memory_id: Empty for what does not exist, and for what the caller gave.
        given_by: What the caller calls it; None for what is a memory, or does not exist.
    """

    handle: str
    quote: str
    memory_id: str = ""
    given_by: str | None = None
    fault: Fault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One statement after the check.

    Attributes:
        text: On one line, without anything that looks like a cite.
        cites: As the model gave them, each with its fault; repeated ones once.
        faults: What is wrong with the span; empty when it stands.
        is_verified: It stands on the verified ones of its records alone.
        is_given: It does not, and stands on them and on what the caller gave, without any unverified record.
        marks: What has to stand beside it.
    """

    text: str
    claim: Claim
    cites: tuple[Cite, ...]
    faults: tuple[Fault, ...]
    is_verified: bool = False
    is_given: bool = False
    marks: tuple[Mark, ...] = ()

    @property
    def stands(self) -> bool:
        """Whether it may be said."""
        return not self.faults

    @property
    def support(self) -> tuple[Cite, ...]:
        """The cites that carry it."""
        return tuple(cite for cite in self.cites if cite.fault is None)

    @property
    def all_faults(self) -> tuple[Fault, ...]:
        """What is wrong with it and with its cites, each once."""
        return tuple(dict.fromkeys((*self.faults, *(cite.fault for cite in self.cites if cite.fault is not None))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What spans are checked against.

    Attributes:
        sources: What was rendered, by handle.
        rejected: Memory ids that were found and are not rendered.
        least_overlap: See `LEAST_OVERLAP`.
    """

    question: str
    task: Task
    sources: Mapping[str, Source]
    rejected: frozenset[str] = frozenset()
    least_overlap: float = LEAST_OVERLAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What a check found, in numbers.

    Attributes:
        spans: Spans that were checked, revised ones too.
        standing: Those of them that stand.
        cites: Cites that were checked.
        refused: Those of them that carry nothing.
        faults: Fault -> spans and cites that have it.
    """

    spans: int
    standing: int
    cites: int
    refused: int
    faults: Mapping[Fault, int]

    @property
    def support_rate(self) -> float | None:
        """Share of spans that stand; None of none."""
        return self.standing / self.spans if self.spans else None

    @property
    def refusal_rate(self) -> float | None:
        """Share of cites that carry nothing; None of none."""
        return self.refused / self.cites if self.cites else None


def check_span(said: SpanAnswer, ground: Ground) -> Span:
    """Check one span."""
    text = clean_text(said.text)
    given = dict.fromkeys((cite.handle.strip(), cite.quote) for cite in said.support)
    cites = tuple(_check_cite(CiteAnswer(handle=handle, quote=quote), said.claim, ground) for handle, quote in given)
    standing = [cite for cite in cites if cite.fault is None]
    faults = _check_text(text, standing, ground)
    sources = [ground.sources[cite.handle] for cite in standing]
    verified = [cite for cite in standing if ground.sources[cite.handle].is_verified]
    trusted = [cite for cite in standing if cite in verified or ground.sources[cite.handle].is_given]
    is_verified = not _check_text(text, verified, ground)
    return Span(
        text=text,
        claim=said.claim,
        cites=cites,
        faults=faults,
        is_verified=is_verified,
        is_given=not is_verified and not _check_text(text, trusted, ground),
        marks=tuple(dict.fromkeys(mark for source in sources for mark in source.marks)),
    )


def clean_text(text: str) -> str:
    """Put a text on one line, without characters that do not print and without what looks like a cite."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(_FORGED.sub(" ", printable).split())


def measure(spans: Iterable[Span]) -> Measures:
    """Count what a check found."""
    listed = list(spans)
    cites = [cite for span in listed for cite in span.cites]
    faults = Counter(fault for span in listed for fault in span.faults)
    faults.update(cite.fault for cite in cites if cite.fault is not None)
    return Measures(
        spans=len(listed),
        standing=sum(span.stands for span in listed),
        cites=len(cites),
        refused=sum(cite.fault is not None for cite in cites),
        faults=dict(faults),
    )


def _check_cite(said: CiteAnswer, claim: Claim, ground: Ground) -> Cite:
    source = ground.sources.get(said.handle)
    if source is None:
        is_known = said.handle in ground.rejected
        return Cite(
            handle=said.handle,
            quote=said.quote,
            memory_id=said.handle if is_known else "",
            fault=Fault.REJECTED if is_known else Fault.INVENTED,
        )
    fault = _check_permission(source, claim, ground.task)
    if fault is None and not is_quoted(said.quote, source.text):
        fault = Fault.NOT_QUOTED
    return Cite(handle=said.handle, quote=said.quote, memory_id=source.memory_id, given_by=source.given_by, fault=fault)


def _check_permission(source: Source, claim: Claim, task: Task) -> Fault | None:
    permission = source.permission
    if source.use is Use.IGNORE:
        return Fault.IGNORED
    # What decides nothing is no part of an answer that is right or wrong.
    if claim not in CLAIMS[source.use] or (claim is Claim.CONTEXT and task.may_be_objective):
        return Fault.NOT_ALLOWED
    if permission is None:
        return None
    if claim in _WITHHELD and _WITHHELD[claim] in permission.authority:
        return Fault.WITHHELD
    if claim in _BARS and _BARS[claim].value in permission.must_not:
        return Fault.BARRED
    return None


def _check_text(text: str, standing: Sequence[Cite], ground: Ground) -> tuple[Fault, ...]:
    if not text:
        return (Fault.EMPTY,)
    if len(text) > MAX_SPAN:
        return (Fault.TOO_LONG,)
    if not standing:
        return (Fault.NO_SUPPORT,)
    sources = {cite.handle: ground.sources[cite.handle] for cite in standing}
    quotes = [cite.quote for cite in standing]
    known = [part for source in sources.values() for part in (source.text, source.subject)]
    named = [source.given_by for source in sources.values() if source.given_by is not None]
    found = {
        Fault.ADDED_MARK: adds_marks(text, quotes, " ".join(source.dates for source in sources.values())),
        Fault.ADDED_NAME: adds_names(text, known, ground.question),
        Fault.ADDED_WORD: bool(add_words(text, [*known, *named, ground.question])),
        Fault.TURNED: turns_meaning(text, [(cite.quote, sources[cite.handle].text) for cite in standing]),
        Fault.UNRELATED: score_overlap(text, quotes, [*known, ground.question]) < ground.least_overlap,
    }
    return tuple(fault for fault, is_found in found.items() if is_found)
