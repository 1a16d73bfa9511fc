"""`guardian doctor`: what works, what does not, and the mend."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass

from rich.table import Table
from rich.text import Text

from guardian.cli.console import out, print_json
from guardian.cli.opening import JsonOption, StoreOption
from guardian.core.model import MemoryKind, SourceKind
from guardian.core.point import PointKind
from guardian.errors import ConfigError, GuardianError
from guardian.induce.prompt import Content
from guardian.settings import Settings, load_settings
from guardian.topics import load_declarations, plan
from guardian.trust.channel import Case
from guardian.trust.channels.regrader import Kinship, ReGrader
from guardian.trust.recalibrate import count_stale, has_calibration
from guardian.trust.registry import ON_DATABASE
from guardian.wiring import (
    build_card_chat,
    build_embedder,
    build_identity,
    build_inducer,
    build_kafka_security,
    build_policy_of,
    build_sandbox,
    build_store,
    open_channel,
    place_store,
)

WRONG, AWAY = 2, 69
_TRIAL = Case(space="doctor", memory_id="doctor", revision="", task="What is one plus one?", answer="Two.")
_MEMORY = Content(text="I like the window seat.", kind=MemoryKind.PREFERENCE, source_kind=SourceKind.USER)
_KINSHIP = {
    Kinship.SAME: "of the same family as an agent: expect its errors to follow the agent's own, see `guardian audit report`",
    Kinship.OTHER: "of another family than the agents",
    Kinship.UNKNOWN: "and nobody says whether it is of the agent's family: set judge.agent_models",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found.

    Attributes:
        code: 0 fine, 2 settings are wrong, 69 something is away.
    """

    check: str
    says: str
    code: int = 0


def doctor(store: StoreOption = None, as_json: JsonOption = False) -> int:
    """Check broker, topics, store and model one by one, and say what to mend. Writes nothing but an empty store.

    The exit code is 0 when all is well, 2 when settings are wrong, 69 when something is away.
    """
    settings = load_settings()
    if store is not None:
        settings = settings.model_copy(update={"store": place_store(settings.store, store)})
    findings = asyncio.run(_examine(settings))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        out.print(_build_table(findings))
    return max(finding.code for finding in findings)


async def _examine(settings: Settings) -> list[Finding]:
    checks: tuple[tuple[str, Callable[[Settings], Awaitable[str]]], ...] = (
        ("topics", _check_topics),
        ("model", _check_model),
        ("store", _check_store),
        *([("cards", _check_cards)] if settings.induce.model is not None else ()),
        *((f"channel {name}", functools.partial(_check_channel, name)) for name in settings.audit.channels),
    )
    findings = [Finding(check="settings", says="read; `guardian settings` lists them")]
    for name, check in checks:
        try:
            findings.append(Finding(check=name, says=await check(settings)))
        except GuardianError as exc:
            findings.append(Finding(check=name, says=str(exc), code=WRONG if isinstance(exc, ConfigError) else AWAY))
    return findings


async def _check_topics(settings: Settings) -> str:
    found = await plan(
        settings.kafka.bootstrap, load_declarations(prefix=settings.kafka.topic_prefix), security=build_kafka_security(settings)
    )
    if found.is_clean:
        return f"all there at {settings.kafka.bootstrap}"
    wrong = ", ".join(
        f"{topic.declaration.name} is {topic.standing.value}" for topic in found.topics if topic.standing.value != "ok"
    )
    raise ConfigError(f"{wrong}.", mend="`guardian topics apply` creates what is missing, `guardian topics plan` shows the rest.")


async def _check_model(settings: Settings) -> str:
    embedder = await build_embedder(settings.embedding)
    if embedder is None:
        return "none set: records are stored with BM25 alone, `guardian embed --fill` can add vectors later"
    if embedder.embeds:
        await embedder.embed(["a sentence to try the model with"])
    await embedder.close()
    return f"{embedder.identity}, vectors of {embedder.size}"


async def _check_store(settings: Settings) -> str:
    embedder = await build_embedder(settings.embedding)
    store = build_store(settings.store, build_identity(embedder))
    await store.open()
    try:
        records = await store.count(kinds={PointKind.RECORD})
        pending = await store.count_without_vector() if store.identity.vector_size else 0
        policy_of = build_policy_of(settings)
        stale = await count_stale(store, policy_of) if await has_calibration(store, policy_of) else {}
    finally:
        await store.close()
    more = f", {pending} of them without a vector: `guardian embed --fill`" if pending else ""
    if stale:
        more += f", {sum(stale.values())} with a utility by another calibration than the one in force: `guardian audit recompute`"
    return f"{settings.store.url or settings.store.path} opens, {records} records{more}"


async def _check_cards(settings: Settings) -> str:
    """Have the model write one card, of two samples."""
    open_chat, inducer = build_card_chat(settings.induce), build_inducer(settings.induce.model_copy(update={"samples": 2}))
    try:
        made = await inducer.induce(_MEMORY, open_chat(""))
    finally:
        await open_chat("").close()
    if made.narrowing is None:
        raise ConfigError(
            f"{inducer.model} gives no card that can be read.",
            setting="GUARDIAN_INDUCE__MODEL",
            mend="set a model that answers in JSON, and a GUARDIAN_INDUCE__MAX_TOKENS that is long enough for it.",
        )
    return f"{inducer.model} writes cards by {inducer.version}, two samples agree to {made.confidence:.2f}"


async def _check_channel(name: str, settings: Settings) -> str:
    """Open a channel as a worker does, and try what it leans on."""
    async with AsyncExitStack() as opened:
        # The store of memories is looked at above, and no channel asks it anything while it opens.
        channel = await open_channel(settings, name, build_store(settings.store, None), opened)
        if name in ON_DATABASE:
            await build_sandbox(settings.audit).check()
            return f"runs queries on the {settings.audit.database_dialect} database"
        if isinstance(channel, ReGrader):
            if await channel.judge(_TRIAL) is None:
                raise ConfigError(f"{settings.judge.model} gives no grade that can be read.", setting="GUARDIAN_JUDGE__MODEL")
            return f"asks {settings.judge.model}, {_KINSHIP[channel.kinship]}"
    return f"ready, version {channel.version}"


def _build_table(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for finding in findings:
        mark = Text("ok", style="green") if finding.code == 0 else Text("mend", style="bold red")
        table.add_row(mark, finding.check, finding.says)
    return table
