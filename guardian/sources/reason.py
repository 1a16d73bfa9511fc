"""Why input of an outside format gives no event: every reason word with its meaning and the mend.

A reason is a constant: it is counted and filtered, so a word never changes its meaning. What is a fault in any format
(`not_json`, `not_utf8`, `nested_too_deep`) has the word of the wire contract. A format of a third party may use words
of its own beside these.
"""

from __future__ import annotations

from enum import StrEnum

from guardian.contracts.reason import Explanation


class SourceReason(StrEnum):
    """Words of the built-in sources: first those of broken input, then those of what is skipped on purpose."""

    ROW_TOO_LONG = "row_too_long"
    ARRAY_CUT = "array_cut"
    ARRAY_FOLLOWED = "array_followed"
    FILE_DAMAGED = "file_damaged"
    FILE_IN_USE = "file_in_use"
    FILE_UNREADABLE = "file_unreadable"
    FILE_TOO_LARGE = "file_too_large"
    SHAPE_UNKNOWN = "shape_unknown"
    OPERATION_UNKNOWN = "operation_unknown"
    ID_MISSING = "id_missing"
    TEXT_MISSING = "text_missing"
    TIME_MISSING = "time_missing"
    TIME_UNREADABLE = "time_unreadable"

    UNCHANGED = "unchanged"
    REPLACED_IN_FILE = "replaced_in_file"
    ABSENCE_IN_DAMAGED_VERSION = "absence_in_damaged_version"
    METADATA_ONLY = "metadata_only"
    LEFTOVER_TABLE = "leftover_table"
    RAW_MESSAGES = "raw_messages"
    EMPTY = "empty"
    WRITE_FAILED = "write_failed"
    WRITE_UNCONFIRMED = "write_unconfirmed"
    REVISION_UNKNOWN = "revision_unknown"


_NOTHING = "Nothing to mend."

SOURCE_REASONS: dict[SourceReason, Explanation] = {
    SourceReason.ROW_TOO_LONG: Explanation(
        "One row is longer than 16 MiB; only its head is kept.", "Split it in the program that wrote it."
    ),
    SourceReason.ARRAY_CUT: Explanation("The JSON array ends inside an element.", "Import a whole copy of the file."),
    SourceReason.ARRAY_FOLLOWED: Explanation(
        "Something follows the end of the JSON array and was not read.", "Move it to a file of its own."
    ),
    SourceReason.FILE_DAMAGED: Explanation(
        "The file breaks off; what stood before the fault was read.", "Import a whole copy of the file."
    ),
    SourceReason.FILE_IN_USE: Explanation(
        "A program has changes in a side file that are not in the database yet.",
        "Stop that program, or import a copy made with SQLite's .backup.",
    ),
    SourceReason.FILE_UNREADABLE: Explanation("The file cannot be opened.", "Check that it is a readable file."),
    SourceReason.FILE_TOO_LARGE: Explanation(
        "The file is larger than any memory, or than can be read whole.", "Split it, or leave it out."
    ),
    SourceReason.SHAPE_UNKNOWN: Explanation(
        "The row has not the fields of this format.", "Check that the format is the right one for this file."
    ),
    SourceReason.OPERATION_UNKNOWN: Explanation("The row names an operation unknown to this format.", "Report it."),
    SourceReason.ID_MISSING: Explanation(
        "The row names no memory, or has no id of its own.", "Nothing can be imported from it; correct the row."
    ),
    SourceReason.TEXT_MISSING: Explanation("A write without a text.", "Import an older copy that still has the text."),
    SourceReason.TIME_MISSING: Explanation(
        "Nothing in the file says when this happened.", "Give the row a time, or import an older copy."
    ),
    SourceReason.TIME_UNREADABLE: Explanation("The time is in no known form.", "Write it as ISO 8601."),
    SourceReason.UNCHANGED: Explanation("The row says what an earlier version or row said.", _NOTHING),
    SourceReason.REPLACED_IN_FILE: Explanation(
        "A later row of this append-only file holds the same thing as it is now.", _NOTHING
    ),
    SourceReason.ABSENCE_IN_DAMAGED_VERSION: Explanation(
        "A version with broken rows lacks a memory, which proves no deletion.",
        "Mend the broken rows, or import the next whole version.",
    ),
    SourceReason.METADATA_ONLY: Explanation("An update that repeats the text.", _NOTHING),
    SourceReason.LEFTOVER_TABLE: Explanation(
        "A table that a cut-off migration left behind.",
        "Where it holds rows of its own, rename it to `history` in a copy of the database and import that.",
    ),
    SourceReason.RAW_MESSAGES: Explanation("Chat messages, not memories.", _NOTHING),
    SourceReason.EMPTY: Explanation("A file or block that holds nothing yet.", _NOTHING),
    SourceReason.WRITE_FAILED: Explanation("The agent's write was answered with an error: nothing was stored.", _NOTHING),
    SourceReason.WRITE_UNCONFIRMED: Explanation(
        "The log holds no answer to the agent's write, so nobody knows whether it was stored.",
        "Import a log that goes on to the answer.",
    ),
    SourceReason.REVISION_UNKNOWN: Explanation(
        "What the whole text was after an edit cannot be worked out from this log.",
        "Import a log that begins earlier, or that shows the text.",
    ),
}
