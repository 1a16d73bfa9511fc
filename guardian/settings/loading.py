"""All settings in one model, and how they are loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from guardian.core.policy import Policy
from guardian.errors import ConfigError
from guardian.mapping import EventMap
from guardian.settings.answer import AnswerSettings
from guardian.settings.audit import AuditSettings, JudgeSettings
from guardian.settings.drift import AlertSettings, DriftSettings
from guardian.settings.induce import InduceSettings
from guardian.settings.read import ReadSettings
from guardian.settings.rule import PolicySettings, TrustSettings
from guardian.settings.serve import ServeSettings
from guardian.settings.state import EmbeddingSettings, StoreSettings
from guardian.settings.stream import IngressSettings, KafkaSettings, LimitSettings, WebSettings

TOML_NAME = "guardian.toml"


class Settings(BaseSettings):
    """All settings of Guardian."""

    model_config = SettingsConfigDict(
        env_prefix="GUARDIAN_", env_nested_delimiter="__", frozen=True, extra="forbid", toml_file=TOML_NAME
    )

    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    web: WebSettings = Field(default_factory=WebSettings)
    trust: TrustSettings = Field(default_factory=TrustSettings)
    spaces: dict[str, TrustSettings] = Field(default_factory=dict, description="Space pattern -> trust of these spaces, whole.")
    audit: AuditSettings = Field(default_factory=AuditSettings)
    judge: JudgeSettings = Field(default_factory=JudgeSettings)
    induce: InduceSettings = Field(default_factory=InduceSettings)
    policy: PolicySettings = Field(default_factory=PolicySettings)
    drift: DriftSettings = Field(default_factory=DriftSettings)
    alerts: AlertSettings = Field(default_factory=AlertSettings)
    read: ReadSettings = Field(default_factory=ReadSettings)
    serve: ServeSettings = Field(default_factory=ServeSettings)
    answer: AnswerSettings = Field(default_factory=AnswerSettings)
    maps: dict[str, EventMap] = Field(default_factory=dict, description="Name -> how rows of plain JSON become events.")
    ingress: dict[str, IngressSettings] = Field(
        default_factory=dict, description="Ingress topic pattern -> what its records are; the first that matches holds."
    )
    roles: frozenset[Literal["guard", "ingress", "auditor", "inducer"]] = Field(
        frozenset({"guard", "ingress", "auditor", "inducer"}),
        description="What a worker does: guard reads the canonical topic, ingress forwards agents' topics to it, auditor has the "
        "channels of audit judge, inducer has the model of induce write cards.",
    )
    state_dir: Path = Field(Path(".guardian"), description="Folder for checkpoints of replays and the worker's own files.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least level that is logged.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 # part of the signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 # part of the signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment, which wins over the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @property
    def has_broker(self) -> bool:
        """Whether somebody named a broker; the default address alone means that nobody has said there is one."""
        return "kafka" in self.model_fields_set and "bootstrap" in self.kafka.model_fields_set

    def policy_for(self, space: str) -> Policy:
        """Build the policy of a space: the first matching entry of `spaces`, else the general trust."""
        trust = next((trust for pattern, trust in self.spaces.items() if fnmatchcase(space, pattern)), self.trust)
        return Policy(
            verify_kinds=trust.verify_kinds,
            verify_actors=trust.verify_actors,
            correct_kinds=trust.correct_kinds,
            correct_actors=trust.correct_actors,
            restate_threshold=self.policy.restate_threshold,
            session_window=timedelta(seconds=self.policy.session_window_s),
            session_reads=self.policy.session_reads,
            max_roots=self.policy.max_roots,
            alphas=self.policy.alphas,
            payoffs=self.policy.payoffs,
            detectors=self.policy.detectors,
            default_alpha=self.policy.default_alpha,
            calibration=self.policy.calibration,
            gold_sources=trust.gold_sources,
        )


def load_settings(**overrides: object) -> Settings:
    """Load the settings of this folder and environment.

    Raises:
        ConfigError: A setting is unknown or wrong; the message names it.
    """
    _refuse_misspelt(os.environ)
    try:
        return Settings(**overrides)  # type: ignore[arg-type] # pydantic validates
    except ValidationError as exc:
        faults = "; ".join(f"{_name(fault['loc'])}: {fault['msg']}" for fault in exc.errors())
        raise ConfigError(
            f"settings are wrong: {faults}.",
            mend=f"correct them in {TOML_NAME} or in the environment; `guardian settings` lists all.",
        ) from exc
    except SettingsError as exc:
        raise ConfigError(
            f"an environment variable GUARDIAN_… cannot be read: {exc}.",
            mend="write lists and tables as JSON, such as GUARDIAN_KAFKA__INGRESS_TOPICS='[\"agent-a.memory\"]'.",
        ) from exc
    except (ValueError, RecursionError, OSError) as exc:  # a TOML file that is none, or cannot be read
        raise ConfigError(f"{TOML_NAME} cannot be read: {exc}.", mend="correct the file or remove it.") from exc


def _refuse_misspelt(environment: Mapping[str, str]) -> None:
    """Refuse GUARDIAN_STORE_PATH and its like: with one underscore it would be passed over in silence."""
    for name in sorted(environment):
        section, _, rest = name.removeprefix("GUARDIAN_").lower().partition("_")
        is_section = section in Settings.model_fields and isinstance(Settings.model_fields[section].annotation, type)
        if name.startswith("GUARDIAN_") and is_section and rest and not rest.startswith("_"):
            raise ConfigError(
                f"{name} is no setting.",
                setting=name,
                mend=f"write GUARDIAN_{section.upper()}__{rest.upper()}, with two underscores.",
            )


def _name(loc: tuple[int | str, ...]) -> str:
    return "GUARDIAN_" + "__".join(str(part).upper() for part in loc)
