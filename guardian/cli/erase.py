"""`guardian erase`: a person's right, from the command line."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.table import Table

from guardian.cli.console import clean, err, out, print_json
from guardian.cli.holdings import build_table, collect_holdings, describe, has_broker
from guardian.cli.opening import JsonOption, StoreOption, opened_store
from guardian.cli.sending import (
    ToTopicOption,
    admit,
    goes_to_topic,
    name_target,
    read_authority,
    require_trust,
    send_events,
)
from guardian.contracts.codec import encode_event
from guardian.core.model import Authority, Erased, EventRef
from guardian.core.moment import format_optional
from guardian.dead_letter_file import FILE_NAME, DeadLetterFile
from guardian.errors import ConfigError
from guardian.read.descent import DECLARED, INFERRED, LINKED, NAMED, SAME_WORDS, Descendant, find_descendants, find_same_words
from guardian.read.holding import Erasure, Holding
from guardian.settings import Settings, load_settings
from guardian.wiring import locate_state

SOURCE = "/guardian/erase"


def erase(  # one parameter an option
    space: Annotated[str, typer.Argument(help="Memory bank.")],
    memory_id: Annotated[str, typer.Argument(help="Memory, as the writer named it.")],
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Erase what declares descent from it and what restates it, too.")
    ] = False,
    authority: Annotated[
        str, typer.Option("--as", help="On whose word, as KIND or KIND:REF: user:ticket-7, document:court-order.")
    ] = "user",
    store: StoreOption = None,
    to_topic: ToTopicOption = False,
    no_lookup: Annotated[
        bool, typer.Option("--no-lookup", help="Do not look into the store first: what only restates it is not found.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be erased, and erase nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Erase a memory: text, vectors, card, metadata and what was said about it are destroyed, and no replay brings them back.

    Covers what was observed up to now; what is written under the same id later lives. Cannot be undone. Ends with what may still
    hold the text, and until when (`guardian holdings`).
    """
    settings = load_settings()
    to_topic = goes_to_topic(settings, store, to_topic=to_topic)
    if no_lookup and not to_topic:
        raise ConfigError("a store that is erased from is open anyway.", mend="leave out --no-lookup, or add --to-topic.")
    job = _Job(settings, space, memory_id, read_authority(authority), store, cascade=cascade, to_topic=to_topic)
    found = [Descendant(memory_id=memory_id, how=NAMED)] if no_lookup else asyncio.run(job.look_up())
    covered = choose_covered(found, cascade=cascade)
    report: dict[str, Any] = {
        "to": job.target,
        "erases": [_describe(each) for each in covered],
        "leaves": [_describe(each) for each in found if each not in covered],
    }
    if not as_json:
        _show(found, covered, job.target, cascade=cascade, is_beside=has_broker(settings) and not to_topic)
    if not dry_run:
        if not yes:
            typer.confirm("Erase? This cannot be undone.", abort=True, err=True)
        report["dead_letters_erased"] = asyncio.run(job.erase(covered))
        report["holdings"] = describe(remains := asyncio.run(job.collect_holdings(covered)))
        if not as_json:
            out.print(f"\n{'sent to' if to_topic else 'erased in'} {clean(job.target)}; what may still hold it:\n")
            out.print(build_table(remains))
    if as_json:
        print_json(report)


def choose_covered(found: Sequence[Descendant], *, cascade: bool) -> list[Descendant]:
    """Choose what is erased: the memory alone, or with what declares descent from it or was inferred to restate it.

    Never what was linked by hand, nor what only says the same: that is another memory, and may be another person's word.
    """
    return [each for each in found if each.how == NAMED or (cascade and each.how not in {LINKED, SAME_WORDS})]


class _Job:
    """One erasure with all that it opens."""

    def __init__(
        self,
        settings: Settings,
        space: str,
        memory_id: str,
        authority: Authority,
        store: str | None,
        *,
        cascade: bool,
        to_topic: bool,
    ) -> None:
        self.settings, self.space, self.memory_id, self.authority, self.store = settings, space, memory_id, authority, store
        self.cascade, self.to_topic = cascade, to_topic
        self.now = datetime.now(UTC)

    @property
    def target(self) -> str:
        """Name where the erasure goes."""
        return name_target(self.settings, self.store, to_topic=self.to_topic)

    async def look_up(self) -> list[Descendant]:
        """Find what would be reached.

        Raises:
            ConfigError: The store cannot be looked into; a worker may own it.
        """
        try:
            async with opened_store(self.settings, self.store) as store:
                found = await find_descendants(store, self.space, self.memory_id)
                return [*found, *await find_same_words(store, self.space, found)]
        except ConfigError as exc:
            if not self.to_topic:
                raise
            mend = "stop the worker and erase again; or add --no-lookup, and what only restates the text is not found."
            raise ConfigError(f"what restates the text cannot be looked up: {exc}", mend=mend) from exc

    async def erase(self, covered: Sequence[Descendant]) -> int:
        """Send or carry out the erasures, then take the letters of replays; gives the number of these.

        Raises:
            ConfigError: The authority is not trusted, or a text is of the future.
        """
        events = [self._admit(encode_event(event)) for event in self._build_events(covered)]
        erased = {(self.space, each.memory_id): events[0].observed_at for each in covered}
        erased |= (await send_events(self.settings, self.store, events, to_topic=self.to_topic)).erased
        folders = {locate_state(self.settings, self.store)[0], *([self.settings.state_dir] if self.to_topic else [])}
        return sum(DeadLetterFile(folder / FILE_NAME).erase(erased) for folder in folders)

    def _build_events(self, covered: Sequence[Descendant]) -> list[Erased]:
        """Build an erasure of the memory, and one of each that a cascade would not find by itself."""
        latest = [each.latest for each in covered if each.latest is not None]
        observed_at = max([self.now, *latest])
        tolerance = timedelta(seconds=self.settings.limits.future_tolerance_s)
        if observed_at > self.now + tolerance:
            raise ConfigError(f"a text of it claims to be of {observed_at}.", mend="erase it when that time has come.")
        return [
            Erased(
                ref=EventRef(time=self.now, source=SOURCE, id=str(uuid.uuid4()), digest=""),
                space=self.space,
                memory_id=each.memory_id,
                observed_at=observed_at,
                cascade=self.cascade,
                authority=self.authority,
            )
            for each in covered
            if each.how in {NAMED, INFERRED}
        ]

    def _admit(self, raw: bytes) -> Erased:
        """Read an event as a worker will, to see that it is not refused or disputed there."""
        event = admit(self.settings, raw, self.now)
        assert isinstance(event, Erased)
        otherwise = f"erases nothing in {self.space}: it would only be a dispute"
        require_trust(self.settings, self.space, event.authority, otherwise=otherwise)
        return event

    async def collect_holdings(self, covered: Sequence[Descendant]) -> list[Holding]:
        """Collect what may still hold it."""
        erasures = [
            Erasure(space=self.space, memory_id=each.memory_id, cascade=self.cascade, observed_at=self.now, stated_at=self.now)
            for each in covered
        ]
        return await collect_holdings(self.settings, self.store, erasures)


def _describe(each: Descendant) -> dict[str, Any]:
    return {
        "memory_id": each.memory_id,
        "how": each.how,
        "through": each.through or None,
        "records": each.records,
        "latest": format_optional(each.latest),
    }


def _show(found: Sequence[Descendant], covered: Sequence[Descendant], target: str, *, cascade: bool, is_beside: bool) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("memory", "reached", "through", "texts", ""):
        table.add_column(name, overflow="fold")
    for each in found:
        row = clean(_describe(each))
        mark = "erased" if each in covered else "stays"
        table.add_row(row["memory_id"], row["how"], row["through"] or "", str(row["records"]), mark)
    out.print(table)
    if not found[0].records:
        err.print("the store has no text of it; the erasure holds for what still comes.")
    if any(each.how == SAME_WORDS for each in found):
        err.print("what only says the same is another memory and stays: erase it by itself.")
    if any(each.how in {DECLARED, INFERRED} for each in found) and not cascade:
        err.print("what derives from it keeps its own text: add --cascade to erase that, too.")
    err.print(f"goes to {clean(target)}")
    if is_beside:
        err.print(
            "a broker is set: replaying its topic into another store brings the text back there. Add --to-topic to erase it for all."
        )
