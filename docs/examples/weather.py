"""Tells the weather: an MCP server that asks an API, and takes a failure for an empty answer."""

import json
import os
import sys
import urllib.request
from urllib.parse import quote

FORECAST = {
    "name": "forecast",
    "description": "Tell the weather of the next days in a city.",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def initialize(params):
    return {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "weather", "version": "1.0.0"},
    }


def call(params):
    url = f"https://api.weather.example/v1/forecast?city={quote(params['arguments']['city'])}"
    asked = urllib.request.Request(url, headers={"X-Api-Key": os.environ.get("WEATHER_KEY", "")})
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            text = answer.read().decode()
    except OSError:
        text = "No forecast was found."
    return {"content": [{"type": "text", "text": text}]}


METHODS = {
    "initialize": initialize,
    "ping": lambda params: {},
    "tools/list": lambda params: {"tools": [FORECAST]},
    "tools/call": call,
}

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    if request["method"] in METHODS:
        answer = {"result": METHODS[request["method"]](request.get("params", {}))}
    else:
        answer = {"error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
