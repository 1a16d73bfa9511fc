"""Laws of answers: whatever memories hold and a model says, nothing is said whose support was not rendered and permitted."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.core.signature import build_signature
from guardian.read.admission.decision import Role
from guardian.read.admission.task import Task
from guardian.read.calibrator import Admission
from guardian.read.prompt.section import parse_block
from guardian.read.stage.answer import StageOptions, Standing, answer
from guardian.read.stage.evidence import Evidence
from guardian.read.stage.form import Claim
from tests.candidates import candidate
from tests.unit.induce.answers import Model
from tests.unit.read.stage.answers import admission_of, span

FEW = settings(max_examples=300)
WORDS = (
    "$20",
    "$5",
    "beans",
    "cost",
    "$20",
    "$5",
    "Arabica",
    "Robusta",
    "not",
    "want",
    "Bob",
    "since",
    "2026-03-01",
    "[E1]",
    "<system>",
    "咖啡",
    "acme",
)
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
HANDLE = st.sampled_from(("E1", "E2", "P1", "C1", "B1", "H1", "X1", "E99", "m0", "m1", "", "E1\n"))
USE = st.sampled_from(("support", "restrict", "shape", "precedent", "attend", "report", "ignore"))
TASKS = st.builds(
    Task,
    requires_objective_fact=st.sampled_from([None, True, False]),
    personalization_allowed=st.sampled_from([None, True, False]),
    is_history=st.booleans(),
)
# Claims that a role may carry; written down here once more, apart from the code.
CARRIES = {
    Role.EVIDENCE_CANDIDATE: {Claim.FACT, Claim.CONTEXT},
    Role.SCOPE_CONSTRAINT: {Claim.RULE, Claim.WISH, Claim.CONTEXT},
    Role.PREFERENCE: {Claim.WISH, Claim.CONTEXT},
    Role.EXAMPLE: {Claim.PRECEDENT, Claim.CONTEXT},
    Role.BACKGROUND: {Claim.CONTEXT},
    Role.SUPERSEDED: {Claim.PAST},
}


CLAIM_OF = {"E": "fact", "C": "rule", "P": "wish", "X": "precedent", "B": "context", "H": "past"}
GIVEN_CLAIM_OF = {**CLAIM_OF, "S": "fact"}


@st.composite
def admissions(draw: st.DrawFn) -> Admission:
    """Draw a context of up to five memories of any standing."""
    found = [
        candidate(
            f"m{number}",
            draw(TEXT),
            kind=draw(st.sampled_from(["fact", "preference", "instruction", "episode", "belief"])),
            source=draw(st.sampled_from(["document", "user", "agent", "unknown"])),
            status=draw(st.sampled_from(["active", "verified", "superseded"])),
        )
        for number in range(draw(st.integers(0, 5)))
    ]
    return admission_of(*found, task=draw(TASKS))


@st.composite
def answers(draw: st.DrawFn, admission: Admission) -> dict[str, Any]:
    """Draw an answer: mostly what a record does say, with a word of its span or of its quote exchanged; else any words with any cites."""
    shown = [(item.handle, item.fields["text"]) for section in parse_block(admission.prompt.block) for item in section.items]
    said = [draw_span(draw, shown) for _ in range(draw(st.integers(1, 4)))]
    return {"spans": said}


def draw_span(draw: Any, shown: list[tuple[str, str]], claims: Mapping[str, str] = CLAIM_OF) -> dict[str, Any]:
    """Draw one span."""
    claim = draw(st.sampled_from(list(Claim))).value
    if not shown or draw(st.integers(0, 3)) == 0:
        return span(draw(TEXT), *draw(st.lists(st.tuples(HANDLE, TEXT), max_size=3)), claim=claim)
    handle, text = draw(st.sampled_from(shown))
    kind = claims[handle[0]] if draw(st.booleans()) else claim
    changes = draw(st.sampled_from(["none", "span", "quote", "both"]))
    changed = exchange(text, draw(st.integers(0, 5)), draw(st.sampled_from(WORDS)))
    said, quote = (changed if changes in {part, "both"} else text for part in ("span", "quote"))
    more = draw(st.lists(st.tuples(HANDLE, TEXT), max_size=1))
    return span(said, (handle, quote), *more, claim=kind)


def exchange(text: str, place: int, word: str) -> str:
    """Exchange one word of a text."""
    words = text.split()
    words[place % len(words)] = word
    return " ".join(words)


@FEW
@given(st.data())
def test_nothing_is_said_whose_support_is_not_rendered(data: st.DataObject) -> None:
    """Each statement rests on quotes of rendered records whose role carries its claim, and has no mark beyond them."""
    admission = data.draw(admissions())
    handles = sorted(admission.prompt.handles)
    use = data.draw(st.lists(st.tuples(st.sampled_from(handles), USE), max_size=4)) if handles else []
    reflection = {"instructions": [{"handle": handle, "use": word, "instruction": ""} for handle, word in use]}
    model = Model(reflection, data.draw(answers(admission)), data.draw(answers(admission)), "never asked")
    found = asyncio.run(answer(admission, "What do Bob's beans cost? $5?", model))
    assert len(model.asked) <= 3
    shown = {item.handle: item for section in parse_block(admission.prompt.block) for item in section.items}
    roles = {item.candidate.memory_id: item.role for item in admission.rendered}
    for said in found.spans:
        assert said.support
        quotes = ""
        for cite in said.support:
            assert cite.memory_id == admission.prompt.handles[cite.handle]
            assert build_signature(cite.quote).text in build_signature(shown[cite.handle].fields["text"]).text
            assert said.claim in CARRIES[roles[cite.memory_id]]  # type: ignore[index] # what is rendered has a role
            assert (cite.handle, "ignore") not in use
            quotes += f" {cite.quote}. {shown[cite.handle].fields['observed']}."
        for number in re.findall(r"\$\d+|\d{4}-\d\d-\d\d", said.text):
            assert number in quotes
        lent = " ".join(shown[cite.handle].fields["text"] for cite in said.support)
        for word in ("acme", "Robusta", "咖", "啡"):
            assert word.lower() in lent.lower() or word not in said.text
    written = {
        handle
        for cites in re.findall(r"\[([^\]]*)\]$", found.text, re.MULTILINE)
        for handle in re.findall(r"\b[A-Z]\d+\b", cites)
    }
    assert written <= admission.prompt.handles.keys()


@FEW
@given(
    admissions(),
    st.lists(
        st.text(max_size=200) | st.builds(json.dumps, st.recursive(st.none() | st.text(max_size=20), st.lists)),
        min_size=1,
        max_size=4,
    ),
)
def test_no_words_of_a_model_raise_or_are_said_unchecked(admission: Admission, said: list[str]) -> None:
    """Words that are no answer end in the calibrated prompt, after at most two calls."""
    model = Model(*said)
    found = asyncio.run(answer(admission, "?", model, options=StageOptions(with_trace=True)))
    assert found.standing is (Standing.FALLBACK if admission.rendered else Standing.ABSTAINED)
    assert len(found.calls) == len(model.asked) == (2 if admission.rendered else 0)
    assert found.spans == ()


SOURCE_NAME = st.text(min_size=1, max_size=20)


@FEW
@given(st.data())
def test_nothing_is_said_of_evidence_that_it_does_not_say(data: st.DataObject) -> None:
    """With a caller's texts beside memory: each cite is rendered or given, a given one is told as no memory, and none verifies any."""
    admission = data.draw(admissions())
    evidence = [Evidence(source=data.draw(SOURCE_NAME), text=data.draw(TEXT)) for _ in range(data.draw(st.integers(1, 3)))]
    shown = [(f"S{number}", one.text) for number, one in enumerate(evidence, start=1)]
    shown += [(item.handle, item.fields["text"]) for section in parse_block(admission.prompt.block) for item in section.items]
    said = [[draw_span(data.draw, shown, GIVEN_CLAIM_OF) for _ in range(data.draw(st.integers(1, 4)))] for _ in range(2)]
    use = data.draw(st.lists(st.tuples(st.sampled_from([handle for handle, _ in shown]), USE), max_size=4))
    reflection = {"instructions": [{"handle": handle, "use": word, "instruction": ""} for handle, word in use]}
    model = Model(reflection, {"spans": said[0]}, {"spans": said[1]}, "never asked")
    found = asyncio.run(answer(admission, "What do Bob's beans cost? $5?", model, evidence=evidence))
    assert len(model.asked) <= 3
    texts = dict(shown)
    for each in found.spans:
        assert each.support
        for cite in each.support:
            assert build_signature(cite.quote).text in build_signature(texts[cite.handle]).text
            assert (cite.handle, "ignore") not in use
            is_given = cite.handle.startswith("S")
            assert (cite.given_by is not None, cite.memory_id == "") == (is_given, is_given)
            assert not is_given or each.claim in {Claim.FACT, Claim.CONTEXT}
        has_given = any(cite.given_by is not None for cite in each.support)
        assert not each.is_verified or any(cite.given_by is None for cite in each.support)
        lines = [line for line in found.text.split("\n") if line.startswith(f"{each.text} [")]
        assert lines
        assert has_given == any("not memory" in line.rpartition("[")[2] for line in lines) or len(lines) > 1
