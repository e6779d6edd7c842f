"""Calls of tools whose arguments are repeated in headers (`x-mcp-header`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.expect import require_some, skip
from mcp_conformance.generation import NoExample, example
from mcp_conformance.json_schema.subschemas import subschemas
from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.protocol.revisions import HEADER_MISMATCH
from mcp_conformance.protocol.value import Value
from mcp_conformance.scenarios.http_requests import HeaderValue, HttpReply, http_session, post
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.headers import ANNOTATION, GIVEN_NAME, PARAMETER, Path, annotated, encoded
from mcp_conformance.verdicts import Skipped

MAX_PARAMETERS = 5
"""How many parameters of a tool are judged."""
TYPES = ("integer", "string", "boolean")
"""The types that a parameter with a header may have."""


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
    def is_nested(self) -> bool:
        """Whether the argument is a member of another one."""
        return len(self.path) > 1

    @property
    def is_optional(self) -> bool:
        """Whether the tool may be called without the argument."""
        schema = self.tool.input_schema
        for name in self.path[:-1]:
            schema = schema["properties"][name]
        required = schema.get("required", [])
        return isinstance(required, list) and self.path[-1] not in required

    def with_value(self, value: Any) -> dict[str, Any]:
        """Return the arguments with another value of this one, without it if that is `ABSENT`."""
        return _replaced(self.arguments, self.path, value)

    def with_value_at_the_top(self, value: Any) -> dict[str, Any] | None:
        """Return the arguments with an undeclared one of the same name; None if the tool takes no such."""
        schema, name = self.tool.input_schema, self.path[-1]
        is_closed = schema.get("additionalProperties", True) is not True
        return None if is_closed or name in schema["properties"] else {**self.arguments, name: value}

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


def mirrored_calls(server: Server) -> list[MirroredCall]:
    """Return the calls with such parameters, one for each, that are served with the right headers."""
    served = [call for call, reply in _all_calls(server) if reply.was_served]
    return require_some(served, skip="no permitted tool has a parameter that a header repeats")


def integer_calls(server: Server) -> list[MirroredCall]:
    """Return the calls with a whole number; skip the check if there are none."""
    found = [call for call in mirrored_calls(server) if type(call.value) is int]
    return found or skip("no permitted tool has a whole number that a header repeats")


def boolean_calls(server: Server) -> list[MirroredCall]:
    """Return the calls with a truth value; skip the check if there are none."""
    found = [call for call in mirrored_calls(server) if isinstance(call.value, bool)]
    return found or skip("no permitted tool has a truth value that a header repeats")


def nested_calls(server: Server) -> list[MirroredCall]:
    """Return the calls with a member of another argument; skip the check if there are none."""
    found = [call for call in mirrored_calls(server) if call.is_nested]
    return found or skip("no permitted tool has a nested parameter that a header repeats")


def rejected_calls(server: Server) -> list[tuple[MirroredCall, HttpReply]]:
    """Return the calls whose right headers are said to be wrong, with the answers."""
    return [(call, reply) for call, reply in _all_calls(server) if reply.code == HEADER_MISMATCH]


@scenario
def _all_calls(server: Server) -> tuple[tuple[MirroredCall, HttpReply], ...]:
    """Return calls of each permitted tool, one for each parameter, with the answer to the right headers."""
    return tuple(found for tool in server.tools for found in _calls_of(server, tool))


def _calls_of(server: Server, tool: Tool) -> list[tuple[MirroredCall, HttpReply]]:
    paths = _paths(tool)
    found: list[tuple[MirroredCall, HttpReply]] = []
    with suppress(Skipped):
        call = server.call(tool) if paths else None
        if call is None or call.asked or call.is_slow:
            return []
        for arguments in _arguments(server, call, list(paths.values())):
            calls = _mirrored(tool, arguments, paths)
            reply = calls[0].post(server, calls[0].headers[calls[0].header]) if calls else None
            if reply is not None:
                found += [(one, reply) for one in calls]
            if reply is not None and reply.was_served:
                break
    return found


def _paths(tool: Tool) -> dict[str, Path]:
    """Return the paths of the parameters by their headers; none if clients must reject the tool for these."""
    parts = [one for one in subschemas(Value(tool.input_schema)) if ANNOTATION in one.value.json]
    names = [one.value.json[ANNOTATION] for one in parts]
    is_right = all(one.is_parameter and one.value.json.get("type") in TYPES for one in parts)
    if not is_right or not all(isinstance(name, str) and GIVEN_NAME.fullmatch(name) for name in names):
        return {}
    is_unique = len({name.lower() for name in names}) == len(names)
    return {PARAMETER + name: path for name, path in annotated(tool.input_schema)} if is_unique else {}


def _arguments(server: Server, call: Call, paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield arguments with a value for each of these parameters if one is known, then those of the call."""
    with suppress(NoExample):
        made = example(_demanding(call.tool.input_schema, paths), server.revision)
        if (filled := _merged(made, call.arguments)) != call.arguments:
            yield filled
    yield dict(call.arguments)


def _mirrored(tool: Tool, arguments: dict[str, Any], paths: Mapping[str, Path]) -> list[MirroredCall]:
    """Return a call for each parameter with a value; of the first ones, and of each kind before others."""
    headers: dict[str, HeaderValue] = {
        header: encoded(text_of(value_at(arguments, path)))
        for header, path in paths.items()
        if value_at(arguments, path) is not None
    }
    calls = [MirroredCall(tool, arguments, header, paths[header], headers) for header in headers]
    earlier = Counter[tuple[type, bool]]()
    ranked = []
    for call in calls:
        kind = type(call.value), call.is_nested
        ranked.append((earlier[kind], call))
        earlier[kind] += 1
    return [call for _, call in sorted(ranked, key=lambda one: one[0])][:MAX_PARAMETERS]


def _demanding(schema: Mapping[str, Any], paths: Sequence[Path]) -> dict[str, Any]:
    """Return a schema that requires the parameters at these paths too."""
    properties, names = dict(schema["properties"]), {path[0] for path in paths}
    for name in names:
        inner = [path[1:] for path in paths if path[0] == name and len(path) > 1]
        if inner:
            properties[name] = _demanding(properties[name], inner)
    required = schema.get("required", [])
    others = [name for name in required if name not in list(names)] if isinstance(required, list) else []
    return {**schema, "properties": properties, "required": [*others, *sorted(names)]}


def _merged(made: Any, given: Any) -> Any:
    """Return the given value, with the members that only the made one has."""
    if not isinstance(made, dict) or not isinstance(given, dict):
        return given
    return {**made, **{name: _merged(made.get(name), value) for name, value in given.items()}}


def _replaced(arguments: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    name, inner = path[0], path[1:]
    new = _replaced(arguments[name], inner, value) if inner else value
    return {key: old for key, old in {**arguments, name: new}.items() if old is not ABSENT}


def value_at(arguments: Any, path: Path) -> Any:
    """Return the value at a path of members; None without one that a header can repeat."""
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    return arguments if isinstance(arguments, str | int) else None


def text_of(value: str | int | bool) -> str:
    """Return a value as a header has it before it is encoded."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def other_value(value: str | int | bool) -> str | int | bool:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else "another-value"
