"""What the property tests share."""

from __future__ import annotations

import pytest

from tests.property.bank import Bank


@pytest.fixture
def bank() -> Bank:
    """Give an empty bank with the default policy."""
    return Bank()
