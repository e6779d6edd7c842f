"""Tools without a server: functions that answer calls, for tests of what explores them."""

import inspect
import json

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.value import Value

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}


class Refused(Exception):  # noqa: N818  (what a tool answers)
    """A tool refuses; the text is that of its answer."""


def tool(name, schema, description="", *, reads=False, optional=()):
    """Return a tool with these members, by name: a type of Python, or a schema."""
    members = {key: _schema_of(one) if isinstance(one, type) else one for key, one in schema.items()}
    definition = {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": members,
            "required": [one for one in members if one not in optional],
        },
        "annotations": {"readOnlyHint": reads},
    }
    return Tool(Value(definition))


def _schema_of(type):
    """Return the schema of a type; that of a list is one of texts."""
    return {"type": TYPES[type], **({"items": {"type": "string"}} if type is list else {})}


class FakeTools:
    """Tools that are functions; ``calls`` are the names and arguments of all calls so far.

    Parameters with a default are optional members; the tools named in ``reading`` only read.
    """

    def __init__(self, *functions, reading=()):
        self.functions = {one.__name__: one for one in functions}
        self.tools = [_tool_of(one, reads=one.__name__ in reading) for one in functions]
        self.calls = []

    def call(self, tool, arguments):
        """Call a tool; what it raises as `Refused` is a tool error."""
        self.calls.append((tool.name, arguments))
        request = Line.sending(
            {"id": 1, "method": "tools/call", "params": {"name": tool.name, "arguments": arguments}}
        )
        try:
            answer = self.functions[tool.name](**arguments)
            text = answer if isinstance(answer, str) else json.dumps(answer)
            is_error = False
        except Refused as refusal:
            text, is_error = str(refusal), True
        result = {"content": [{"type": "text", "text": text}], "isError": is_error}
        return Call(tool, arguments, Reply(request, message={"id": 1, "result": result}))

    def of(self, name):
        """Return the arguments of the calls of a tool."""
        return [arguments for called, arguments in self.calls if called == name]


def _tool_of(function, *, reads):
    parameters = inspect.signature(function).parameters.values()
    optional = [one.name for one in parameters if one.default is not one.empty]
    schema = {one.name: one.annotation for one in parameters}
    return tool(function.__name__, schema, reads=reads, optional=optional)
