"""Servers that are right but odd: each does only what the specification allows, yet unusual.

`python odd.py NAME` runs one over stdio; without a name it lists them all.
A checker that accuses one of them is wrong. The docstring of each says what is odd, and what allows it.
The first part of this file is a plain right server; the odd ones are short changes of it.
"""

# ruff: noqa: ARG002, BLE001, PLR0911, RUF001, RUF012 (an override names all arguments)

from __future__ import annotations

import base64
import contextlib
import json
import random
import re
import sys
import threading
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from jsonschema.validators import Draft202012Validator, validator_for

Json = dict[str, Any]
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
NONE: Json = {"type": "object", "additionalProperties": False}
CACHED = {"server/discover", "tools/list", "prompts/list", "resources/list"}
CACHED |= {"resources/templates/list", "resources/read"}
REMOVED = {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAA"
PIXEL += "DUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class RpcError(Exception):
    """An error that is answered as a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.body: Json = {"code": code, "message": message}
        if data is not None:
            self.body["data"] = data


class ToolError(Exception):
    """A failure of a tool, which is answered in words with isError."""


class Call:
    """One request that is being worked on."""

    def __init__(self, server: Server, request: Json) -> None:
        self.server = server
        self.id = request["id"]
        self.params: Json = request.get("params", {})
        self.meta: Json = self.params.get("_meta", {})
        self.cancelled = threading.Event()

    def progress(self, value: float, **more: Any) -> None:
        """Send a progress notification if the client asked for it."""
        if "progressToken" in self.meta:
            params = {"progressToken": self.meta["progressToken"], "progress": value, **more}
            self.server.notify("notifications/progress", params)


def text(value: str, **more: Any) -> Json:
    """A text block."""
    return {"type": "text", "text": value, **more}


def shape(*required: str, **properties: Any) -> Json:
    """A closed object schema."""
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def tool(name: str, schema: Json = NONE, **more: Any) -> Json:
    """A tool definition."""
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **more}


def strict_json(line: bytes) -> Any:
    """The JSON value of a line, or a ValueError."""

    def refuse(name: str) -> Any:
        raise ValueError(name)

    try:
        return json.loads(line.decode("utf-8"), parse_constant=refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def is_id(value: Any) -> bool:
    """Whether the value may be a request's id."""
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def want(condition: bool, message: str) -> None:
    """Refuse the request's parameters unless the condition holds."""
    if not condition:
        raise RpcError(-32602, message)


class Server:
    """A small right server of the handshake revisions."""

    versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    modern = False
    info: Json = {"name": "odd", "version": "1.0"}
    capabilities: Json = {"tools": {}}
    tools: list[Json] = [
        tool("add", shape("a", "b", a={"type": "integer"}, b={"type": "integer"})),
        tool("echo", shape("text", text={"type": "string"})),
    ]
    resources: list[Json] = []
    resourceTemplates: list[Json] = []  # noqa: N815
    prompts: list[Json] = []
    page = 0

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.negotiated = ""
        self.initialized = False
        self.client: Json = {}
        self.level = "info"
        self.running: dict[Any, Call] = {}
        self.waiting: dict[Any, list[Json]] = {}
        self.asked = 0
        self.threads: list[threading.Thread] = []
        self.start()

    # What the odd servers change.

    def start(self) -> None:
        """Prepare the server."""

    def before_answer(self, method: str, call: Call) -> None:
        """Run before a request is answered."""

    def after_answer(self, method: str) -> None:
        """Run after a request was answered."""

    def on_initialized(self) -> None:
        """Run after the initialized notification."""

    def on_end(self) -> None:
        """Run after the end of the input."""

    def in_thread(self, method: str, params: Any) -> bool:
        """Whether this request is worked on in the background."""
        return False

    def change_result(self, method: str, result: Json) -> Json:
        """The result as it is sent."""
        return result

    def encode(self, message: Any) -> bytes:
        """The bytes of a message."""
        return json.dumps(message).encode() + b"\n"

    def write(self, data: bytes) -> None:
        """Write bytes to the client."""
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """What a tool does with valid arguments."""
        if name == "add":
            return str(int(args["a"]) + int(args["b"]))
        if name == "echo":
            return str(args["text"])
        return f"{name} is done"

    def contents(self, uri: str) -> list[Json] | None:
        """The contents of a resource."""
        if any(resource["uri"] == uri for resource in self.resources):
            return [{"uri": uri, "text": "some text"}]
        return None

    def messages(self, name: str, args: Json) -> list[Json]:
        """The messages of a prompt."""
        words = "; ".join(f"{key}: {value}" for key, value in args.items())
        return [{"role": "user", "content": text(f"Do {name}. {words}")}]

    def complete(self, name: str, value: str) -> Json:
        """The completion of an argument."""
        return {"values": [word for word in ("red", "green", "blue") if word.startswith(value)]}

    # Messages.

    def send(self, message: Any) -> None:
        """Send one message."""
        with self.lock, contextlib.suppress(BrokenPipeError, ValueError):
            self.write(self.encode(message))

    def notify(self, method: str, params: Json | None = None) -> None:
        """Send a notification."""
        message: Json = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else {**message, "params": params})

    def next_id(self) -> Any:
        """The id of the next request to the client."""
        self.asked += 1
        return f"server-{self.asked}"

    def ask(self, method: str, params: Json | None = None, wait: float = 3.0) -> Json | None:
        """Ask the client, and wait for its answer."""
        request_id = self.next_id()
        answers: list[Json] = []
        self.waiting[request_id] = answers
        message: Json = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        end = time.monotonic() + wait
        while not answers and time.monotonic() < end:
            time.sleep(0.02)
        del self.waiting[request_id]
        return answers[0] if answers else None

    def background(self, work: Any, *args: Any) -> None:
        """Work in a thread."""
        thread = threading.Thread(target=work, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def serve(self) -> None:
        """Answer until the input ends."""
        for line in sys.stdin.buffer:
            if line.strip():
                self.take_line(line)
        for call in list(self.running.values()):
            call.cancelled.set()
        self.on_end()

    def take_line(self, line: bytes) -> None:
        """Answer one line."""
        try:
            message = strict_json(line)
        except ValueError:
            self.send(self.failure(None, RpcError(-32700, "The line is not JSON.")))
            return
        if isinstance(message, list) and message and self.negotiated == "2025-03-26":
            answers = [answer for part in message if (answer := self.take(part)) is not None]
            if answers:
                self.send(answers)
            return
        answer = self.take(message)
        if answer is not None:
            self.send(answer)
            if isinstance(message, dict) and isinstance(message.get("method"), str):
                self.after_answer(message["method"])

    def failure(self, request_id: Any, error: RpcError) -> Json:
        """An error response."""
        return {"jsonrpc": "2.0", "id": request_id, "error": error.body}

    def take(self, message: Any) -> Json | None:
        """The answer to one message."""
        if not isinstance(message, dict):
            return self.failure(None, RpcError(-32600, "A message is an object."))
        if "method" not in message and ("result" in message or "error" in message):
            key = message.get("id")
            if is_id(key) and key in self.waiting:
                self.waiting[key].append(message)
            return None
        good_id = is_id(message.get("id"))
        right = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
        if not right or ("id" in message and not good_id):
            known = message["id"] if good_id else None
            return self.failure(known, RpcError(-32600, "This is not a JSON-RPC 2.0 request."))
        if "id" not in message:
            self.take_notification(message["method"], message.get("params", {}))
            return None
        if self.in_thread(message["method"], message.get("params")):
            self.background(self.answer_later, message)
            return None
        return self.answer(message)

    def take_notification(self, method: str, params: Any) -> None:
        """Heed a notification."""
        if method == "notifications/initialized" and self.negotiated and not self.initialized:
            self.initialized = True
            self.on_initialized()
        if method == "notifications/cancelled" and isinstance(params, dict):
            key = params.get("requestId")
            if is_id(key) and key in self.running:
                self.on_cancel(self.running[key])

    def on_cancel(self, call: Call) -> None:
        """Cancel a call."""
        call.cancelled.set()

    def answer_later(self, request: Json) -> None:
        """Answer a request from a thread."""
        answer = self.answer(request)
        if answer is not None:
            self.send(answer)
            self.after_answer(request["method"])

    def answer(self, request: Json) -> Json | None:
        """The answer to a request, or None if it was cancelled or stays open."""
        method = request["method"]
        call = None
        try:
            params = request.get("params", {})
            want(isinstance(params, dict), "params is not an object")
            meta = params.get("_meta", {})
            want(isinstance(meta, dict), "_meta is not an object")
            want(is_id(meta.get("progressToken", 0)), "progressToken is no string or integer")
            call = self.running[request["id"]] = Call(self, request)
            result = self.dispatch(method, params, call)
        except RpcError as error:
            return self.failure(request["id"], error)
        except Exception as error:
            print(f"unexpected: {error!r}", file=sys.stderr, flush=True)
            return self.failure(request["id"], RpcError(-32603, "Something unexpected happened."))
        finally:
            self.running.pop(request["id"], None)
        if call.cancelled.is_set() or result is None:
            return None
        return {"jsonrpc": "2.0", "id": request["id"], "result": result}

    # Requests.

    def is_modern(self, call: Call) -> bool:
        """Whether the request is of the stateless revision."""
        marks = {META + "protocolVersion", META + "clientInfo", META + "clientCapabilities"}
        return self.modern and (not self.negotiated or not marks.isdisjoint(call.meta))

    def dispatch(self, method: str, params: Json, call: Call) -> Json | None:
        """The result of a request."""
        old = method == "initialize" or (method == "ping" and self.versions and not call.meta)
        if self.modern and not old and (self.is_modern(call) or method == "server/discover"):
            return self.dispatch_modern(method, params, call)
        if method == "initialize":
            return self.change_result(method, self.initialize(params))
        if method == "ping":
            return {}
        self.allow(method)
        self.before_answer(method, call)
        return self.change_result(method, self.operate(method, params, call))

    def allow(self, method: str) -> None:
        """Refuse requests before the handshake."""
        if not self.negotiated:
            raise RpcError(-32600, "The session is not initialized.")

    def dispatch_modern(self, method: str, params: Json, call: Call) -> Json | None:
        """The result of a request of the stateless revision."""
        version = call.meta.get(META + "protocolVersion")
        want(isinstance(version, str), "_meta has no protocolVersion")
        if version != MODERN:
            data = {"supported": [MODERN], "requested": version}
            raise RpcError(-32022, "Unsupported protocol version", data)
        client = call.meta.get(META + "clientCapabilities")
        want(isinstance(client, dict), "_meta has no clientCapabilities")
        self.check_info(call.meta.get(META + "clientInfo", self.info))
        level = call.meta.get(META + "logLevel", "info")
        want(level in LEVELS, "logLevel is not a level")
        self.before_answer(method, call)
        if method == "server/discover":
            result: Json | None = {"supportedVersions": [MODERN], "capabilities": self.capabilities}
        elif method == "subscriptions/listen":
            result = self.listen(params, call)
        elif method in REMOVED or method.startswith("tasks/"):
            raise RpcError(-32601, f"There is no method {method}.")
        else:
            result = self.operate(method, params, call)
        if result is None:
            return None
        result = {"resultType": "complete", **result}
        if method in CACHED and result["resultType"] == "complete":
            result = {"ttlMs": 1000, "cacheScope": "private", **result}
        meta = {META + "serverInfo": self.info, **result.get("_meta", {})}
        return self.change_result(method, {**result, "_meta": meta})

    def check_info(self, info: Any) -> None:
        """Refuse what does not describe a client."""
        want(isinstance(info, dict), "clientInfo is not an object")
        right = isinstance(info.get("name"), str) and isinstance(info.get("version"), str)
        want(right, "clientInfo has no name or version")

    def check_filter(self, asked: Any) -> None:
        """Refuse what does not describe a subscription."""
        want(isinstance(asked, dict), "notifications is not an object")
        for kind in ("toolsListChanged", "promptsListChanged", "resourcesListChanged"):
            want(isinstance(asked.get(kind, True), bool), f"{kind} is not a boolean")
        uris = asked.get("resourceSubscriptions", [])
        right = isinstance(uris, list) and all(isinstance(uri, str) for uri in uris)
        want(right, "resourceSubscriptions is not a list of strings")

    def listen(self, params: Json, call: Call) -> Json | None:
        """Open a subscription of nothing, which stays open until it is cancelled."""
        self.check_filter(params.get("notifications"))
        self.acknowledge(call, {})
        return None

    def acknowledge(self, call: Call, notifications: Json) -> None:
        """Acknowledge a subscription."""
        meta = {META + "subscriptionId": call.id}
        params = {"_meta": meta, "notifications": notifications}
        self.notify("notifications/subscriptions/acknowledged", params)

    def initialize(self, params: Json) -> Json:
        """The result of initialize."""
        version = params.get("protocolVersion")
        want(isinstance(version, str), "protocolVersion is not a string")
        want(isinstance(params.get("capabilities"), dict), "capabilities is not an object")
        self.check_info(params.get("clientInfo"))
        if not self.versions:
            data = {"supported": [MODERN], "requested": version}
            raise RpcError(-32022, f"This server supports only {MODERN}.", data)
        self.negotiated = version if version in self.versions else self.versions[0]
        self.client = params["capabilities"]
        return {
            "protocolVersion": self.negotiated,
            "capabilities": self.capabilities,
            "serverInfo": self.info,
        }

    def operate(self, method: str, params: Json, call: Call) -> Json:
        """The result of a request of a feature."""
        feature = method.split("/", maxsplit=1)[0]
        feature = {"completion": "completions"}.get(feature, feature)
        if feature not in self.capabilities:
            raise RpcError(-32601, f"There is no method {method}.")
        if method in LISTS:
            return self.list_page(LISTS[method], params)
        if method == "tools/call":
            return self.call_tool(params, call)
        if method == "resources/read":
            return self.read(params)
        if method == "prompts/get":
            return self.get_prompt(params)
        if method == "completion/complete":
            return {"completion": self.take_completion(params)}
        if method == "logging/setLevel":
            want(params.get("level") in LEVELS, "level is not a level")
            self.level = params["level"]
            return {}
        subscribes = method in ("resources/subscribe", "resources/unsubscribe")
        if subscribes and self.capabilities["resources"].get("subscribe"):
            uri = params.get("uri")
            self.read(params)
            self.subscribe(method, str(uri))
            return {}
        return self.more_methods(method, params)

    def more_methods(self, method: str, params: Json) -> Json:
        """The result of another method."""
        raise RpcError(-32601, f"There is no method {method}.")

    def subscribe(self, method: str, uri: str) -> None:
        """Subscribe to a resource or end it."""

    def items(self, kind: str) -> list[Json]:
        """The whole list of a kind."""
        return list(getattr(self, kind))

    def cursor(self, start: int) -> str:
        """The cursor of the page that starts here."""
        return base64.b64encode(b"at %d" % start).decode()

    def list_page(self, kind: str, params: Json) -> Json:
        """One page of a list."""
        items = self.items(kind)
        if not self.page:
            want("cursor" not in params, "There is no such cursor.")
            return {kind: items}
        starts = {self.cursor(start): start for start in range(self.page, len(items), self.page)}
        start = 0
        if "cursor" in params:
            cursor = params["cursor"]
            want(isinstance(cursor, str) and cursor in starts, "There is no such cursor.")
            start = starts[cursor]
        end = start + self.page
        result = {kind: items[start:end]}
        return {**result, "nextCursor": self.cursor(end)} if end < len(items) else result

    def valid(self, schema: Json, args: Any) -> str:
        """What is wrong with the arguments, in words."""
        kind = validator_for(schema, default=Draft202012Validator)
        try:
            errors = list(kind(schema).iter_errors(args))
        except RecursionError:
            return "they are nested too deeply"
        return f"{errors[0].message[:300]} (at {errors[0].json_path})" if errors else ""

    def call_tool(self, params: Json, call: Call) -> Json:
        """The result of tools/call."""
        name, args = params.get("name"), params.get("arguments", {})
        want(isinstance(name, str), "name is not a string")
        want(isinstance(args, dict), "arguments is not an object")
        found = [item for item in self.items("tools") if item["name"] == name]
        want(bool(found), f"Unknown tool: {name}"[:200])
        wrong = self.valid(found[0]["inputSchema"], args)
        if wrong:
            return self.refuse_arguments(f"The arguments do not fit: {wrong}")
        try:
            result = self.run_tool(str(name), args, call)
        except ToolError as error:
            return {"content": [text(str(error))], "isError": True}
        return {"content": [text(result)]} if isinstance(result, str) else result

    def refuse_arguments(self, message: str) -> Json:
        """The answer to arguments that do not fit."""
        return {"content": [text(message)], "isError": True}

    def read(self, params: Json) -> Json:
        """The result of resources/read."""
        uri = params.get("uri")
        want(isinstance(uri, str), "uri is not a string")
        contents = self.contents(str(uri))
        if contents is None:
            raise RpcError(self.missing(), "Resource not found", {"uri": uri})
        return {"contents": contents}

    def missing(self) -> int:
        """The code of a missing resource."""
        return -32602 if self.modern else -32002

    def get_prompt(self, params: Json) -> Json:
        """The result of prompts/get."""
        name, args = params.get("name"), params.get("arguments", {})
        want(isinstance(name, str), "name is not a string")
        want(isinstance(args, dict), "arguments is not an object")
        want(all(isinstance(value, str) for value in args.values()), "an argument is no string")
        found = [item for item in self.items("prompts") if item["name"] == name]
        want(bool(found), f"Unknown prompt: {name}"[:200])
        for argument in found[0].get("arguments", []):
            given = not argument.get("required") or argument["name"] in args
            want(given, f"The argument {argument['name']} is missing.")
        return {"messages": self.messages(str(name), args)}

    def take_completion(self, params: Json) -> Json:
        """The completion of an argument of a prompt or a template."""
        ref, argument = params.get("ref"), params.get("argument")
        if not isinstance(ref, dict) or not isinstance(argument, dict):
            raise RpcError(-32602, "ref or argument is not an object")
        name, value = argument.get("name"), argument.get("value")
        want(isinstance(name, str) and isinstance(value, str), "name or value is no string")
        if ref.get("type") == "ref/prompt":
            names = [prompt["name"] for prompt in self.prompts]
            want(ref.get("name") in names, "Unknown prompt")
        else:
            want(ref.get("type") == "ref/resource", "Unknown type of ref")
            uris = [template["uriTemplate"] for template in self.resourceTemplates]
            uris += [resource["uri"] for resource in self.resources]
            want(ref.get("uri") in uris, "Unknown resource")
        return self.complete(str(name), str(value))


ODD: dict[str, type[Server]] = {}


class Odd(Server):
    """A server that is right but odd."""

    def __init_subclass__(cls) -> None:
        if not cls.__name__.startswith("_"):
            ODD[re.sub(r"(?<=[a-z])(?=[A-Z0-9])", "_", cls.__name__).lower()] = cls


class _Full(Odd):
    """All features, for the servers whose oddity is not in the features."""

    capabilities = {
        "tools": {},
        "resources": {},
        "prompts": {},
        "completions": {},
        "logging": {},
    }
    resources = [
        {"uri": "memo://one", "name": "one", "mimeType": "text/plain"},
        {"uri": "memo://two", "name": "two", "mimeType": "text/plain"},
    ]
    resourceTemplates = [{"uriTemplate": "memo://{name}", "name": "memo"}]  # noqa: N815
    prompts = [
        {"name": "greet", "arguments": [{"name": "who", "required": True}]},
        {"name": "rest"},
    ]


# The form of the messages.


class MemberOrder(_Full):
    """Members come in reverse order, jsonrpc last: RFC 8259 objects are unordered."""

    def encode(self, message: Any) -> bytes:
        """Reverse the members everywhere."""

        def turn(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: turn(value[key]) for key in reversed(value)}
            return [turn(part) for part in value] if isinstance(value, list) else value

        return super().encode(turn(message))


class ExtraMembers(_Full):
    """Unknown members in results, items and capabilities: "result MAY follow any JSON object"."""

    capabilities = {**_Full.capabilities, "teleport": {"range": 3}, "experimental": {"x": {}}}
    info = {"name": "odd", "version": "1.0", "mood": ["good", None]}

    def change_result(self, method: str, result: Json) -> Json:
        """Add members to each object in a list of the result."""

        def grow(value: Any) -> Any:
            return {**value, "x-more": {"deep": [1, None]}} if isinstance(value, dict) else value

        lists = ("tools", "prompts", "resources", "resourceTemplates", "content", "messages")
        grown = {
            key: [grow(part) for part in value] if key in lists and isinstance(value, list) else value
            for key, value in result.items()
        }
        return {**grown, "served-by": "unit 7", "n": 1.5}


class MetaEverywhere(_Full):
    """_meta with legal odd keys (empty name, dots, own prefix) wherever the schema has it."""

    def change_result(self, method: str, result: Json) -> Json:
        """Add _meta to the result and the items of its lists."""
        meta = {"com.example.mcp/": 1, "a": None, "x.y-z_1": [], "com.example/9": {"deep": {}}}
        lists = ("tools", "prompts", "resources", "resourceTemplates", "content", "contents")
        for key in lists:
            if isinstance(result.get(key), list):
                result = {**result, key: [{**part, "_meta": meta} for part in result[key]]}
        return {**result, "_meta": meta}


class Escaped(_Full):
    """Each letter of each string is written as an escape, which RFC 8259 section 7 allows."""

    def encode(self, message: Any) -> bytes:
        """Escape the letters inside the strings."""
        plain = json.dumps(message)

        def escape(found: re.Match[str]) -> str:
            parts = re.findall(r"\\u[0-9a-fA-F]{4}|\\.|.", found.group(0)[1:-1])
            coded = [p if p[0] == "\\" else "\\/" if p == "/" else f"\\u{ord(p):04X}" for p in parts]
            return '"' + "".join(coded) + '"'

        return re.sub(r'"(?:\\.|[^"\\])*"', escape, plain).encode() + b"\n"


class Whitespace(_Full):
    """Spaces and tabs around each token and line: RFC 8259 section 2; no newline inside."""

    def encode(self, message: Any) -> bytes:
        """Spread the tokens."""
        spread = json.dumps(message, separators=(" \t ,\t ", " \t: "))
        return b" \t" + spread.encode() + b"  \t \n"


class Crlf(_Full):
    """Lines end with CR LF: the delimiter is the newline, and CR is JSON whitespace before it."""

    def encode(self, message: Any) -> bytes:
        """End the line with CR LF."""
        return super().encode(message)[:-1] + b"\r\n"


class Dribble(_Full):
    """Messages leave in pieces of seven bytes: a pipe is a byte stream without borders."""

    def write(self, data: bytes) -> None:
        """Write small pieces."""
        for start in range(0, len(data), 7):
            sys.stdout.buffer.write(data[start : start + 7])
            sys.stdout.buffer.flush()
            time.sleep(0.0002)


class OddNumbers(Odd):
    """Integers written 1.0 or 1e1: JSON Schema 2020-12 (6.1.1 of validation) takes them as integers."""

    capabilities = {"tools": {}, "resources": {}}
    tools = [tool("measure", NONE, outputSchema=shape("n", n={"type": "integer"}))]
    resources = [{"uri": "memo://nine", "name": "nine", "size": "@0.9e1@"}]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Give a structured number and progress."""
        call.progress("@1e0@", total="@2E+0@")  # type: ignore[arg-type]
        return {"content": [text('{"n": 12.0}')], "structuredContent": {"n": "@12.0@"}}

    def encode(self, message: Any) -> bytes:
        """Write the marked numbers as they are."""
        return re.sub(rb'"@([^"@]+)@"', rb"\1", super().encode(message))


class RawUnicode(_Full):
    """Raw U+2028, U+0085 and astral letters inside strings: only LF delimits, and UTF-8 is right."""

    tools = [tool("speak", NONE, title="👩‍🚀 говорить\u2028مرحبا")]

    def encode(self, message: Any) -> bytes:
        """Write UTF-8 instead of escapes."""
        line = json.dumps(message, ensure_ascii=False)
        return line.encode("utf-8", errors="replace") + b"\n"

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Say something with line separators that are no newlines."""
        return "a\u2028b\u2029c\u0085d 𝄞 \x7f e\u0301 \ufeff"


# Features and lists.


class NoCapabilities(Odd):
    """No feature at all: "Other components MAY be implemented"."""

    capabilities: Json = {}


class EmptyLists(Odd):
    """All features are declared and all lists are empty; nothing requires an item."""

    capabilities = _Full.capabilities
    tools: list[Json] = []


class OnlyPrompts(Odd):
    """Only prompts, one of which has no messages, and one that starts with the assistant."""

    capabilities = {"prompts": {}}
    prompts = [{"name": "silence"}, {"name": "réponse à tout", "title": "", "arguments": []}]

    def messages(self, name: str, args: Json) -> list[Json]:
        """No messages, or two of the assistant."""
        if name == "silence":
            return []
        return [{"role": "assistant", "content": text(part)} for part in ("", "42")]


class OnlyTemplates(Odd):
    """The list of resources is empty, the templates use RFC 6570 level 4, and can be read."""

    capabilities = {"resources": {}, "completions": {}}
    resourceTemplates = [  # noqa: N815
        {"uriTemplate": "db://{table}{?limit,where*}{#part}", "name": "table"},
        {"uriTemplate": "files:///{+path}", "name": "file"},
        {"uriTemplate": "log:{/segments*}{;day:4}", "name": "log"},
    ]

    def complete(self, name: str, value: str) -> Json:
        """Only tables are completed."""
        words = ("red", "green") if name == "table" else ()
        return {"values": [word for word in words if word.startswith(value)]}

    def contents(self, uri: str) -> list[Json] | None:
        """Only two tables exist."""
        return [{"uri": uri, "text": ""}] if uri in ("db://red", "db://green") else None


class OnePerPage(_Full):
    """One item per page, and cursors that look like noise: they are "an opaque string token"."""

    page = 1
    tools = [tool(f"tool_{number}") for number in range(5)]

    def cursor(self, start: int) -> str:
        """A cursor of control characters, quotes and letters of all planes."""
        return f'\x00\x1f"\\\n\u2028😀%00{start}' + "=" * 40


class EmptyPages(_Full):
    """The first and the last page are empty; only a missing nextCursor ends a list."""

    def list_page(self, kind: str, params: Json) -> Json:
        """Three pages, of which the second holds all."""
        cursor = params.get("cursor", "first")
        want(cursor in ("first", "second", "third"), "There is no such cursor.")
        if cursor == "first":
            return {kind: [], "nextCursor": "second"}
        return {kind: self.items(kind), "nextCursor": "third"} if cursor == "second" else {kind: []}


class ShuffledLists(_Full):
    """The order of the lists differs each time; no handshake revision asks for an order."""

    tools = [tool(f"tool_{number}") for number in range(6)]

    def items(self, kind: str) -> list[Json]:
        """The items in any order."""
        items = super().items(kind)
        return random.sample(items, len(items))


class GrowingList(Odd):
    """Each call of `hire` adds a tool, and the change is announced: "listChanged"."""

    capabilities = {"tools": {"listChanged": True}}
    tools = [tool("hire")]

    def start(self) -> None:
        """Own a list."""
        self.mine = list(self.tools)

    def items(self, kind: str) -> list[Json]:
        """The grown list."""
        return list(self.mine) if kind == "tools" else super().items(kind)

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Add a tool, up to a limit."""
        if name != "hire":
            return f"{name} says hello"
        if len(self.mine) > 5:
            raise ToolError("The house is full; nobody more can be hired.")
        self.mine.append(tool(f"worker_{len(self.mine)}"))
        self.notify("notifications/tools/list_changed")
        return f"Hired worker {len(self.mine) - 1}"


class UnaskedChanges(_Full):
    """List changes are announced after each answer, though nothing changed; no clause forbids it."""

    capabilities = {
        "tools": {"listChanged": True},
        "resources": {"listChanged": True},
        "prompts": {"listChanged": True},
    }

    def after_answer(self, method: str) -> None:
        """Announce three changes."""
        if self.initialized:
            for kind in ("tools", "resources", "prompts"):
                self.notify(f"notifications/{kind}/list_changed")


class VanishingResources(Odd):
    """The listed resource is always a new one and old ones are gone: lists may change freely."""

    capabilities = {"resources": {}}

    def start(self) -> None:
        """Count the lists."""
        self.count = 0

    def items(self, kind: str) -> list[Json]:
        """Only the newest entry."""
        if kind != "resources":
            return []
        self.count += 1
        return [{"uri": f"log://entry/{self.count}", "name": f"entry {self.count}"}]

    def contents(self, uri: str) -> list[Json] | None:
        """Only the newest entry can be read."""
        return [{"uri": uri, "text": "news"}] if uri == f"log://entry/{self.count}" else None


class OddUris(Odd):
    """URIs without authority, in upper case, with IPv6, of own schemes: all are RFC 3986."""

    capabilities = {"resources": {}}
    resources = [
        {"uri": "urn:isbn:0451450523", "name": "book"},
        {"uri": "MAILTO:someone@host.example", "name": "mail", "title": ""},
        {"uri": "x+y.z-1://[2001:db8::1]:8080/a%20b/../c?q=1&q=2#frag", "name": "far"},
        {"uri": "tag:host.example,2026:%E2%82%AC;a=(b)!$'*", "name": "€", "description": ""},
        {"uri": "data:,hello", "name": "inline", "size": 0, "mimeType": "text/plain;charset=utf-8"},
    ]

    def contents(self, uri: str) -> list[Json] | None:
        """Empty texts and blobs."""
        known = [resource["uri"] for resource in self.resources]
        if uri not in known:
            return None
        return [{"uri": uri, "blob": ""}] if known.index(uri) % 2 else [{"uri": uri, "text": ""}]


class Directory(Odd):
    """Reading a directory gives several contents with other URIs, and updates name sub-resources."""

    capabilities = {"resources": {"subscribe": True}}
    resources = [{"uri": "file:///dir/", "name": "dir", "mimeType": "inode/directory"}]

    def contents(self, uri: str) -> list[Json] | None:
        """The files of the directory, but not the directory itself."""
        if uri != "file:///dir/":
            return None
        one = {"uri": "file:///dir/a.txt", "text": "a", "mimeType": "text/plain"}
        return [one, {"uri": "file:///dir/b.bin", "blob": "AAECAw=="}]

    def subscribe(self, method: str, uri: str) -> None:
        """Announce a change of a part at once (the schema: "might be a sub-resource")."""
        if method == "resources/subscribe":
            self.notify("notifications/resources/updated", {"uri": uri + "a.txt"})


class EmptyStrings(Odd):
    """Empty strings wherever a string has no smallest length; only the tool's name has one."""

    info = {"name": "", "version": "", "title": ""}
    capabilities = {"tools": {}, "prompts": {}}
    tools = [{"name": "x", "title": "", "description": "", "inputSchema": {"type": "object"}}]
    prompts = [{"name": "p", "description": "", "arguments": [{"name": "", "description": ""}]}]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """An empty text."""
        return ""

    def initialize(self, params: Json) -> Json:
        """Empty instructions."""
        return {**super().initialize(params), "instructions": ""}


class LongText(Odd):
    """Descriptions and instructions of 200 kB and an answer of 2 MB: nothing limits them."""

    tools = [{**tool("long"), "description": "A very long story. " * 10_000}]

    def initialize(self, params: Json) -> Json:
        """Long instructions."""
        return {**super().initialize(params), "instructions": "Read on.\n" * 20_000}

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """A long answer."""
        return "0123456789abcdef" * 131_072


class OddToolNames(Odd):
    """Names of 1 and 128 letters, of digits and dots, and two that differ in case: all allowed."""

    names = ["a", "A", "9", "-", "..", "_", "x" * 128, "true", "constructor", "__proto__"]
    tools = [tool(name) for name in names]


# Times, orders and the process.


class SlowStart(_Full):
    """The answer to initialize takes six seconds; no clause sets a time."""

    def initialize(self, params: Json) -> Json:
        """Warm up."""
        time.sleep(6)
        return super().initialize(params)


class SlowFirstCall(Odd):
    """The first call takes eight seconds, as a cache is filled; the later ones are fast."""

    def in_thread(self, method: str, params: Any) -> bool:
        """Go on answering pings meanwhile."""
        return method == "tools/call"

    def start(self) -> None:
        """The cache is cold."""
        self.cold = True

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Fill the cache once."""
        if self.cold:
            self.cold = False
            time.sleep(8)
        return super().run_tool(name, args, call)


class MinutesLong(Odd):
    """One tool needs two minutes, says so, reports progress, and can be cancelled."""

    tools = [
        {**tool("quick"), "description": "Answers at once."},
        {**tool("render"), "description": "Renders a film. This takes about two minutes."},
    ]

    def in_thread(self, method: str, params: Any) -> bool:
        """Render in the background."""
        return method == "tools/call" and isinstance(params, dict) and params.get("name") == "render"

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Wait, unless cancelled."""
        for second in range(120 if name == "render" else 0):
            call.progress(second + 1, total=120, message=f"Frame {second * 24}")
            if call.cancelled.wait(1):
                break
        return "done"


class OutOfOrder(_Full):
    """Answers leave in another order than the requests came: JSON-RPC matches them by id."""

    def in_thread(self, method: str, params: Any) -> bool:
        """Answer all but the handshake in the background."""
        return method not in ("initialize", "ping") and bool(self.negotiated)

    def before_answer(self, method: str, call: Call) -> None:
        """Wait for a random short time."""
        time.sleep(random.random() * 0.08)


class StubbornCalls(Odd):
    """Cancellation is ignored and the answer comes: "MAY ignore if the request cannot be cancelled"."""

    tools = [{**tool("commit"), "description": "Takes two seconds and cannot be cancelled."}]

    def in_thread(self, method: str, params: Any) -> bool:
        """Keep reading meanwhile."""
        return method == "tools/call"

    def on_cancel(self, call: Call) -> None:
        """Ignore it."""

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Take two seconds."""
        time.sleep(2)
        return "committed"


class SlowExit(_Full):
    """The server needs 1.5 seconds to exit after the end of its input: "a reasonable time"."""

    def on_end(self) -> None:
        """Save slowly."""
        time.sleep(1.5)


class NoisyStderr(_Full):
    """Much on stderr that looks like errors: clients "SHOULD NOT assume" that they are."""

    def before_answer(self, method: str, call: Call) -> None:
        """Write 64 kB of alarming words."""
        words = f"ERROR [fatal] ünexpected panic in {method}: Traceback (most recent call last):\n"
        sys.stderr.write(words * 800)
        sys.stderr.flush()


class Quits(Odd):
    """A tool stops the server: it "MAY initiate shutdown by closing its output stream and exiting"."""

    hints = {"destructiveHint": True, "readOnlyHint": False}
    tools = [tool("add", Server.tools[0]["inputSchema"]), tool("stop", NONE, annotations=hints)]

    def start(self) -> None:
        """Nothing was asked yet."""
        self.stopping = False

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Remember the wish to stop."""
        self.stopping = name == "stop"
        return "Good bye." if self.stopping else super().run_tool(name, args, call)

    def after_answer(self, method: str) -> None:
        """Stop."""
        if self.stopping:
            sys.stdout.close()
            sys.exit(0)


class RateLimited(Odd):
    """More than eight calls in a second are refused in words: servers "MUST rate limit" calls."""

    def start(self) -> None:
        """No calls yet."""
        self.calls: list[float] = []

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Refuse a hasty client."""
        now = time.monotonic()
        self.calls = [moment for moment in self.calls if now - moment < 1] + [now]
        if len(self.calls) > 8:
            raise ToolError("Too many calls in one second. Please wait a moment and try again.")
        return super().run_tool(name, args, call)


class OneCallEachSecond(Odd):
    """A second call within a second is refused in words: the strictest form of "MUST rate limit"."""

    tools = [tool("now"), tool("any", {"type": "object"})]

    def start(self) -> None:
        """No calls yet."""
        self.last = 0.0

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Refuse a hasty client."""
        now = time.monotonic()
        if now - self.last < 1:
            raise ToolError("Only one call per second is allowed. Please wait a second.")
        self.last = now
        return f"{name} at {now}"


class FlakyNetwork(Odd):
    """Each second call fails as the network is down: "API failures" are tool execution errors."""

    tools = [tool("fetch", {"type": "object"}, annotations={"readOnlyHint": True})]

    def start(self) -> None:
        """The network works."""
        self.up = False

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Work each second time."""
        self.up = not self.up
        if not self.up:
            raise ToolError("The weather service did not answer. Please try again later.")
        return "sunny"


# The session.


class _OneRevision(_Full):
    capabilities = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}

    def refuse_arguments(self, message: str) -> Json:
        """Before 2025-11-25, invalid arguments are listed as a protocol error."""
        raise RpcError(-32602, message[:300])


class Only20241105(_OneRevision):
    """Only 2024-11-05, whatever is asked: "MUST respond with another version it supports"."""

    versions = ["2024-11-05"]


class Only20250326(_OneRevision):
    """Only 2025-03-26, and its log messages come in batches: "MAY support sending batches"."""

    versions = ["2025-03-26"]

    def after_answer(self, method: str) -> None:
        """Send a batch of two notifications."""
        if method == "tools/list":
            params = {"level": "emergency", "data": "listed"}
            log = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
            self.send([log, log])


class Only20250618(_OneRevision):
    """Only 2025-06-18, with structured content of that revision."""

    versions = ["2025-06-18"]
    tools = [tool("now", NONE, outputSchema=shape("t", t={"type": "number"}))]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """A clock."""
        data = {"t": time.time()}
        return {"content": [text(json.dumps(data))], "structuredContent": data}


class Only20251125(_Full):
    """Only 2025-11-25; it answers each other version with this one."""

    versions = ["2025-11-25"]


class OlderFirst(_Full):
    """Speaks old revisions only, and offers 2025-03-26 for all that it does not know."""

    versions = ["2025-03-26", "2024-11-05"]

    def refuse_arguments(self, message: str) -> Json:
        """These revisions list invalid arguments as a protocol error."""
        raise RpcError(-32602, message[:300])


class StrictStart(_Full):
    """Nothing but ping works before the initialized notification, and a second initialize is refused."""

    def initialize(self, params: Json) -> Json:
        """Refuse to start twice."""
        if self.negotiated:
            raise RpcError(-32600, "The session is already initialized.", ["once only"])
        return super().initialize(params)

    def allow(self, method: str) -> None:
        """Wait for the notification."""
        if not self.initialized:
            raise RpcError(-32600, "Send notifications/initialized first.")


class EagerStart(_Full):
    """All requests work before initialize too: only the client is told not to send them."""

    def allow(self, method: str) -> None:
        """Allow all."""


class EarlyPings(_Full):
    """Pings and logs come between initialize and initialized, which that clause excepts."""

    def after_answer(self, method: str) -> None:
        """Log and ping at once after the answer to initialize."""
        if method == "initialize":
            params = {"level": "info", "data": {"started": True}, "logger": ""}
            self.notify("notifications/message", params)
            self.background(self.ask, "ping")


class SameIds(_Full):
    """The server's pings use the ids of the client's requests: ids are unique per requestor."""

    def start(self) -> None:
        """No pings yet."""
        self.pings = 0
        self.current: Any = 0

    def next_id(self) -> Any:
        """The id of the client's own request."""
        return self.current

    def before_answer(self, method: str, call: Call) -> None:
        """Ping with the same id before the answer."""
        if self.pings < 10 and isinstance(call.id, int):
            self.pings += 1
            self.current = call.id
            self.background(self.ask, "ping")
            time.sleep(0.05)


class AsksClient(Odd):
    """Asks for roots after the handshake, and for samples and forms during calls, if declared."""

    form = {"type": "object", "properties": {"name": {"type": "string", "default": "Ada"}}}
    tools = [tool("poem"), tool("sign"), tool("where")]

    def in_thread(self, method: str, params: Any) -> bool:
        """Calls wait for the client."""
        return method == "tools/call"

    def on_initialized(self) -> None:
        """Ask for the roots at once."""
        if "roots" in self.client:
            self.background(self.ask, "roots/list")

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Ask, and tell what came."""
        message = {"role": "user", "content": text("Write a poem.")}
        feature, method, params = {
            "poem": ("sampling", "sampling/createMessage", {"messages": [message], "maxTokens": 9}),
            "sign": ("elicitation", "elicitation/create", {"message": "Who?", "requestedSchema": self.form}),
            "where": ("roots", "roots/list", None),
        }[name]
        modes = self.client.get("elicitation") or {"form": {}}
        if feature not in self.client or (name == "sign" and "form" not in modes):
            raise ToolError(f"Your client does not offer {feature}.")
        answer = self.ask(method, params)
        if answer is None or "result" not in answer:
            raise ToolError("Your client gave no answer.")
        given = answer["result"]
        if name == "sign" and given.get("action") != "accept":
            raise ToolError("Nobody signed.")
        if name == "sign" and self.valid(self.form, given.get("content")):
            raise ToolError("That is not a name.")
        return json.dumps(given)[:500]


class OddErrors(_Full):
    """Errors carry data of all kinds and empty or long messages; "data?: unknown"."""

    def failure(self, request_id: Any, error: RpcError) -> Json:
        """Add data."""
        code = error.body["code"]
        data = {-32600: [], -32601: 0, -32602: False, -32700: "", -32002: {"nested": {"error": [1]}}}
        body = {"data": data.get(code), "message": error.body["message"] * 3, "code": code}
        return {"error": body, "id": request_id, "jsonrpc": "2.0"}


class NoIdInParseErrors(_Full):
    """Errors of unreadable requests have no id: 2025-11-25 writes "id?: string | number"."""

    versions = ["2025-11-25"]

    def failure(self, request_id: Any, error: RpcError) -> Json:
        """Leave the id out instead of null."""
        whole = super().failure(request_id, error)
        return {key: value for key, value in whole.items() if key != "id" or value is not None}


# Schemas.


class OpenSchema(Odd):
    """Tools that accept any object, and an object of any strings: `{"type": "object"}` is "valid"."""

    strings = {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 0}
    tools = [tool("any", {"type": "object"}), tool("env", strings)]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Count."""
        return f"{len(args)} members"


class RecursiveSchema(Odd):
    """The input is a tree by $ref to the root and to $defs, with ~1 and %25 in pointers."""

    tree = {
        "type": "object",
        "properties": {
            "left": {"$ref": "#"},
            "right": {"$ref": "#/$defs/a~1b%25"},
            "leaf": {"$ref": "#/$defs/word"},
        },
        "additionalProperties": False,
        "$defs": {
            "a/b%": {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
            "word": {"type": "string", "maxLength": 5, "$anchor": "word"},
        },
    }
    tools = [tool("tree", tree)]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Measure the text."""
        return f"{len(json.dumps(args))} letters"


class AnyOfRoot(Odd):
    """One of two groups of members is required, and conditions follow: any 2020-12 keyword may stand."""

    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer", "minimum": 1}, "name": {"type": "string", "minLength": 2}},
        "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
        "if": {"required": ["id"]},
        "then": {"properties": {"name": False}},
        "unevaluatedProperties": False,
    }
    tools = [tool("find", schema)]


class Draft07(Odd):
    """Schemas of draft-07: definitions, dependencies, a tuple, and $ref that hides its siblings."""

    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "definitions": {"pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}},
        "properties": {
            "pair": {"$ref": "#/definitions/pair", "maxItems": 0},
            "card": {"type": "string"},
            "code": {"type": "string"},
        },
        "dependencies": {"card": ["code"]},
        "additionalProperties": False,
    }
    tools = [tool("pay", schema)]


class Draft201909(Odd):
    """Schemas of 2019-09 with $recursiveRef: "MAY include a $schema field to specify another"."""

    schema = {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$id": "https://host.example/node",
        "$recursiveAnchor": True,
        "type": "object",
        "properties": {"next": {"$recursiveRef": "#"}, "n": {"type": "integer"}},
        "additionalProperties": False,
    }
    tools = [tool("chain", schema)]


class OddPatterns(Odd):
    """Patterns in ECMA-262 that other dialects cannot read: \\p{L}, \\cJ, (?<name>), $ at the end only."""

    schema = shape(
        "word",
        word={"type": "string", "pattern": "^\\p{Lu}\\p{Ll}{1,5}$"},
        day={"type": "string", "pattern": "^(?<y>\\d{4})-(?<m>\\d{2})$"},
        more={"type": "object", "patternProperties": {"^[\\w-]+\\/$": {"type": "boolean"}}},
    )
    tools = [tool("word", schema)]

    def valid(self, schema: Json, args: Json) -> str:
        """Check by hand, as Python has no such patterns."""
        if not set(args) <= {"word", "day", "more"} or not isinstance(args.get("word"), str):
            return "word is missing, or a member is unknown"
        word = args["word"]
        if not (2 <= len(word) <= 6 and word[0].isupper() and word[1:].islower() and word.isalpha()):
            return "word is no capitalized word"
        day, more = args.get("day", "2000-01"), args.get("more", {})
        if not isinstance(day, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}", day):
            return "day is not like 2000-01"
        slashed = isinstance(more, dict) and all(
            isinstance(value, bool) for key, value in more.items() if re.search(r"^[\w-]+/\Z", key, re.ASCII)
        )
        return "" if slashed else "more is not an object of switches"


class OddKeywords(Odd):
    """Unknown keywords and formats, defaults that do not fit, a property called $ref, null in enums."""

    schema = {
        "type": "object",
        "x-ui": {"order": ["a"]},
        "$comment": "",
        "properties": {
            "$ref": {"type": "string", "format": "color", "default": 7},
            "type": {"type": ["integer", "null"], "format": "int64", "examples": ["x"]},
            "properties": {"enum": [None, 1, "1", [], {}]},
            "price": {"type": "number", "multipleOf": 0.01, "minimum": -1e308, "maximum": 1e308},
            "__proto__": {"const": None},
            "": {"contentEncoding": "base64", "deprecated": True, "writeOnly": True},
        },
        "required": [],
    }
    tools = [tool("odd", schema)]

    def valid(self, schema: Json, args: Json) -> str:
        """Leave the floating steps of the price out, as decimals are meant."""
        lax = json.loads(json.dumps(schema))
        del lax["properties"]["price"]["multipleOf"]
        price = args.get("price", 0)
        if isinstance(price, int | float) and not isinstance(price, bool):
            near = abs(price) > 1e12 or abs(price * 100 - round(price * 100)) < 1e-6
            if not near:
                return "price has more than two decimals"
        return super().valid(lax, args)


class Impossible(Odd):
    """One tool is switched off by a schema that nothing fits; a schema need not be satisfiable."""

    closed = {"type": "object", "properties": {"x": {"not": {}}}, "required": ["x"]}
    tools = [*Server.tools, tool("off", closed)]


class RemoteRef(Odd):
    """A member is itself a JSON Schema, by $ref to the address of the 2020-12 meta-schema."""

    remote = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    tools = [tool("check", shape("schema", schema=remote))]


class OutputRefs(Odd):
    """The output schema is recursive through $defs; the text has the same JSON in another layout."""

    output = {
        "type": "object",
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "kids": {"items": {"$ref": "#/$defs/node"}}},
                "required": ["name"],
            }
        },
    }
    tools = [tool("tree", NONE, outputSchema=output)]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """A tree, whose text comes after another text."""
        tree = {"name": "é", "kids": [{"name": "b", "kids": []}, {"name": "c"}]}
        words = json.dumps(tree, indent=3, sort_keys=True, ensure_ascii=False)
        return {"content": [text("Here it is:"), text(words)], "structuredContent": tree}


class EmptyStructure(Odd):
    """Structured content is an empty object, or comes without an output schema."""

    tools = [tool("void", NONE, outputSchema={"type": "object"}), tool("free")]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """An empty object, or a free one."""
        data: Json = {} if name == "void" else {"a": None, "b": [1.0, "1"]}
        return {"content": [text(json.dumps(data))], "structuredContent": data}


class FailsWithoutStructure(Odd):
    """A tool with an output schema fails in words; the failure has no structured result to conform."""

    tools = [tool("get", shape("n", n={"type": "integer"}), outputSchema=shape("v", v={"type": "integer"}))]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Only multiples of three exist."""
        if int(args["n"]) % 3:
            raise ToolError(f"There is no record {str(args['n'])[:20]}; only multiples of three exist.")
        data = {"v": int(args["n"])}
        return {"content": [text(json.dumps(data))], "structuredContent": data}


# Results.


class NoContent(Odd):
    """Results with no content, and isError true with no content: `content` is any list."""

    tools = [tool("nothing"), tool("fail_silently")]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """No content."""
        return {"content": [], "isError": name != "nothing"}


class RichContent(Odd):
    """Sound, pictures, links and resources with rare annotations; links need not be listed."""

    capabilities = {"tools": {}, "resources": {}}
    tools = [tool("gallery")]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """One of each."""
        wave = base64.b64encode(
            b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0"
        )
        dated = {"audience": [], "priority": 0, "lastModified": "2025-01-12T17:00:58.123+02:00"}
        link = {"type": "resource_link", "uri": "tag:host.example,2026:x", "name": "", "size": 0}
        return {
            "content": [
                {"type": "audio", "data": wave.decode(), "mimeType": "audio/x-wav;rate=8000"},
                {"type": "image", "data": PIXEL, "mimeType": "IMAGE/PNG", "annotations": dated},
                {"type": "image", "data": "", "mimeType": "image/x.empty"},
                {**link, "annotations": {"priority": 1.0, "audience": ["user", "assistant"]}},
                {"type": "resource", "resource": {"uri": "x:1", "blob": "/+8="}, "annotations": {}},
                {"type": "resource", "resource": {"uri": "x:2", "text": "", "mimeType": "text/x.y+z"}},
                text("", annotations={"priority": 0.5}),
            ]
        }


class IconsAndHints(Odd):
    """Icons as data and for any size, and hints that mean nothing together: all are optional."""

    svg = (
        "data:image/svg+xml;base64," + base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'/>").decode()
    )
    icons = [
        {"src": svg, "sizes": ["any", "48x48", "16x32"], "theme": "dark", "mimeType": "image/svg+xml"},
        {"src": "https://host.example/i"},
        {"src": "data:image/png;base64," + PIXEL, "sizes": []},
    ]
    info = {"name": "odd", "version": "0", "icons": icons, "websiteUrl": "https://host.example"}
    hints = {"title": "", "readOnlyHint": True, "destructiveHint": True, "idempotentHint": False}
    tools = [tool("look", NONE, annotations=hints, icons=icons), tool("see", NONE, annotations={}, icons=[])]


class PickyTool(Odd):
    """Most valid arguments fail in words: "Business logic errors" are tool execution errors."""

    tools = [tool("book", shape("day", day={"type": "string"}, seats={"type": "integer"}))]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Only one day is open."""
        if args["day"] != "2031-02-29":
            raise ToolError("No such day is open: days look like YYYY-MM-DD and are in 2031.")
        return "booked"


class AlarmingWords(Odd):
    """Success whose text is a traceback, and failures whose words look like one: text is data."""

    tools = [tool("last_crash"), tool("explain", shape("word", word={"type": "string"}))]
    trace = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nKeyError: 7\n'

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Give the text of a crash of something else."""
        if name == "last_crash":
            return "The last crash of your program:\n" + self.trace
        raise ToolError("undefined is not an entry; null is not one either (TypeError has its own page).")


class Clocks(Odd):
    """Results differ each time: clocks, counters, dice; only idempotentHint tells, and it is absent."""

    tools = [tool("now", NONE, annotations={"readOnlyHint": True}), tool("dice"), tool("count")]

    def start(self) -> None:
        """Begin at zero."""
        self.count = 0

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Something new each time."""
        self.count += 1
        if name == "dice" and self.count % 3 == 0:
            raise ToolError("The die fell off the table. Throw again.")
        return f"{datetime.now(UTC).isoformat()} {random.random()} {self.count}"


class OddProgress(Odd):
    """Progress from below zero in tiny floats, without total, or past its total; it only must increase."""

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Report."""
        for value in (-5, -0.5, 0, 1e-9, 0.30000000000000004, 7.25):
            call.progress(value, message="")
        call.progress(12.5, total=10)
        call.progress(1e300)
        return super().run_tool(name, args, call)


class OddLogs(_Full):
    """Log data of every JSON type, between requests and answers: "Any JSON serializable type"."""

    data: list[Any] = [None, 0, False, "", [], {}, [[None, {"a": 1e-7}]], "é" * 300]

    def before_answer(self, method: str, call: Call) -> None:
        """Log all at a level that always shows."""
        if self.initialized and method in ("tools/list", "tools/call", "prompts/get"):
            for part in self.data[: 8 if method == "tools/list" else 2]:
                params = {"level": "emergency", "data": part, "logger": "a/b c\n"}
                self.notify("notifications/message", params)


class ManyCompletions(_Full):
    """A hundred completions that ignore the typed value, a huge total: fuzzy matching is free."""

    def complete(self, name: str, value: str) -> Json:
        """Always the same, with an empty word and doubles."""
        return {"values": ["", ""] + [f"{name} {n}" for n in range(98)], "total": 2**53, "hasMore": True}


class RichPrompts(Odd):
    """Prompts with pictures, resources and links; unknown arguments are ignored."""

    capabilities = {"prompts": {"listChanged": False}}
    arguments = [{"name": "größe", "title": "Größe", "required": False}, {"name": "b", "required": True}]
    prompts = [{"name": "a b/c?d=é", "arguments": arguments, "title": "A", "icons": []}]

    def messages(self, name: str, args: Json) -> list[Json]:
        """All kinds of content."""
        picture = {"type": "image", "data": "AAAA", "mimeType": "image/x-raw"}
        part = {"type": "resource", "resource": {"uri": "x:", "blob": "AA==", "mimeType": "a/b"}}
        link = {"type": "resource_link", "uri": "x:y", "name": "y"}
        kinds = [picture, part, link, text(json.dumps(args))]
        return [{"role": "assistant", "content": kind} for kind in kinds]


# Tasks of 2025-11-25.


class _Tasks(Odd):
    versions = ["2025-11-25"]
    capabilities = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}, "cancel": {}}}
    support = "optional"
    tools = [tool("cook", NONE, execution={"taskSupport": "optional"})]

    def start(self) -> None:
        """No tasks yet."""
        self.tasks: dict[str, Json] = {}
        self.results: dict[str, Json] = {}

    def in_thread(self, method: str, params: Any) -> bool:
        """A result is waited for."""
        return method == "tasks/result"

    def stamp(self) -> str:
        """The time now."""
        return datetime.now(UTC).isoformat()

    def call_tool(self, params: Json, call: Call) -> Json:
        """Make a task of the call."""
        if "task" not in params:
            if self.support == "required" and params.get("name") == "cook":
                raise RpcError(-32601, "cook works only as a task.")
            return super().call_tool(params, call)
        want(isinstance(params["task"], dict), "task is not an object")
        ttl = params["task"].get("ttl", 0)
        want(isinstance(ttl, int | float) and not isinstance(ttl, bool), "ttl is no number")
        want(params.get("name") == "cook", "Unknown tool")
        key = str(uuid.uuid4())
        times = {"createdAt": self.stamp(), "lastUpdatedAt": self.stamp()}
        task = {"taskId": key, "status": "working", "ttl": None, "pollInterval": 50, **times}
        self.tasks[key] = task
        self.background(self.work, key, params, call)
        return {"task": dict(task)}

    def work(self, key: str, params: Json, call: Call) -> None:
        """Do the work of a task."""
        time.sleep(0.3)
        result = super().call_tool({**params, "task": None}, call)
        with self.lock:
            if self.tasks[key]["status"] == "working":
                self.results[key] = result
                self.finish(key, "failed" if result.get("isError") else "completed")

    def finish(self, key: str, status: str) -> None:
        """End a task."""
        self.tasks[key] = {**self.tasks[key], "status": status, "lastUpdatedAt": self.stamp()}

    def more_methods(self, method: str, params: Json) -> Json:
        """The methods of tasks."""
        if method == "tasks/list" and "list" in self.capabilities["tasks"]:
            want("cursor" not in params, "There is no such cursor.")
            return {"tasks": list(self.tasks.values())}
        if method not in ("tasks/get", "tasks/result", "tasks/cancel"):
            return super().more_methods(method, params)
        key = params.get("taskId")
        if not isinstance(key, str) or key not in self.tasks:
            raise RpcError(-32602, "Task not found")
        if method == "tasks/cancel":
            with self.lock:
                want(self.tasks[key]["status"] == "working", "The task has ended already.")
                self.finish(key, "cancelled")
        while method == "tasks/result" and self.tasks[key]["status"] == "working":
            time.sleep(0.02)
        if method != "tasks/result":
            return dict(self.tasks[key])
        if key not in self.results:
            raise RpcError(-32603, "The task was cancelled.")
        return {**self.results[key], "_meta": {META + "related-task": {"taskId": key}}}


class TaskRequired(_Tasks):
    """A listed tool answers a plain call with -32601: "Servers MUST return" it when a task is required."""

    support = "required"
    tools = [tool("cook", NONE, execution={"taskSupport": "required"})]


class TaskOptional(_Tasks):
    """Tasks with unlimited ttl in place of the asked one: receivers "MAY override the requested ttl"."""


class TaskIgnored(Odd):
    """No tasks capability, so task parameters are ignored: "MUST process requests ... normally"."""

    tools = [tool("cook", NONE, execution={"taskSupport": "forbidden"})]


# The stateless revision.


class _Modern(Odd):
    versions: list[str] = []
    modern = True


class ModernOnly(_Modern):
    """Only 2026-07-28; initialize is refused with -32022 and the versions, as the matrix allows."""

    capabilities = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
    resources = _Full.resources
    prompts = _Full.prompts


class ModernValues(_Modern):
    """Structured content is a list, a number or null, and output schemas are no objects."""

    tools = [
        tool("many", NONE, outputSchema={"type": "array", "items": {"type": "integer"}}),
        tool("one", NONE, outputSchema={"anyOf": [{"const": 7}, {"type": "string"}]}),
        tool("none", NONE, outputSchema={"type": "null"}),
        tool("free", {"type": "object", "properties": {"any": True, "never": False}}),
    ]

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Any JSON value."""
        value = {"many": [1, 2, 3], "one": 7, "none": None, "free": False}[name]
        return {"content": [text(json.dumps(value))], "structuredContent": value}


class ModernEmptyCursor(_Modern):
    """The cursor of the second page is the empty string, which is "a valid cursor"; ttlMs is 0 or huge."""

    page = 2
    tools = [tool(f"tool_{number}") for number in range(5)]

    def cursor(self, start: int) -> str:
        """The empty string, then blanks."""
        return " " * (start - 2)

    def change_result(self, method: str, result: Json) -> Json:
        """Each page has its own freshness."""
        if "ttlMs" not in result:
            return result
        return {**result, "ttlMs": 2**52 if "nextCursor" in result else 0, "cacheScope": "public"}


class ModernAsks(_Modern):
    """Calls need a form, or only a second round: InputRequiredResult, or -32021 without the capability."""

    form = {"type": "object", "properties": {"who": {"type": "string"}}}
    tools = [tool("sign"), tool("later")]

    def call_tool(self, params: Json, call: Call) -> Json:
        """Look at the second round first."""
        if "requestState" in params:
            want(params["requestState"] in ("", "wait"), "That state is not mine.")
        self.given = params.get("inputResponses") or {}
        self.state = params.get("requestState")
        want(isinstance(self.given, dict), "inputResponses is not an object")
        return super().call_tool(params, call)

    def run_tool(self, name: str, args: Json, call: Call) -> Json | str:
        """Ask for a form, or for patience."""
        if name == "later":
            waits = {"resultType": "input_required", "requestState": "wait"}
            return "It is later now." if self.state == "wait" else waits
        answer = self.given.get("é 1")
        if isinstance(answer, dict) and answer.get("action") == "accept":
            return "Signed."
        if isinstance(answer, dict):
            raise ToolError("Nobody signed.")
        client = call.meta[META + "clientCapabilities"]
        modes = client.get("elicitation") or {"form": {}}
        if "elicitation" not in client or "form" not in modes:
            data = {"requiredCapabilities": {"elicitation": {"form": {}}}}
            raise RpcError(-32021, "This call needs elicitation.", data)
        params = {"mode": "form", "message": "Who?", "requestedSchema": self.form}
        asks = {"é 1": {"method": "elicitation/create", "params": params}}
        return {"resultType": "input_required", "inputRequests": asks, "requestState": ""}


class ModernListens(_Modern):
    """A subscription is granted in part, and a change is announced at once without reason."""

    capabilities = {"tools": {"listChanged": True}, "extensions": {"com.example/x": {"a": 1}}}

    def listen(self, params: Json, call: Call) -> Json | None:
        """Grant only the changes of tools."""
        asked = params.get("notifications")
        self.check_filter(asked)
        granted = {"toolsListChanged": True} if asked and asked.get("toolsListChanged") else {}
        self.acknowledge(call, granted)
        if granted:
            meta = {META + "subscriptionId": call.id}
            self.notify("notifications/tools/list_changed", {"_meta": meta})
        return None


class ModernTraces(_Modern):
    """Results carry traceparent and own keys in _meta, and errors have codes of the application."""

    capabilities = {"tools": {}, "prompts": {}}
    prompts = [{"name": "closed"}]

    def change_result(self, method: str, result: Json) -> Json:
        """Add a trace."""
        trace = {
            "traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
            "tracestate": "a=b",
        }
        return {**result, "_meta": {**result["_meta"], **trace, "com.example/": None}}

    def messages(self, name: str, args: Json) -> list[Json]:
        """This prompt is closed at night, and it is always night."""
        raise RpcError(-1, "The prompt is closed at night.", {"opens": "never"})


class DualEra(_Full):
    """Both eras in one process: "MAY serve both eras concurrently on the same endpoint or process"."""

    modern = True
    stateless = False

    def dispatch(self, method: str, params: Json, call: Call) -> Json | None:
        """Remember the era of the request."""
        self.stateless = self.is_modern(call)
        return super().dispatch(method, params, call)

    def missing(self) -> int:
        """The code of a missing resource depends on the era."""
        return -32602 if self.stateless else -32002


def main() -> None:
    """Run one server, or list all."""
    if len(sys.argv) != 2 or sys.argv[1] not in ODD:
        for name, kind in ODD.items():
            print(f"{name:26} {(kind.__doc__ or '').splitlines()[0]}")
        return
    ODD[sys.argv[1]]().serve()


if __name__ == "__main__":
    main()
