"""A server that shows each credential that it was given, in every place and in many encodings.

Over stdio its arguments and the variables whose names begin with ``TELL_`` are the credentials.  It ends when
a tool gets a long text, so that runs write transcripts and remember values.
"""

# ruff: noqa: T201

import base64
import json
import os
import sys
from urllib.parse import quote

PLAIN = {"type": "object", "properties": {"text": {"type": "string"}}}


def forms(secret):
    """Yield a credential as it is, and encoded."""
    raw = secret.encode("utf-8", "surrogateescape")
    yield from (secret, json.dumps(secret), quote(secret, safe=""), repr(secret), secret[: len(secret) // 2])
    yield from (base64.b64encode(raw).decode(), base64.b64encode(b"user:" + raw).decode(), raw.hex())
    yield f"https://me:{secret}@host/?key={secret}"


class Telling:
    """What the server answers, with these credentials in all of it."""

    def __init__(self, secrets):
        self.secrets = secrets
        self.last = secrets[-1] if secrets else "nothing"
        self.all = " | ".join(form for secret in secrets for form in forms(secret))

    def tool(self, name, **more):
        """Return a tool's definition."""
        text = {"type": "string", "description": self.all}
        schema = {"type": "object", "properties": {"text": text, **dict.fromkeys(self.secrets, text)}}
        hints = {"readOnlyHint": True}
        return {
            "name": name,
            "description": self.all,
            "inputSchema": schema,
            "annotations": hints,
            **more,
        }

    def result_of(self, method, params):
        """Return the result of a request."""
        if method == "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "resources": {}, "logging": {}},
                "serverInfo": {"name": self.last, "version": self.last},
                "instructions": self.all,
            }
        if method == "tools/list":
            end = self.tool("end", inputSchema=PLAIN)
            return {"tools": [self.tool("look", title=None), self.tool(f"find-{self.last}"), end]}
        if method == "resources/list":
            return {"resources": [{"uri": f"memo://{self.last}", "name": self.all}]}
        if method == "tools/call":
            content = [{"type": "text", "text": self.all}]
            return {"content": content, "structuredContent": [self.all], "isError": params["name"] == "look"}
        return {"contents": self.all, "secret": self.all}

    def messages(self, message):
        """Return the answer to a message, and what comes before it; nothing for a notification."""
        if not (isinstance(message, dict) and "id" in message and "method" in message):
            return []
        params = message.get("params")
        params = {"name": "", **(params if isinstance(params, dict) else {})}
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        if "no-such" in str(message["method"]):
            error = {"code": -32601, "message": self.all, "data": dict.fromkeys(self.secrets, 1)}
            return [{**answer, "error": error}]
        answer["result"] = self.result_of(message["method"], params)
        return [*self.notifications(params), answer] if message["method"] == "tools/call" else [answer]

    def notifications(self, params):
        """Return a log message, and progress if some was asked for."""
        log = {"level": "error", "logger": self.last, "data": {self.last: self.all}}
        sent = [{"jsonrpc": "2.0", "method": "notifications/message", "params": log}]
        meta = params.get("_meta")
        if isinstance(meta, dict) and "progressToken" in meta:
            told = {"progressToken": meta["progressToken"], "progress": 1, "message": self.all}
            sent.append({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
        return sent


def serve():
    """Serve over stdio."""
    names = sorted(name for name in os.environ if name.startswith("TELL_"))
    telling = Telling(
        [*(word.rpartition("=")[2] for word in sys.argv[1:]), *(os.environ[name] for name in names)]
    )
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        is_call = isinstance(message, dict) and message.get("method") == "tools/call"
        if (
            is_call
            and message["params"]["name"] == "end"
            and len(str(message["params"].get("arguments"))) > 40
        ):
            print(f"RuntimeError: {telling.all}", file=sys.stderr, flush=True)
            sys.exit(f"cannot log in with {telling.last}")
        for one in telling.messages(message):
            print(json.dumps(one), flush=True)
        print(f"log: {telling.all}" if is_call else "log", file=sys.stderr, flush=True)


if __name__ == "__main__":
    serve()
