"""The credentials in a command and its environment, which no report may contain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mcp_conformance.transport.throwaway import SECRET

HIDDEN = "***"
# A short one such as "test" would blank out ordinary words in every report.
MIN_LENGTH = 6
"""Shorter credentials are not searched for in other texts."""
NAMED = re.compile(r"(-*[\w.-]*)(=|:\s*)(.+)", re.DOTALL)
"""``--api-key=X``, ``TOKEN=X``, or ``Authorization: X``."""
USER_INFO = re.compile(r"(?<=://)[^/\s@]+(?=@)")
BARE = re.compile(
    r"\b(?:sk|gh[opusr]|github_pat|xox[abps]|glpat|npm|hf)[-_][\w-]{16,}|\bAKIA[0-9A-Z]{16}\b|\beyJ[\w-]{16,}[\w.-]*"
)
"""Words that look like credentials."""


def redacted(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command without the credentials among them."""
    return tuple(kept for kept, _ in _split(words))


def credentials(words: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the credentials in a command and its environment, the longest first."""
    found = {one for _, hidden in _split(words) for one in hidden}
    pairs = (f"{name}={content}" for name, content in environment.items())
    found |= {one for pair in pairs for one in _hidden(pair, "")[1]}
    return tuple(sorted((one for one in found if len(one) >= MIN_LENGTH), key=len, reverse=True))


def without(text: str, hidden: Iterable[str]) -> str:
    """Return a text without these credentials."""
    for one in hidden:
        text = text.replace(one, HIDDEN)
    return text


def _is_secret(name: str) -> bool:
    return bool(SECRET.search(name.replace("-", "_")))


def _split(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each word as it may be shown, and the credentials in it."""
    before = ""
    for word in words:
        yield _hidden(word, before)
        before = word


def _hidden(word: str, before: str) -> tuple[str, list[str]]:
    is_value = before.startswith("-") and "=" not in before and not word.startswith("-")
    if is_value and _is_secret(before):
        return HIDDEN, [word]
    named = NAMED.fullmatch(word)
    if named and _is_secret(named[1]):
        return f"{named[1]}{named[2]}{HIDDEN}", [named[3]]
    found = [one[0] for pattern in (USER_INFO, BARE) for one in pattern.finditer(word)]
    return without(word, found), found
