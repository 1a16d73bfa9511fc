"""Evidence channels, and the agent that has them judge. No logic."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from guardian.chat.budget import BudgetedChat
from guardian.chat.port import ChatModel
from guardian.contracts.outcome import AuditRequest
from guardian.core.plan import Outcome
from guardian.errors import ConfigError
from guardian.ports import OutcomeMessage, Store
from guardian.settings import AuditSettings, Settings
from guardian.stream.audit import AuditAgent, ask_for_audit, note_audit
from guardian.stream.plane.batch import Role
from guardian.telemetry.metrics import Metrics
from guardian.trust import registry
from guardian.trust.allowance import DailyAllowance
from guardian.trust.auditor import AuditLimits, Auditor, Note
from guardian.trust.channel import Channel
from guardian.trust.channels.outcome import ReportedOutcome
from guardian.trust.channels.regrader import ReGrader
from guardian.trust.channels.retrieval import RetrievalVerifier
from guardian.trust.channels.text_grounding import TextGrounding
from guardian.wiring.chat import build_budget, build_chat
from guardian.wiring.state import build_store, place_store

if TYPE_CHECKING:
    from guardian.stream.side import SideSetup
    from guardian.trust.sql.sandbox import Sandbox


@asynccontextmanager
async def open_auditor(settings: Settings, store: Store, *, note: Note | None = None) -> AsyncIterator[Auditor]:
    """Open the channels of the settings over a store; closed at the end of the block.

    Raises:
        ConfigError: A channel is not there, or lacks what it needs.
        DependencyError: The store of the documents is away.
    """
    audit = settings.audit
    limits = AuditLimits(
        case_timeout_s=audit.case_timeout_s,
        tries=audit.tries,
        retry_pause_s=audit.retry_pause_s,
        cases_per_minute=audit.cases_per_minute,
    )
    async with AsyncExitStack() as opened:
        channels = [await open_channel(settings, name, store, opened) for name in audit.channels]
        yield Auditor(store, channels, limits=limits, note=note)


async def open_channel(settings: Settings, name: str, store: Store, opened: AsyncExitStack) -> Channel:
    """Open one channel; what it holds is closed with the stack.

    Raises:
        ConfigError: It is not there, or lacks what it needs.
        DependencyError: The store of the documents is away.
    """
    match name:
        case registry.EXECUTION | registry.DEGENERACY | registry.LITERAL:
            return _build_sql_channel(settings.audit, name)
        case registry.TEXT:
            return TextGrounding()
        case registry.OUTCOME:
            return ReportedOutcome()
        case registry.RETRIEVAL:
            documents = await _open_documents(settings, store, opened)
            return RetrievalVerifier(documents, space=settings.audit.documents_space)
        case registry.REGRADER:
            return _build_regrader(settings, opened)
        case _:
            return registry.load_foreign(name)


def _build_sql_channel(audit: AuditSettings, name: str) -> Channel:
    try:
        from guardian.trust.channels.degeneracy import Degeneracy  # noqa: PLC0415 # an extra
        from guardian.trust.channels.execution import Execution  # noqa: PLC0415 # as above
        from guardian.trust.channels.literal_grounding import LiteralGrounding  # noqa: PLC0415 # as above
        from guardian.trust.sql.statement import Dialect  # noqa: PLC0415 # as above
    except ImportError as exc:
        raise ConfigError(
            f"the channel {name} reads queries with a parser that is not installed: {exc}.",
            setting="GUARDIAN_AUDIT__CHANNELS",
            mend="pip install 'guardian-memory[sql]'.",
        ) from exc
    if name == registry.LITERAL:
        return LiteralGrounding(Dialect(audit.database_dialect))
    sandbox = build_sandbox(audit)
    return Execution(sandbox, runs=audit.query_runs) if name == registry.EXECUTION else Degeneracy(sandbox)


def build_sandbox(audit: AuditSettings) -> Sandbox:
    """Build where queries of episodes are run; nothing is opened yet.

    Raises:
        ConfigError: No database is set.
    """
    from guardian.trust.sql.sandbox import Limits, Sandbox  # noqa: PLC0415 # an extra
    from guardian.trust.sql.statement import Dialect  # noqa: PLC0415 # as above

    if audit.database is None:
        raise ConfigError(
            "the channels execution and degeneracy run queries, and no database is set (GUARDIAN_AUDIT__DATABASE).",
            setting="GUARDIAN_AUDIT__DATABASE",
            mend="name a copy of the database that the agent's queries are for, or take these channels out.",
        )
    return Sandbox(
        dialect=Dialect(audit.database_dialect),
        database=audit.database.get_secret_value(),
        limits=Limits(timeout_s=audit.query_timeout_s, memory_bytes=audit.query_memory_bytes, max_rows=audit.query_rows),
    )


async def _open_documents(settings: Settings, store: Store, opened: AsyncExitStack) -> Store:
    place = settings.audit.documents_store
    if place is None:
        return store
    documents = build_store(place_store(settings.store, place), None)
    opened.push_async_callback(documents.close)
    await documents.open()
    return documents


def _build_regrader(settings: Settings, opened: AsyncExitStack) -> Channel:
    judge = settings.judge
    chat: ChatModel = BudgetedChat(chat=build_chat(judge, section="GUARDIAN_JUDGE"), budget=build_budget(judge))
    if judge.calls_per_day is not None:
        chat = DailyAllowance(chat, calls=judge.calls_per_day)
    opened.push_async_callback(chat.close)
    return ReGrader(chat, agent_models=judge.agent_models)


def build_asks(settings: Settings) -> tuple[Callable[[Sequence[Outcome]], list[OutcomeMessage]], ...]:
    """Build what a guard asks for beside its outcomes: audits, where a channel is named."""
    return (ask_for_audit,) if settings.audit.channels else ()


def build_audit_side(settings: Settings) -> tuple[SideSetup, ...]:
    """Build the side topic of audits, for a worker that has the role and a channel to ask."""
    from guardian.stream.side import SideSetup  # noqa: PLC0415 # with Faust's floor, which only a worker needs

    if "auditor" not in settings.roles or not settings.audit.channels:
        return ()

    async def open_agent(store: Store, metrics: Metrics) -> AuditAgent:
        async with AsyncExitStack() as opened:
            auditor = await opened.enter_async_context(open_auditor(settings, store, note=functools.partial(note_audit, metrics)))
            return AuditAgent(
                auditor,
                events_topic=settings.kafka.topic_prefix + settings.kafka.events_topic,
                release=opened.pop_all().aclose,
            )

    audit, concurrency = settings.audit, settings.audit.concurrency
    return (
        SideSetup(
            role=Role.AUDIT,
            request=AuditRequest,
            open_agent=open_agent,
            concurrency=concurrency,
            batch_requests=4 * concurrency,
            # All tries with their pauses, and a minute for a turn; twice, as a report has several episodes judged.
            patience_s=2 * (2 * audit.tries * audit.case_timeout_s + 2**audit.tries * audit.retry_pause_s + 60),
        ),
    )
