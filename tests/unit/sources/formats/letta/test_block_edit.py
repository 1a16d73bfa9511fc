"""Edits of blocks: what stood before and after, where it is certain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.sources.formats.letta.block_edit import BlockEdit, find_label, work_out

WORDS = st.sampled_from(["a", "b", "a b", "c", ""])
EDITS = st.one_of(
    st.builds(lambda text: BlockEdit("core_memory_append", {"label": "x", "content": text}), WORDS),
    st.builds(
        lambda old, new: BlockEdit("core_memory_replace", {"label": "x", "old_content": old, "new_content": new}), WORDS, WORDS
    ),
    st.builds(
        lambda text, at: BlockEdit("memory_insert", {"label": "x", "new_string": text, "insert_line": at}),
        WORDS,
        st.integers(-1, 2),
    ),
    st.builds(lambda text: BlockEdit("memory_rethink", {"label": "x", "new_memory": text}), WORDS),
)


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (BlockEdit("core_memory_append", {"content": "c"}), "a", "a\nc"),
        (BlockEdit("core_memory_replace", {"old_content": "a", "new_content": "b"}), "x a", "x b"),
        (BlockEdit("memory_replace", {"old_string": "a", "new_string": "b"}), "x a", "x b"),
        (BlockEdit("memory_insert", {"new_string": "b", "insert_line": 1}), "a\nc", "a\nb\nc"),
        (BlockEdit("memory_insert", {"new_str": "b"}), "a", "a\nb"),
        (BlockEdit("memory", {"command": "str_replace", "old_string": "a", "new_string": "b"}), "x a", "x b"),
        (BlockEdit("memory", {"command": "insert", "insert_line": 0, "insert_text": "b"}), "a", "b\na"),
        (BlockEdit("memory_apply_patch", {"patch": "@@ -1 +1 @@\n-a\n+b\n"}), "a", "b"),
    ],
)
def test_an_edit_is_carried_out_and_taken_back(edit: BlockEdit, before: str, after: str) -> None:
    """Agree in both directions."""
    assert edit.apply(before) == after
    assert edit.undo(after) == before


def test_an_edit_with_several_origins_is_not_taken_back() -> None:
    """Leave unknown what the text before was: the new words stand twice, or there are none."""
    assert BlockEdit("core_memory_replace", {"old_content": "a", "new_content": "b"}).undo("b b") is None
    assert BlockEdit("core_memory_replace", {"old_content": "a", "new_content": ""}).undo("x") is None
    assert BlockEdit("core_memory_replace", {"old_content": "a", "new_content": "b"}).undo("x") is None


def test_labels_are_found_in_each_tool() -> None:
    """Read the argument that names the block, paths without their prefix; reads and other tools edit none."""
    assert find_label("rethink_memory", {"target_block_label": "human"}) == "human"
    assert find_label("memory", {"command": "create", "path": "/memories/human"}) == "human"
    assert find_label("memory", {"command": "view", "path": "/memories/human"}) is None
    assert find_label("send_message", {"label": "human"}) is None
    assert find_label("memory_insert", {"label": 7}) is None


@given(WORDS, st.lists(EDITS, max_size=6))
def test_what_is_worked_out_is_what_was(start: str, edits: list[BlockEdit]) -> None:
    """Never give a text that did not stand there."""
    texts, made = [start], []
    for edit in edits:
        whole = edit.find_whole()
        text = whole if whole is not None else edit.apply(texts[-1])
        if text is not None:
            texts.append(text)
            made.append(edit)
    first, after = work_out(made, texts[-1])
    assert all(worked in (None, real) for worked, real in zip([first, *after], texts, strict=True))
