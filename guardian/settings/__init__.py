"""Settings: one frozen model, read from `guardian.toml`, then from `GUARDIAN_…` (nested with `__`), the later winning.

Only wiring and cli read it. Every field says its unit and meaning; secrets print as stars.
"""

from guardian.settings.answer import AnswerSettings
from guardian.settings.audit import AuditSettings, JudgeSettings
from guardian.settings.chat import ChatSettings
from guardian.settings.drift import AlertSettings, DriftSettings
from guardian.settings.induce import InduceSettings
from guardian.settings.loading import TOML_NAME, Settings, load_settings
from guardian.settings.read import ReadSettings
from guardian.settings.rule import PolicySettings, TrustSettings
from guardian.settings.section import Section
from guardian.settings.serve import KeySettings, ServeSettings
from guardian.settings.state import EmbeddingSettings, StoreSettings
from guardian.settings.stream import IngressSettings, KafkaSettings, LimitSettings, WebSettings

__all__ = [
    "TOML_NAME",
    "AlertSettings",
    "AnswerSettings",
    "AuditSettings",
    "ChatSettings",
    "DriftSettings",
    "EmbeddingSettings",
    "InduceSettings",
    "IngressSettings",
    "JudgeSettings",
    "KafkaSettings",
    "KeySettings",
    "LimitSettings",
    "PolicySettings",
    "ReadSettings",
    "Section",
    "ServeSettings",
    "Settings",
    "StoreSettings",
    "TrustSettings",
    "WebSettings",
    "load_settings",
]
