"""Laws of the steps between layouts."""

from __future__ import annotations

import pytest

from guardian.core.point import PointKind
from guardian.errors import ConfigError
from guardian.store.layout import SCHEMA_VERSION
from guardian.store.schema import UPCASTERS, Upcaster, find_upcasters, list_kinds, upcast

ADD = Upcaster(change=lambda payload: {**payload, "n": payload.get("n", 0) + 1})
RENAME = Upcaster(change=lambda payload: {**payload, "m": payload["n"] * 10}, old_kinds=frozenset({"note"}))
TABLE = {3: ADD, 4: ADD, 5: RENAME}


def test_steps_are_taken_in_order() -> None:
    """From the kept version to the wanted one, each once; none from a version to itself."""
    assert find_upcasters(4, 6, TABLE) == (ADD, RENAME)
    assert find_upcasters(6, 6, TABLE) == ()
    assert upcast({}, find_upcasters(3, 6, TABLE)) == {"n": 2, "m": 20}


def test_a_payload_is_not_changed_in_place() -> None:
    """The store in use may be asked again."""
    payload = {"n": 1}
    assert upcast(payload, (ADD,)) == {"n": 2}
    assert payload == {"n": 1}


def test_a_missing_step_and_a_newer_store_are_refused() -> None:
    """Each with its mend."""
    with pytest.raises(ConfigError, match="no step from layout 2 to 3"):
        find_upcasters(2, 6, TABLE)
    with pytest.raises(ConfigError, match="newer Guardian"):
        find_upcasters(6, 5, TABLE)


def test_kinds_of_the_older_layout_are_read_too() -> None:
    """Beside all of today's."""
    assert list_kinds((ADD, RENAME)) == {*PointKind, "note"}


def test_every_version_since_the_first_has_its_step() -> None:
    """Whoever raises the version adds the step."""
    assert sorted(UPCASTERS) == list(range(1, SCHEMA_VERSION))
