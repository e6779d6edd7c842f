"""Lines that are hard to read: broken lines, ids of every kind, unusual but right requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mcp_conformance.protocol.jsonrpc import ABSENT, Line, encode
from mcp_conformance.protocol.methods import CANCELLED, NO_SUCH_METHOD

BROKEN_ID = "conformance broken line"
NEVER_ASKED = "conformance never asked"
# Beyond the limits of serde_json (128) and Python (some 1,000), below that of Go (10,000).
MAX_NESTING = 5000
LONG_LINE_BYTES = 999_000
"""The size of a long line: a megabyte at most, which every reader should accept."""


@dataclass(frozen=True)
class LivenessRequest:
    """A request without an effect: its ``method``, and the ``_meta`` that its revision needs in params."""

    method: str = "ping"
    meta: Mapping[str, Any] = field(default_factory=dict)

    def raw(self, **changes: Any) -> bytes:
        """Return the request as JSON text with some members changed, or left out if they are `ABSENT`."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": BROKEN_ID, "method": self.method}
        message |= {"params": {"_meta": dict(self.meta)}} if self.meta else {}
        return encode({name: value for name, value in (message | changes).items() if value is not ABSENT})

    def form(self, params: bytes = b"{}") -> bytes:
        """Return the request as JSON text with these params, and ``%d`` as its id."""
        if self.meta:
            comma = b"" if params == b"{}" else b","
            params = b'{"_meta":' + encode(dict(self.meta)) + comma + params[1:]
        return b'{"jsonrpc":"2.0","id":%d,"method":"' + self.method.encode() + b'","params":' + params + b"}"


PING = LivenessRequest()


def request_line(
    id: int | str, method: str, params: Any = ABSENT, meta: Mapping[str, Any] = MappingProxyType({})
) -> Line:
    """Return the line that sends a request; ``meta`` is merged into the ``_meta`` of its params."""
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    if meta:
        given = {} if params is ABSENT else params
        params = {**given, "_meta": {**meta, **given.get("_meta", {})}}
    return Line.sending(message if params is ABSENT else {**message, "params": params})


def notification_line(method: str, params: Any = ABSENT) -> Line:
    """Return the line that sends a notification."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return Line.sending(message if params is ABSENT else {**message, "params": params})


# Broken lines ------------------------------------------------------------------------------------


READABLE_IDS: tuple[Any, ...] = (None, True, 1.5, [], {}, [1], {"a": 1})
"""The ids in broken lines that are not strings; those that are begin with ``conformance``."""


BROKEN_LINE_KINDS = ("not-json", "no-message", "wrong-members", "huge", "cut-short")
"""The kinds of lines that are not a message."""


def each_damaged(liveness: LivenessRequest, member: str, *values: Any) -> list[bytes]:
    """Return the liveness request with each of these values for one member."""
    return [liveness.raw(**{member: value}) for value in values]


# fmt: off
def broken_lines(liveness: LivenessRequest) -> dict[str, tuple[bytes, ...]]:
    """Return lines that are not a message, by kind.  They are harmless: no other method has an id."""
    deep = MAX_NESTING
    ping, plain = liveness.raw(), liveness.raw(params=ABSENT)
    return {
        "not-json": (
            b"", b" \t ", b"hello", b"GET / HTTP/1.1", b"Content-Length: 20\r", b"\r", b"\x00", b"\x00" * 64,
            ping + ping, ping + b" " + ping, ping + b"]", b"\xef\xbb\xbf" + ping, ping.replace(b'"', b"'"),
            ping[:-1] + b",}", b"// " + ping, b"NaN", b"\xff\xfe", b"\xc3(", b"01", b"nul", b"tru", b"-",
            b"\\", plain[:-1] + b',,"params":{}}', ping.replace(b"broken", b"\t"),
            ping.replace(b"broken", b"\xc3\x28"), ping.replace(b"broken", b"\xed\xa0\x80"),
            ping.replace(b"broken", b"\x00"),
            plain[:-1] + b',"params":{"n":NaN}}', plain[:-1] + b',"params":{"n":-Infinity}}',
            ping.replace(b"broken", b"\\x"),
        ),
        "no-message": (
            b"null", b"true", b"0", b"-1.5e3", b"1e400", b'""', b'"ping"', b"[]", b"{}", b"[[]]", b"[1]",
            b"[{}]", b'{"jsonrpc":"2.0"}', b'{"a":1}', b'{"":null}', b'{"__proto__":{"method":"ping"}}',
            *(liveness.raw(method=ABSENT, **more)
              for more in ({}, {"id": ABSENT, "params": {}}, {"result": 1})),
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}',
            b'{"jsonrpc":"2.0","id":"conformance never asked","result":{}}',
            b'{"jsonrpc":"2.0","id":"conformance never asked","result":{},"error":{"code":0,"message":""}}',
        ),
        "wrong-members": (
            *each_damaged(liveness, "jsonrpc", ABSENT, "1.0", 2.0, None, "", [], "2.0 "),
            *each_damaged(liveness, "method", 1, None, True, [], {}, ["ping"]),
            *each_damaged(liveness, "id", *READABLE_IDS),
            *each_damaged(liveness, "params", "text", 1, None, True, [], ["a"], {"_meta": []}),
            ping[:-1] + b',"method":"tools/list"}', ping[:-1] + b',"id":"conformance broken line"}',
            plain[:-1] + b',"params":{"a":1,"a":2}}',
            liveness.raw(result={}), liveness.raw(error={"code": 1}),
        ),
        "huge": (
            b"[" * deep + b"]" * deep, b'{"a":' * deep + b"1" + b"}" * deep, b"]" * deep, b"9" * 10_000,
            b"x" * LONG_LINE_BYTES, b'"' + b"x" * LONG_LINE_BYTES + b'"', b" " * LONG_LINE_BYTES,
            b"{" + b",".join(b'"m%d":0' % number for number in range(20_000)) + b"}",
        ),
        "cut-short": (
            ping[:-1], ping[: ping.index(b":")], ping[:-3], b"{", b"[", b'"', b'{"jsonrpc":', b'{"a":[{"b":',
            plain[:-1] + b',"params":{"a":"\\u00', b"[" + ping, plain[:-1] + b',"params":{"n":-', b"[" * deep,
        ),
    }
# fmt: on

DAMAGE = [*(bytes([char]) for char in b'"{}[],:\\\x00\xff-\r'), b"", b"null", b"1e9"]
"""What replaces a few bytes of a line."""


# Right messages ----------------------------------------------------------------------------------

# fmt: off
IDS: tuple[int | str, ...] = (
    0, -1, 2**31 - 1, 2**31, 2**32, -(2**31) - 1, 2**53 - 1, -(2**53) + 1,
    "", "0", "1", "-1", "1.0", "null", "true", " 1 ", "undefined", "x" * 1000, "0" * 100, "__proto__",
    'a "quoted" \\ id', "tab\tand\nnewline", "\u00e9\u6f22\U0001f600", "e\u0301", "\u2028", "\u202eright",
    "a/b?c=d&e#f", "%s %d {0} ${x}", "\x00", "3fa85f64-5717-4562-b3fc-2c963f66afa6",
)
"""Ids that every server must accept.  The session has used 1 for its opening, so ``"1"`` is a near miss."""
# fmt: on

LARGE_IDS = (2**53 + 1, 2**64)


def unusual_requests(liveness: LivenessRequest) -> dict[str, bytes]:
    """Return liveness requests that are right and hard to read, each with ``%d`` as its id, by difficulty."""
    plain, method = liveness.form(), liveness.method.encode()
    unknown = LivenessRequest(liveness.method, {**liveness.meta, "org.example/a": [1]})
    return {
        "params nested 500 deep": liveness.form(b'{"a":' + b"[" * 500 + b"]" * 500 + b"}"),
        "params nested 5,000 deep": liveness.form(b'{"a":' + b"[" * MAX_NESTING + b"]" * MAX_NESTING + b"}"),
        "a string of 999,000 characters": liveness.form(b'{"a":"' + b"x" * LONG_LINE_BYTES + b'"}'),
        "a NUL escape": liveness.form(b'{"a":"\\u0000"}'),
        "half a surrogate pair": liveness.form(b'{"a":"\\ud800"}'),
        "the number 1e400": liveness.form(b'{"a":1e400}'),
        "an empty name": liveness.form(b'{"":{"":""}}'),
        "an unknown member of _meta": unknown.form(),
        "an unknown member": plain[:-1] + b',"conformance":true}',
        "the members in another order": _params_first(plain),
        "blanks around everything": b" \t" + plain.replace(b'"id":', b'\t"id" : ') + b" \t\r",
        "escapes in names and method": plain.replace(b"jsonrpc", b"jsonrp\\u0063").replace(
            method, b"\\u%04x" % method[0] + method[1:]
        ),
    }


def _params_first(request: bytes) -> bytes:
    """Return a request with its params before all other members."""
    head, _, params = request[:-1].partition(b',"params":')
    return b'{"params":' + params + b"," + head[1:] + b"}"


def unusual_request(liveness: LivenessRequest, name: str, id: int) -> Line:
    """Return the line of one of `unusual_requests`."""
    message = {"id": id, "method": liveness.method}
    return Line(sent=True, raw=unusual_requests(liveness)[name] % id, message=message)


NOTIFICATIONS = tuple(
    notification_line(method, params)
    for method, params in (
        ("notifications/initialized", ABSENT),
        ("notifications/conformance", ABSENT),
        (NO_SUCH_METHOD, {}),
        ("ping", ABSENT),
        (CANCELLED, {"requestId": NEVER_ASKED}),
        (CANCELLED, {"requestId": {"a": 1}}),
        (CANCELLED, ABSENT),
        ("notifications/progress", {"progressToken": "conformance never given", "progress": 1}),
    )
)
"""Notifications that a server ignores."""
