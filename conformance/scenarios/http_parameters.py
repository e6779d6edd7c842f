"""Calls of tools whose arguments are repeated in headers (`x-mcp-header`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from conformance.client.tool_call import Tool
from conformance.expect import require_some, skip
from conformance.protocol.value import Value
from conformance.scenarios.http_requests import HeaderValue, HttpReply, http_session, post
from conformance.target.scenario import scenario
from conformance.target.server import Server
from conformance.transport.http.headers import PARAMETER, Path, annotated, encoded
from conformance.verdicts import Skipped

EXAMPLES: Mapping[str, str | int | bool] = {"integer": 1, "string": "a", "boolean": True}
"""The values that are tried for an optional parameter without a value, by its type."""


@dataclass(frozen=True)
class MirroredCall:
    """A permitted call in which ``header`` repeats the argument at ``path``; ``headers`` are all of these."""

    tool: Tool
    arguments: dict[str, Any]
    header: str
    path: Path
    headers: dict[str, HeaderValue]

    @property
    def value(self) -> str | int | bool:
        """The value that the header repeats."""
        value: str | int | bool = value_at(self.arguments, self.path)
        return value

    @property
    def is_optional(self) -> bool:
        """Whether the tool may be called without the argument."""
        required = self.tool.input_schema.get("required", [])
        return len(self.path) == 1 and isinstance(required, list) and self.path[0] not in required

    def post(
        self,
        server: Server,
        value: HeaderValue,
        arguments: Any = None,
        others: Mapping[str, str] | None = None,
    ) -> HttpReply:
        """POST the call with another value of the header, and perhaps with other arguments."""
        params = {
            "name": self.tool.name,
            "arguments": self.arguments if arguments is None else arguments,
        }
        headers = {**self.headers, self.header: value, **(others or {})}
        return post(http_session(server), "tools/call", params, headers=headers)


@scenario
def mirrored_calls(server: Server) -> list[MirroredCall]:
    """Return a call of each permitted tool with such a parameter that is served with the right headers."""
    found = [call for tool in server.tools for call in _mirrored_call(server, tool)]
    served = [call for call in found if call.post(server, call.headers[call.header]).was_served]
    return require_some(served, skip="no permitted tool has a parameter that a header repeats")


def _mirrored_call(server: Server, tool: Tool) -> list[MirroredCall]:
    """Return a call of a tool with a parameter that a header repeats; nothing if it has none."""
    paths = {PARAMETER + name: path for name, path in annotated(tool.input_schema)}
    if not paths:
        return []
    with suppress(Skipped):
        call = server.call(tool)
        if call.asked or server.is_slow(call):
            return []
        header, path = next(iter(paths.items()))
        arguments = _with_value(tool, dict(call.arguments), path)
        headers: dict[str, HeaderValue] = {
            one: encoded(text_of(value_at(arguments, at)))
            for one, at in paths.items()
            if value_at(arguments, at) is not None
        }
        return [MirroredCall(tool, arguments, header, path, headers)] if header in headers else []
    return []


def _with_value(tool: Tool, arguments: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return arguments with a value for a parameter at the top that has none."""
    if len(path) > 1 or value_at(arguments, path) is not None:
        return arguments
    kind = Value(tool.input_schema).get("properties", path[0], "type")
    value = EXAMPLES.get(kind.json) if kind is not None and kind.is_a(str) else None
    return arguments if value is None else {**arguments, path[0]: value}


def value_at(arguments: Any, path: Path) -> Any:
    """Return the value at a path of members; None without one that a header can repeat."""
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    return arguments if isinstance(arguments, str | int) else None


def text_of(value: str | int | bool) -> str:
    """Return a value as a header has it before it is encoded."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def other_value(value: str | int | bool) -> str:
    """Return another value of the same type, as a header has it."""
    if isinstance(value, bool):
        return text_of(not value)
    return text_of(value + 1) if isinstance(value, int) else "another-value"


def integer_calls(server: Server) -> list[MirroredCall]:
    """Return the calls with a whole number; skip the check if there are none."""
    found = [call for call in mirrored_calls(server) if type(call.value) is int]
    return found or skip("no permitted tool has a whole number that a header repeats")
