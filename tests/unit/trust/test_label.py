"""Laws of labelling: what matters most is drawn first, the draw can be repeated, and a file is read whole or not at all."""

from __future__ import annotations

import io

import pytest

from guardian.errors import ConfigError
from guardian.trust.label import COLUMNS, draw_sample, read_labels, write_rows
from tests.builders import audited, corrected, read, written
from tests.property.bank import Bank


async def fill(bank: Bank) -> None:
    """Write ten episodes of rising grade, the worst of them the most read, and what is never drawn."""
    await bank.send(
        *(written(f"e{number}", f"Episode {number}", t=number, kind="episode", grade=number / 10) for number in range(10)),
        *(read("e0", t=20 + number) for number in range(5)),
        read(["e1", "e9"], t=30),
        written("fact", "Beans are brown", t=31),
        written("known", "Labelled", t=32, grade=1.0),
        audited("known", 1.0, t=33),
        written("felled", "Wrong", t=34, grade=1.0),
        corrected("felled", t=35),
    )


async def test_trusted_and_reused_come_first_and_the_rest_is_random() -> None:
    """No record twice, none that is labelled or superseded, and facts only when asked for."""
    bank = Bank()
    await fill(bank)
    rows = await draw_sample(bank.store, n=10, random_share=0.6)
    strata = {name: [row["memory_id"] for row in rows if row["stratum"] == name] for name in ("trusted", "reused", "random")}
    assert (strata["trusted"], strata["reused"]) == (["e9", "e8"], ["e0", "e1"])
    assert len(strata["random"]) == 6
    assert len({row["memory_id"] for row in rows}) == 10
    assert {row["memory_id"] for row in await draw_sample(bank.store, n=50, every=True)} == {
        *(f"e{n}" for n in range(10)),
        "fact",
    }


async def test_the_same_seed_is_the_same_draw() -> None:
    """And another seed another one."""
    bank = Bank()
    await fill(bank)
    first, again = [await draw_sample(bank.store, n=4, seed=1, random_share=1) for _ in range(2)]
    assert first == again
    draws = {
        tuple(row["memory_id"] for row in await draw_sample(bank.store, n=4, seed=seed, random_share=1)) for seed in range(5)
    }
    assert len(draws) > 1


async def test_a_drawn_file_is_read_back_whatever_its_texts_hold() -> None:
    """Quotes, line breaks and formulas pass; ids come back as they were; a formula is none to a spreadsheet."""
    bank = Bank()
    await bank.send(written('=a,"b"\nc', '=HYPERLINK("x"),\nsecond', grade=0.5, episode={"task": "-1", "answer": "@x"}))
    file = io.StringIO(newline="")
    (row,) = await draw_sample(bank.store, n=5)
    write_rows([{**row, "label": "wrong"}], file)
    file.seek(0)
    ((label,), unlabelled) = read_labels(file, name="file")
    assert (label.space, label.memory_id, label.revision, label.value, unlabelled) == ("s", '=a,"b"\nc', row["revision"], 0.0, 0)
    assert (row["text"][:2], row["task"], row["answer"]) == ("'=", "'-1", "'@x")


@pytest.mark.parametrize(
    ("word", "value"), [("right", 1.0), (" Yes ", 1.0), ("0", 0.0), ("wrong", 0.0), ("0.25", 0.25), ("0,25", 0.25), ("", None)]
)
def test_labels_are_words_or_numbers(word: str, value: float | None) -> None:
    """An empty one is none, and counted as such."""
    labels, unlabelled = read_labels(io.StringIO(f'label,space,memory_id\n"{word}",s,m\n'), name="file")
    assert ([label.value for label in labels], unlabelled) == (([], 1) if value is None else ([value], 0))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("label,space,memory_id\nmaybe,s,m\n", "line 2: 'maybe'"),
        ("label,space,memory_id\n1,s,m\nnan,s,m2\n", "line 3"),
        ("label,space,memory_id\n1.5,s,m\n", "line 2"),
        ("label,space,memory_id\n1,s,\n", "no memory_id"),
        ("label,space,memory_id\n1,s,m\n0,s,m\n", "line 3: another label than in line 2"),
        ("label;space;memory_id\n1;s;m\n", "separated by semicolons"),
        ("label\tspace\tmemory_id\n1\ts\tm\n", "separated by tabs"),
        ("", "no column"),
        ('label,space,memory_id\n"1,s,m\n', "cannot be read"),
    ],
)
def test_a_faulty_file_is_refused_whole_and_names_the_line(text: str, says: str) -> None:
    """Nothing of it is taken."""
    with pytest.raises(ConfigError, match=says):
        read_labels(io.StringIO(text), name="file")


def test_a_header_is_read_however_it_is_written() -> None:
    """Spreadsheets change the case and add blanks."""
    (label,), unlabelled = read_labels(io.StringIO("Label, SPACE ,Memory_ID\nright,s,m\n"), name="file")
    assert (label.space, label.memory_id, label.value, unlabelled) == ("s", "m", 1.0, 0)


def test_every_column_is_written() -> None:
    """The header is there even when nothing was drawn."""
    file = io.StringIO()
    write_rows([], file)
    assert file.getvalue() == ",".join(COLUMNS) + "\n"
