"""`guardian audit families`: recaps and contradictions that old logs do not name, proposed, and accepted by a person."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table

from guardian.cli.console import clean, err, out, print_json, shorten
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.cli.sending import ToTopicOption, admit, goes_to_topic, name_target, read_authority, require_trust, send_events
from guardian.core.model import Authority, Event
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.core.rules.restate import THRESHOLD
from guardian.errors import ConfigError
from guardian.read.families import Findings, Proposal, build_acceptance, find_families
from guardian.settings import Settings, load_settings
from guardian.sources.reading.envelope import build_event, digest_parts

SOURCE = "/guardian/audit-families"
# Statements shown to people; JSON has all.
_SHOWN = 20


def families(  # one parameter an option
    space: Annotated[str, typer.Argument(help="Memory bank.")],
    store: StoreOption = None,
    threshold: Annotated[float, typer.Option(help="Least similarity of two texts, 0 to 1.", min=0.5, max=1.0)] = THRESHOLD,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", help="Accept the proposal of this id. Repeatable.", show_default=False)
    ] = None,
    accept_file: Annotated[
        Path | None,
        typer.Option("--accept-file", help="Accept the ids in this file, one a line.", exists=True, show_default=False),
    ] = None,
    accept_above: Annotated[
        float | None,
        typer.Option(
            "--accept-above",
            help="Accept recaps at least this similar whose numbers, dates, codes and negations all agree.",
            min=0.5,
            max=1.0,
            show_default=False,
        ),
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Ask about each proposal.")] = False,
    authority: Annotated[
        str, typer.Option("--as", help="Whose word accepts, as KIND or KIND:REF, such as human_review:ann.")
    ] = "human_review",
    to_topic: ToTopicOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propose what SPACE's records do not say: recaps of one another, how many origins a statement really has, what a verified record contradicts.

    Nothing is changed unless it is accepted. What is accepted becomes a memory.linked or a memory.corrected event on your word, which
    can be undone: by another link, or by retracting the correction.
    """
    settings = load_settings()
    word = read_authority(authority)
    require_trust(settings, space, word, otherwise=f"sets no lineage in {space}: it would only be a dispute")
    to_topic = goes_to_topic(settings, store, to_topic=to_topic)
    findings = asyncio.run(_find(settings, store, space, threshold))
    wanted = _read_wanted(accept or [], accept_file, findings)
    chosen = [
        one
        for one in findings.proposals
        if one.id in wanted or (accept_above is not None and _agrees(one, accept_above)) or (ask and _ask(one))
    ]
    if not as_json:
        _print(findings)
    if chosen:
        events = [_build(settings, space, one, word) for one in chosen]
        asyncio.run(send_events(settings, store, events, to_topic=to_topic))
    if as_json:
        print_json({"space": space, "records": findings.records, **_describe(findings), "accepted": [one.id for one in chosen]})
    else:
        target = f" in {name_target(settings, store, to_topic=to_topic)}" if chosen else ""
        out.print(f"{len(findings.proposals)} proposals, {len(chosen)} accepted{target}", markup=False, highlight=False)


async def _find(settings: Settings, place: str | None, space: str, threshold: float) -> Findings:
    async with opened_store(settings, place) as store:
        points = store.iter_points(space=space, kinds=frozenset({PointKind.RECORD}))
        return find_families([load_node(point) async for point in points], threshold=threshold)


def _read_wanted(named: Sequence[str], file: Path | None, findings: Findings) -> set[str]:
    """Give the ids that were named.

    Raises:
        ConfigError: One is no proposal of today.
    """
    lines = [] if file is None else [line.strip() for line in file.read_text("utf-8").splitlines()]
    wanted = {*named, *(line for line in lines if line and not line.startswith("#"))}
    unknown = sorted(wanted - {one.id for one in findings.proposals})
    if unknown:
        raise ConfigError(
            f"{len(unknown)} of the ids to accept are no proposals, the first {unknown[0]!r}.",
            mend="look at today's proposals with --json; what was accepted before is not proposed again.",
        )
    return wanted


def _agrees(proposal: Proposal, least: float) -> bool:
    return proposal.kind == "recap" and not proposal.differing and proposal.similarity >= least


def _ask(proposal: Proposal) -> bool:
    if not sys.stdin.isatty():
        raise ConfigError("--ask needs a terminal.", mend="accept by --accept, --accept-file or --accept-above.")
    differing = f" (differs in {', '.join(proposal.differing)})" if proposal.differing else ""
    err.print(
        clean(f"{proposal.id}: {proposal.similarity:.2f}{differing}\n  {proposal.text}\n  {proposal.other_text}"), markup=False
    )
    return typer.confirm("accept?", default=False, err=True)


def _build(settings: Settings, space: str, proposal: Proposal, word: Authority) -> Event:
    """Build the event of an acceptance; accepting the same thing again is the same event in all but its time."""
    now = datetime.now(UTC)
    named = {"kind": word.kind.value, **({"ref": word.ref} if word.ref is not None else {})}
    kind, data = build_acceptance(proposal, authority=named)
    event = build_event(
        event_id=digest_parts(space, proposal.id, now.isoformat()),
        source=SOURCE,
        event_type=kind,
        time=now,
        space=space,
        data=data,
    )
    return admit(settings, orjson.dumps(event), now)


def _describe(findings: Findings) -> dict[str, Any]:
    return {
        "statements": [
            [
                {
                    "text": version.text,
                    "marks": version.marks,
                    "records": version.records,
                    "roots": version.roots,
                    "origins": version.origins,
                    "verified": version.is_verified,
                    "memories": version.memories,
                }
                for version in versions
            ]
            for versions in findings.statements
        ],
        "proposals": [
            {
                "id": one.id,
                "kind": one.kind.value,
                "memory_id": one.memory_id,
                "other": one.other,
                "similarity": one.similarity,
                "differing": one.differing,
                "text": one.text,
                "other_text": one.other_text,
            }
            for one in findings.proposals
        ],
    }


def _print(findings: Findings) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("statement", "records", "roots", "origins", "verified"):
        table.add_column(name, justify="left" if name == "statement" else "right")
    for versions in findings.statements[:_SHOWN]:
        for number, version in enumerate(versions):
            mark = "" if number == 0 else "  or "
            table.add_row(
                mark + shorten(clean(version.text), 70),
                *map(str, (version.records, version.roots, version.origins)),
                "yes" if version.is_verified else "",
            )
    out.print(table)
    if len(findings.statements) > _SHOWN:
        out.print(f"… {len(findings.statements) - _SHOWN} more statements; --json has all")
    for one in findings.proposals[:_SHOWN]:
        differing = f", differs in {', '.join(one.differing)}" if one.differing else ""
        line = f"{one.id}  {one.similarity:.2f}{differing}: {shorten(one.text, 50)} | {shorten(one.other_text, 50)}"
        out.print(clean(line), markup=False, highlight=False)
    if len(findings.proposals) > _SHOWN:
        out.print(f"… {len(findings.proposals) - _SHOWN} more proposals; --json has all")
