"""Readers of lists: which values are allowed, and which there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.known import Owner
from mcp_conformance.world.prose import scalar
from mcp_conformance.world.refusals.refusal import Refusal, Sentence, any_of, quoted_in

MAX_VALUES = 30
MAX_WORDS = 4
"""An item of a list without quotes has no more words; what has more is a sentence."""
LIST = r"\s*(?P<list>\[[^\]\n]+\]|\{[^}\n]+\}|\([^)\n]+\)|[^\n]+)"
BEFORE = (
    r"\b(?:must|should|has to|needs to|can) be (?:either|one of|in)\b",
    r"\b(?:must|should) be (?=['\"`][^'\"`\n]{1,60}['\"`],? ?(?:or\b|['\"`]))",
    (
        r"\b(?:must|should) be (?!provided|specified|set|given|present|absolute)"
        r"(?=[\w-]{1,40}(?:, [\w-]{1,40}){0,9},? or [\w-]{1,40}\b)"
    ),
    r"\bone of\b|\b(?:choose|pick|select) from\b",
    r"\bexpected (?=['\"`][^'\"`\n]{1,60}['\"`] ?(?:\||or\b))",
    r"\b(?:allowed|valid|supported|permitted|accepted|possible|legal)\b[\w ]{0,30}?(?::|\bare\b|\bis\b|=)",
    r"\b(?:options|choices|enum|values)(?: are)?\s?[:=]",
    r"\b(?:not in|not one of)(?= ?[\[({'\"`])",
    r"\buse(?= (?:['\"`][^'\"`\n]{1,60}['\"`],? )+or ['\"`])",
)
ALLOWED = any_of(f"(?:{'|'.join(BEFORE)})(?: the)?(?: following)?(?: values)?:?{LIST}")
"""A list of allowed words."""
THERE = any_of(
    r"(?:\b(?:available|existing|known|registered|defined|configured|current)\b"
    r"[\w ]{0,30}?(?::|\bare\b|\bis\b)"
    rf"|\bdid you mean\b:?|\b(?:closest|similar|nearest)\b[\w ]{{0,20}}:?|\b(?:have|found) only:?){LIST}"
)
"""A list of things that there are."""
OF_THE_SERVER = re.compile(
    r"\b(?:types?|kinds?|formats?|modes?|styles?|options|operations|actions|units|levels|methods|orders"
    r"|directions|encodings|algorithms|values)(?: are| is)?:?\s*$",
    re.IGNORECASE,
)
"""``Available shape types:``: what the server can do, whatever there is."""
IN_BRACKETS = re.compile(r"\buse (?:an? |the |one of )?[\w ]{1,40}?\((?P<list>[^()\n]+)\)", re.IGNORECASE)
"""``Use a header (name, size)``: what there is, in brackets after the name of its kind."""
FROM_TO = re.compile(r"\bfrom ['\"`]?([A-Z]|\d{1,9})['\"`]? to ['\"`]?([A-Z]|\d{1,9})\b(?!\w)")
"""``a column letter from A to C``."""
END = re.compile(r"(?:,|;)? (?:but )?(?:received|got|found|not|given|was|instead)\b|\.\s|\.$|\)$|; ")
SEPARATOR = re.compile(r"\s*(?:,\s*(?:and|or)\b|,|\||;|\s(?:or|and)\s|\s/\s)\s*")
JSON_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "undefined"})
NOTHING = frozenset(
    {"", "none", "null", "nothing", "empty", "n/a", "...", "etc", "e.g", "and", "or", "(none)"}
)
NOTHING |= {"allowed values", "following", "the following", "these", "those"}
BULLET = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+(.{1,80})")


def allowed_lists(refusal: Refusal) -> Iterator[Clue]:
    """Yield the words of a list of what is allowed: they are words of the server."""
    for sentence in refusal.sentences:
        found = _last(ALLOWED, sentence.text)
        if found and not THERE.search(sentence.text[: found.end("list")]):
            yield from _clues("allowed list", refusal, sentence, found, Owner.WORD)


def available_lists(refusal: Refusal) -> Iterator[Clue]:
    """Yield the values of a list of what there is, and of a suggestion."""
    for sentence in refusal.sentences:
        for pattern in (THERE, IN_BRACKETS):
            found = pattern.search(sentence.text)
            if found:
                is_word = OF_THE_SERVER.search(sentence.text[: found.start("list")])
                owner = Owner.WORD if is_word else Owner.FOUND
                yield from _clues("available list", refusal, sentence, found, owner)


def ranges_of_letters(refusal: Refusal) -> Iterator[Clue]:
    """Yield both ends of what a sentence names by its first and its last."""
    for sentence in refusal.sentences:
        for found in FROM_TO.finditer(sentence.text):
            values = tuple(scalar(one) for one in found.groups())
            for member in sentence.members or ("",):
                yield Clue("first and last", member, values, Owner.WORD)


def bulleted_lists(refusal: Refusal) -> Iterator[Clue]:
    """Yield the items below a line that announces what there is, or what is allowed."""
    for at, line in enumerate(refusal.lines):
        is_allowed = ALLOWED.search(f"{line} x")
        if not line.endswith(":") or not (is_allowed or THERE.search(f"{line} x")):
            continue
        items = []
        for below in refusal.lines[at + 1 :]:
            bullet = BULLET.fullmatch(below)
            if bullet is None:
                break
            items += items_of(re.split(r"\s+[-\u2013\u2014:]\s|: ", bullet[1])[0])
        owner = Owner.FOUND if THERE.search(f"{line} x") else Owner.WORD
        for member in refusal.about(line) or ("",) if items else ():
            yield Clue("list below", member, tuple(items), owner)


def items_of(text: str) -> list[Any]:
    """Return the items of a list as a sentence has it: quoted, or with commas, bars or "or" between them."""
    text = text.strip()
    if text[:1] in "[{(" and text[-1:] in "]})":
        text = text[1:-1]
    quoted = quoted_in(text)
    if quoted and text[:1] in "'\"`\u2018\u201c":
        until = END.search(text)
        found = quoted_in(text[: until.start()]) if until else quoted
        return [*dict.fromkeys(found)][:MAX_VALUES]
    end = END.search(text)
    text = text[: end.start()] if end else text
    parts = text.split("/") if re.fullmatch(r"\w+(?:/\w+)+", text) else SEPARATOR.split(text)
    items: list[Any] = []
    for part in parts:
        word = part.strip().strip("'\"`[](){}").rstrip(".").strip()
        if len(word.split()) > MAX_WORDS:
            break
        if re.match("an? ", word) is None and word.lower() not in NOTHING and word.lower() not in JSON_TYPES:
            items.append(scalar(word))
    return list(dict.fromkeys(items))[:MAX_VALUES]


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the match of a list that has no such list inside: "options: expected one of 'a', 'b'"."""
    found = pattern.search(text)
    while found is not None and (inner := pattern.search(text, found.start("list"))):
        found = inner
    return found


def _clues(
    reader: str, refusal: Refusal, sentence: Sentence, found: re.Match[str], owner: Owner
) -> Iterator[Clue]:
    """Yield the values of a list for the member that is named before it, or else in its sentence."""
    items = items_of(found["list"])
    members = refusal.about(sentence.text[: found.start("list")]) or sentence.members
    values = tuple(one for one in items if not refusal.was_sent(one, members))
    if not values or all(map(refusal.is_name, values)):
        return
    for member in members or ("",):
        yield Clue(reader, member, values, owner)
