"""Laws of BM25's terms: what a store accepts, and what finds what."""

from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.embed.bm25 import bm25_document, bm25_query

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def share_found(query: str, document: str) -> float:
    """Give the share of the query's terms that the document has."""
    terms = set(bm25_query(query)[0])
    assert terms, f"{query!r} has no terms"
    return len(terms & set(bm25_document(document)[0])) / len(terms)


@given(TEXTS)
def test_terms_are_what_a_store_accepts(text: str) -> None:
    """Equal lengths, ids of 32 bits ascending without repetition, positive finite weights."""
    for indices, values in (bm25_document(text), bm25_query(text)):
        assert len(indices) == len(values)
        assert list(indices) == sorted(set(indices))
        assert all(0 <= index < 2**32 for index in indices)
        assert all(math.isfinite(value) and value > 0 for value in values)


@given(TEXTS)
def test_a_text_finds_itself_whole(text: str) -> None:
    """Every term of a query is a term of the same text as a document."""
    assert set(bm25_query(text)[0]) <= set(bm25_document(text)[0])


@given(TEXTS)
def test_terms_do_not_depend_on_the_unicode_form(text: str) -> None:
    """Composed and decomposed writing give the same vector."""
    assert bm25_document(unicodedata.normalize("NFD", text)) == bm25_document(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("shoe", "She prefers running shoes"),
        ("RUN", "She prefers running shoes"),
        ("12.50", "The filter costs 12.50 EUR"),
        ("room 204", "Meeting moved to room 204"),
        ("A-1234", "order a-1234 was refunded"),
        ("2026-03-14", "renewed on 2026-03-14"),
        ("user@example.com", "write to user@example.com"),
        ("Cafe", "le café du coin"),
        ("книги", "Пользователь любит кофе и книги"),
        ("座位", "靠窗座位的预订"),
        ("2026年", "2026年3月14日"),
        ("東京", "東京タワーへの行き方を調べました"),
        ("タワー", "東京タワーへの行き方を調べました"),
        ("カタカナ", "ｶﾀｶﾅで書く"),
        ("123", "番号は１２３です"),
        ("猫", "猫が好き"),
        ("서울", "회의는 서울에서 열린다"),
        ("กาแฟ", "ว่าผู้ใช้ชอบกาแฟ"),
        ("window 座位", "Prefers 座位 at the window"),
    ],
)
def test_a_word_of_a_text_finds_the_whole_text(query: str, document: str) -> None:
    """Numbers, codes and scripts without spaces are found like English words."""
    assert share_found(query, document) == 1.0


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("12.60", "The filter costs 13.50 EUR"),
        ("北京", "東京タワー"),
        ("กาแฟ", "ผู้ใช้ชอบน้ำชา"),
        ("shoe", "hat"),
        ("부산", "서울"),
    ],
)
def test_another_word_finds_nothing(query: str, document: str) -> None:
    """What has no term in common has no score."""
    assert share_found(query, document) == 0.0


@pytest.mark.parametrize("text", ["", "  \n", "the of and to", "👍 !?", "—"])
def test_a_text_without_words_has_no_terms(text: str) -> None:
    """Nothing is invented for stop words and symbols."""
    assert bm25_document(text) == ((), ())
    assert bm25_query(text) == ((), ())


def test_frequency_raises_a_weight_and_length_lowers_it() -> None:
    """The two effects that make BM25 more than counting."""
    [once] = bm25_document("coffee")[1]
    [twice] = bm25_document("coffee coffee")[1]
    index = bm25_query("coffee")[0][0]
    indices, values = bm25_document("coffee " + " ".join(f"word{i}" for i in range(200)))
    assert twice > once > values[indices.index(index)]


def test_a_query_weighs_each_of_its_terms_once() -> None:
    """Repetition in a query does not count."""
    assert bm25_query("coffee coffee tea") == bm25_query("tea coffee")
    assert set(bm25_query("coffee coffee tea")[1]) == {1.0}


def test_ids_of_terms_do_not_change() -> None:
    """Stored vectors stay searchable after an upgrade of the engine; if this fails, `BM25_IDENTITY` must change."""
    assert bm25_query("Prefers window seats 座位 12.50")[0] == (
        103616747,
        118156056,
        1332726385,
        1352835661,
        1509807134,
        1744826282,
    )
