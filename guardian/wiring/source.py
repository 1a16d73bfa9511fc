"""What reads agents' own topics and files: maps, formats, schema registries. No logic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from guardian.errors import ConfigError
from guardian.settings import IngressSettings, KafkaSettings, Settings
from guardian.sources.formats.rows import RowsSource
from guardian.sources.live.mapping import CompiledMap
from guardian.sources.live.schema_frame import SchemaCache
from guardian.sources.live.translator import Binding, Translator
from guardian.sources.port import RowSource, SourceOptions
from guardian.sources.registry import by_name, load_row_sources

if TYPE_CHECKING:
    pass


def build_schemas(settings: KafkaSettings) -> SchemaCache | None:
    """Build the cache of a schema registry, or None where none is set.

    Raises:
        ConfigError: The extra is missing.
    """
    if settings.schema_registry_url is None:
        return None
    try:
        from guardian.sources.live.schema_registry import RegistrySchemas  # noqa: PLC0415 # an extra
    except ImportError as exc:
        raise ConfigError(
            f"a schema registry is set, but what reads its schemas is not installed: {exc}.",
            setting="GUARDIAN_KAFKA__SCHEMA_REGISTRY_URL",
            mend="pip install 'guardian-memory[schema-registry]'.",
        ) from exc
    password = settings.schema_registry_password
    return RegistrySchemas(
        settings.schema_registry_url,
        user=settings.schema_registry_user,
        password=None if password is None else password.get_secret_value(),
    )


def build_translator(settings: Settings, schemas: SchemaCache | None) -> Translator:
    """Build what records of agents' topics are translated with.

    Raises:
        ConfigError: A topic names a map or a format that there is not.
    """
    bindings = {pattern: _build_binding(settings, pattern, ingress) for pattern, ingress in settings.ingress.items()}
    return Translator(bindings, row_sources=load_row_sources(), schemas=schemas)


def build_map(settings: Settings, name: str, *, setting: str) -> CompiledMap:
    """Build the map of that name.

    Raises:
        ConfigError: There is none, or one of its paths is wrong.
    """
    if name not in settings.maps:
        known = ", ".join(sorted(settings.maps)) or "none"
        raise ConfigError(
            f"there is no map {name!r}.", setting=setting, mend=f"declare [maps.{name}] in guardian.toml; known: {known}."
        )
    return CompiledMap(name, settings.maps[name])


def build_rows_source(settings: Settings, map_name: str | None) -> RowsSource:
    """Build the source of files that hold records of a topic, by a map or as the settings bind their topics."""
    mapped = None if map_name is None else build_map(settings, map_name, setting="--map")

    def build(options: SourceOptions) -> Translator:
        bindings = (
            {} if mapped is not None else {name: _build_binding(settings, name, one) for name, one in settings.ingress.items()}
        )
        return Translator({**bindings, "*": Binding(map=mapped, options=options)}, row_sources=load_row_sources())

    return RowsSource(build)


def _build_binding(settings: Settings, pattern: str, ingress: IngressSettings) -> Binding:
    setting = f"ingress.{pattern}"
    source = None if ingress.format is None else by_name(ingress.format)
    if source is not None and not isinstance(source, RowSource):
        names = ", ".join(one.name for one in load_row_sources()) or "none"
        raise ConfigError(
            f"rows of the format {ingress.format!r} do not come one by one.",
            setting=f"{setting}.format",
            mend=f"those that do: {names}.",
        )
    return Binding(
        map=None if ingress.map is None else build_map(settings, ingress.map, setting=f"{setting}.map"),
        row_source=source,
        options=SourceOptions(space=ingress.space, source_kind=ingress.source_kind, scope=ingress.scope),
    )
