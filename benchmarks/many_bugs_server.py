"""A server with forty small bugs: each of ten tools fails on four conditions, and five take long lists.

Runs of several seeds should cost about the same::

    mcp-conformance run --seed 0 -- python benchmarks/many_bugs_server.py
"""

import json
import sys

import jsonschema

LIST = {"type": "array", "items": {"type": "integer"}, "minItems": 150, "maxItems": 400}
SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "is_new": {"type": "boolean"},
    },
    "required": ["text", "count"],
}
FAULTS = ("IndexError: list", "AttributeError: 'NoneType'", "KeyError: 'count'", "ZeroDivisionError: zero")
TOOLS = [f"tool_{number}" for number in range(10)]


def schema(number):
    more = {"items": LIST} if number % 2 == 0 else {}
    required = [*SCHEMA["required"], *more]
    return {**SCHEMA, "properties": {**SCHEMA["properties"], **more}, "required": required}


def fault(number, arguments):
    """Return the bug that arguments meet; None if there is none."""
    text, count, items = arguments["text"], arguments["count"], arguments.get("items", [])
    is_met = (
        sum(one > number + 1 for one in items[50:]) > 2,
        len(text) > 7 + number,
        count < -number,
        arguments.get("ratio") == 0,
    )
    return next((name for name, one in zip(FAULTS, is_met, strict=True) if one), None)


def called(params):
    number, arguments = TOOLS.index(params["name"]), params.get("arguments", {})
    if not jsonschema.Draft202012Validator(schema(number)).is_valid(arguments):
        return {"error": {"code": -32602, "message": "invalid arguments"}}
    if (found := fault(number, arguments)) is not None:
        return {"error": {"code": -32603, "message": found}}
    return {"result": {"content": [{"type": "text", "text": "done"}]}}


def answer(method, params):
    if method == "initialize":
        info = {"name": "many-bugs", "version": "1"}
        revision = params.get("protocolVersion")
        known = revision if revision in ("2025-06-18", "2025-11-25") else "2025-11-25"
        return {"result": {"protocolVersion": known, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        tools = [
            {
                "name": name,
                "inputSchema": schema(at),
                "description": "Works.",
                "annotations": {"readOnlyHint": True, "openWorldHint": False},
            }
            for at, name in enumerate(TOOLS)
        ]
        return {"result": {"tools": tools}}
    if method == "tools/call" and params.get("name") in TOOLS:
        return called(params)
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": "unknown"}}


def main():
    for line in sys.stdin:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(request, dict) and "id" in request and isinstance(request.get("method"), str):
            params = request.get("params")
            reply = answer(request["method"], params if isinstance(params, dict) else {})
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
