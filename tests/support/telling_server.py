"""A server that shows each credential that it was given, in every place and in many encodings.

Its arguments and the variables whose names begin with ``TELL_`` are the credentials.  It ends when a tool
gets a long text, so that runs write transcripts and remember values.
"""

# ruff: noqa: T201

import base64
import json
import os
import sys
from urllib.parse import quote

NAMES = sorted(name for name in os.environ if name.startswith("TELL_"))
SECRETS = [*(word.rpartition("=")[2] for word in sys.argv[1:]), *(os.environ[name] for name in NAMES)]


def forms(secret):
    """Yield a credential as it is, and encoded."""
    raw = secret.encode("utf-8", "surrogateescape")
    yield from (secret, json.dumps(secret), quote(secret, safe=""), repr(secret), secret[: len(secret) // 2])
    yield from (base64.b64encode(raw).decode(), raw.hex(), f"https://me:{secret}@host/?key={secret}")


PLAIN = {"type": "object", "properties": {"text": {"type": "string"}}}
ALL = " | ".join(form for secret in SECRETS for form in forms(secret))


def tool(name, **more):
    """Return a tool's definition."""
    text = {"type": "string", "description": ALL}
    schema = {"type": "object", "properties": {"text": text, **dict.fromkeys(SECRETS, text)}}
    return {
        "name": name,
        "description": ALL,
        "inputSchema": schema,
        "annotations": {"readOnlyHint": True},
        **more,
    }


def result_of(method, params):
    """Return the result of a request."""
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": SECRETS[-1], "version": SECRETS[-1]},
            "instructions": ALL,
        }
    if method == "tools/list":
        return {
            "tools": [tool("look", title=None), tool(f"find-{SECRETS[-1]}"), tool("end", inputSchema=PLAIN)]
        }
    if method == "resources/list":
        return {"resources": [{"uri": f"memo://{SECRETS[-1]}", "name": ALL}]}
    if method == "tools/call":
        if params["name"] == "end" and len(str(params.get("arguments"))) > 40:
            print(f"RuntimeError: {ALL}", file=sys.stderr, flush=True)
            sys.exit(f"cannot log in with {SECRETS[-1]}")
        return {"content": [{"type": "text", "text": ALL}], "structuredContent": [ALL]}
    return {"contents": ALL, "secret": ALL}


for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        continue
    if isinstance(message, dict) and "id" in message and "method" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        answer["result"] = result_of(message["method"], {"name": "", **params})
        print(json.dumps(answer), flush=True)
        print(f"log: {ALL}" if message["method"] == "tools/call" else "log", file=sys.stderr, flush=True)
