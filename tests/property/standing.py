"""What stands in a bank and why, as the cases read it."""

from __future__ import annotations


def reasons_of(row: dict[str, object]) -> list[str]:
    """Give the names of a row's reasons."""
    reasons = row["reasons"]
    assert isinstance(reasons, list)
    return [reason["reason"] for reason in reasons]


def standing(found: dict[str, list[str]]) -> set[str]:
    """Give the memories of which some revision stands."""
    return {memory_id for memory_id, statuses in found.items() if {"active", "verified"} & set(statuses)}
