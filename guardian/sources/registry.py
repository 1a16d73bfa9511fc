"""The formats that can be read: those built in, listed plainly, and those of installed packages.

A third party adds a format with an entry point in the group `guardian.sources` whose value is a class without
required arguments (or a ready object) that implements `port.Source`:

```toml
[project.entry-points."guardian.sources"]
my-format = "my_package.guardian:MySource"
```
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from guardian.errors import ConfigError
from guardian.sources.formats.agent_kb import AgentKbSource
from guardian.sources.formats.amem import AmemSource
from guardian.sources.formats.anthropic.memory_store import AnthropicMemoryStoreSource
from guardian.sources.formats.anthropic.memory_tool import AnthropicMemoryToolSource
from guardian.sources.formats.chatgpt import ChatGptSource
from guardian.sources.formats.claude_code import ClaudeCodeSource
from guardian.sources.formats.cognee_session import CogneeSessionSource
from guardian.sources.formats.cogx import CogxSource
from guardian.sources.formats.graphiti.dump import GraphitiSource
from guardian.sources.formats.langgraph.store import LanggraphSource
from guardian.sources.formats.letta.agent_file import LettaAgentFileSource
from guardian.sources.formats.letta.hook_log import LettaHookLogSource
from guardian.sources.formats.letta.memfs import LettaMemfsSource
from guardian.sources.formats.letta.table_row import LettaTableSource
from guardian.sources.formats.lightmem import LightMemSource
from guardian.sources.formats.locomo import LocomoSource
from guardian.sources.formats.longmemeval import LongMemEvalSource
from guardian.sources.formats.mcp_memory import McpMemorySource
from guardian.sources.formats.mem0.api import Mem0ApiSource
from guardian.sources.formats.mem0.openmemory import OpenMemorySource
from guardian.sources.formats.mem0.plugin import Mem0PluginSource
from guardian.sources.formats.mem0.points import Mem0PointsSource
from guardian.sources.formats.mem0.ts_history import Mem0TypeScriptSource
from guardian.sources.formats.mem0_history import Mem0HistorySource
from guardian.sources.formats.memento import MementoSource
from guardian.sources.formats.memory_bank import MemoryBankSource
from guardian.sources.formats.memos import MemosSource
from guardian.sources.formats.memsyco import MemSycoSource
from guardian.sources.formats.native import NativeSource
from guardian.sources.formats.reasoning_bank import ReasoningBankSource
from guardian.sources.formats.reflexion import ReflexionTasksSource, ReflexionTrialsSource
from guardian.sources.formats.rows import RowsSource
from guardian.sources.formats.voyager import VoyagerSource
from guardian.sources.live.translator import Binding, Translator
from guardian.sources.port import RowSource, Source, SourceOptions
from guardian.sources.unfit import explain_unfit

ENTRY_POINT_GROUP = "guardian.sources"


def _build_translator(options: SourceOptions) -> Translator:
    """Build the translator of records that no settings are known for: each is told by its content."""
    return Translator({"*": Binding(options=options)}, row_sources=load_row_sources())


# Shorter names that people try.
ALIASES = {
    "native": "cloudevents",
    "jsonl": "cloudevents",
    "mcp": "mcp-memory",
    "letta": "letta-agent-file",
    "memfs": "letta-memfs",
    "langmem": "langgraph",
    "zep": "graphiti",
}

BUILT_IN: tuple[Source, ...] = (
    NativeSource(),
    Mem0HistorySource(),
    McpMemorySource(),
    Mem0TypeScriptSource(),
    Mem0PointsSource(),
    Mem0ApiSource(),
    Mem0PluginSource(),
    OpenMemorySource(),
    LanggraphSource(),
    GraphitiSource(),
    RowsSource(_build_translator),
    AmemSource(),
    MemoryBankSource(),
    LightMemSource(),
    MemosSource(),
    CogxSource(),
    CogneeSessionSource(),
    LocomoSource(),
    LongMemEvalSource(),
    MemSycoSource(),
    MementoSource(),
    ReflexionTrialsSource(),
    ReflexionTasksSource(),
    ReasoningBankSource(),
    VoyagerSource(),
    AgentKbSource(),
    LettaMemfsSource(),
    LettaHookLogSource(),
    LettaAgentFileSource(),
    LettaTableSource(),
    AnthropicMemoryToolSource(),
    AnthropicMemoryStoreSource(),
    ClaudeCodeSource(),
    ChatGptSource(),
)


def load_sources() -> tuple[Source, ...]:
    """Give every known source: built in first, then those of installed packages by name.

    Raises:
        ConfigError: An installed source cannot be loaded, or two have one name.
    """
    found = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
    sources = (*BUILT_IN, *(_load(point) for point in found))
    names = [source.name for source in sources]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"Two memory formats are called {name!r}.", mend="Uninstall one of the packages that provide it.")
    return sources


def load_row_sources() -> tuple[RowSource, ...]:
    """Give the sources whose rows can arrive one by one."""
    return tuple(source for source in load_sources() if isinstance(source, RowSource))


def by_name(name: str) -> Source:
    """Give the source of that name.

    Raises:
        ConfigError: No source has it; the message names those that exist.
    """
    sources = load_sources()
    wanted = ALIASES.get(name, name)
    for source in sources:
        if source.name == wanted:
            return source
    raise ConfigError(f"There is no memory format {name!r}.", mend=f"Use one of: {_list(sources)}.")


def detect(path: Path) -> Source:
    """Give the one source that recognises a file or folder by its content.

    Raises:
        ConfigError: It does not exist, nothing recognises it, or more than one source does.
    """
    if not path.exists():
        raise ConfigError(f"{path} does not exist.", mend="Check the path.")
    sources = load_sources()
    matching = [source for source in sources if source.detect(path)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise ConfigError(f"{path} could be any of: {_list(matching)}.", mend="Name the format.")
    unfit = explain_unfit(path) if path.is_file() else None
    if unfit is not None:
        raise ConfigError(f"{path} {unfit.what}. Nothing is imported.", mend=f"{unfit.mend} Known formats: {_names(sources)}.")
    raise ConfigError(
        f"{path} is in no memory format that is known.",
        mend=f"Known formats: {_names(sources)}. Name one if the file is damaged.",
    )


def _load(point: EntryPoint) -> Source:
    package = point.dist.name if point.dist is not None else point.value
    try:
        loaded = point.load()
        source: Source = loaded() if isinstance(loaded, type) else loaded
    # Foreign code runs here, and whatever it raises is the same fault with the same mend.
    except Exception as error:
        raise ConfigError(
            f"The memory format {point.name!r} of package {package!r} cannot be loaded: {error!r}.",
            mend="Upgrade or uninstall that package.",
        ) from error
    if not all(hasattr(source, part) for part in ("name", "title", "detect", "iter_items")):
        raise ConfigError(
            f"The memory format {point.name!r} of package {package!r} is no source.",
            mend="It must have name, title, detect and iter_items (guardian.sources.port.Source).",
        )
    return source


def _names(sources: tuple[Source, ...]) -> str:
    return ", ".join(source.name for source in sources)


def _list(sources: tuple[Source, ...] | list[Source]) -> str:
    return ", ".join(f"{source.name} ({source.title})" for source in sources)
