"""Sealed classes: dataclasses that the type checker holds frozen.

Frozen at run time, each field is set through `object.__setattr__`; that took a third of the time of all rules of a read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

Made = TypeVar("Made")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def sealed(cls: type[Made]) -> type[Made]:
    """Make a dataclass with slots, built by keywords, to which nobody may assign."""
    return dataclass(slots=True, kw_only=True)(cls)
