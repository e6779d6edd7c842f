"""Readers of what does not exist, of what exists already, and of tools to call first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.refusals.refusal import Refusal, Sentence, any_of

READY = r"(?:loaded|opened|open|selected|active|connected|initiali[sz]ed|started|created|configured)"
"""What a thing is that a tool works on without a name for it."""
MISSING = any_of(
    r"\b(?:does not|doesn't|do not|did not|didn't) (?:exist|resolve|match any)",
    r"\bnot found\b|\bcould(?: not|n't) (?:be )?(?:find|found)\b|\bcan(?:not|'t) find\b",
    r"\bno such\b|\bno [\w ]{1,30} (?:found|named|with|matching)\b|\bhas no [\w ]{1,40}['\"`]",
    r"\b(?:has|have|holds?|contains?|are) no [A-Za-z]",
    rf"\bno [\w ]{{1,30}} {READY}\b|\bthere (?:is|are) no\b",
    r"\b(?:is|are)(?: not|n't) (?:registered|known|defined)\b",
    r"\bunknown [\w ]{1,20}(?:: ?\S| ?['\"`])|\bis not in\b|\bENOENT\b|\bmalformed object\b",
)
WANTED = re.compile(
    r"\b(?:has|have|holds?|contains?|are) no ([A-Za-z][\w ]{1,40})"
    rf"|\bno ([A-Za-z][\w ]{{1,30}}?)(?: (?:is|are|was|has been))?(?: (?:currently|yet))? {READY}\b",
    re.IGNORECASE,
)
"""``Sheet 'Sheet1' has no table or PivotTable``, ``No presentation is currently loaded``"""
TAKEN = any_of(
    r"\balready\b.{0,30}\b(?:exists?|used|taken|registered|defined|in use)\b|\bEEXIST\b|\bduplicate\b",
    r"\bis taken\b|\bmust be unique\b|\bUNIQUE constraint\b",
)
"""What says that a name is given already."""


def things_wanted(text: str) -> str:
    """Return the words for what a place lacks: "table or PivotTable" if a sheet has none; empty without."""
    return " ".join(found[1] or found[2] for found in WANTED.finditer(text))


def things_missing(refusal: Refusal) -> Iterator[Clue]:
    """Yield the members whose values name what does not exist."""
    for sentence in refusal.sentences:
        if MISSING.search(sentence.text) and not TAKEN.search(sentence.text):
            for member in _with_value(refusal, sentence) or sentence.members or ("",):
                yield Clue("does not exist", member, is_missing=True)


def things_taken(refusal: Refusal) -> Iterator[Clue]:
    """Yield the members whose values name what exists already."""
    for sentence in refusal.sentences:
        if TAKEN.search(sentence.text):
            for member in _with_value(refusal, sentence) or sentence.members or ("",):
                yield Clue("exists already", member, is_taken=True)


def _with_value(refusal: Refusal, sentence: Sentence) -> tuple[str, ...]:
    """Return those members of a sentence whose value it quotes."""
    return tuple(
        dict.fromkeys(
            name for name, value in refusal.sent if name in sentence.members and value in sentence.quoted
        )
    )


def tools_named(refusal: Refusal, tools: Collection[str]) -> Iterator[Clue]:
    """Yield the tools that a refusal names: "Use git_add to stage changes first"."""
    words = {word for line in refusal.lines for word in re.findall(r"[A-Za-z][\w.-]+\w", line)}
    named = tuple(tool for tool in tools if tool in words and re.search(r"[_\W]|[a-z][A-Z]", tool))
    if named:
        yield Clue("tools named", first=named)
