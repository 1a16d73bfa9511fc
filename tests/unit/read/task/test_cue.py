"""Laws of cues: they come from the text alone, mean the same in every language, and are silent where no word is known."""

# ruff: noqa: RUF001 - questions in other scripts are what is tested

from __future__ import annotations

from importlib.resources import files

import pytest

from guardian.read.task.cue import CUES, LONGEST_STEM, NAMES, read_cues


def shown(text: str) -> set[str]:
    """Give the names of what a question shows."""
    return {name for name, value in zip(NAMES, read_cues(text).values, strict=True) if value == 1.0}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "What is the name of my dog?"),
        ("de", "Wie heißt mein Hund und was isst er?"),
        ("fr", "Comment s'appelle mon chien et que mange-t-il ?"),
        ("es", "¿Cómo se llama mi perro y qué come?"),
        ("it", "Come si chiama il mio cane e che cosa mangia?"),
        ("pt", "Qual é o nome do meu cachorro e o que ele come?"),
        ("nl", "Hoe heet mijn hond en wat eet hij?"),
        ("pl", "Jak się nazywa mój pies i co on je?"),
        ("sv", "Vad heter min hund och vad äter han?"),
        ("ru", "Как зовут мою собаку и что она ест?"),
        ("uk", "Як звати мою собаку і що вона їсть? Моя собака це хто?"),
        ("tr", "Benim köpeğimin adı ne ve ne yer?"),
        ("ja", "私の犬の名前は何ですか？"),
        ("zh", "我的狗叫什么名字？"),
        ("ko", "제 강아지 이름이 뭐예요?"),
        ("hi", "मेरे कुत्ते का नाम क्या है?"),
        ("id", "Apa nama anjing saya dan apa yang dia makan?"),
    ],
)
def test_a_language_is_known_by_its_words(language: str, text: str) -> None:
    """Every list tells its own language from the others."""
    assert read_cues(text).language == language


@pytest.mark.parametrize(
    "text", ["", "   ", "??", "Πόσο ψηλός είναι ο Όλυμπος;", "เปียโนมีกี่คีย์", "Hány billentyűje van egy zongorának?"]
)
def test_what_no_list_knows_has_no_language_and_no_cues(text: str) -> None:
    """Nothing is made of a text that cannot be read."""
    cues = read_cues(text)
    assert cues.language is None
    assert set(cues.values) == {0.0}


def test_a_stray_word_makes_no_language() -> None:
    """One short word that two languages share does not turn the text into the other one."""
    assert read_cues("Hvor mange tangenter har et klaver i det store hus på bakken der?").language != "fr"


def test_names_and_keywords_count_as_english() -> None:
    """What is typed into a search box has no small words."""
    assert read_cues("eiffel tower height").language == "en"
    assert read_cues("zxqv plk wert uiop dfgh").language is None


def test_the_cues_of_a_wish_differ_from_those_of_a_question_of_fact() -> None:
    """The same cue stands for the same thing in three languages."""
    for text in ("Can you recommend a novel to me?", "Kannst du mir einen Roman empfehlen?", "¿Me recomiendas una novela?"):
        assert {"advise", "self"} <= shown(text), text
    for text in ("Who painted Guernica?", "Wer malte das Bild von Guernica?", "¿Quién pintó el Guernica?"):
        assert "who" in shown(text), text
        assert not shown(text) & {"self", "own", "advise"}, text


def test_pairs_and_shapes_are_read() -> None:
    """What a word means beside another is a cue of its own, and so is the form."""
    assert {"own", "who", "own+who", "asks", "first_who"} <= shown("When is my exam?")
    assert {"digits", "names"} <= shown("the 3 kings of Norway")
    assert "bare" in shown("Zebra stripes")


def test_the_sentence_that_asks_counts_for_itself() -> None:
    """What stands before it, or after it, does not change what is asked."""
    alone = shown("Who painted Guernica?")
    framed = shown("I tidied my desk and found my notes. Who painted Guernica? Thanks, my friend.")
    assert {name for name in framed if name.startswith("ask:")} == {name for name in alone if name.startswith("ask:")}
    assert {"own", "self"} <= framed
    assert "ask:own" in shown("It is on page three: what is my name")


def test_case_width_and_spelling_of_marks_do_not_matter() -> None:
    """NFKC and case folding: the same question in capitals or full width is the same question."""
    assert shown("WHAT IS MY NAME?") - {"names"} == shown("what is my name?")
    assert read_cues("ｗｈａｔ ｉｓ ｍｙ ｎａｍｅ？").language == "en"


def test_every_cue_of_the_lists_has_a_name() -> None:
    """A misspelt cue in the file would never count."""
    text = files("guardian.read.task").joinpath("words.txt").read_text("utf-8")
    lines = [line.split()[0] for line in text.splitlines() if line and line[0] not in "#["]
    assert set(lines) == {*CUES, "plain"}
    assert max(len(word) for word in text.split() if word.endswith("*")) <= LONGEST_STEM + 1


def test_a_language_keeps_its_block_and_a_cue_its_words() -> None:
    """A word listed twice under one cue of one language is a slip."""
    seen: set[tuple[str, str, str]] = set()
    language = ""
    for line in files("guardian.read.task").joinpath("words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            language = line
        elif line and not line.startswith("#"):
            cue, *words = line.split()
            assert not {(language, cue, word) for word in words} & seen, line
            seen |= {(language, cue, word) for word in words}
