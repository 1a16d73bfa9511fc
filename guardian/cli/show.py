"""`guardian show`: one memory in full, and why it stands or fell."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from guardian.cli.console import clean, clean_name, out, print_json, say_error, shorten, style_status
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.core.policy import UNCALIBRATED
from guardian.read.explain import Branch, Explanation, explain
from guardian.settings import Settings, load_settings


def show(
    space: Annotated[str, typer.Argument(help="Memory bank.")],
    memory_id: Annotated[str, typer.Argument(help="Memory, as the writer named it.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show a memory: text, status and who felled it, lineage up and down, card, utility, history."""
    settings = load_settings()
    explanation = asyncio.run(_explain(settings, space, memory_id, store))
    if explanation is None:
        say_error(f"no memory '{memory_id}' in space '{space}'. Mend: `guardian export` lists what there is.")
        return 2
    if as_json:
        print_json(dataclasses.asdict(explanation))
    else:
        named = [name for name in explanation.calibrations[-1:] if name != UNCALIBRATED]
        out.print(build_page(explanation, in_force=named[0] if named else settings.policy_for(space).calibration))
    return 0


async def _explain(settings: Settings, space: str, memory_id: str, place: str | None) -> Explanation | None:
    async with opened_store(settings, place) as store:
        return await explain(store, space, memory_id)


def build_page(explanation: Explanation, *, in_force: str = UNCALIBRATED) -> Group:
    """Draw everything known about a memory; `in_force` is the calibration of its space."""
    parts: list[Any] = [Text(clean_name(f"{explanation.memory_id}  in {explanation.space}"), style="bold")]
    if not explanation.revisions:
        parts.append(Text("named as a parent, but never written here"))
    for row in explanation.revisions:
        parts += build_revision(row, in_force=in_force)
    parts += [Text("\nderives from", style="bold"), build_tree(explanation.ancestors)]
    parts += [Text("\nwhat derives from it", style="bold"), build_tree(explanation.descendants)]
    parts.append(Text(f"\nfamily of {explanation.family_size}, read {explanation.reads} times"))
    if explanation.events:
        parts += [Text("\ncorrections, verdicts and the like", style="bold"), build_events(explanation.events)]
    return Group(*parts)


def build_revision(row: dict[str, Any], *, in_force: str = UNCALIBRATED) -> list[Any]:
    """Draw one revision: text, standing, card."""
    row = {**clean_name(row), "text": clean(row["text"])}
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    table.add_row("text", row["text"] if row["text"] is not None else "(erased)")
    table.add_row("status", style_status(row["status"]) + ("" if row["current"] else "  (not the current revision)"))
    for reason in row["reasons"]:
        table.add_row("", describe_reason(reason))
    kind, ref, actor = row["source"] or ("unknown", None, None)
    table.add_row("source", f"{row['source_kind'] or kind}" + (f", {ref}" if ref else "") + (f", {actor}" if actor else ""))
    table.add_row("kind", row["kind"] + (f", about {row['subject']}" if row["subject"] else ""))
    table.add_row("observed", row["observed_at"] + (f", evidence of {row['evidence_at']}" if row["depth"] else ""))
    table.add_row(
        "lineage", f"{row['provenance']}, depth {row['depth']}, support {row['support']}, roots {', '.join(row['roots'])}"
    )
    table.add_row("slots", ", ".join(row["slots"]) or "none")
    table.add_row("utility", describe_utility(row) + describe_calibration(row, in_force))
    if row["permission"]:
        for name, label in (("never", "never"), ("must_use", "must"), ("must_not", "must not")):
            if row["permission"].get(name):
                table.add_row(label, "; ".join(row["permission"][name]))
    if row["card"]:
        table.add_row("card", row["card"].get("summary", ""))
        for rule in row["card"].get("rules", []):
            table.add_row("", describe_rule(rule))
    return [Text(""), Text(f"revision {row['revision']}", style="bold dim"), table]


def describe_reason(reason: dict[str, Any]) -> str:
    """Say in words why a record is superseded."""
    if reason["reason"] == "corrected":
        mixed = "; another of its roots still stands: check it again" if reason["mixed"] else ""
        instead = f", {reason['replacement']} holds instead" if reason["replacement"] else ""
        return f"corrected by {reason['id']} through {reason['via']}{instead}{mixed}"
    if reason["reason"] == "revised":
        return f"revised: revision {reason['id']} is current"
    return f"deleted by {reason['id']}"


def describe_utility(row: dict[str, Any]) -> str:
    """Say in words what a utility rests on."""
    if row["utility"] is None:
        return "no grade"
    if row["utility_basis"] == "unaudited":
        return f"{row['utility']:.2f}, unaudited: only the agent's own word"
    graded = f", the agent said {row['self_grade']:.2f}" if row["self_grade"] is not None else ""
    return f"{row['utility']:.2f} after {row['utility_basis']}{graded}"


def describe_calibration(row: dict[str, Any], in_force: str) -> str:
    """Say by which calibration a utility was made, where it is not the one in force."""
    if row["calibration"] in (None, in_force):
        return ""
    return f"; by calibration {row['calibration']}, in force is {in_force}: `guardian audit recompute`"


def describe_rule(rule: Any) -> str:
    """Say a card's rule."""
    if isinstance(rule, dict):
        return " → ".join(str(value) for value in rule.values())
    return " → ".join(str(value) for value in rule) if isinstance(rule, list) else str(rule)


def build_tree(branch: Branch) -> Tree:
    """Draw a lineage tree."""
    tree = Tree(label_branch(branch))
    queue = [(branch, tree)]
    while queue:
        node, drawn = queue.pop()
        queue.extend((child, drawn.add(label_branch(child))) for child in node.branches)
        if node.left_out:
            drawn.add(Text(f"and {node.left_out} more", style="dim"))
    return tree


def label_branch(branch: Branch) -> Text:
    """Label a node of a tree."""
    label = Text(f"{clean_name(branch.memory_id)} ", style="bold") + style_status(branch.status)
    if branch.how == "inferred":
        label += Text(f" inferred, similarity {branch.similarity:.2f}", style="magenta")
    elif branch.how == "linked":
        label += Text(" linked by hand", style="magenta")
    return label + Text(f"  {shorten(branch.text, 60)}", style="dim")


def build_events(events: list[dict[str, Any]]) -> Table:
    """Draw the facts that name a memory."""
    table = Table(box=None, pad_edge=False)
    for name in ("what", "event", "time", "says"):
        table.add_column(name, overflow="fold")
    for event in sorted(clean_name(events), key=lambda event: event["time"]):
        says = ", ".join(
            f"{name}: {value}" for name, value in event.items() if name not in {"what", "source", "id", "time"} and value
        )
        table.add_row(event["what"], f"{event['source']}#{event['id']}", event["time"], says)
    return table
