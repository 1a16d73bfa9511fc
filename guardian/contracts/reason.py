"""Why an input is refused: every reason word with its meaning and the mend.

A reason is a constant: it is counted, filtered and alerted on, so a word never changes its meaning. The table is what
the dead-letter command prints.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from guardian.errors import RecordError


class Reason(StrEnum):
    """Closed set of the words a refused event carries."""

    NULL_VALUE = "null_value"
    NOT_UTF8 = "not_utf8"
    NOT_JSON = "not_json"
    NESTED_TOO_DEEP = "nested_too_deep"
    LONE_SURROGATE = "lone_surrogate"
    NUMBER_NOT_FINITE = "number_not_finite"
    NOT_OBJECT = "not_object"
    MISSING_FIELD = "missing_field"
    SPECVERSION_UNKNOWN = "specversion_unknown"
    TYPE_UNKNOWN = "type_unknown"
    WRONG_TYPE = "wrong_type"
    ID_INVALID = "id_invalid"
    ENUM_UNKNOWN = "enum_unknown"
    OUT_OF_RANGE = "out_of_range"
    TIME_BAD = "time_bad"
    TIME_IN_FUTURE = "time_in_future"
    EFFECTIVE_AFTER_EVENT = "effective_after_event"
    TEXT_BLANK = "text_blank"
    TEXT_TOO_LARGE = "text_too_large"
    TEXT_NUL = "text_nul"
    VECTOR_EMPTY = "vector_empty"
    VECTOR_SIZE = "vector_size"
    VECTOR_ZERO = "vector_zero"
    VECTOR_NOT_FINITE = "vector_not_finite"
    CORRECTION_WITHOUT_TARGET = "correction_without_target"


class Explanation(NamedTuple):
    """What a reason means, and what its sender does about it."""

    meaning: str
    mend: str


REASONS: dict[Reason, Explanation] = {
    Reason.NULL_VALUE: Explanation(
        "The record has no value, or the value is JSON null.",
        "Send an event; to delete a memory send memory.deleted, not a tombstone.",
    ),
    Reason.NOT_UTF8: Explanation("The bytes are not UTF-8.", "Encode the event, and its ce_ headers, as UTF-8."),
    Reason.NOT_JSON: Explanation(
        "The value is not one JSON document.",
        "Send one JSON object a record; other formats enter through an ingress topic with a source codec.",
    ),
    Reason.NESTED_TOO_DEEP: Explanation(
        "The JSON is nested deeper than 250 levels.", "Flatten it, or send the deep part as a JSON string in metadata."
    ),
    Reason.LONE_SURROGATE: Explanation(
        "A string holds half of a UTF-16 surrogate pair, which is no character.",
        "Cut texts at characters, not at UTF-16 units.",
    ),
    Reason.NUMBER_NOT_FINITE: Explanation(
        "A number is NaN, infinite or too large for a double.", "Leave the field out instead of sending NaN."
    ),
    Reason.NOT_OBJECT: Explanation("A JSON object was expected.", "Send the field as a JSON object, not as a string."),
    Reason.MISSING_FIELD: Explanation("A required field is absent or null.", "Send the field named in the path."),
    Reason.SPECVERSION_UNKNOWN: Explanation("The envelope is not of CloudEvents 1.0.", 'Send "specversion": "1.0", as a string.'),
    Reason.TYPE_UNKNOWN: Explanation("The event type is not one of Guardian's.", "Use a type listed in topics/schemas."),
    Reason.WRONG_TYPE: Explanation(
        "A field has another JSON type than the contract says.", "Compare the field with topics/schemas."
    ),
    Reason.ID_INVALID: Explanation(
        "An id is empty, longer than 1,024 characters, or holds NUL.",
        "Send an id of 1 to 1,024 characters, without NUL.",
    ),
    Reason.ENUM_UNKNOWN: Explanation("A word is not of the field's closed set.", "Use a word listed in topics/schemas."),
    Reason.OUT_OF_RANGE: Explanation("A value lies outside its range.", "Scale the value to the range, here [0, 1]."),
    Reason.TIME_BAD: Explanation(
        "A time is not RFC 3339, or no instant of the years 1 to 9999.", "Send times like 2026-03-14T09:00:00Z."
    ),
    Reason.TIME_IN_FUTURE: Explanation(
        "The event claims a time after it was received, beyond the tolerance.",
        "Mend the sender's clock, then re-drive the dead letter once the time has come.",
    ),
    Reason.EFFECTIVE_AFTER_EVENT: Explanation(
        "A correction claims to take effect after it was stated.",
        "Send the correction when it takes effect, or leave effective_at out.",
    ),
    Reason.TEXT_BLANK: Explanation(
        "The text has no visible character.", "Do not write empty memories; to remove one send memory.deleted."
    ),
    Reason.TEXT_TOO_LARGE: Explanation(
        "The text exceeds the limit in UTF-8 bytes; it is never cut.", "Split the text, or raise the limit in settings."
    ),
    Reason.TEXT_NUL: Explanation("The text holds a NUL character.", "Strip NUL characters before writing."),
    Reason.VECTOR_EMPTY: Explanation("The vector has no numbers.", "Leave vector out to have the text embedded."),
    Reason.VECTOR_SIZE: Explanation(
        "The vector is not of the collection's size.", "Use the collection's embedding model, or leave vector out."
    ),
    Reason.VECTOR_ZERO: Explanation(
        "The vector has length zero, so it has no direction.", "Leave vector out to have the text embedded."
    ),
    Reason.VECTOR_NOT_FINITE: Explanation(
        "The vector's length is not finite in 32-bit floats.", "Normalise the vector, or leave it out."
    ),
    Reason.CORRECTION_WITHOUT_TARGET: Explanation(
        "A correction names neither targets nor a subject.", "Name the memories, or their subject, that are wrong."
    ),
}


def build_record_error(reason: Reason, detail: str, *, path: str = "") -> RecordError:
    """Give the error of a refused input: the place, the fault, and the mend from the table.

    Args:
        reason: Constant word.
        detail: One sentence on this input; never quotes a memory's text.
        path: Dotted place in the input, such as `data.text`.
    """
    place = f"{path}: " if path else ""
    return RecordError(reason, f"{place}{detail} Mend: {REASONS[reason].mend}", path=path)
