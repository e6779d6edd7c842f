"""The values in the command that starts the server: paths, URLs and names that the user gave."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from urllib.parse import unquote, urlsplit

from mcp_conformance.transport.credentials import is_public, is_secret_name
from mcp_conformance.world.known import Known, Origin
from mcp_conformance.world.members import words_of
from mcp_conformance.world.ours import NOTHING, Ours

INTERPRETERS = re.compile(
    r"(?:python[\d.]*|py|node|nodejs|deno|bun|bunx|npx|npm|pnpm|yarn|uvx?|pipx|java|dotnet|ruby|perl|php|go)"
    r"(?:\.exe|\.cmd)?",
    re.IGNORECASE,
)
"""Programs whose first argument names a program, and not something of the user's."""
NAMED = re.compile(r"(-{0,2}[A-Za-z][\w.-]*)=(.+)", re.DOTALL)
"""``--db-path=X``, ``ROOT=X``"""
SCHEME = re.compile(r"[A-Za-z][\w+.-]*://")
NAME = re.compile(r"[A-Za-z][\w.@-]{1,60}")
PLAIN = frozenset(
    {"stdio", "http", "sse", "mcp", "run", "start", "serve", "server", "true", "false", "debug"}
)
"""Words that say how to run a server."""
BARE_WORD = "name"
"""The kind of a value that is neither a path nor a URL."""


def values_of_command(
    words: Sequence[str],
    environment: Mapping[str, str] | None = None,
    cwd: str = "",
    *,
    ours: Ours = NOTHING,
) -> Iterator[Known]:
    """Yield the paths, URLs and names in a command, and in the variables that the user gave for it.

    ``cwd`` is the working directory that the user gave, empty for none: relative paths are from there.
    They were there before, but those in our folders.  Credentials are left out, and so are bare words of
    variables: a key looks like a name, and not all variables with one are called so.
    """
    origin = Origin("the command")
    for keys, value in _pairs(words):
        yield from _values(keys, value, cwd, origin, ours)
    for name, value in (environment or {}).items():
        found = _values((name,), value, cwd, Origin("the variable", name), ours)
        yield from (one for one in found if one.keys[-1] != BARE_WORD)
    if cwd:
        yield Known(cwd, ("directory", "path"), Origin("the working directory"), ours.owner(cwd), 3)


def _pairs(words: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the words that may be values, each under the name of its option."""
    before = ""
    for word in _own_words(words):
        named = NAMED.fullmatch(word)
        if named and not SCHEME.match(word):
            yield (named[1].lstrip("-"),), named[2]
        elif not word.startswith("-"):
            yield (before.lstrip("-"),) if before.startswith("-") else (), word
        before = "" if named else word


def _own_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words behind the program, and behind what an interpreter is to run."""
    if not words:
        return ()
    rest = list(words[1:])
    if INTERPRETERS.fullmatch(PurePath(words[0].replace("\\", "/")).name):
        at = next((at for at, word in enumerate(rest) if not word.startswith("-")), len(rest))
        rest = rest[at + 1 :]
    return rest


def _values(keys: tuple[str, ...], text: str, cwd: str, origin: Origin, ours: Ours) -> Iterator[Known]:
    is_named = any(is_secret_name(key) and not is_public(key, text) for key in keys)
    if is_named or ours.is_secret(text, keys):
        return
    for part in _parts(text):
        for value, kind in _of_part(part, cwd):
            rank = 2 if kind == BARE_WORD else 3
            if not ours.is_secret(value, keys):
                yield Known(value, (*keys, kind), origin, ours.owner(value), rank)


def _parts(text: str) -> list[str]:
    """Return the parts of a list of paths or names; a text that is none is one part."""
    if SCHEME.match(text):
        return [text]
    paths = text.split(os.pathsep)
    parts = paths if len(paths) > 1 and all(map(_is_absolute, paths)) else text.split(",")
    return [one.strip() for one in parts if one.strip()]


def _of_part(text: str, cwd: str) -> Iterator[tuple[str, str]]:
    """Yield the values that a word has, each with its kind."""
    if SCHEME.match(text):
        parts = urlsplit(text)
        if not parts.query and not parts.fragment:
            yield text, "url"
        path = unquote(parts.path)
        if not parts.netloc and path not in ("", "/"):
            yield path[1:] if parts.scheme != "file" and _is_path(path[1:]) else path, "path"
    elif _is_path(text):
        yield text, "path"
        if cwd and not _is_absolute(text):
            yield os.path.normpath(PurePath(cwd) / text), "path"
    elif NAME.fullmatch(text) and text.lower() not in PLAIN and words_of(text):
        yield text, BARE_WORD


def _is_path(text: str) -> bool:
    return _is_absolute(text) or text.startswith((".", "~")) or "/" in text or "\\" in text


def _is_absolute(text: str) -> bool:
    return text.startswith(("/", "\\\\")) or re.match(r"[A-Za-z]:[\\/]", text) is not None
