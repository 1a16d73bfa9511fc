"""The channels that there are: those built in, by name, and those of installed packages.

A third party adds one with an entry point in the group `guardian.channels` whose value is called without arguments and gives a
`channel.Channel` (a class will do):

```toml
[project.entry-points."guardian.channels"]
my-channel = "my_package.guardian:MyChannel"
```

Only those that the setting `audit.channels` names are loaded. The name of the entry point is the channel's own; it is in each of its
verdicts and in calibrations.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from guardian.core.rules.utility import GOLD, SELF
from guardian.errors import ConfigError
from guardian.trust.channel import Channel

ENTRY_POINT_GROUP = "guardian.channels"
EXECUTION, DEGENERACY, LITERAL, TEXT = "execution", "degeneracy", "literal_grounding", "text_grounding"
RETRIEVAL, OUTCOME, REGRADER = "retrieval", "outcome", "regrader"
BUILT_IN = (EXECUTION, DEGENERACY, LITERAL, TEXT, RETRIEVAL, OUTCOME, REGRADER)
# Those that run the query of an episode.
ON_DATABASE = frozenset({EXECUTION, DEGENERACY})
# Channels of people and of the agent itself.
_RESERVED = frozenset({GOLD, SELF})


def list_foreign() -> list[EntryPoint]:
    """List the channels of installed packages by name; none of their code runs."""
    return sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)


def load_foreign(name: str) -> Channel:
    """Load a channel of an installed package.

    Raises:
        ConfigError: There is none of this name, or several, or it cannot be loaded; the message names the package.
    """
    points = [point for point in list_foreign() if point.name == name]
    if not points:
        known = ", ".join([*BUILT_IN, *(point.name for point in list_foreign())])
        raise ConfigError(f"there is no evidence channel {name!r}.", setting="audit.channels", mend=f"use of: {known}.")
    if len(points) > 1 or name in {*BUILT_IN, *_RESERVED}:
        packages = ", ".join(sorted(map(_name_package, points)))
        raise ConfigError(
            f"the name of the evidence channel {name!r} of {packages} is taken.",
            setting="audit.channels",
            mend="uninstall one of the packages.",
        )
    return _load(points[0])


def _load(point: EntryPoint) -> Channel:
    package = _name_package(point)
    try:
        channel: Channel = point.load()()
    # Foreign code runs here, and whatever it raises is the same fault with the same mend.
    except Exception as error:
        raise ConfigError(
            f"the evidence channel {point.name!r} of package {package!r} cannot be loaded: {error!r}.",
            setting="audit.channels",
            mend="upgrade that package, or take the channel out.",
        ) from error
    if not all(hasattr(channel, part) for part in ("name", "version", "grows", "judge")) or channel.name != point.name:
        raise ConfigError(
            f"the evidence channel {point.name!r} of package {package!r} is none.",
            setting="audit.channels",
            mend=f"it must have name (here {point.name!r}), version, grows and judge (guardian.trust.channel.Channel).",
        )
    return channel


def _name_package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
