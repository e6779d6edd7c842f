"""Readers of types, bounds and formats that a sentence demands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.formats import formats_in, values_of_format
from mcp_conformance.world.known import Owner
from mcp_conformance.world.refusals.refusal import Refusal, Sentence, any_of

TYPES = {
    "string": "string", "str": "string", "text": "string", "number": "number", "float": "number",
    "decimal": "number", "double": "number", "f64": "number", "float64": "number", "integer": "integer",
    "int": "integer", "int64": "integer", "int32": "integer", "i32": "integer", "i64": "integer",
    "u32": "integer", "u64": "integer", "usize": "integer", "uint": "integer", "boolean": "boolean",
    "bool": "boolean", "array": "array", "list": "array", "sequence": "array", "tuple": "array",
    "slice": "array", "object": "object", "dict": "object", "dictionary": "object", "map": "object",
    "struct": "object", "mapping": "object", "record": "object",
}  # fmt: skip
"""The words for types in many languages, and the JSON type of each."""
TYPE = re.compile(
    r"\b(?:must be|should be|expected|expects|is not|not of type|of type|to be)(?: of)?(?: type)?(?: an?)?"
    r"(?: valid)? ['\"`]?(" + "|".join(TYPES) + r")['\"`]?(?![\w-]|,? or\b| of\b)",
    re.IGNORECASE,
)
NUMBER = r"(-?\d{1,15}(?:\.\d{1,9})?)"
COUNTS = {"one": 1, "two": 2, "three": 3, "a": 1, "an": 1}
BETWEEN = any_of(
    rf"[(\[]{NUMBER} ?(?:-|\u2013|to|\.\.|,) ?{NUMBER}[)\]]",
    rf"\brange:? (?:is |of )?{NUMBER} ?(?:-|\u2013|to|\.\.) ?{NUMBER}\b",
    rf"\bbetween {NUMBER} and {NUMBER}",
    rf"\bfrom {NUMBER} to {NUMBER}\b",
    rf"\bneeds {NUMBER} or {NUMBER}\b",
    rf"\b(?:available|existing|valid) [\w ]{{1,30}}: ?{NUMBER} ?(?:-|\u2013|to|\.\.) ?{NUMBER}(?![\w-])",
)
OR_EQUAL = r"(?: than)? or equal to"
LOW = any_of(
    rf"(?:\bat least|>=|\bminimum(?: value)?(?: is| of|:)?|\bgreater{OR_EQUAL}|\bno less than)\s*{NUMBER}",
    r"\bat least (one|two|three|an?)\b",
)
ABOVE = any_of(rf"(?:\bgreater than|\bmore than|\babove|\bexceeds? (?=0\b)|(?<!-)>(?!=))\s*{NUMBER}")
HIGH = any_of(
    rf"(?:\bat most|<=|\bmaximum(?: value)?(?: is| of|:)?|\bless{OR_EQUAL})\s*{NUMBER}",
    rf"\b(?:no more than|(?:not|cannot) exceed|up to)\s*{NUMBER}",
)
BELOW = any_of(rf"(?:\bless than|\bfewer than|\bbelow|(?<!-)<(?!=))\s*{NUMBER}")
POSITIVE = re.compile(r"\bpositive\b", re.IGNORECASE)
NOT_NEGATIVE = re.compile(r"\bnon-?negative\b|\b(?:not|cannot|can't) be negative\b", re.IGNORECASE)
NOT_EMPTY = any_of(r"\bnon-?empty\b", r"\b(?:not|cannot|can't) be empty\b", r"\bat least one\b|\bis empty\b")
DEMANDS = re.compile(
    r"\b(?:invalid|must|should|expected|expects?|not (?:a )?valid|not an?|use|format|only|malformed|required"
    r"|written?|write)\b",
    re.IGNORECASE,
)


def types(refusal: Refusal) -> Iterator[Clue]:
    """Yield the JSON type that a sentence demands: "topology must be of type string"."""
    for sentence in refusal.sentences:
        found = TYPE.search(sentence.text)
        if found:
            yield from _each(sentence, Clue("type", type=TYPES[found[1].lower()]))


def bounds(refusal: Refusal) -> Iterator[Clue]:
    """Yield the bounds of a number, of a length, or of a count of items."""
    for sentence in refusal.sentences:
        low, high = bounds_in(sentence.text)
        if low is not None or high is not None:
            yield from _each(sentence, Clue("bounds", low=low, high=high))


def formats(refusal: Refusal) -> Iterator[Clue]:
    """Yield values in the format that a sentence demands: "Expected HH:MM", "is not valid base64"."""
    for sentence in refusal.sentences:
        if DEMANDS.search(sentence.text):
            pattern = next(formats_in(sentence.text), "")
            values = tuple(one for one in values_of_format(sentence.text) if not refusal.was_sent(one, ()))
            if values:
                yield from _each(sentence, Clue("format", values=values, owner=Owner.WORD, pattern=pattern))


def bounds_in(text: str) -> tuple[float | None, float | None]:
    """Return the lowest and the highest value that a text names; None for what it does not say."""
    between = BETWEEN.search(text)
    if between:
        first, last = (float(one) for one in between.groups() if one)
        return first, last
    low, high = _figure(LOW.search(text)), _figure(HIGH.search(text))
    above, below = _figure(ABOVE.search(text)), _figure(BELOW.search(text))
    if low is None and above is not None and "or equal" not in text:
        low = above + 1 if above.is_integer() else above
    if high is None and below is not None and "or equal" not in text:
        high = below - 1 if below.is_integer() else below
    if low is None:
        low = (
            1 if POSITIVE.search(text) or NOT_EMPTY.search(text) else 0 if NOT_NEGATIVE.search(text) else None
        )
    return low, high


def _figure(found: re.Match[str] | None) -> float | None:
    if found is None:
        return None
    said = next(one for one in found.groups() if one)
    return float(COUNTS.get(said.lower(), 0) or said)


def _each(sentence: Sentence, clue: Clue) -> Iterator[Clue]:
    for member in sentence.members or ("",):
        yield replace(clue, member=member)
