"""Wording: what a refusal says, and whether two refusals say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_conformance.client.reply import Reply

MAX_READ = 4_000
"""The most characters of a refusal that are read; the longest of the servers seen had 2,100."""
MARK = "\N{BULLET}"
"""What stands in the kind of an answer or a refusal for a value of our own."""
MIN_AROUND = 15
"""Refusals that share fewer characters around our values may mean different things."""
QUOTES = "'\"`"
DIGITS = re.compile(r"\d+")


def said(reply: Reply) -> tuple[str, Any]:
    """Return the words of a refusal, and the ``data`` of an error; None without."""
    if reply.error is not None:
        data = reply.error.get("data") if isinstance(reply.error, Mapping) else None
        message = reply.error_message
        return (message if isinstance(message, str) else "")[:MAX_READ], data
    return "\n".join(reply.texts)[:MAX_READ], None


def number_in(text: str) -> int | float | None:
    """Return the number that a text is, as JSON writes it without an exponent; None for another text."""
    if re.fullmatch(r"-?(?:0|[1-9]\d{0,14})", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d{1,14}\.\d{1,14}", text) else None


def kind_of_refusal(reply: Reply, arguments: Any) -> str:
    """Return what a refusal says without what differs from call to call: our own values and numbers."""
    text, data = said(reply)
    if data is not None:
        text += json.dumps(data, sort_keys=True)[:MAX_READ]
    for word in sorted(set(_texts_in(arguments)), key=lambda one: (-len(one), one)):
        if len(word) > 1:
            text = text.replace(word, MARK)
        for quote in QUOTES if len(word) == 1 else "":
            text = text.replace(f"{quote}{word}{quote}", f"{quote}{MARK}{quote}")
    return without_numbers(text)


def say_same(one: str, other: str) -> bool:
    """Return whether two kinds of refusals are the same around our values.

    Servers write these in their own ways, and cut off what is long.
    """
    if one == other:
        return True
    begin, end = other.split(MARK, maxsplit=1)[0], other.rsplit(MARK, maxsplit=1)[-1]
    is_long = MARK in other and len(begin) + len(end) >= MIN_AROUND
    return is_long and one.startswith(begin) and one.endswith(end)


def without_numbers(text: str) -> str:
    """Return a text with each number as 0."""
    return DIGITS.sub("0", text)


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value, also as JSON and Python write them."""
    if isinstance(value, str):
        forms = (value, json.dumps(value)[1:-1], repr(value)[1:-1])
        yield from filter(None, forms)
        return
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _texts_in(one)
