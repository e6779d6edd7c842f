"""A small right MCP server over stdio, with the standard library only, which wrong.py breaks.

It speaks the handshake revisions (2024-11-05 to 2025-11-25) and the stateless revision 2026-07-28.
`python server.py` runs it. Each step of its work is a short method, so that one override is one fault.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from urllib.parse import unquote

Json = dict[str, Any]

HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
PAGES = {"tools": 3, "prompts": 1, "resources": 2, "resourceTemplates": 5}
CACHEABLE = {"server/discover", "tools/list", "prompts/list", "resources/list"}
CACHEABLE |= {"resources/templates/list", "resources/read"}
CITIES = ["Aachen", "Berlin", "Bonn", "Bremen", "Köln", "Ulm"]
STYLES = ["formal", "friendly", "short"]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=="


class RpcError(Exception):
    """A failure that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.body: Json = {"code": code, "message": message}
        if data is not None:
            self.body["data"] = data


class ToolError(Exception):
    """A failure of a tool, which is told in its result with isError."""


@dataclass
class Request:
    """One request: its id, method and params, its revision, and the `_meta` of its params."""

    id: Any
    method: str
    params: Json
    revision: str
    meta: Json = field(default_factory=dict)

    @property
    def modern(self) -> bool:
        return self.revision >= MODERN

    def since(self, revision: str) -> bool:
        return self.revision >= revision


def equal_key(value: Any) -> str:
    """Return a text that is the same for values that JSON Schema calls equal."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, list):
        return "[" + ",".join(equal_key(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{equal_key(value[key])}" for key in sorted(value)) + "}"
    return json.dumps(value)


def is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is not None


class Validator:
    """The keywords of JSON Schema that the tools use; `check_NAME` tells what is wrong, or nothing."""

    def check(self, schema: Json, value: Any, path: str = "arguments") -> str | None:
        for keyword, wanted in schema.items():
            method = getattr(self, f"check_{keyword}", None)
            problem = method and method(wanted, value, path, schema)
            if problem:
                return str(problem)
        return None

    def is_type(self, name: str, value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if name == "integer":
            return number and (isinstance(value, int) or value.is_integer())
        if name == "number":
            return number
        types = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
        return isinstance(value, types[name])

    def check_type(self, wanted: Any, value: Any, path: str, _schema: Json) -> str | None:
        names = wanted if isinstance(wanted, list) else [wanted]
        if any(self.is_type(name, value) for name in names):
            return None
        return f"{path} must be of type {' or '.join(names)}"

    def check_enum(self, wanted: list[Any], value: Any, path: str, _schema: Json) -> str | None:
        if equal_key(value) in [equal_key(item) for item in wanted]:
            return None
        return f"{path} must be one of {', '.join(map(str, wanted))}"

    def check_minimum(self, wanted: float, value: Any, path: str, _schema: Json) -> str | None:
        return (
            f"{path} must be at least {wanted}" if self.is_type("number", value) and value < wanted else None
        )

    def check_maximum(self, wanted: float, value: Any, path: str, _schema: Json) -> str | None:
        return (
            f"{path} must be at most {wanted}" if self.is_type("number", value) and value > wanted else None
        )

    def check_minLength(self, wanted: int, value: Any, path: str, _schema: Json) -> str | None:  # noqa: N802
        return f"{path} is too short" if isinstance(value, str) and len(value) < wanted else None

    def check_maxLength(self, wanted: int, value: Any, path: str, _schema: Json) -> str | None:  # noqa: N802
        return f"{path} is too long" if isinstance(value, str) and len(value) > wanted else None

    def check_pattern(self, wanted: str, value: Any, path: str, _schema: Json) -> str | None:
        wrong = isinstance(value, str) and not re.search(wanted.replace("$", r"\Z"), value)
        return f"{path} must match {wanted}" if wrong else None

    def check_format(self, wanted: str, value: Any, path: str, _schema: Json) -> str | None:
        wrong = wanted == "date" and isinstance(value, str) and not is_date(value)
        return f"{path} must be a date such as 2026-07-28" if wrong else None

    def check_minItems(self, wanted: int, value: Any, path: str, _schema: Json) -> str | None:  # noqa: N802
        return (
            f"{path} needs at least {wanted} items"
            if isinstance(value, list) and len(value) < wanted
            else None
        )

    def check_maxItems(self, wanted: int, value: Any, path: str, _schema: Json) -> str | None:  # noqa: N802
        return (
            f"{path} has more than {wanted} items"
            if isinstance(value, list) and len(value) > wanted
            else None
        )

    def check_uniqueItems(self, wanted: bool, value: Any, path: str, _schema: Json) -> str | None:  # noqa: FBT001, N802, RUF100
        if not wanted or not isinstance(value, list):
            return None
        return f"{path} has equal items" if len({equal_key(item) for item in value}) < len(value) else None

    def check_items(self, wanted: Json, value: Any, path: str, _schema: Json) -> str | None:
        items = value if isinstance(value, list) else []
        problems = (self.check(wanted, item, f"{path}[{index}]") for index, item in enumerate(items))
        return next(filter(None, problems), None)

    def check_required(self, wanted: list[str], value: Any, path: str, _schema: Json) -> str | None:
        missing = [name for name in wanted if isinstance(value, dict) and name not in value]
        return f"{path} must have {missing[0]}" if missing else None

    def check_properties(self, wanted: Json, value: Any, path: str, _schema: Json) -> str | None:
        present = [name for name in wanted if isinstance(value, dict) and name in value]
        problems = (self.check(wanted[name], value[name], f"{path}.{name}") for name in present)
        return next(filter(None, problems), None)

    def check_additionalProperties(self, wanted: Any, value: Any, path: str, schema: Json) -> str | None:  # noqa: N802
        known = schema.get("properties", {})
        extra = [name for name in value if name not in known] if isinstance(value, dict) else []
        return f"{path} must not have {extra[0]}" if wanted is False and extra else None


class Server:
    """The server: messages come in at on_line and go out at send; each method in between is one step."""

    def __init__(self) -> None:
        self.validator = Validator()
        self.revision: str | None = None  # the negotiated handshake revision
        self.level = "info"
        self.subscribed: set[str] = set()  # handshake era: the uris
        self.listening: dict[Any, Json] = {}  # modern era: the id of subscriptions/listen and its filter
        self.cancelled: set[Any] = set()
        self.running: set[Any] = set()
        self.workers: list[threading.Thread] = []
        self.lock = threading.Lock()

    # the stream

    def run(self) -> None:
        for line in sys.stdin.buffer:
            self.on_line(line)
        self.on_end()

    def on_end(self) -> None:
        for worker in self.workers:
            worker.join(1)

    def encode(self, message: Any) -> bytes:
        return json.dumps(message, allow_nan=False).encode()

    def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def send(self, message: Any) -> None:
        with self.lock:
            self.write(self.encode(message) + b"\n")

    def notify(self, method: str, params: Json | None = None) -> None:
        message: Json = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else message | {"params": params})

    # messages

    def decode(self, line: bytes) -> Any:
        def refuse(name: str) -> Any:
            raise ValueError(name)

        return json.loads(line.decode(), parse_constant=refuse)

    def on_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = self.decode(line)
        except (ValueError, RecursionError):
            self.send(self.error(None, RpcError(-32700, "Parse error: the line is not JSON")))
            return
        if isinstance(message, list) and message and self.revision == "2025-03-26":
            self.on_batch(message)
        else:
            self.on_message(message)

    def on_batch(self, messages: list[Any]) -> None:
        answers = [answer for message in messages if (answer := self.answer_now(message))]
        if answers:
            self.send(answers)

    def answer_now(self, message: Any) -> Json | None:
        """Answer one member of a batch in place, for the answers of a batch belong together."""
        if self.is_request(message) and not self.fault_of(message):
            return self.answer(message)
        if self.fault_of(message):
            return self.error(self.readable_id(message), RpcError(-32600, self.fault_of(message) or ""))
        self.on_notification(message)
        return None

    def is_request(self, message: Any) -> bool:
        return isinstance(message, dict) and "id" in message and "method" in message

    def is_response(self, message: Any) -> bool:
        return (
            isinstance(message, dict)
            and "method" not in message
            and ("result" in message or "error" in message)
        )

    def is_notification(self, message: Any) -> bool:
        return isinstance(message, dict) and "method" in message and "id" not in message

    def fault_of(self, message: Any) -> str | None:
        """Tell what makes the message no JSON-RPC message."""
        if not isinstance(message, dict):
            return "Invalid request: not an object"
        if self.is_response(message) or self.is_notification(message):
            return None
        if message.get("jsonrpc") != "2.0":
            return 'Invalid request: jsonrpc must be "2.0"'
        if not isinstance(message.get("method"), str):
            return "Invalid request: method must be a string"
        if self.readable_id(message) is None:
            return "Invalid request: id must be a string or an integer"
        return None

    def readable_id(self, message: Any) -> Any:
        id = message.get("id") if isinstance(message, dict) else None
        return id if isinstance(id, str | int) and not isinstance(id, bool) else None

    def on_message(self, message: Any) -> None:
        fault = self.fault_of(message)
        if fault:
            self.send(self.error(self.readable_id(message), RpcError(-32600, fault)))
        elif self.is_notification(message):
            self.on_notification(message)
        elif self.is_request(message):
            self.on_request(message)

    def on_request(self, message: Json) -> None:
        if message["method"] == "tools/call":
            self.start(message)
        else:
            self.reply(message)

    def start(self, message: Json) -> None:
        """Work on a tool call in a thread, so that it can be cancelled."""
        self.running.add(message["id"])
        worker = threading.Thread(target=self.reply, args=[message], daemon=True)
        self.workers = [other for other in self.workers if other.is_alive()] + [worker]
        worker.start()

    def reply(self, message: Json) -> None:
        answer = self.answer(message)
        id = message["id"]
        if answer is not None and id not in self.cancelled:
            self.send(answer)
        self.running.discard(id)
        self.cancelled.discard(id)

    def answer(self, message: Json) -> Json | None:
        try:
            request = self.request_of(message)
            result = self.call_method(request)
        except RpcError as error:
            return self.error(message["id"], error)
        return None if result is None else self.response(request, result)

    def response(self, request: Request, result: Json) -> Json:
        return {"jsonrpc": "2.0", "id": request.id, "result": self.finish(request, result)}

    def error(self, id: Any, error: RpcError) -> Json:
        answer: Json = {"jsonrpc": "2.0", "error": error.body}
        return answer if id is None else {"jsonrpc": "2.0", "id": id, "error": error.body}

    def finish(self, request: Request, result: Json) -> Json:
        """Add what the modern revision wants in each result."""
        if not request.modern:
            return result
        result = {"resultType": "complete"} | result
        if request.method in CACHEABLE and result["resultType"] == "complete":
            result |= self.cache_hints(request)
        result["_meta"] = result.get("_meta", {}) | {META + "serverInfo": self.info(request)}
        return result

    def cache_hints(self, request: Request) -> Json:
        return {"ttlMs": 60000, "cacheScope": "private" if request.method == "resources/read" else "public"}

    # the era and the metadata of a request

    def request_of(self, message: Json) -> Request:
        params = message.get("params", {})
        if not isinstance(params, dict):
            raise RpcError(-32602, "Invalid params: params must be an object")
        meta = params.get("_meta", {})
        if not isinstance(meta, dict):
            raise RpcError(-32602, "Invalid params: _meta must be an object")
        revision = self.era_of(message["method"], meta)
        request = Request(message["id"], message["method"], params, revision, meta)
        if request.modern:
            self.check_meta(request)
        self.check_token(request)
        return request

    def era_of(self, method: str, meta: Json) -> str:
        modern = method == "server/discover" or META + "protocolVersion" in meta
        if method == "initialize" or (self.revision and not modern):
            return self.revision or HANDSHAKE[-1]
        if method == "ping" and not modern:
            return HANDSHAKE[-1]
        return MODERN

    def check_meta(self, request: Request) -> None:
        version = request.meta.get(META + "protocolVersion")
        if not isinstance(version, str):
            raise RpcError(-32602, f"Invalid params: _meta needs {META}protocolVersion, a string")
        if version != MODERN:
            data = {"supported": self.supported(), "requested": version}
            raise RpcError(-32022, "Unsupported protocol version", data)
        if not isinstance(request.meta.get(META + "clientCapabilities"), dict):
            raise RpcError(-32602, f"Invalid params: _meta needs {META}clientCapabilities, an object")
        self.check_client(request.meta.get(META + "clientInfo", {"name": "", "version": ""}))
        level = request.meta.get(META + "logLevel", "info")
        if level not in LEVELS:
            raise RpcError(-32602, f"Invalid params: unknown log level {level!r}")

    def check_client(self, info: Any) -> None:
        given = [info.get("name"), info.get("version")] if isinstance(info, dict) else []
        if len([value for value in given if isinstance(value, str)]) < 2:
            raise RpcError(-32602, "Invalid params: clientInfo must be an object with name and version")

    def check_token(self, request: Request) -> None:
        token = request.meta.get("progressToken", 0)
        if isinstance(token, bool) or not isinstance(token, str | int):
            raise RpcError(-32602, "Invalid params: progressToken must be a string or an integer")

    def supported(self) -> list[str]:
        return [MODERN]

    # methods

    def methods(self, request: Request) -> dict[str, Any]:
        both = {
            "tools/list": self.tools_list,
            "tools/call": self.tools_call,
            "prompts/list": self.prompts_list,
            "prompts/get": self.prompts_get,
            "resources/list": self.resources_list,
            "resources/templates/list": self.templates_list,
            "resources/read": self.resources_read,
            "completion/complete": self.complete,
        }
        if request.modern:
            return both | {"server/discover": self.discover, "subscriptions/listen": self.listen}
        return both | {
            "initialize": self.initialize,
            "ping": self.ping,
            "logging/setLevel": self.set_level,
            "resources/subscribe": self.subscribe,
            "resources/unsubscribe": self.unsubscribe,
        }

    def call_method(self, request: Request) -> Json | None:
        method = self.methods(request).get(request.method)
        if method is None:
            raise RpcError(-32601, f"Method not found: {request.method}")
        result: Json | None = method(request)
        return result

    def on_notification(self, message: Json) -> None:
        params = message.get("params")
        if message["method"] == "notifications/cancelled" and isinstance(params, dict):
            self.on_cancelled(params.get("requestId"))

    def on_cancelled(self, id: Any) -> None:
        if not isinstance(id, str | int):
            return
        if id in self.running:
            self.cancelled.add(id)
        self.listening.pop(id, None)

    def text(self, request: Request, name: str) -> str:
        """Return a required parameter that is a string."""
        value = request.params.get(name)
        if not isinstance(value, str):
            raise RpcError(-32602, f"Invalid params: {name} must be a string")
        return value

    def object(self, request: Request, name: str) -> Json:
        """Return an optional parameter that is an object."""
        value = request.params.get(name, {})
        if not isinstance(value, dict):
            raise RpcError(-32602, f"Invalid params: {name} must be an object")
        return value

    # the start

    def info(self, request: Request) -> Json:
        info = {"name": "right-server", "version": "1.0.0"}
        return info | {"title": "Right server"} if request.since("2025-06-18") else info

    def capabilities(self, request: Request) -> Json:
        offered: Json = {
            "tools": {"listChanged": True},
            "prompts": {},
            "resources": {"subscribe": True, "listChanged": True},
            "logging": {},
        }
        return offered | {"completions": {}} if request.since("2025-03-26") else offered

    def initialize(self, request: Request) -> Json:
        asked = self.text(request, "protocolVersion")
        if not isinstance(request.params.get("capabilities"), dict):
            raise RpcError(-32602, "Invalid params: capabilities must be an object")
        self.check_client(request.params.get("clientInfo"))
        if self.revision:
            raise RpcError(-32600, "Invalid request: the connection is initialized already")
        self.revision = request.revision = self.negotiate(asked)
        return {
            "protocolVersion": self.revision,
            "capabilities": self.capabilities(request),
            "serverInfo": self.info(request),
            "instructions": "Ask for tools, notes and letters.",
        }

    def negotiate(self, asked: str) -> str:
        return asked if asked in HANDSHAKE else HANDSHAKE[-1]

    def discover(self, request: Request) -> Json:
        return {
            "supportedVersions": self.supported(),
            "capabilities": self.capabilities(request),
            "instructions": "Ask for tools, notes and letters.",
        }

    def ping(self, _request: Request) -> Json:
        return {}

    # pagination

    def cursor_for(self, kind: str, start: int) -> str:
        return base64.urlsafe_b64encode(f"{kind}:{start}".encode()).decode()

    def start_of(self, kind: str, cursor: Any, count: int) -> int:
        """Return where the page of a cursor starts, or raise for a cursor that was never given."""
        try:
            name, _, number = base64.b64decode(cursor, altchars=b"-_", validate=True).decode().partition(":")
            start = int(number)
        except (TypeError, ValueError, binascii.Error):
            name, start = "", 0
        valid = name == kind and 0 < start < count and start % PAGES[kind] == 0
        if not isinstance(cursor, str) or not valid:
            raise RpcError(-32602, "Invalid params: unknown cursor")
        return start

    def page(self, request: Request, kind: str, items: list[Json]) -> Json:
        start = 0
        if "cursor" in request.params:
            start = self.start_of(kind, request.params["cursor"], len(items))
        end = start + PAGES[kind]
        result: Json = {kind: items[start:end]}
        if end < len(items):
            result["nextCursor"] = self.cursor_for(kind, end)
        return result

    # tools

    def tools_list(self, request: Request) -> Json:
        return self.page(request, "tools", self.tools(request))

    def tools(self, request: Request) -> list[Json]:
        tools = [getattr(self, f"{name}_tool")(request) for name in self.tool_names()]
        return [self.for_revision(request, tool) for tool in tools]

    def tool_names(self) -> list[str]:
        return ["convert", "divide", "count", "order", "search", "show", "greet"]

    def for_revision(self, request: Request, item: Json) -> Json:
        """Leave out the members that the revision of the request does not have."""
        newer = {"annotations": "2025-03-26", "title": "2025-06-18", "outputSchema": "2025-06-18"}
        return {name: value for name, value in item.items() if request.since(newer.get(name, ""))}

    def tool(self, name: str, description: str, properties: Json, required: list[str]) -> Json:
        schema = {"type": "object", "properties": properties, "required": required}
        return {
            "name": name,
            "title": name.capitalize(),
            "description": description,
            "inputSchema": schema | {"additionalProperties": False},
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }

    def convert_tool(self, _request: Request) -> Json:
        celsius = {"type": "number", "minimum": -273.15, "maximum": 10000, "description": "Degrees Celsius"}
        output = {
            "type": "object",
            "properties": {
                "celsius": {"type": "number"},
                "fahrenheit": {"type": "number"},
                "state": {"type": "string", "enum": ["ice", "water", "steam"]},
            },
            "required": ["celsius", "fahrenheit", "state"],
            "additionalProperties": False,
        }
        tool = self.tool(
            "convert", "Converts degrees Celsius to Fahrenheit.", {"celsius": celsius}, ["celsius"]
        )
        return tool | {"outputSchema": output}

    def divide_tool(self, _request: Request) -> Json:
        number = {"type": "integer", "minimum": -1000000, "maximum": 1000000}
        properties = {"dividend": number, "divisor": number}
        return self.tool("divide", "Divides two integers; fails for 0.", properties, ["dividend", "divisor"])

    def count_tool(self, _request: Request) -> Json:
        steps = {"type": "integer", "minimum": 1, "maximum": 5, "default": 3}
        return self.tool("count", "Counts slowly and reports progress.", {"steps": steps}, [])

    def order_tool(self, _request: Request) -> Json:
        line = {
            "type": "object",
            "properties": {
                "sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{3}$"},
                "quantity": {"type": "integer", "minimum": 1, "maximum": 99},
            },
            "required": ["sku", "quantity"],
            "additionalProperties": False,
        }
        customer = {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 40},
                "city": {"type": ["string", "null"], "maxLength": 100},
            },
            "required": ["name"],
            "additionalProperties": False,
        }
        tag = {"type": "string", "minLength": 1, "maxLength": 20}
        properties = {
            "customer": customer,
            "lines": {"type": "array", "items": line, "minItems": 1, "maxItems": 5},
            "priority": {"type": "string", "enum": ["low", "normal", "high"], "default": "normal"},
            "due": {"type": "string", "format": "date"},
            "tags": {"type": "array", "items": tag, "uniqueItems": True, "maxItems": 10},
        }
        output = {
            "type": "object",
            "properties": {
                "customer": {"type": "string", "minLength": 1},
                "lines": {"type": "integer", "minimum": 1, "maximum": 5},
                "pieces": {"type": "integer", "minimum": 1, "maximum": 495},
                "priority": {"enum": ["low", "normal", "high"]},
                "due": {"type": ["string", "null"], "format": "date"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["customer", "lines", "pieces", "priority", "due", "tags"],
        }
        tool = self.tool("order", "Sums up an order, without placing it.", properties, ["customer", "lines"])
        return tool | {"outputSchema": output}

    def search_tool(self, _request: Request) -> Json:
        properties = {
            "query": {"type": "string", "maxLength": 200, "description": "A part of a city's name"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 10, "default": 5},
            "exact": {"type": "boolean", "default": False},
        }
        return self.tool("search", "Searches cities by name.", properties, ["query"])

    def show_tool(self, request: Request) -> Json:
        kinds = ["text", "image", "embedded"]
        kinds += ["audio"] if request.since("2025-03-26") else []
        kinds += ["link"] if request.since("2025-06-18") else []
        kind = {"type": "string", "enum": kinds}
        return self.tool("show", "Shows content of one kind.", {"kind": kind}, ["kind"])

    def greet_tool(self, _request: Request) -> Json:
        name = {"type": "string", "maxLength": 50}
        return self.tool("greet", "Greets somebody; asks for a name when there is none.", {"name": name}, [])

    def tools_call(self, request: Request) -> Json:
        name = self.text(request, "name")
        arguments = self.object(request, "arguments")
        tool = next((tool for tool in self.tools(request) if tool["name"] == name), None)
        if tool is None:
            raise RpcError(-32602, f"Unknown tool: {name}")
        problem = self.validator.check(tool["inputSchema"], arguments)
        if problem and not request.since("2025-11-25"):
            raise RpcError(-32602, f"Invalid arguments: {problem}")
        if problem:
            return self.tool_error(f"Invalid arguments: {problem}")
        self.log(request, "info", f"Calling {name}")
        try:
            return self.call_tool(request, name, arguments)
        except ToolError as error:
            return self.tool_error(str(error))

    def call_tool(self, request: Request, name: str, arguments: Json) -> Json:
        result: Json = getattr(self, f"call_{name}")(request, arguments)
        return result

    def tool_error(self, text: str) -> Json:
        return {"content": [{"type": "text", "text": text}], "isError": True}

    def tool_text(self, text: str) -> Json:
        return {"content": [{"type": "text", "text": text}], "isError": False}

    def tool_structured(self, request: Request, value: Any) -> Json:
        result = self.tool_text(json.dumps(value))
        return result | {"structuredContent": value} if request.since("2025-06-18") else result

    def call_convert(self, request: Request, arguments: Json) -> Json:
        celsius = arguments["celsius"]
        state = "ice" if celsius <= 0 else "water" if celsius < 100 else "steam"
        value = {"celsius": celsius, "fahrenheit": round(celsius * 9 / 5 + 32, 2), "state": state}
        return self.tool_structured(request, value)

    def call_divide(self, _request: Request, arguments: Json) -> Json:
        if arguments["divisor"] == 0:
            raise ToolError("The divisor is 0; give another one.")
        return self.tool_text(f"{arguments['dividend'] / arguments['divisor']:.6g}")

    def call_count(self, request: Request, arguments: Json) -> Json:
        steps = int(arguments.get("steps", 3))
        for step in range(1, steps + 1):
            if request.id in self.cancelled:
                break
            time.sleep(0.05)
            self.progress(request, step, steps)
        return self.tool_text(f"Counted to {steps}.")

    def call_order(self, request: Request, arguments: Json) -> Json:
        value = {
            "customer": arguments["customer"]["name"],
            "lines": len(arguments["lines"]),
            "pieces": sum(int(line["quantity"]) for line in arguments["lines"]),
            "priority": arguments.get("priority", "normal"),
            "due": arguments.get("due"),
            "tags": arguments.get("tags", []),
        }
        return self.tool_structured(request, value)

    def call_search(self, _request: Request, arguments: Json) -> Json:
        query = arguments["query"].casefold()
        exact = arguments.get("exact", False)
        found = [city for city in CITIES if (query == city.casefold() if exact else query in city.casefold())]
        found = found[: int(arguments.get("limit", 5))]
        return self.tool_text(", ".join(found) or "Nothing was found.")

    def call_show(self, _request: Request, arguments: Json) -> Json:
        return {"content": [self.content(arguments["kind"])]}

    def content(self, kind: str) -> Json:
        embedded = {"uri": "note://1", "mimeType": "text/plain", "text": "Note 1"}
        contents: dict[str, Json] = {
            "text": {"type": "text", "text": "Grüße, 世界 🌍"},
            "image": {"type": "image", "data": PNG, "mimeType": "image/png"},
            "audio": {"type": "audio", "data": WAV, "mimeType": "audio/wav"},
            "embedded": {"type": "resource", "resource": embedded},
            "link": {"type": "resource_link", "uri": "note://1", "name": "note-1", "mimeType": "text/plain"},
        }
        return contents[kind]

    def call_greet(self, request: Request, arguments: Json) -> Json:
        if not request.modern or "name" in arguments:
            return self.tool_text(f"Hello, {arguments.get('name', 'stranger')}!")
        given = self.object(request, "inputResponses").get("who")
        if isinstance(given, dict) and "action" in given:
            content = given.get("content")
            name = content.get("name") if isinstance(content, dict) else None
            if name is not None and not isinstance(name, str):
                raise ToolError("The name must be a string.")
            return self.tool_text(f"Hello, {name or 'stranger'}!")
        elicitation = request.meta[META + "clientCapabilities"].get("elicitation")
        if not isinstance(elicitation, dict) or not (elicitation == {} or "form" in elicitation):
            return self.tool_text("Hello, stranger!")
        return self.ask()

    def ask(self) -> Json:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        params = {"mode": "form", "message": "What is your name?", "requestedSchema": schema}
        return {
            "resultType": "input_required",
            "inputRequests": {"who": {"method": "elicitation/create", "params": params}},
        }

    # while a request runs

    def progress(self, request: Request, step: float, total: float) -> None:
        token = request.meta.get("progressToken")
        if token is None or request.id in self.cancelled:
            return
        params = {"progressToken": token, "progress": step, "total": total}
        if request.since("2025-03-26"):
            params["message"] = f"Step {step} of {total}"
        self.notify("notifications/progress", params)

    def wants_log(self, request: Request, level: str) -> bool:
        least = request.meta.get(META + "logLevel") if request.modern else self.level
        return least is not None and LEVELS.index(level) >= LEVELS.index(least)

    def log(self, request: Request, level: str, text: str) -> None:
        if self.wants_log(request, level):
            self.notify("notifications/message", {"level": level, "logger": "tools", "data": text})

    def set_level(self, request: Request) -> Json:
        level = self.text(request, "level")
        if level not in LEVELS:
            raise RpcError(-32602, f"Invalid params: unknown log level {level!r}")
        self.level = level
        return {}

    # prompts

    def prompts(self, request: Request) -> list[Json]:
        arguments = [
            {"name": "city", "description": "Where the letter goes", "required": True},
            {"name": "style", "description": "The style of the letter"},
        ]
        prompts = [
            {"name": "letter", "title": "Letter", "description": "Write a letter.", "arguments": arguments},
            {"name": "story", "title": "Story", "description": "Tell a story."},
        ]
        return [self.for_revision(request, prompt) for prompt in prompts]

    def prompts_list(self, request: Request) -> Json:
        return self.page(request, "prompts", self.prompts(request))

    def prompts_get(self, request: Request) -> Json:
        name = self.text(request, "name")
        given = self.object(request, "arguments")
        prompt = next((prompt for prompt in self.prompts(request) if prompt["name"] == name), None)
        if prompt is None:
            raise RpcError(-32602, f"Invalid params: unknown prompt {name}")
        self.check_prompt_arguments(prompt.get("arguments", []), given)
        messages = self.letter(given) if name == "letter" else self.story()
        return {"description": prompt["description"], "messages": messages}

    def check_prompt_arguments(self, declared: list[Json], given: Json) -> None:
        for argument in declared:
            if argument.get("required") and argument["name"] not in given:
                raise RpcError(-32602, f"Invalid params: the argument {argument['name']} is missing")
        for name, value in given.items():
            if not isinstance(value, str):
                raise RpcError(-32602, f"Invalid params: the argument {name} must be a string")

    def letter(self, given: Json) -> list[Json]:
        text = f"Write a {given.get('style', 'friendly')} letter to {given['city']}."
        return [{"role": "user", "content": {"type": "text", "text": text}}]

    def story(self) -> list[Json]:
        opening = {"type": "text", "text": "Once upon a time"}
        return [
            {"role": "user", "content": {"type": "text", "text": "Tell a story about note 1."}},
            {"role": "user", "content": self.content("embedded")},
            {"role": "assistant", "content": opening},
        ]

    # resources

    def resources(self, request: Request) -> list[Json]:
        resources: list[Json] = [
            {"uri": "note://1", "name": "note-1", "title": "Note 1", "mimeType": "text/plain", "size": 6},
            {
                "uri": "note://2",
                "name": "note-2",
                "description": "A note",
                "mimeType": "text/plain",
                "size": 6,
            },
            {"uri": "picture://dot", "name": "dot", "description": "One pixel", "mimeType": "image/png"},
        ]
        return [self.for_revision(request, resource) for resource in resources]

    def resources_list(self, request: Request) -> Json:
        return self.page(request, "resources", self.resources(request))

    def templates(self, request: Request) -> list[Json]:
        template = {"uriTemplate": "city://{name}", "name": "city", "title": "City", "mimeType": "text/plain"}
        return [self.for_revision(request, template)]

    def templates_list(self, request: Request) -> Json:
        return self.page(request, "resourceTemplates", self.templates(request))

    def contents(self, uri: str) -> list[Json] | None:
        """Return the contents of a resource, or None when there is no such resource."""
        if uri == "picture://dot":
            return [{"uri": uri, "mimeType": "image/png", "blob": PNG}]
        texts = {"note://1": "Note 1", "note://2": "Note 2"}
        texts |= {f"city://{city}": f"{city} is a city." for city in CITIES}
        text = texts.get(unquote(uri))
        return None if text is None else [{"uri": uri, "mimeType": "text/plain", "text": text}]

    def resources_read(self, request: Request) -> Json:
        uri = self.text(request, "uri")
        contents = self.contents(uri)
        if contents is None:
            raise self.not_found(request, uri)
        return {"contents": contents}

    def not_found(self, request: Request, uri: str) -> RpcError:
        return RpcError(-32602 if request.modern else -32002, "Resource not found", {"uri": uri})

    def subscribe(self, request: Request) -> Json:
        uri = self.text(request, "uri")
        if self.contents(uri) is None:
            raise self.not_found(request, uri)
        self.subscribed.add(uri)
        return {}

    def unsubscribe(self, request: Request) -> Json:
        self.subscribed.discard(self.text(request, "uri"))
        return {}

    # subscriptions of the modern revision

    def listen(self, request: Request) -> None:
        wanted = request.params.get("notifications")
        if not isinstance(wanted, dict):
            raise RpcError(-32602, "Invalid params: notifications must be an object")
        agreed = self.agreed(request, wanted)
        self.listening[request.id] = agreed
        self.acknowledge(request, agreed)

    def agreed(self, _request: Request, wanted: Json) -> Json:
        for name, value in wanted.items():
            if name.endswith("ListChanged") and not isinstance(value, bool):
                raise RpcError(-32602, f"Invalid params: {name} must be a boolean")
        uris = wanted.get("resourceSubscriptions", [])
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise RpcError(-32602, "Invalid params: resourceSubscriptions must be a list of strings")
        offered = ["toolsListChanged", "resourcesListChanged", "resourceSubscriptions"]
        return {name: wanted[name] for name in offered if wanted.get(name)}

    def acknowledge(self, request: Request, agreed: Json) -> None:
        meta = {META + "subscriptionId": request.id}
        self.notify("notifications/subscriptions/acknowledged", {"_meta": meta, "notifications": agreed})

    # completion

    def complete(self, request: Request) -> Json:
        ref = self.object(request, "ref")
        argument = self.object(request, "argument")
        name, value = argument.get("name"), argument.get("value")
        if not isinstance(name, str) or not isinstance(value, str):
            raise RpcError(-32602, "Invalid params: argument needs a name and a value")
        values = self.suggestions(self.completed(request, ref, name), value)
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}

    def completed(self, request: Request, ref: Json, name: str) -> list[str]:
        """Return all values of the argument that is completed."""
        if ref.get("type") == "ref/prompt" and ref.get("name") in [
            item["name"] for item in self.prompts(request)
        ]:
            known = {"city": CITIES, "style": STYLES} if ref["name"] == "letter" else {}
        elif ref.get("type") == "ref/resource" and ref.get("uri") == "city://{name}":
            known = {"name": CITIES}
        else:
            raise RpcError(-32602, "Invalid params: unknown ref")
        if name not in known:
            raise RpcError(-32602, f"Invalid params: unknown argument {name}")
        return known[name]

    def suggestions(self, known: list[str], value: str) -> list[str]:
        return [item for item in known if item.casefold().startswith(value.casefold())]


if __name__ == "__main__":
    Server().run()
