"""Splits bills: an MCP server on stdin and stdout, without an SDK."""

import json
import sys

SHARE = {
    "name": "share",
    "description": "Split a bill evenly. Cents that are left over are rounded up.",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {
        "type": "object",
        "properties": {
            "cents": {"type": "integer", "minimum": 0, "maximum": 1000000},
            "people": {"type": "integer", "minimum": 0},
        },
        "required": ["cents", "people"],
    },
    "outputSchema": {
        "type": "object",
        "properties": {"each": {"type": "integer"}},
        "required": ["each"],
    },
}


class Refused(Exception):
    """A JSON-RPC error: its code and its message."""


def initialize(params):
    return {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "bills", "version": "1.0.0"},
    }


def list_tools(params):
    if "cursor" in params:
        raise Refused(-32602, "there is only one page")
    return {"tools": [SHARE]}


def call_tool(params):
    if params.get("name") != "share":
        raise Refused(-32602, "there is no such tool")
    arguments = params.get("arguments", {})
    if not isinstance(arguments, dict):
        raise Refused(-32602, "arguments are an object")
    problem = what_is_wrong(arguments)
    if problem:
        return {"content": [{"type": "text", "text": problem}], "isError": True}
    each = -(-arguments["cents"] // arguments["people"])
    answer = {"each": str(each)}
    return {"content": [{"type": "text", "text": json.dumps(answer)}], "structuredContent": answer}


def what_is_wrong(arguments):
    for name, rules in SHARE["inputSchema"]["properties"].items():
        value = arguments.get(name)
        if type(value) is not int:
            return f"{name} must be an integer"
        if not rules.get("minimum", value) <= value <= rules.get("maximum", value):
            return f"{name} is out of range"
    return ""


METHODS = {
    "initialize": initialize,
    "ping": lambda params: {},
    "tools/list": list_tools,
    "tools/call": call_tool,
}


def answer(method, params):
    if method not in METHODS:
        raise Refused(-32601, "there is no such method")
    if not isinstance(params, dict):
        raise Refused(-32602, "params are an object")
    return METHODS[method](params)


def is_request(message):
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    return isinstance(message.get("method"), str)


def reply(line):
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {"id": None, "error": {"code": -32700, "message": "this is not JSON"}}
    if not is_request(message):
        return {"id": None, "error": {"code": -32600, "message": "this is not a request"}}
    if "id" not in message:
        return None  # a notification
    try:
        return {"id": message["id"], "result": answer(message["method"], message.get("params", {}))}
    except Refused as refused:
        code, text = refused.args
        return {"id": message["id"], "error": {"code": code, "message": text}}


for line in sys.stdin.buffer:
    found = reply(line)
    if found:
        print(json.dumps({"jsonrpc": "2.0", **found}), flush=True)
