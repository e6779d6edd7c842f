"""The values in an answer of a tool, each with whose it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from mcp_conformance.world.known import Known, Origin, Owner, is_worth_knowing
from mcp_conformance.world.members import words_of
from mcp_conformance.world.ours import NOTHING, Ours
from mcp_conformance.world.prose import MAX_WORDS, records_of_text
from mcp_conformance.world.records import Record, parsed, records_in
from mcp_conformance.world.success import leaves_of
from mcp_conformance.world.things import things_of

MAX_VALUES = 200
"""The most values of one answer; listing tools return thousands."""
IDS = frozenset({"id", "uuid", "guid", "key", "number", "handle", "slug", "uri", "hash", "sha"})
"""The words of keys whose values a server gives to what it creates."""
CREATING = frozenset({"create", "new", "add", "insert", "make"})
"""The verbs of tools that create; the names of other tools that may write do not say so."""
MESSAGES = frozenset({"message", "msg", "detail", "info", "note", "hint", "summary"})
"""The last words of keys whose values are sentences."""
RESULTS = frozenset({"result", "output", "response"})
"""Keys whose values are the whole answer: what FastMCP wraps a text in."""
MEASURES = frozenset({"count", "total", "size", "length", "byte", "duration", "ms", "second", "elapsed"})
"""The last words of keys whose numbers are measured, without a plural s."""
WITH_DIGIT = re.compile(r"(?=\S*\d)[\w-]{2,64}\Z")
"""A text with a digit, as ids have one: ``SAVE2``."""
MIN_SHOWN = 3
"""Not measured: shorter texts and numbers stand in answers by chance."""
MAX_SPACES = 10
"""A text with more spaces is a message, and names nothing."""
IDENTITY = frozenset(
    {
        "id",
        "uuid",
        "guid",
        "key",
        "number",
        "no",
        "name",
        "path",
        "file",
        "uri",
        "url",
        "href",
        "slug",
        "hash",
    }
    | {
        "sha",
        "ref",
        "handle",
        "code",
        "etag",
        "version",
        "revision",
        "rev",
        "commit",
        "branch",
        "range",
        "at",
    }
)
"""The last words of keys whose values say which thing an object is, and not what it has to do with."""


def values_of(
    result: Any, tool: str, arguments: Mapping[str, Any], *, ours: Ours = NOTHING, creates: bool = False
) -> Iterator[Known]:
    """Yield the values in the result of a call that worked, at most `MAX_VALUES`.

    The keys of a value are its own, then those around it, and last the name of the tool.  Values that the
    call sent, and what looks like a credential, are left out.  ``creates`` says that the tool may write (it
    is not read-only).

    This run made a value if it is its own by itself (`Ours.is_made`), or if it is the identity of an object
    that has a mark of ours, or, in an answer of a call that creates, a text of ours; or if it is the only
    identity in the answer of a tool that creates by its name.
    """
    yield from islice(_values(result, tool, arguments, ours, creates=creates), MAX_VALUES)


def _values(
    result: Any, tool: str, arguments: Mapping[str, Any], ours: Ours, *, creates: bool
) -> Iterator[Known]:
    sent = list(leaves_of(arguments))
    origin = Origin("an answer of", tool)
    records = list(islice(_records(result), MAX_VALUES))
    created = _created(records, tool) if creates else set()
    seen = set()
    for record in records:
        is_ours = _is_ours(record, ours, creates=creates)
        for keys, value in record.fields:
            repeats = any(value == one and type(value) is type(one) for one in sent)
            if repeats or not _is_knowledge(value, keys) or ours.is_secret(value, keys):
                continue
            is_identity = value in created or (is_ours and _is_identity(keys, tool))
            is_text = creates and isinstance(value, str) and value in ours.texts
            owner = Owner.MADE if is_identity or is_text or ours.is_made(value) else Owner.FOUND
            known = Known(value, tuple(filter(None, (*keys, tool))), origin, owner, record.rank)
            if (type(value), known) not in seen:
                seen.add((type(value), known))
                yield known


def _created(records: Sequence[Record], tool: str) -> set[Any]:
    """Return the identities in the answer of a tool that creates by its name, if it is of one thing only.

    ``create_presentation`` answers with ``presentation_id`` alone; two values of a key are of two things.
    """
    if not CREATING & set(words_of(tool)[:2]):
        return set()
    ids = _alone(records, lambda keys, value: _is_id(keys, value, IDS) and _is_identity(keys, tool))
    return set(ids.values())


def ids_of(result: Any, tool: str) -> dict[str, Any]:
    """Return the ids in the answer of a tool by their keys, if they are alone under them.

    What has a digit is an id too under a name of what the tool is about: the ``coupon`` of ``make_coupon``.
    """
    records, things = list(islice(_records(result), MAX_VALUES)), things_of(tool)
    named = _alone(records, lambda keys, value: _is_of(things, keys, value))
    return {**named, **_alone(records, lambda keys, value: _is_id(keys, value, IDS | {"code"}))}


def _alone(records: Iterable[Record], is_meant: Callable[[tuple[str, ...], Any], bool]) -> dict[str, Any]:
    """Return the values that are meant, by their keys and values, and alone under their keys."""
    found: dict[str, set[Any]] = {}
    for record in records:
        for keys, value in record.fields:
            if keys and is_meant(keys, value):
                found.setdefault(keys[0], set()).add(value)
    return {key: value for key, values in found.items() if len(values) == 1 for value in values}


def _is_id(keys: tuple[str, ...], value: Any, ids: frozenset[str]) -> bool:
    return bool(set(words_of(keys[0])) & ids) and _is_knowledge(value, keys)


def _is_of(things: frozenset[str], keys: tuple[str, ...], value: Any) -> bool:
    words = words_of(keys[0])
    has_digit = isinstance(value, str) and WITH_DIGIT.match(value) is not None
    return bool(words) and set(words) <= things and has_digit


def shows_any(result: Any, some: Iterable[Any]) -> bool:
    """Return whether the result of a call has one of some texts and numbers, alone or within a text."""
    words = {one if isinstance(one, str) else json.dumps(one) for one in some}
    words = {one for one in words if len(one) >= MIN_SHOWN}
    return any(
        re.search(rf"(?<!\w){re.escape(word)}(?!\w)", str(leaf)) is not None
        for leaf in leaves_of(result)
        for word in words
    )


def _is_knowledge(value: Any, keys: tuple[str, ...]) -> bool:
    """Return whether a value may name something: no sentence, no measured figure, no yes or no."""
    if isinstance(value, bool) or not is_worth_knowing(value):
        return False
    if isinstance(value, str):
        return value.count(" ") <= MAX_SPACES
    return not keys or (words_of(keys[0]) or ("",))[-1] not in MEASURES


def _is_ours(record: Record, ours: Ours, *, creates: bool) -> bool:
    values = (*record.beside, *(value for _, value in record.fields))
    return any(
        ours.is_made(one) or (creates and isinstance(one, str) and one in ours.texts) for one in values
    )


def _is_identity(keys: tuple[str, ...], tool: str) -> bool:
    """Return whether a key says which thing an object is: ``id``, or ``note_id`` in that of ``add_note``.

    A ``folder_id`` in an answer of ``add_note`` is of another thing, which may have been there before.
    """
    words = words_of(keys[0]) if keys else ()
    if not words or words[-1] not in IDENTITY:
        return False
    around = {word for name in (tool, *keys[1:]) for word in words_of(name)}
    return set(words[:-1]) <= around | IDENTITY


def _records(result: Any) -> Iterator[Record]:
    if not isinstance(result, Mapping):
        return
    structured = result.get("structuredContent")
    yield from _with_texts(records_in(structured))
    content = result.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            yield from _of_block(block, structured)


def _of_block(block: Mapping[str, Any], structured: Any) -> Iterator[Record]:
    kind, text, inner = block.get("type"), block.get("text"), block.get("resource")
    if kind == "text" and isinstance(text, str):
        value = parsed(text)
        if value is None or value != structured:
            yield from _with_texts(records_of_text(text))
    elif kind == "resource_link":
        names = [((key,), block[key]) for key in ("uri", "name") if isinstance(block.get(key), str)]
        yield Record(tuple(names), 3)
    elif kind == "resource" and isinstance(inner, Mapping):
        uri, contents = inner.get("uri"), inner.get("text")
        if isinstance(uri, str):
            yield Record(((("uri",), uri),), 3)
        if isinstance(contents, str):
            yield from records_of_text(contents)


def _with_texts(records: Iterator[Record]) -> Iterator[Record]:
    """Yield records, and those of a text in them that is JSON or has several lines."""
    for record in records:
        texts = [
            value for keys, value in record.fields if isinstance(value, str) and _is_document(keys, value)
        ]
        yield replace(record, fields=tuple(one for one in record.fields if one[1] not in texts))
        for text in texts:
            yield from records_of_text(text)


def _is_document(keys: tuple[str, ...], text: str) -> bool:
    """Return whether a text is read for its lines and sentences, and is no value."""
    key = keys[0].lower() if keys else ""
    is_message = (key in MESSAGES and " " in text) or (key in RESULTS and len(text.split()) > MAX_WORDS)
    return is_message or "\n" in text.strip() or parsed(text) is not None
