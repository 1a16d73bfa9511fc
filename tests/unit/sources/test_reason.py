"""Reasons: every word is explained, and none clashes with the wire contract."""

from guardian.contracts.reason import Reason
from guardian.sources.reason import SOURCE_REASONS, SourceReason


def test_every_reason_is_explained() -> None:
    """Give meaning and mend for each word, as whole sentences."""
    assert set(SOURCE_REASONS) == set(SourceReason)
    assert all(text.endswith(".") for explanation in SOURCE_REASONS.values() for text in explanation)


def test_no_word_means_two_things() -> None:
    """Keep the words of the sources apart from those of the wire contract."""
    assert not {reason.value for reason in SourceReason} & {reason.value for reason in Reason}
