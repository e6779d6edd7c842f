"""Lines that are hard to take: broken ones, ids of every kind, right requests that are hard to read."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from conformance.wire import ABSENT, Line, encode

BROKEN_ID = "conformance broken line"
NEVER_ASKED = "conformance never asked"
UNKNOWN = "conformance/no-such-method"
PING = b'{"jsonrpc":"2.0","id":"conformance broken line","method":"ping"}'
DEEP = 5000
LONG = 999_000
"""Bytes of a line that is long, and no longer than a reader can be asked to take."""


def message_line(message: Any) -> Line:
    """The line that sends a message."""
    return Line(sent=True, raw=encode(message), message=message)


def request_line(id: int | str, method: str, params: Any = ABSENT) -> Line:
    """The line that sends a request."""
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message_line(message if params is ABSENT else {**message, "params": params})


def notification_line(method: str, params: Any = ABSENT) -> Line:
    """The line that sends a notification."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return message_line(message if params is ABSENT else {**message, "params": params})


# Broken lines ------------------------------------------------------------------------------------


READABLE: tuple[Any, ...] = (None, True, 1.5, [], {}, [1], {"a": 1})
"""What stands for an id in broken lines and is no string; the strings begin with ``conformance``."""


def damaged(**changes: Any) -> bytes:
    """A ping with some members changed, or left out if they are `ABSENT`."""
    message = {"jsonrpc": "2.0", "id": BROKEN_ID, "method": "ping", **changes}
    return encode({name: value for name, value in message.items() if value is not ABSENT})


def each_damaged(member: str, *values: Any) -> list[bytes]:
    """Pings with each of these values for one member."""
    return [damaged(**{member: value}) for value in values]


# fmt: off
BROKEN_LINES: dict[str, tuple[bytes, ...]] = {
    "not-json": (
        b"", b" \t ", b"hello", b"GET / HTTP/1.1", b"Content-Length: 20\r", b"\r", b"\x00", b"\x00" * 64,
        PING + PING, PING + b" " + PING, PING + b"]", b"\xef\xbb\xbf" + PING, PING.replace(b'"', b"'"), b"-",
        PING[:-1] + b",}", b'{"jsonrpc":"2.0",,"method":"ping"}', b"// " + PING, b"NaN", b"\xff\xfe",
        PING.replace(b"broken", b"\xc3\x28"), PING.replace(b"broken", b"\xed\xa0\x80"), b"\xc3(", b"01",
        PING[:-1] + b',"params":{"n":NaN}}', PING[:-1] + b',"params":{"n":-Infinity}}', b"nul", b"tru", b"\\",
        PING.replace(b"broken", b"\x00"), PING.replace(b"broken", b"\\x"), PING.replace(b"broken", b"\t"),
    ),
    "no-message": (
        b"null", b"true", b"0", b"-1.5e3", b"1e400", b'""', b'"ping"', b"[]", b"{}", b"[[]]", b"[1]", b"[{}]",
        b'{"jsonrpc":"2.0"}', b'{"a":1}', b'{"":null}', b'{"__proto__":{"method":"ping"}}',
        *(damaged(method=ABSENT, **more) for more in ({}, {"id": ABSENT, "params": {}}, {"result": 1})),
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}',
        b'{"jsonrpc":"2.0","id":"conformance never asked","result":{}}',
        b'{"jsonrpc":"2.0","id":"conformance never asked","result":{},"error":{"code":0,"message":""}}',
    ),
    "wrong-members": (
        *each_damaged("jsonrpc", ABSENT, "1.0", 2.0, None, "", [], "2.0 "),
        *each_damaged("method", 1, None, True, [], {}, ["ping"]),
        *each_damaged("id", *READABLE),
        *each_damaged("params", "text", 1, None, True, [], ["a"], {"_meta": []}),
        PING[:-1] + b',"method":"tools/list"}', PING[:-1] + b',"id":"conformance broken line"}',
        PING[:-1] + b',"params":{"a":1,"a":2}}', damaged(result={}), damaged(error={"code": 1}),
    ),
    "huge": (
        b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP, b"]" * DEEP, b"9" * 10_000,
        b"x" * LONG, b'"' + b"x" * LONG + b'"', b" " * LONG,
        b"{" + b",".join(b'"m%d":0' % number for number in range(20_000)) + b"}",
    ),
    "cut-short": (
        PING[:-1], PING[: PING.index(b":")], PING[:-3], b"{", b"[", b'"', b'{"jsonrpc":', b'{"a":[{"b":',
        PING[:-1] + b',"params":{"a":"\\u00', b"[" + PING, PING[:-1] + b',"params":{"n":-', b"[" * DEEP,
    ),
}
"""Lines that are no message, by what is wrong with them.  None can do harm: only pings have an id."""
# fmt: on

PIECES = [*(bytes([char]) for char in b'"{}[],:\\\x00\xff-\r'), b"", b"null", b"1e9"]


def damaged_lines() -> SearchStrategy[bytes]:
    """Pings with bytes put in, left out or replaced; and any JSON value that is no message."""
    return _damaged_pings() | _values().map(
        lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    )


@st.composite
def _damaged_pings(draw: DrawFn) -> bytes:
    raw = bytearray(PING)
    for _ in range(draw(st.integers(1, 3))):
        start, length = draw(st.integers(0, len(raw))), draw(st.sampled_from([0, 1, 1, 2, 8]))
        raw[start : start + length] = draw(st.sampled_from(PIECES) | st.binary(max_size=4))
    return bytes(raw).replace(b"\n", b" ")


def _values() -> SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
    names = st.sampled_from(["jsonrpc", "id", "params", "result", "error"]) | st.text(max_size=5)
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4)
    )


# Right messages ----------------------------------------------------------------------------------

# fmt: off
IDS: tuple[int | str, ...] = (
    0, -1, 2**31 - 1, 2**31, 2**32, -(2**31) - 1, 2**53 - 1, -(2**53) + 1,
    "", "0", "1", "-1", "1.0", "null", "true", " 1 ", "undefined", "x" * 1000, "0" * 100, "__proto__",
    'a "quoted" \\ id', "tab\tand\nnewline", "\u00e9\u6f22\U0001f600", "e\u0301", "\u2028", "\u202eright",
    "a/b?c=d&e#f", "%s %d {0} ${x}", "\x00", "3fa85f64-5717-4562-b3fc-2c963f66afa6",
)
"""Ids that every server has to take.  The opening of a session has used 1, so ``"1"`` stands beside it."""
# fmt: on

LARGE_IDS = (2**53 + 1, 2**64)


def _ping_with(params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":' + params + b"}"


ODD_REQUESTS = {
    "params nested 500 deep": _ping_with(b'{"a":' + b"[" * 500 + b"]" * 500 + b"}"),
    "params nested 5,000 deep": _ping_with(b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "a string of 999,000 characters": _ping_with(b'{"a":"' + b"x" * LONG + b'"}'),
    "a NUL escape": _ping_with(b'{"a":"\\u0000"}'),
    "half a surrogate pair": _ping_with(b'{"a":"\\ud800"}'),
    "the number 1e400": _ping_with(b'{"a":1e400}'),
    "an empty name": _ping_with(b'{"":{"":""}}'),
    "an unknown member of _meta": _ping_with(b'{"_meta":{"org.example/a":[1]}}'),
    "an unknown member": b'{"jsonrpc":"2.0","id":%d,"method":"ping","conformance":true}',
    "the members in another order": b'{"method":"ping","params":{},"id":%d,"jsonrpc":"2.0"}',
    "blanks around everything": b' \t{ "jsonrpc" :\t"2.0" , "id" : %d , "method" : "ping" } \t\r',
    "escapes in names and method": b'{"jsonrp\\u0063":"2.0","id":%d,"method":"p\\u0069ng"}',
}
"""Pings that are right and hard to read, by what is hard about them; their id is to be put in."""


def odd_request(name: str, id: int) -> Line:
    """One of `ODD_REQUESTS`."""
    return Line(sent=True, raw=ODD_REQUESTS[name] % id, message={"id": id, "method": "ping"})


NOTIFICATIONS = tuple(
    notification_line(method, params)
    for method, params in (
        ("notifications/initialized", ABSENT),
        ("notifications/conformance", ABSENT),
        (UNKNOWN, {}),
        ("ping", ABSENT),
        ("notifications/cancelled", {"requestId": NEVER_ASKED}),
        ("notifications/cancelled", {"requestId": {"a": 1}}),
        ("notifications/cancelled", ABSENT),
        ("notifications/progress", {"progressToken": "conformance never given", "progress": 1}),
    )
)
"""Notifications that are to be ignored."""
