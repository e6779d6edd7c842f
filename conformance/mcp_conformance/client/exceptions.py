"""Texts of tool results that no author wrote: of exceptions, of schema validators, of what is not awaited."""

from __future__ import annotations

import re

from mcp_conformance.client.reply import Reply

OF_PYTHON = "|".join(
    (
        r"(?:float )?division by zero|(?:integer |float )?(?:division or )?modulo(?: by zero)?",
        r"(?:max|min)\(\) (?:arg is an empty sequence|iterable argument is empty)",
        r"date value out of range|year -?\d+ is out of range|math (?:domain|range) error",
        r"(?:list|tuple|string) index out of range|pop from (?:an )?empty \w+",
        r"cannot convert float (?:NaN|infinity) to integer|int too large to convert to float",
    )
)
"""Whole messages of Python's own exceptions: after an SDK's prefix nothing else is in the text."""
UNEXPECTED = re.compile(
    "|".join(
        (
            # Python
            r"Traceback \(most recent call last\)",
            r"\b(?:Type|Key|Index|Attribute|UnboundLocal|Recursion|Assertion)Error\b[:(]",
            r"\AError executing tool [^\s:]+: '[^']*'\Z",  # the text of a KeyError
            rf"\AError executing tool [^\s:]+: (?:{OF_PYTHON})\Z",
            r"'NoneType' object|object has no attribute '|\bindex out of range\b|unsupported operand type",
            r"got an unexpected keyword argument|missing \d+ required positional argument",
            r"object is not (?:subscriptable|iterable|callable)|maximum recursion depth exceeded",
            # JavaScript
            r"Cannot read propert(?:y|ies) of (?:undefined|null)|Cannot destructure property",
            r"undefined is not (?:a|an|iterable)\b|Cannot convert undefined or null",
            r"Maximum call stack size exceeded",
            r"\A(?:Reduce of empty array with no initial value|Invalid array length|Invalid time value)\Z",
            r"\b[\w.]+ is not a function\b",
            # Go, Rust, Java, C#
            r"invalid memory address or nil pointer|slice bounds out of range|\bruntime error: ",
            r"called `(?:Option|Result)::unwrap\(\)`|panicked at ",
            r"\bNullPointerException\b|\bjava\.lang\.\w+(?:Exception|Error)\b",
            r"Object reference not set to an instance|\bSystem\.\w+Exception\b",
        )
    )
)
"""What runtimes say of a mistake in a program.

Left out is what an evaluator or a parser may say of its input: names that are not defined, syntax,
conversions of text, division by zero.
"""
MAX_CAUGHT = 300
"""How many characters of a text may hold the words of a failure and of its exception."""
VALIDATOR = re.compile(
    r"\b\d+ validation errors? for \w+"
    r"|\"code\": ?\"(?:invalid_type|invalid_string|invalid_format|unrecognized_keys|too_small|too_big)\""
)
"""What validators say of arguments: pydantic, zod."""


CAUGHT = re.compile(
    rf"\A\W*(?:error|exception|failed|failure)\b[^:\n]{{0,100}}: (?:{OF_PYTHON})\Z", re.IGNORECASE
)
"""A whole message of Python's, after an author's own words for a failure."""
UNAWAITED = re.compile(
    r"<(?:coroutine|async_generator) object \S+ at 0x[0-9A-Fa-f]+>"
    r"|<(?:Future|Task) pending\b.*>|\[object (?:Promise|AsyncGenerator)\]",
    re.DOTALL,
)
"""What Python and JavaScript write in place of a value that has still to be awaited."""


def unexpected_exception(reply: Reply) -> str:
    """Return the words in a tool error that only an exception has that nobody expected; empty if none."""
    return _found(UNEXPECTED, reply)


def is_unexpected(text: str) -> bool:
    """Return whether a text has words that only an exception has that nobody expected."""
    return UNEXPECTED.search(text.strip()) is not None


def validator_error(reply: Reply) -> str:
    """Return the words in a tool error that only the validator of a schema has; empty if there are none."""
    return _found(VALIDATOR, reply)


def _found(words: re.Pattern[str], reply: Reply) -> str:
    for text in reply.texts if reply.is_tool_error else ():
        if found := words.search(text.strip()):
            return found[0]
    return ""


def caught_exception(reply: Reply) -> str:
    """Return the words of a runtime in the first text of a result without ``isError``; empty if none.

    Whether the text says that something failed is asked elsewhere (`refuses_in_words`).
    """
    text = "" if reply.is_tool_error else next(iter(reply.texts), "").strip()
    found = UNEXPECTED.search(text[:MAX_CAUGHT]) or CAUGHT.search(text[:MAX_CAUGHT])
    return found[0] if found else ""


def never_awaited(reply: Reply) -> str:
    """Return the text of a result that stands for a coroutine or a promise; empty if there is none."""
    texts = (text.strip() for text in reply.texts)
    return next((text for text in texts if UNAWAITED.fullmatch(text)), "")
