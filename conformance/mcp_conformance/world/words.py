"""The words of a server: values in schemas, in descriptions and in instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.world.formats import values_of_format
from mcp_conformance.world.known import Known, Origin, Owner, is_worth_knowing
from mcp_conformance.world.members import Member, members_of, words_of
from mcp_conformance.world.ours import NOTHING
from mcp_conformance.world.prose import scalar
from mcp_conformance.world.refusals.lists import ALLOWED, MAX_WORDS, items_of
from mcp_conformance.world.refusals.paths import (
    SPEAKS_OF_ENDINGS,
    ending_of,
    endings_in,
    examples_in,
    is_absolute,
)
from mcp_conformance.world.refusals.refusal import QUOTED, Refusal

MAX_TEXT = 6000
"""The most characters of a description that are read: of 278 real tools the longest has 5,300."""
MAX_WORDS_OF_TEXT = 60
"""Not measured: eight values of a member are tried at most."""
IN_BRACKETS = re.compile(
    r"\(((?:[\w.#-]+(?: [\w-]+)?)(?:(?:, ?| ?\| ?|/| or )(?:[\w.#-]+(?: [\w-]+)?)){1,12})\)"
)
"""``(bar, line, pie)``"""
BARS = re.compile(r"(?<![\w|])(?<!\| )(\w[\w.-]*(?: ?\| ?\w[\w.-]*){1,12})(?! ?[\w|])")
"""``asc|desc``"""
URI = re.compile(r"[a-z][a-z\d+.-]*:", re.IGNORECASE)
RESERVED = re.compile(r"https?://(?:[\w-]+\.)*example(?:\.(?:com|org|net))?(?:[/?#:]|$)", re.IGNORECASE)
"""URLs of hosts that are kept for examples (RFC 2606)."""
KINDS = {
    **dict.fromkeys(("excel", "spreadsheet", "workbook", "xlsx"), ".xlsx"),
    "docx": ".docx",
    **dict.fromkeys(("powerpoint", "presentation", "slide", "deck", "pptx"), ".pptx"),
    **dict.fromkeys(("markdown", "md"), ".md"),
    **dict.fromkeys(("image", "picture", "png"), ".png"),
    **dict.fromkeys(("photo", "jpeg", "jpg"), ".jpg"),
    **dict.fromkeys(("audio", "wav"), ".wav"),
    **dict.fromkeys(("sqlite", "db"), ".db"),
    **dict.fromkeys(("notebook", "ipynb"), ".ipynb"),
    **{kind: f".{kind}" for kind in ("csv", "gif", "html", "json", "pdf", "toml", "xml", "yaml", "zip")},
}
"""Words for a kind of file, and its ending."""
KIND_OF_FILE = re.compile(
    rf"\b({'|'.join((*KINDS, 'word'))})(?: \w+)? (?:files?|documents?)\b"
    r"|\b(workbook|spreadsheet|pdf|csv|docx|xlsx|pptx|powerpoint)s?\b",
    re.IGNORECASE,
)
"""``the Excel file``, ``a PDF``"""
DOCSTRING = re.compile(r"\s*[-*]?\s*`?(\w+)`?(?: ?\([^)\n]{1,60}\))?(?::| -| \u2013| \u2014) +(\S.*)")
"""``path: the file to read``: the line of a member in the docstring of a Python function."""


def words_of_tools(tools: Sequence[Tool]) -> Iterator[Known]:
    """Yield the words of the schemas and the descriptions of tools."""
    names = {tool.name for tool in tools}
    for tool in tools:
        members = members_of(tool.input_schema)
        known = names | {one.name for one in members}
        for member in members:
            yield from _of_schema(tool.name, member)
            yield from words_of_text(member.description, member.names, f"{tool.name}, {member.name}", known)
        yield from _of_description(tool, members, known)


def words_of_instructions(text: str) -> Iterator[Known]:
    """Yield the words of a server's instructions, under the word before each."""
    for value, key in _quoted(text[:MAX_TEXT]):
        if _may_be_used(value):
            yield Known(value, (key,), Origin("the instructions"), Owner.WORD, 0)


def endings_of(member: Member, tool: str = "", description: str = "") -> tuple[str, ...]:
    """Return the endings that a member's file may have, by its description, or else by that of the tool.

    Where neither names one, the words for a kind of file count: in the names of the member and the tool, and
    ``the Excel file`` in what is said of them.
    """
    for text in (member.description, description):
        paths = [one for one in examples_in(text) if "/" in one or "\\" in one]
        said = [ending.lower() for one in paths if (ending := ending_of(one))]
        said += endings_in(text) if SPEAKS_OF_ENDINGS.search(text) or member.description == text else []
        if said:
            return tuple(dict.fromkeys(said))
    for name, text in ((member.name, member.description), (tool, description)):
        kinds = [KINDS[word] for word in words_of(name) if word in KINDS]
        kinds += [_kind(one[1] or one[2]) for one in KIND_OF_FILE.finditer(text[:MAX_TEXT])]
        if kinds:
            return tuple(dict.fromkeys(kinds))
    return ()


def _kind(word: str) -> str:
    return ".docx" if word.lower() == "word" else KINDS[word.lower()]


def _of_schema(tool: str, member: Member) -> Iterator[Known]:
    """Yield the values that the schema of a member has: constants, words, defaults and examples."""
    origin = Origin("the schema of", tool)
    for part in member.parts:
        for value in _values_in(part):
            if is_worth_knowing(value) and not isinstance(value, bool) and _may_be_used(value):
                yield Known(value, member.names, origin, Owner.WORD, 2)


def _values_in(part: Mapping[str, Any]) -> Iterator[Any]:
    yield from (part[key] for key in ("const", "default", "example") if key in part)
    for key in ("examples", "enum"):
        listed = part.get(key)
        yield from listed if isinstance(listed, list) else ()


def words_of_text(text: str, keys: tuple[str, ...], of: str, names: Iterable[str] = ()) -> Iterator[Known]:
    """Yield the words in a text about one member or argument, whose names are ``keys``.

    ``of`` says whose description it is; ``names`` are words that are no values: of members and of tools.
    """
    found: dict[Any, int] = {}
    for value, rank in _with_ranks(text[:MAX_TEXT]):
        found[value] = max(rank, found.get(value, 0))
    origin = Origin("the description of", of)
    for value, rank in list(found.items())[:MAX_WORDS_OF_TEXT]:
        name = value.replace("\\", "/").rpartition("/")[2] if is_absolute(str(value)) else value
        if name not in names and is_worth_knowing(name) and _may_be_used(name):
            yield Known(name, keys, origin, Owner.WORD, rank)


def _with_ranks(text: str) -> Iterator[tuple[Any, int]]:
    yield from ((one, 2) for one in _listed(text))
    for line in text.splitlines():
        for pattern in (IN_BRACKETS, BARS):
            for listed in pattern.finditer(line):
                yield from ((one, 1) for one in items_of(listed[1]))
    yield from ((value, 1) for value, _ in _quoted(text))
    yield from ((value, 1) for value in values_of_format(text))


def _listed(text: str) -> Iterator[Any]:
    """Yield the examples that a text gives, and the lists of what it allows."""
    yield from map(scalar, examples_in(text))
    for line in text.splitlines():
        allowed = ALLOWED.search(line)
        yield from items_of(allowed["list"]) if allowed else ()
        yield from (one for listed in BARS.finditer(line) for one in items_of(listed[1]))


def _of_description(tool: Tool, members: Sequence[Member], names: Iterable[str]) -> Iterator[Known]:
    """Yield the values in a tool's description, each for the member that its line or sentence is about."""
    described = tool.definition.get("description")
    text = described.json if described is not None and isinstance(described.json, str) else ""
    by_name = {one.name: one for one in members}
    rest = []
    for line in text[:MAX_TEXT].splitlines():
        said = DOCSTRING.fullmatch(line)
        if said and said[1] in by_name:
            yield from words_of_text(said[2], by_name[said[1]].names, f"{tool.name}, {said[1]}", names)
        else:
            rest.append(line)
    origin = Origin("the description of", tool.name)
    for sentence in Refusal("\n".join(rest), {}, tool.input_schema).sentences:
        listed = [one for one in _listed(sentence.text) if one not in names and _may_be_used(one)]
        for name in sentence.members:
            keys = tuple(reversed(name.split(".")))
            yield from (Known(value, keys, origin, Owner.WORD, 1) for value in listed)
        for value, key in _quoted(sentence.text):
            if value not in names and value not in listed and _may_be_used(value):
                yield Known(value, tuple(filter(None, (key, tool.name))), origin, Owner.WORD, 0)


def _quoted(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the quoted values in a text, each with the word before it."""
    for found in QUOTED.finditer(text):
        value = next(group for group in found.groups() if group)
        before = re.findall(
            r"[A-Za-z_]\w*", QUOTED.sub(" ", text[max(0, found.start() - 40) : found.start()])
        )
        if len(value.split()) <= MAX_WORDS:
            yield scalar(value), before[-1] if before else ""


def _may_be_used(value: Any) -> bool:
    """Return whether a word may be an argument: no path or URI that may be of something that is there."""
    if not isinstance(value, str):
        return True
    if is_absolute(value) or (URI.match(value) and not RESERVED.match(value) and "//" in value):
        return False
    if "..." in value or "\u2026" in value:
        return False
    return not NOTHING.is_secret(value)
