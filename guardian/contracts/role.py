"""What a record is for one question, and why: the closed words that decisions, prompts and the ledger share."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a record is for one question."""

    REJECT = "reject"
    BACKGROUND = "background"
    PREFERENCE = "preference"
    SCOPE_CONSTRAINT = "scope_constraint"
    EVIDENCE_CANDIDATE = "evidence_candidate"
    EXAMPLE = "example"
    SUPERSEDED = "superseded"


class Reason(StrEnum):
    """Why a record has its role; constant words, counted and audited."""

    # in
    VERIFIED_EVIDENCE = "verified_evidence"
    UNVERIFIED_EVIDENCE = "unverified_evidence"
    PERSONAL_PREFERENCE = "personal_preference"
    OWN_WISH_ONLY = "own_wish_only"
    STANDING_CONSTRAINT = "standing_constraint"
    AUDITED_EXAMPLE = "audited_example"
    UNAUDITED_EXAMPLE = "unaudited_example"
    CONTEXT_ONLY = "context_only"
    CONFLICT_OPEN = "conflict_open"
    HELD_BEFORE = "held_before"
    # in as background, or out where it is somebody's own
    SCOPE_UNPROVEN = "scope_unproven"
    # out
    SUPERSEDED = "superseded"
    ERASED = "erased"
    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"
    OUT_OF_SCOPE = "out_of_scope"
    NO_SLOT = "no_slot"
    NOT_EVIDENCE = "not_evidence"
    UNSUPPORTED = "unsupported"
    PERSONALIZATION_NOT_ALLOWED = "personalization_not_allowed"
    INSTRUCTION_UNVERIFIED = "instruction_unverified"
    FLAGGED = "flagged"
    LOW_UTILITY = "low_utility"
    SAME_FAMILY = "same_family"
    UNVERIFIED = "unverified"
    CONFLICT_LOST = "conflict_lost"
    OVER_LIMIT = "over_limit"
    OVER_BUDGET = "over_budget"
