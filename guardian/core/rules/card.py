"""Induce a boundary card by rules: deterministic, always there, conservative, tens of microseconds.

After Counterfactual Induction of MemAdapter (arXiv 2610.05162): set the memory beside hypothetical requests and other
evidence, keep the differences that decide. What a rule can know is who says it, what kind of thing it is, when and
for whom it holds, whether it was derived, and from the marks of its text whether it names numbers or dates, which
age. The text itself is never quoted: memory is data, and a card is shown to models. Names and subjects are, short, on
one line and in quotation marks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from guardian.core.card import Card, ConditionalRule, CounterfactualSetting, Support
from guardian.core.mark import MarkKind
from guardian.core.model import Confidence, Episode, MemoryKind, Scope, Source, SourceKind
from guardian.core.signature import Signature, build_signature

INDUCER = "rules"
INDUCER_VERSION = "1"
NO_OBJECTIVE_INFLUENCE = "may not influence objective conclusions"

# Longest name or subject that is quoted, in characters: enough to recognise, too short to carry an argument.
_LABEL_CHARS = 80


class _Form(StrEnum):
    """The kinds as far as their cards differ in form."""

    STATEMENT = "statement"
    BELIEF = "belief"
    WISH = "wish"
    PRECEDENT = "precedent"


_FORMS = {
    MemoryKind.BELIEF: _Form.BELIEF,
    MemoryKind.PREFERENCE: _Form.WISH,
    MemoryKind.INSTRUCTION: _Form.WISH,
    MemoryKind.EPISODE: _Form.PRECEDENT,
    MemoryKind.SKILL: _Form.PRECEDENT,
}
_TASK_TYPES = {
    MemoryKind.FACT: ("question answering",),
    MemoryKind.BELIEF: ("conversation",),
    MemoryKind.PREFERENCE: ("personalisation", "recommendation"),
    MemoryKind.INSTRUCTION: ("planning", "response style"),
    MemoryKind.PROFILE: ("personalisation", "question answering"),
    MemoryKind.EPISODE: ("similar task",),
    MemoryKind.SKILL: ("similar task", "planning"),
    MemoryKind.SUMMARY: ("orientation", "question answering"),
    MemoryKind.OTHER: ("orientation",),
}
_SPEAKERS = {
    SourceKind.USER: "a user",
    SourceKind.TOOL: "a tool",
    SourceKind.DOCUMENT: "a document",
    SourceKind.HUMAN_REVIEW: "a human reviewer",
    SourceKind.AGENT: "an agent",
    SourceKind.SYSTEM_IMPORT: "an import",
    SourceKind.UNKNOWN: "an unknown source",
}
_OUTSIDE = frozenset({SourceKind.TOOL, SourceKind.DOCUMENT, SourceKind.HUMAN_REVIEW})
_CERTAINTY = {Confidence.REVIEWED: 0.9, Confidence.OBSERVED: 0.8, Confidence.INFERRED: 0.5, None: 0.6}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """What the rules look at, in words where it is quoted."""

    kind: MemoryKind
    source: Source
    topic: str
    speaker: str
    place: str
    date: str
    verified: bool
    has_parents: bool
    confidence: Confidence | None
    valid_from: datetime | None
    valid_until: datetime | None
    signature: Signature
    episode: Episode | None

    @property
    def form(self) -> _Form:
        """What form its card takes."""
        return _FORMS.get(self.kind, _Form.STATEMENT)

    @property
    def may_be_evidence(self) -> bool:
        """Tell whether it could stand as a fact, parents permitting."""
        is_outside = self.source.kind in _OUTSIDE or (self.source.kind is SourceKind.AGENT and self.has_parents)
        return self.form is _Form.STATEMENT and is_outside


def induce_card(
    *,
    text: str,
    kind: MemoryKind,
    source: Source,
    digest: str,
    observed_at: datetime,
    scope: Scope | None = None,
    subject: str | None = None,
    verified: bool = False,
    has_parents: bool = False,
    confidence: Confidence | None = None,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
    episode: Episode | None = None,
) -> Card:
    """Induce the card of one record from what is known when it is written.

    Args:
        text: The memory; only its marks are read.
        kind: What is remembered.
        source: Who says so.
        digest: Digest of the content the card belongs to.
        observed_at: When it was observed.
        scope: For whom and where it holds.
        subject: What it is about.
        verified: Whether trusted authority stands behind it.
        has_parents: Whether it was derived from other memories.
        confidence: How the writer came by it.
        valid_from: From when it holds.
        valid_until: Until when.
        episode: The task it records, if it is one.
    """
    case = _Case(
        kind=kind,
        source=source,
        topic=quote_label(subject) if subject else "its subject",
        speaker=_SPEAKERS[source.kind] + (f" {quote_label(source.actor)}" if source.actor else ""),
        place=_name_place(scope),
        date=observed_at.date().isoformat(),
        verified=verified,
        has_parents=has_parents,
        confidence=confidence,
        valid_from=valid_from,
        valid_until=valid_until,
        signature=build_signature(text),
        episode=episode,
    )
    named_task = (quote_label(scope.task_type),) if scope is not None and scope.task_type else ()
    return Card(
        task_types=named_task + _TASK_TYPES[kind],
        settings=_SETTINGS[case.form](case) + _list_shared_settings(case),
        distinctions=_list_distinctions(case),
        rules=_list_rules(case),
        summary=_write_summary(case),
        inducer=INDUCER,
        inducer_version=INDUCER_VERSION,
        confidence=_score_confidence(case),
        content_digest=digest,
    )


def quote_label(value: str) -> str:
    """Quote a name from outside: one line, no marks that end a quotation or open markup, at most 80 characters."""
    clean = "".join(char for char in value[: 4 * _LABEL_CHARS].translate(_UNQUOTABLE) if char.isprintable())
    words = " ".join(clean.split())
    return f"“{words if len(words) <= _LABEL_CHARS else words[: _LABEL_CHARS - 1] + '…'}”"


_UNQUOTABLE = dict.fromkeys(map(ord, '"“”„«»`<>{}[]\n\r\t\u2028\u2029'), " ")


def _name_place(scope: Scope | None) -> str:
    """Name the parts of a scope that are set; for the reader only, records are kept apart by the fields."""
    if scope is None:
        return ""
    named = [f"{part.removesuffix('_id')} {quote_label(value)}" for part in _PLACES if (value := getattr(scope, part))]
    return " and ".join(named)


_PLACES = ("user_id", "agent_id", "project_id", "session_id", "domain")


# ----------------------------------------------------------------------------------------------- settings
def _set(request: str, evidence: str, support: Support, scope: str, limitation: str) -> CounterfactualSetting:
    return CounterfactualSetting(request=request, evidence=evidence, support=support, scope=scope, limitation=limitation)


def _set_statement(case: _Case) -> tuple[CounterfactualSetting, ...]:
    support = Support.CONTEXT_ONLY
    if case.may_be_evidence:
        support = Support.PARTIAL if case.has_parents or not case.verified else Support.DIRECT
    return (
        _set(f"what holds about {case.topic}", "nothing else", support, _hold(case), _limit_age(case)),
        _set(
            f"what holds about {case.topic}",
            "a verified or newer record that disagrees",
            Support.NONE,
            "wherever both apply",
            "shows what was recorded then, not what holds",
        ),
    )


def _set_belief(case: _Case) -> tuple[CounterfactualSetting, ...]:
    return (
        _set(
            f"what is true about {case.topic}",
            "nothing else",
            Support.NONE,
            "every objective question",
            f"shows what {case.speaker} holds, not what is so",
        ),
        _set(
            f"what {case.speaker} thinks about {case.topic}",
            "nothing else",
            Support.PARTIAL if case.has_parents or case.source.kind is SourceKind.AGENT else Support.DIRECT,
            _hold(case),
            "people change their minds",
        ),
    )


def _set_wish(case: _Case) -> tuple[CounterfactualSetting, ...]:
    is_own_word = case.source.kind in {SourceKind.USER, SourceKind.HUMAN_REVIEW} and not case.has_parents
    return (
        _set(
            f"a choice that concerns {case.topic}",
            "no wish in the request itself",
            Support.DIRECT if is_own_word else Support.CONTEXT_ONLY,
            _hold(case),
            _limit_age(case) if is_own_word else f"{case.speaker} says so, not the person whose wish it is",
        ),
        _set(
            f"what is true about {case.topic}",
            "nothing else",
            Support.NONE,
            "every objective question",
            "a wish is no evidence",
        ),
        _set("a choice for somebody else", "nothing else", Support.NONE, "anybody else", "wishes are personal"),
    )


def _set_precedent(case: _Case) -> tuple[CounterfactualSetting, ...]:
    language = case.episode.language if case.episode else None
    limitation = (
        "its grade is the agent's own until a verdict stands"
        if case.kind is MemoryKind.EPISODE
        else "works as far as it was tried"
    )
    return (
        _set(
            "a similar task" + (f" in {quote_label(language)}" if language else ""),
            "no verdict on its outcome",
            Support.PARTIAL,
            _hold(case),
            limitation,
        ),
        _set("the same task again", "its own answer", Support.NONE, "every task", "an earlier answer is no evidence"),
        _set(
            "a similar task",
            "a verdict that its outcome was wrong",
            Support.NONE,
            "every task",
            "shows what to avoid at most",
        ),
    )


_SETTINGS = {
    _Form.STATEMENT: _set_statement,
    _Form.BELIEF: _set_belief,
    _Form.WISH: _set_wish,
    _Form.PRECEDENT: _set_precedent,
}


def _list_shared_settings(case: _Case) -> tuple[CounterfactualSetting, ...]:
    """List the settings that come from lineage and scope, whatever the form."""
    settings: tuple[CounterfactualSetting, ...] = ()
    if case.has_parents:
        settings += (
            _set(
                f"how well supported a statement about {case.topic} is",
                "the memories it was derived from",
                Support.NONE,
                "every count of sources",
                "repeats them and adds no evidence",
            ),
        )
    if case.place:
        settings += (_set(f"a request outside {case.place}", "nothing else", Support.NONE, "elsewhere", "says nothing there"),)
    return settings


def _hold(case: _Case) -> str:
    """Say where and when the memory holds."""
    return (f"within {case.place}, " if case.place else "") + _span(case)


def _span(case: _Case) -> str:
    start = f"from {case.valid_from.date().isoformat()}" if case.valid_from else f"as of {case.date}"
    return start + (f" until {case.valid_until.date().isoformat()}" if case.valid_until else "")


def _limit_age(case: _Case) -> str:
    """Say how the memory may have aged, by what its text names."""
    if case.signature.names(MarkKind.CURRENCY) or case.signature.names(MarkKind.NUMBER):
        return f"the value may have changed; check for a correction dated after {case.date}"
    if case.signature.names(MarkKind.DATE) or case.signature.names(MarkKind.TIME):
        return f"the date it names may have passed or moved; check for a correction dated after {case.date}"
    return f"says nothing about what changed after {case.date}"


# ----------------------------------------------------------------------------------------------- what survives
def _list_distinctions(case: _Case) -> tuple[str, ...]:
    """List the differences that decide between two memories with alike texts."""
    is_observed = case.source.kind is SourceKind.TOOL or case.confidence is Confidence.OBSERVED
    distinctions = [
        f"applies to {case.topic} as of {case.date}",
        f"stated by {case.speaker}" + ("" if is_observed else ", not observed by the agent"),
        "verified by a trusted source" if case.verified else "not verified",
    ]
    if case.has_parents:
        distinctions.append("derived from other memories: falls with them, adds no support")
    elif case.source.kind is SourceKind.AGENT:
        distinctions.append("written by an agent that names nothing it rests on")
    if case.confidence is Confidence.INFERRED:
        distinctions.append("inferred, not observed")
    if case.valid_from or case.valid_until:
        distinctions.append(f"holds {_span(case)}, not outside that time")
    if case.place:
        distinctions.append(f"holds within {case.place} only")
    if case.signature.names(MarkKind.NUMBER):
        distinctions.append("names a number: the same words with another number are another statement")
    if case.signature.names(MarkKind.NEGATION):
        distinctions.append("denies something: the same words without the denial state the opposite")
    if case.episode:
        distinctions.append("the outcome is recorded" if case.episode.outcome else "the outcome is not recorded")
    return tuple(distinctions)


def _list_rules(case: _Case) -> tuple[ConditionalRule, ...]:
    """List condition and influence, the strictest first."""
    rules = []
    if not case.may_be_evidence:
        rules.append(("the request asks what is objectively so", NO_OBJECTIVE_INFLUENCE))
    if case.valid_until:
        rules.append((f"the time asked about is {case.valid_until.date().isoformat()} or later", "no influence"))
    if case.valid_from:
        rules.append((f"the time asked about is before {case.valid_from.date().isoformat()}", "no influence"))
    if case.place:
        rules.append((f"the request lies outside {case.place}", "no influence"))
    rules.append((f"a correction or verified record dated after {case.date} disagrees", "use that one instead"))
    if case.has_parents:
        rules.append(("one of the memories it was derived from was corrected", "no influence"))
    rules.append(_INFLUENCES[case.form] if not case.may_be_evidence else _influence_evidence(case))
    return tuple(ConditionalRule(condition=condition, influence=influence) for condition, influence in rules)


_INFLUENCES = {
    _Form.STATEMENT: ("none of these holds", "background: may direct attention, may not decide"),
    _Form.BELIEF: ("the request asks what somebody thinks", "may be reported as that person's belief"),
    _Form.WISH: ("the request leaves a choice open", "may shape the choice and the form of the answer"),
    _Form.PRECEDENT: (
        "the task is similar and no verdict speaks against it",
        "may show a way of working, not an answer",
    ),
}


def _influence_evidence(case: _Case) -> tuple[str, str]:
    if case.has_parents:
        return "none of these holds", "may stand for the memories it was derived from, as far as they may"
    return "none of these holds", "may support a conclusion" + ("" if case.verified else "; name it as unverified")


def _write_summary(case: _Case) -> str:
    """Say in one sentence what it is, whose word, about what, since when and where; never what it says."""
    standing = "Verified" if case.verified else "Unverified"
    noun = "memory" if case.kind is MemoryKind.OTHER else case.kind.value
    about = "" if case.topic == "its subject" else f" about {case.topic}"
    derived = ", derived from other memories" if case.has_parents else ""
    until = f", valid until {case.valid_until.date().isoformat()}" if case.valid_until else ""
    place = f", within {case.place}" if case.place else ""
    bar = "" if case.may_be_evidence else f"; {NO_OBJECTIVE_INFLUENCE}"
    return f"{standing} {noun} from {case.speaker}{about}, as of {case.date}{derived}{until}{place}{bar}."


def _score_confidence(case: _Case) -> float:
    """Score how far these rules can be right about the memory, in [0, 1]: less where less was said about it."""
    score = _CERTAINTY[case.confidence]
    if case.source.kind in {SourceKind.UNKNOWN, SourceKind.SYSTEM_IMPORT}:
        score -= 0.2
    if case.kind is MemoryKind.OTHER:
        score -= 0.1
    return round(score + (0.1 if case.verified else 0.0), 2)
