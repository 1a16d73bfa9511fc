"""The calibrated read: its policy, and the calibrator over an open store. No logic."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from guardian.core.model import Read
from guardian.core.rules.utility import GOLD
from guardian.embed.port import Embedder
from guardian.errors import ConfigError, DependencyError
from guardian.ports import Publisher, Store
from guardian.read import Calibrator, LedgerFile, ReadPolicy, TaskClassifier, WhenUnverified
from guardian.read.task.classifier import QuestionClassifier
from guardian.read.task.head import load_task_model
from guardian.read.task.local import LocalTaskClassifier
from guardian.settings import Settings


def build_read_policy(settings: Settings, *, limit: int | None = None, at: datetime | None = None) -> ReadPolicy:
    """Build what a reader is set to; by the settings those channels pass, as scores or detectors, that have an alpha above zero."""
    read = settings.read
    return ReadPolicy(
        limit=read.limit if limit is None else limit,
        per_family=read.per_family,
        overfetch=read.overfetch,
        least_utility=read.least_utility,
        passing_channels=frozenset({GOLD, *(name for name, alpha in settings.policy.alphas.items() if alpha > 0)}),
        when_unverified=WhenUnverified(read.when_unverified),
        token_budget=read.token_budget,
        max_text_chars=read.max_text_chars,
        tells_barred=read.tells_barred,
        at=at,
        least_confidence=read.least_confidence,
    )


def build_classifier(settings: Settings, store: Store) -> TaskClassifier | None:
    """Build what tells of a question what its caller leaves open; None where it is off, or was trained for another embedder's vectors."""
    embedding = store.identity.embedding
    if settings.read.classifier == "none":
        return None
    classifier = QuestionClassifier(load_task_model())
    return LocalTaskClassifier(classifier, embedding) if classifier.fits(embedding) else None


def check_ledger(settings: Settings) -> None:
    """See that a ledger of files can be written, before a service gives answers that nobody could account for.

    Raises:
        ConfigError: It cannot.
    """
    folder = settings.read.ledger_dir
    try:
        if folder is not None:
            LedgerFile(folder).check()
    except DependencyError as exc:
        raise ConfigError(f"{exc}.", setting="read.ledger_dir", mend="name a folder that this user may write.") from exc


def build_calibrator(
    settings: Settings,
    store: Store,
    *,
    policy: ReadPolicy | None = None,
    embedder: Embedder | None = None,
    classifier: TaskClassifier | None = None,
    publisher: Publisher | None = None,
    on_read: Callable[[Read], Awaitable[None]] | None = None,
) -> Calibrator:
    """Build the calibrator over an open store; its ledger is the publisher's, else the folder's of the settings, if there is one."""
    folder, key = settings.read.ledger_dir, settings.read.query_key
    if publisher is None and folder is not None:
        publisher = LedgerFile(folder)
    return Calibrator(
        store,
        policy or build_read_policy(settings),
        embedder=embedder,
        classifier=classifier or build_classifier(settings, store),
        publisher=publisher,
        on_read=on_read,
        query_key=None if key is None else key.get_secret_value().encode(),
        events_topic=settings.kafka.events_topic,
    )
