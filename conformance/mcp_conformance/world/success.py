"""Success of a call: whether an answer shows that the tool's body ran, and what kind of answer it is."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from mcp_conformance.client.refusals import refuses_in_words
from mcp_conformance.client.reply import Reply
from mcp_conformance.world.wording import MARK

MAX_LENGTH = 4000
"""How many characters of an answer its kind depends on: these take 0.3 ms."""
NUMBER = re.compile(r"[-+]?\b[^\W\d]*\d\w*(?:[.:+-]\w*\d\w*)*")
"""A number, and a word with one: ids, dates and versions differ from answer to answer."""
WORD = re.compile(r"\w")
SAYS_OUTCOME = re.compile(r'"(?:success|ok|status|result|error)"')
"""A member that says whether a call did its work."""
NO_SUCCESS = re.compile(r"error|fail(?:ed|ure)|(?:\w+[_ -])?not[_ -]found")
"""A status of a call that did not succeed, such as ``task_not_found``."""
REASONS = ("message", "error", "reason", "summary", "detail")


def is_success(reply: Reply, *, needs_values: bool = True) -> bool:
    """Return whether an answer shows that a tool did what was asked.

    It is a result without ``isError`` that does not refuse in words or by what its JSON says, such as
    ``"success": false``, and that is not empty.  A tool that ``needs_values`` of nobody, as its schema has no
    members, may answer that there is nothing.
    """
    if reply.value is None or reply.is_tool_error or reply.needs_input or refuses_in_words(reply):
        return False
    if _says_failure(reply):
        return False
    return not (needs_values and is_empty(reply.result))


def says_failure(reply: Reply) -> bool:
    """Return whether the first text of a result is an object of JSON that says that the call failed, and why.

    Without a text that says why, an error may be of something that the tool reads.
    """
    said = _said(reply)
    is_error = said.get("status") == "error" or said.get("error") is True
    return (is_error or _is_no_success(said)) and _says_why(said)


def _says_failure(reply: Reply) -> bool:
    """Return whether a result says in JSON that the call did not succeed, or found nothing.

    So does one whose members all say it, as for each of several files.
    """
    said = _said(reply)
    return _is_failure(said) or (bool(said) and all(map(_is_failure, said.values())))


def _said(reply: Reply) -> Mapping[str, Any]:
    """Return the first text of a result as an object, if it has a member that tells an outcome."""
    text = next(iter(reply.texts), "")
    if SAYS_OUTCOME.search(text[:MAX_LENGTH]):
        with suppress(ValueError, RecursionError):
            said = json.loads(text)
            return said if isinstance(said, dict) else {}
    return {}


def _is_failure(said: Any) -> bool:
    if not isinstance(said, Mapping):
        return False
    is_failed = (
        bool(NO_SUCCESS.fullmatch(str(said.get("status"))))
        or said.get("result") == "error"
        or said.get("error") is True
        or said.get("found") is False
    )
    return _is_no_success(said) or (is_failed and _says_why(said))


def _is_no_success(said: Mapping[str, Any]) -> bool:
    return said.get("success") is False or said.get("ok") is False


def _says_why(said: Mapping[str, Any]) -> bool:
    return any(isinstance(said.get(name), str) and said[name] for name in REASONS)


def is_empty(result: Any) -> bool:
    """Return whether a tool's result has no value but empty lists, objects and texts, null, 0 and false.

    The structured content decides, if there is some; else the texts, those that are JSON by their values.
    """
    if not isinstance(result, dict):
        return not result
    if structured := result.get("structuredContent"):
        return _has_no_value(structured)
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    return all(map(_is_empty_block, blocks))


def _is_empty_block(block: Any) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("text"), str):
        return not block
    try:
        return _has_no_value(json.loads(block["text"]))
    except (ValueError, RecursionError):
        return not block["text"]


def _has_no_value(value: Any) -> bool:
    return not any(leaves_of(value))


def kind_of(reply: Reply, arguments: Any) -> str:
    """Return a result without what differs from call to call: a text that two answers of a kind share.

    The texts that the ``arguments`` have are replaced by a mark wherever they stand alone, and so are
    numbers and words with digits.
    """
    ours = {leaf for leaf in leaves_of(arguments) if isinstance(leaf, str) and leaf}
    text = "\n".join(_parts(reply.result, ours))
    words = (leaf for leaf in ours if len(leaf) <= MAX_LENGTH and WORD.search(leaf))
    forms = {form for leaf in words for form in _forms(leaf) if form in text}
    if forms:
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        text = re.sub("|".join(map(_alone, longest_first)), MARK, text)
    return NUMBER.sub("0", text)


def _parts(result: Any, ours: Collection[str]) -> Iterator[str]:
    """Yield the texts in a result without ``_meta``, our own as a mark; `MAX_LENGTH` characters at most."""
    is_object = isinstance(result, dict)
    members = {name: part for name, part in result.items() if name != "_meta"} if is_object else result
    left = MAX_LENGTH
    for text in _names_and_values(members):
        part = MARK if text in ours else text[:left]
        yield part
        left -= len(part)
        if left <= 0:
            return


def _names_and_values(value: Any) -> Iterator[str]:
    """Yield the names of members and the leaves as texts, in the order of the names."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            for name in sorted(one, key=str, reverse=True):
                waiting += [one[name], str(name)]
        elif isinstance(one, list):
            waiting += reversed(one)
        else:
            yield one if isinstance(one, str) else json.dumps(one)


def _forms(text: str) -> set[str]:
    """Return a text of ours as an answer may write it: plainly, stripped, or as JSON does."""
    return {text, text.strip(), json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}


def _alone(text: str) -> str:
    """Return a pattern for a text that is not a part of a longer word."""
    before = r"(?<!\w)" if WORD.match(text[0]) else ""
    after = r"(?!\w)" if WORD.match(text[-1]) else ""
    return f"{before}{re.escape(text)}{after}"


def leaves_of(value: Any) -> Iterator[Any]:
    """Yield the values in objects and lists that are neither."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        else:
            yield one
