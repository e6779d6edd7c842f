"""The headers that go with a message over HTTP: the session, the revision, and what the body mirrors."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp_conformance.protocol import revisions
from mcp_conformance.transport.http.request import Headers

ACCEPT = (b"Accept", b"application/json, text/event-stream")
JSON = (b"Content-Type", b"application/json")
SESSION_ID, VERSION, METHOD, NAME = "Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
PARAMETER = "Mcp-Param-"
ANNOTATION = "x-mcp-header"
"""The member of a property's schema that names the header of its value."""
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"} | dict.fromkeys(
    ("tasks/get", "tasks/update", "tasks/cancel"), "taskId"
)
"""The parameter that the header Mcp-Name mirrors, by method."""
GIVEN_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
GIVEN_VALUE = re.compile(r"[\t -~]*")
PLAIN = re.compile(r"[!-~]([ \t!-~]*[!-~])?")
ENCODED = re.compile(r"=\?base64\?.*\?=", re.DOTALL)
# A schema that contains itself ends there.
MAX_DEPTH = 20

Path = tuple[str, ...]
Parameters = dict[str, tuple[tuple[str, Path], ...]]
"""For each tool, the names of the headers that mirror its arguments, and the paths of these."""


class Mirror:
    """What the headers of one conversation say.

    ``session_id`` is empty until the server has assigned one, ``revision`` until it is known.  The
    ``parameters`` are those that any conversation with the server has learnt from its lists of tools.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.session_id = ""
        self.revision = ""
        self._parameters = parameters

    @property
    def is_modern(self) -> bool:
        """Whether the conversation is held in a modern revision."""
        return revisions.is_modern(self.revision)

    @property
    def session_headers(self) -> Headers:
        """The headers of a request without a message: the session and the revision."""
        given = {SESSION_ID: self.session_id, VERSION: self.revision}
        return tuple(_header(name, value) for name, value in given.items() if value)

    def headers(self, message: Any) -> Headers:
        """Return the headers for a message, or for any other value if the body is not a message."""
        body = message if isinstance(message, Mapping) else {}
        if body.get("method") == "initialize":
            return ()
        version = _version_in(body)
        if version in revisions.MODERN:
            self.revision = self.revision or version
        named = {SESSION_ID: self.session_id, VERSION: version or self.revision}
        if version or self.is_modern:
            named |= self._mirrored(body)
        return tuple(_header(name, value) for name, value in named.items() if value)

    def _mirrored(self, body: Mapping[str, Any]) -> dict[str, str]:
        """Return the headers that mirror a modern request."""
        method, params = body.get("method"), body.get("params")
        found = {METHOD: method} if isinstance(method, str) and PLAIN.fullmatch(method) else {}
        if not isinstance(method, str) or not isinstance(params, Mapping):
            return found
        name = params.get(NAMED.get(method, ""))
        if isinstance(name, str):
            found[NAME] = encoded(name)
            found |= self._parameters_of(name, params.get("arguments")) if method == "tools/call" else {}
        return found

    def _parameters_of(self, tool: str, arguments: Any) -> dict[str, str]:
        values = ((header, _value_at(arguments, path)) for header, path in self._parameters.get(tool, ()))
        return {PARAMETER + header: encoded(_text(value)) for header, value in values if value is not None}

    def learn_tools(self, result: Any) -> None:
        """Note which arguments of the tools in a list are mirrored."""
        tools = result.get("tools") if isinstance(result, Mapping) else None
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, Mapping) and isinstance(tool.get("name"), str):
                self._parameters[tool["name"]] = tuple(annotated(tool.get("inputSchema")))


def annotated(schema: Any, path: Path = ()) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of each property whose value a header mirrors."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or len(path) > MAX_DEPTH:
        return
    for name, inner in properties.items():
        header = inner.get(ANNOTATION) if isinstance(inner, Mapping) else None
        if isinstance(header, str) and PLAIN.fullmatch(header):
            yield header, (*path, name)
        yield from annotated(inner, (*path, name))


def encoded(value: str) -> str:
    """Return a value as a header has it: in base64 unless it is plain ASCII and does not look like base64."""
    if PLAIN.fullmatch(value) and not ENCODED.fullmatch(value):
        return value
    return f"=?base64?{b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="


def decoded(value: str) -> str:
    """Return what a header says, which `encoded` may have encoded; the value itself if it is no base64."""
    if not ENCODED.fullmatch(value):
        return value
    try:
        return b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return value


def _version_in(body: Mapping[str, Any]) -> str:
    """Return the revision that a request names in its ``_meta``; empty if it names none as text."""
    params = body.get("params")
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    version = meta.get(revisions.PROTOCOL_VERSION) if isinstance(meta, Mapping) else None
    return version if isinstance(version, str) and PLAIN.fullmatch(version) else ""


def _value_at(arguments: Any, path: Path) -> Any:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    return arguments if isinstance(arguments, str | int | float) else None


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _header(name: str, value: str) -> tuple[bytes, bytes]:
    return name.encode(), value.encode("latin-1", "replace")


def header_of(text: str) -> tuple[bytes, bytes]:
    """Return the name and the value in ``NAME: VALUE``; raise `ValueError` for any other text."""
    name, colon, content = (part.strip() for part in text.partition(":"))
    if not colon or not GIVEN_NAME.fullmatch(name) or not GIVEN_VALUE.fullmatch(content):
        raise ValueError("NAME: VALUE in visible ASCII is expected")  # the text may be a credential
    return name.encode(), content.encode()


def in_variables(names: Sequence[str], option: str = "header") -> list[str]:
    """Return a text ``NAME=VARIABLE`` for each header: the variables in which the user may put the values."""
    variables = [re.sub(r"[^A-Za-z0-9]", "_", f"{option}_{name}").upper() for name in names]
    counted = ((one, variables[:number].count(one)) for number, one in enumerate(variables))
    numbered = (f"{one}_{many + 1}" if many else one for one, many in counted)
    return [f"{name}={variable}" for name, variable in zip(names, numbered, strict=True)]
