"""New words of a span: a word that neither its records nor the question has in any form, whatever its case and its script."""

from __future__ import annotations

import pytest

from guardian.read.stage.vocabulary import add_words

BEANS = "The beans of our supplier cost 20 dollars, and we keep using them."


@pytest.mark.parametrize(
    ("known", "text", "new"),
    [
        (BEANS, "the arabica beans cost 20 dollars", ("arabica",)),
        (BEANS, "the beans of acme's gateway cost 20 dollars", ("acme", "gateway")),
        ("Die Bohnen kosten 20 Euro.", "die arabica bohnen kosten 20 Euro", ("arabica",)),
        ("Кофе стоит 20 рублей.", "кофе акме стоит 20 рублей", ("акме",)),
        ("咖啡豆每公斤20元。", "李明的咖啡豆每公斤20元。", ("李", "明")),
        ("豆は20ドルです。", "アラビカの豆は20ドルです。", ("アラビカ",)),
        ("ราคากาแฟยี่สิบบาท", "สมชายราคากาแฟยี่สิบบาท", ("สมชายราคากาแฟยี่สิบบาท",)),
        ("커피는 20달러이다.", "민수의 커피는 20달러이다.", ("민수의",)),
        ("سعر القهوة عشرون دولارا", "سعر قهوة أحمد عشرون دولارا", ("أحمد",)),
    ],
)
def test_an_invented_name_is_new_in_any_case_and_script(known: str, text: str, new: tuple[str, ...]) -> None:
    """In lower case, and where there is no case."""
    assert add_words(text, [known]) == new


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (BEANS, "We are using a supplier whose bean costs 20 dollars."),
        ("User enjoys films.", "This person likes a film."),
        ("The gateway was restarted.", "According to the record, the gateways restart."),
        ("Die Bohnen kosten 20 Euro.", "Laut Notiz kostet eine Bohne 20 Euro."),
        ("Кофейная чашка стоит 20 рублей.", "Цена кофейной чашки — 20 рублей."),
        ("咖啡豆每公斤20元。", "每公斤的咖啡豆是20元。"),
        ("豆は20ドルです。", "20ドルの豆"),
        ("ราคากาแฟยี่สิบบาท", "กาแฟยี่สิบบาท"),
        ("커피는 20달러이다.", "커피의 20달러"),
        ("سعر القهوة عشرون دولارا", "سعر قهوة عشرون دولارا"),
    ],
)
def test_other_forms_of_known_words_and_ordinary_words_are_not_new(known: str, text: str) -> None:
    """What is said again in another form, in another order, or with the words that any statement may have."""
    assert add_words(text, [known]) == ()


def test_each_new_word_is_given_once_in_order() -> None:
    """So that a reader sees which ones they are."""
    assert add_words("acme zephyr acme beans", ["beans"]) == ("acme", "zephyr")
