"""Remedies for what a check saw, where the remedy of the rule misses the cause.

A `Finding` or a `Blocked` carries its remedy; an empty one stands for the rule's, in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_conformance.client.reply import Fault, Unanswered
from mcp_conformance.protocol.jsonrpc import NOT_JSON

MAX_SAFE_INTEGER = 2**53
"""Above it not each whole number is a double."""
UNKNOWN_METHOD = -32601
NO_NUMBER = (
    "Replace NaN and Infinity before a value is written, by null or a text: JSON has neither "
    "(json.dumps(value, allow_nan=False) in Python finds them)."
)
ROUNDED_ID = (
    "Keep the id as it was written, or refuse one beyond 2^53 with an error: a parser that makes a double of "
    "each number, such as JSON.parse, rounds it."
)
NARROW_ID = "Keep the id as it was written: a number of 32 bits does not hold it."
GARBLED_ID = "Decode stdin and encode stdout as UTF-8, whatever the locale: the letters of this id were lost."
ANY_ID = "Accept every string and every integer as an id, whatever its sign, its size or its characters."
LOST_ID = "Read the id before whatever can fail, so that the error has it too."
ID_OF_ANOTHER = (
    "Keep the id of a request beside its work until the answer is written: this answer has another id."
)
RESULT_OF_ANOTHER = (
    "Keep the result of a call in a variable of its own until it is sent, not where all calls keep theirs."
)
NOT_PERMITTED = (
    "Give a credential that may call this tool, with its scope (--header), or leave the tool out (--call)."
)
NO_START = "Find out why it does not start: mcp-conformance doctor -- COMMAND shows the steps and the cause."
NOT_SERVING = (
    "Start the server, and compare the address and the port; mcp-conformance doctor --url URL shows more."
)
REFUSES_ALL = "Serve requests once initialize was answered and notifications/initialized has come."
NO_HOST = (
    "give the server the network, the service or the account that it needs (--env, --inherit-home, no "
    "--sandbox), or run this where it has them"
)
SAYS_FAILURE = (
    'Add isError true to results that tell of a failure, as by "success": false: clients and models go by '
    "isError, and count this one as done."
)
TOGETHER = (
    "Let no call wait for another one in flight: look for a lock, or a pool of workers or connections, that "
    "they share. If calls can't run at the same time, run them one after the other."
)
EMPTY_ANSWERS = (
    "Answer each method with its own result, and an unknown method with error -32601; {} is the result of a "
    "ping and of few other methods."
)
FREE_STREAM = (
    "Serve requests while a GET stream is open: its handler may hold neither a lock nor the only worker."
)
LINE_END = (
    "Write a line end after each message, and flush stdout at once: the answer came without its line end."
)
ENDS = (
    "Catch exceptions in the handling of a request, and answer with an error; no code that it calls may "
    "exit, abort or panic."
)
UNSTEADY = (
    "Return the same list for each request: look for a cache, a worker or a random choice that gives "
    "another one."
)
REFUSED_PING = "Answer each ping with {}, whatever its id: there is a handler, but it rejects this ping."
RESPONSE = (
    "Take a message with a result or an error as the answer to a request of your own: it gets no answer, "
    "not even if no request has its id."
)
NO_ANSWER = "Answer each call, if need be with an isError result; --timeout gives a slow tool more time."


def of_oddities(oddities: Iterable[str]) -> str:
    """Return the remedy for a line with these oddities; empty if the rule's will do."""
    return NO_NUMBER if not NOT_JSON.isdisjoint(oddities) else ""


def of_id(wanted: Any, got: Any) -> str:
    """Return the remedy for an answer with another id than the request; empty if the rule's will do."""
    if got is None:
        return LOST_ID
    if isinstance(wanted, str):
        return "" if wanted.isascii() or not isinstance(got, str) else GARBLED_ID
    if not (isinstance(wanted, int) and isinstance(got, int | float)):
        return ""
    if abs(wanted) > MAX_SAFE_INTEGER and float(wanted) == float(got):
        return ROUNDED_ID
    return NARROW_ID if wanted != got and (wanted - got) % 2**32 == 0 else ""


def of_unread_id(id: Any) -> str:
    """Return the remedy for an id that is refused or not read; empty for 0 and "", as the rule's."""
    return ANY_ID if id else ""


def of_refused_ping(code: Any) -> str:
    """Return the remedy for a ping that gets an error with this code; empty if no handler is the cause."""
    return "" if code == UNKNOWN_METHOD else REFUSED_PING


def of_missing_answer(fault: Fault | None) -> str:
    """Return the remedy for a call that was not answered."""
    if isinstance(fault, Unanswered) and fault.status in (401, 403):
        return NOT_PERMITTED
    return NO_ANSWER
