"""Laws of dead letters: whole where they fit, honest where they do not, the same at every delivery."""

from __future__ import annotations

import hashlib
import os
from typing import Any, cast

import pytest

from guardian.contracts.letter import read_dead_letter
from guardian.contracts.outcome import build_outcome_id
from guardian.errors import ConfigError, DependencyError, RecordError
from guardian.stream.broker.kafka import Producer
from guardian.stream.dead_letter import DeadLetterSender, encode_letter, is_cut
from guardian.stream.plane.batch import Refused
from tests.unit.stream.records import CollectingProducer, record

WHY = RecordError("not_json", "no JSON", path="data")
ROOMY = 4 * 1024 * 1024


def refused(value: bytes | None, **fields: Any) -> Refused:
    """Build a refused record."""
    return Refused(record=record(value, **fields), error=WHY)


def build_sender(producer: CollectingProducer, *, max_bytes: int = ROOMY) -> DeadLetterSender:
    """Build a sender over the double."""
    return DeadLetterSender(cast("Producer", producer), topic="guardian.dead-letters", max_bytes=max_bytes)


@pytest.mark.parametrize("value", [b"\xff{", b"", None, b"null"])
def test_a_letter_keeps_the_record_byte_for_byte(value: bytes | None) -> None:
    """Value, headers, place and reason come back as they were."""
    headers = [("ce_id", b"\x00\xff"), ("none", None), ("ce_id", b"again")]
    letter, encoded = encode_letter(refused(value, topic="in", partition=2, offset=9, headers=headers), max_bytes=ROOMY)
    back = read_dead_letter(encoded)
    assert back == letter
    assert (back.value, back.record_headers) == (value, headers)
    assert (back.topic, back.partition, back.offset, back.reason, back.path) == ("in", 2, 9, "not_json", "data")
    assert not is_cut(back)


@pytest.mark.parametrize("timestamp_ms", [-1, 0, 1_772_366_400_000, 2**62])
def test_a_redelivered_record_is_the_same_letter(timestamp_ms: int) -> None:
    """Its id does not depend on when it was read, also for a record without a time."""
    first, second = (encode_letter(refused(b"{", timestamp_ms=timestamp_ms), max_bytes=ROOMY) for _ in range(2))
    assert first == second


def test_a_mebibyte_is_kept_whole() -> None:
    """Kafka's default largest message fits as base64 into what is sent by default."""
    value = os.urandom(1_048_576)
    letter, encoded = encode_letter(refused(value), max_bytes=ROOMY)
    assert letter.value == value
    assert len(encoded) <= ROOMY


def test_a_letter_beyond_the_limit_is_cut_and_says_so() -> None:
    """What is kept is a beginning; size, digest and place of the whole are told."""
    value = os.urandom(5_000_000)
    letter, encoded = encode_letter(refused(value, topic="in", partition=1, offset=7), max_bytes=ROOMY)
    assert len(encoded) <= ROOMY
    kept = letter.value
    assert kept is not None
    assert value.startswith(kept)
    assert len(kept) > ROOMY // 2
    assert is_cut(letter)
    assert hashlib.sha256(value).hexdigest() in letter.message
    assert "in, partition 1, offset 7" in letter.message


def test_headers_and_names_cannot_make_a_letter_too_large() -> None:
    """A record whose headers, space and memory id are huge still fits."""
    huge = "x" * 300_000
    value = {"specversion": "1.0", "space": huge, "data": {"memory_id": huge}}
    letter, encoded = encode_letter(refused(value, headers=[("h", b"y" * 300_000)]), max_bytes=65_536)
    assert len(encoded) <= 65_536
    assert is_cut(letter)


@pytest.mark.parametrize("character", ["\x01", "\U0001f33f", "\u00e9", '"'])
def test_a_letter_fits_whatever_its_names_are_made_of(character: str) -> None:
    """JSON may need six bytes for a character: limits are in bytes as written, down to the smallest letter."""
    name = character * 1_024
    value = {"specversion": "1.0", "space": name, "data": {"memory_id": name, "text": "x" * 50_000}}
    error = RecordError("time_bad", f"{character * 5_000} is no time", path=name)
    kept = record(value, topic="t" * 249, headers=[(character * 1_200, b"y")])
    letter, encoded = encode_letter(Refused(record=kept, error=error), max_bytes=32_768)
    assert len(encoded) <= 32_768
    assert is_cut(letter)
    assert letter.value


async def test_a_topic_that_takes_less_gets_shorter_letters() -> None:
    """What the topic refuses is sent again, shorter, and all others once."""
    producer = CollectingProducer(max_bytes=300_000)
    await build_sender(producer).send([refused(b"{"), refused(os.urandom(2_000_000))])
    small, cut = (read_dead_letter(message.value or b"") for message in producer.sent)
    assert (is_cut(small), is_cut(cut)) == (False, True)
    assert [message.key for message in producer.sent] == [build_outcome_id(letter).encode() for letter in (small, cut)]


async def test_a_topic_that_takes_nothing_is_named() -> None:
    """A letter is never given up in silence."""
    with pytest.raises(ConfigError, match=r"guardian\.dead-letters does not take .* raise its max\.message\.bytes"):
        await build_sender(CollectingProducer(max_bytes=10)).send([refused(b"{")])


async def test_a_broker_that_is_away_is_told() -> None:
    """The batch has to be tried again."""
    producer = CollectingProducer()
    producer.is_away = True
    with pytest.raises(DependencyError):
        await build_sender(producer).send([refused(b"{")])
