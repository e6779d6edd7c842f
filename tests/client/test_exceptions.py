"""Tool errors: exceptions that nobody expected and errors of validators are told from refusals in words."""

import pytest

from mcp_conformance.client.exceptions import (
    caught_exception,
    never_awaited,
    unexpected_exception,
    validator_error,
)
from mcp_conformance.client.refusals import refuses_in_words
from mcp_conformance.client.reply import Reply
from mcp_conformance.protocol.jsonrpc import Line

EXCEPTIONS = (
    "Traceback (most recent call last):\n  File ...",
    "Error executing tool read: 'NoneType' object has no attribute 'strip'",
    "Error executing tool read: 'path'",
    "Error executing tool read: list index out of range",
    "Error executing tool mean: division by zero",
    "Error executing tool best: max() iterable argument is empty",
    "Error executing tool day: date value out of range",
    "Reduce of empty array with no initial value",
    "Invalid time value",
    "KeyError: 'path'",
    "TypeError: Cannot read properties of undefined (reading 'map')",
    "args.items is not a function",
    "runtime error: index out of range [3] with length 2",
    "called `Option::unwrap()` on a `None` value",
    "java.lang.NullPointerException",
    "Object reference not set to an instance of an object.",
)
REFUSALS = (
    "Error executing tool get_current_time: Invalid timezone: 'No time zone found with key example'",
    "Error executing tool convert: Missing required argument: 'source'",
    "Error: entity must be a non-empty string",
    "ENOENT: no such file or directory, open 'example'",
    "fetch failed",
    "name 'example' is not defined",
    "invalid syntax (<string>, line 1)",
    "could not convert string to float: 'example'",
    "division by zero",
    "Error executing tool evaluate: division by zero in line 3",
    "Invalid time value: 25:00",
    "Unexpected token e in JSON at position 0",
    'Unknown type error in your query: near "example"',
    "The function 'example' is not defined",
    "Sheet 'example' not found",
    "no such table: example",
)
VALIDATORS = (
    "1 validation error for echoArguments\ntext\n  Field required [type=missing]",
    '[{"code": "invalid_type", "expected": "string", "path": ["text"]}]',
)


def failed(text):
    """Return the reply that reports a tool error with this text."""
    result = {"content": [{"type": "text", "text": text}], "isError": True}
    return Reply(Line.sending({}), Line.sending({}), {"result": result})


@pytest.mark.parametrize("text", [*EXCEPTIONS, *VALIDATORS, *REFUSALS])
def test_each_kind_of_tool_error_is_recognized_as_that_only(text):
    assert bool(unexpected_exception(failed(text))) == (text in EXCEPTIONS)
    assert bool(validator_error(failed(text))) == (text in VALIDATORS)


def test_a_result_that_reports_no_error_may_have_any_text():
    result = {"content": [{"type": "text", "text": EXCEPTIONS[0]}]}
    assert unexpected_exception(Reply(Line.sending({}), Line.sending({}), {"result": result})) == ""


def succeeded(text):
    """Return the reply with this text and no error."""
    return Reply(
        Line.sending({}), Line.sending({}), {"result": {"content": [{"type": "text", "text": text}]}}
    )


@pytest.mark.parametrize(
    "text",
    [
        "entity must be a non-empty string",
        "Error: Missing arguments",
        "❌ Invalid date: 99",
        "Failed to load the sheet 'example'",
        "The parameter `city` is required.",
        "getaddrinfo ENOTFOUND api.example.org",
    ],
)
def test_a_refusal_in_words_is_no_success(text):
    assert refuses_in_words(succeeded(text))
    assert not refuses_in_words(failed(text))


@pytest.mark.parametrize("text", ["example", "5", "Sunny, and no error in sight", "Found 0 files", "[]"])
def test_a_result_is_no_refusal(text):
    assert not refuses_in_words(succeeded(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Error opening project: list index out of range", "index out of range"),
        ("Error: division by zero", "Error: division by zero"),
        ("❌ Error: 'NoneType' object is not subscriptable", "'NoneType' object"),
        ("Error: no project is called example", ""),
        ("The index out there", ""),
    ],
)
def test_an_exception_is_seen_in_a_result(text, words):
    assert caught_exception(succeeded(text)) == words
    assert caught_exception(failed(text)) == ""


@pytest.mark.parametrize(
    ("text", "is_unawaited"),
    [
        ("<coroutine object Tools.<locals>.read at 0x7F1b5c0d3a40>", True),
        (" [object Promise]\n", True),
        ("<Task pending name='Task-3' coro=<read() running at a.py:3>>", True),
        ("<async_generator object rows at 0x7f1b>", True),
        ("It prints [object Promise].", False),
        ("[object Object]", False),
        ("<coroutine>", False),
    ],
)
def test_what_has_not_been_awaited_is_the_whole_text(text, is_unawaited):
    assert bool(never_awaited(succeeded(text))) is is_unawaited
