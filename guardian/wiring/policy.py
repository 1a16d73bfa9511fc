"""Policies: what the codec refuses, and what the rules of a space are set to. No logic."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from guardian.contracts.admission import DecodePolicy
from guardian.core.policy import Policy
from guardian.settings import Settings

if TYPE_CHECKING:
    pass


def build_policy_of(settings: Settings) -> Callable[[str], Policy]:
    """Build the lookup of policies by space."""
    return functools.lru_cache(maxsize=4096)(settings.policy_for)


def build_decode_policy(settings: Settings, vector_size: int) -> DecodePolicy:
    """Build what the codec is to refuse and to lower."""
    return DecodePolicy(
        max_text_bytes=settings.limits.max_text_bytes,
        future_tolerance_s=settings.limits.future_tolerance_s,
        vector_size=vector_size or None,
        trust_topics=tuple(settings.trust.topics.items()),
        trust_sources=tuple(settings.trust.sources.items()),
    )
