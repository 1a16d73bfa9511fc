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
    FORMAT_UNKNOWN = "format_unknown"
    FORMAT_AMBIGUOUS = "format_ambiguous"
    SCHEMA_REGISTRY_UNSET = "schema_registry_unset"
    SCHEMA_UNKNOWN = "schema_unknown"
    SCHEMA_MISFIT = "schema_misfit"
    UNPACKED_TOO_LARGE = "unpacked_too_large"
    MAP_MISFIT = "map_misfit"
    DOCUMENT_TOO_LARGE = "document_too_large"
    COLUMN_UNAVAILABLE = "column_unavailable"

    UNCHANGED = "unchanged"
    REPLACED_IN_FILE = "replaced_in_file"
    ABSENCE_IN_DAMAGED_VERSION = "absence_in_damaged_version"
    METADATA_ONLY = "metadata_only"
    TEXT_UNAVAILABLE = "text_unavailable"
    LEFTOVER_TABLE = "leftover_table"
    RAW_MESSAGES = "raw_messages"
    ROWLESS_CHANGE = "rowless_change"
    TOMBSTONE = "tombstone"
    EMPTY_RECORD = "empty_record"
    NOT_A_MEMORY = "not_a_memory"
    TEXT_NOT_KEPT = "text_not_kept"
    VERDICT_WITHDRAWN = "verdict_withdrawn"
    GRADE_UNKNOWN = "grade_unknown"
    EVALUATION_ONLY = "evaluation_only"
    EVIDENCE_UNREADABLE = "evidence_unreadable"
    EMPTY_ROW = "empty_row"
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
    SourceReason.FORMAT_UNKNOWN: Explanation(
        "The record is in no format that is known.",
        'Map the topic in guardian.toml ([maps.NAME] and [ingress."TOPIC"]), and try it with `guardian sources try`.',
    ),
    SourceReason.FORMAT_AMBIGUOUS: Explanation(
        "The record could be of several formats.", 'Name the format of the topic: [ingress."TOPIC"] format = "NAME".'
    ),
    SourceReason.SCHEMA_REGISTRY_UNSET: Explanation(
        "The record is coded with a schema of a registry, and no registry is set.",
        "Set GUARDIAN_KAFKA__SCHEMA_REGISTRY_URL and install the extra `schema-registry`; then re-drive.",
    ),
    SourceReason.SCHEMA_UNKNOWN: Explanation(
        "The registry does not know the record's schema.", "Register it, or set the right registry; then re-drive."
    ),
    SourceReason.SCHEMA_MISFIT: Explanation("The record does not fit its schema.", "Mend its producer."),
    SourceReason.UNPACKED_TOO_LARGE: Explanation("The compressed record is too large unpacked.", "Send smaller records."),
    SourceReason.MAP_MISFIT: Explanation(
        "The row does not fit the map of its topic.", "Mend the map, and try it with `guardian sources try`."
    ),
    SourceReason.DOCUMENT_TOO_LARGE: Explanation(
        "One JSON document of more than 512 MiB, which would have to be held whole.",
        "Export in pages, or as JSON lines, of which one row is held at a time.",
    ),
    SourceReason.COLUMN_UNAVAILABLE: Explanation(
        "A long column that the map reads did not change, so the change log leaves it out; without it the event would lose what it says.",
        "ALTER TABLE … REPLICA IDENTITY FULL, so that the log repeats it; or leave the column out of the map.",
    ),
    SourceReason.UNCHANGED: Explanation("The row says what an earlier version or row said.", _NOTHING),
    SourceReason.REPLACED_IN_FILE: Explanation(
        "A later row of this append-only file holds the same thing as it is now.", _NOTHING
    ),
    SourceReason.ABSENCE_IN_DAMAGED_VERSION: Explanation(
        "A version with broken rows lacks a memory, which proves no deletion.",
        "Mend the broken rows, or import the next whole version.",
    ),
    SourceReason.METADATA_ONLY: Explanation("An update that repeats the text.", _NOTHING),
    SourceReason.TEXT_UNAVAILABLE: Explanation(
        "An update that left a long text alone, so that the change log does not repeat it.", _NOTHING
    ),
    SourceReason.LEFTOVER_TABLE: Explanation(
        "A table that a cut-off migration left behind.",
        "Where it holds rows of its own, rename it to `history` in a copy of the database and import that.",
    ),
    SourceReason.RAW_MESSAGES: Explanation("Chat messages, not memories.", _NOTHING),
    SourceReason.ROWLESS_CHANGE: Explanation("A change of the database that is about no row.", _NOTHING),
    SourceReason.TOMBSTONE: Explanation(
        "A record without a value; what it ends was told by the deletion before it.",
        "Where tombstones are your deletions, map the topic with deletes_by_tombstone.",
    ),
    SourceReason.EMPTY_RECORD: Explanation("The record holds no row.", _NOTHING),
    SourceReason.NOT_A_MEMORY: Explanation(
        "The row states nothing by itself: an index of entities, a link, an access log, a notice of a job.", _NOTHING
    ),
    SourceReason.TEXT_NOT_KEPT: Explanation("The program was set not to keep this text.", _NOTHING),
    SourceReason.VERDICT_WITHDRAWN: Explanation(
        "A verdict was taken back, and the row does not say which.", "Retract it by its event id, if it was imported."
    ),
    SourceReason.GRADE_UNKNOWN: Explanation(
        "The row's grade is not on the scale of its format; the memory is imported without it.",
        "Correct the grade and import again.",
    ),
    SourceReason.EVALUATION_ONLY: Explanation(
        "Questions and answers of a benchmark: to import them would be to give away its solutions.", _NOTHING
    ),
    SourceReason.EVIDENCE_UNREADABLE: Explanation(
        "The evidence names no turn of the conversation; the memory is imported with the parents that could be read.",
        "Correct the reference and import again.",
    ),
    SourceReason.EMPTY_ROW: Explanation("The row holds no memory.", _NOTHING),
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
