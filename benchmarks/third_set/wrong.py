"""Wrong MCP servers: each is the right server of server.py with one fault.

`python wrong.py NAME` runs one over stdio; without a name it lists them all with their faults.
The docstring of each tells the fault, the clause that it breaks, and where the idea comes from:
"spec" for the specification, otherwise an issue or a pull request on GitHub.
"""

# ruff: noqa: ARG002 (an override names all arguments)

from __future__ import annotations

import base64
import json
import os
import random
import re
import sys
import threading
import time
from typing import Any

from server import HANDSHAKE, LEVELS, META, PNG, Json, Request, RpcError, Server, ToolError, Validator

FAULTS: dict[str, type[Server]] = {}


def fault(cls: type[Server]) -> type[Server]:
    """Register a server under its name in words-with-hyphens."""
    FAULTS[re.sub(r"(?<!^)([A-Z])", r"-\1", cls.__name__).lower()] = cls
    return cls


# the start and the negotiation of a version


@fault
class EchoVersion(Server):
    """Accepts any proposed version, even one that does not exist.

    2025-11-25 basic/lifecycle; pgedge-postgres-mcp#212.
    """

    def negotiate(self, asked: str) -> str:
        return asked


@fault
class OldestForUnknown(Server):
    """Answers an unknown version with its oldest, not its latest one.

    2025-11-25 basic/lifecycle, SHOULD; spec.
    """

    def negotiate(self, asked: str) -> str:
        return asked if asked in HANDSHAKE else HANDSHAKE[0]


@fault
class NoServerVersion(Server):
    """serverInfo of initialize has no version (2025-11-25 schema, Implementation; spec)."""

    def info(self, request: Request) -> Json:
        info = super().info(request)
        return info if request.modern else {"name": info["name"]}


@fault
class ListChangedText(Server):
    """The capability says listChanged: "true", a string (2025-11-25 schema, ServerCapabilities; spec)."""

    def capabilities(self, request: Request) -> Json:
        return super().capabilities(request) | {"resources": {"subscribe": True, "listChanged": "true"}}


@fault
class AsksForRoots(Server):
    """Asks for roots after initialized, whatever the client declared (2025-11-25 client/roots; spec)."""

    def on_notification(self, message: Json) -> None:
        if message["method"] == "notifications/initialized":
            self.send({"jsonrpc": "2.0", "id": "roots-1", "method": "roots/list"})
        super().on_notification(message)


@fault
class CompletionsUndeclared(Server):
    """Answers completion/complete but does not declare it (2025-11-25 server/utilities/completion; spec)."""

    def capabilities(self, request: Request) -> Json:
        return {name: value for name, value in super().capabilities(request).items() if name != "completions"}


@fault
class LoggingUndeclared(Server):
    """Sends log messages without the logging capability (2025-11-25 server/utilities/logging; spec)."""

    def capabilities(self, request: Request) -> Json:
        return {name: value for name, value in super().capabilities(request).items() if name != "logging"}


# JSON-RPC


@fault
class IdAsNumber(Server):
    """A string id of digits comes back as a number (2025-11-25 basic, responses; python-sdk#1025)."""

    def send(self, message: Any) -> None:
        if isinstance(message, dict) and re.fullmatch("[0-9]+", str(message.get("id"))):
            message = message | {"id": int(message["id"])}
        super().send(message)


@fault
class IdZero(Server):
    """A request with the id 0 is taken for a notification (2025-11-25 basic, requests; spec)."""

    def is_request(self, message: Any) -> bool:
        return super().is_request(message) and message["id"] != 0


@fault
class IdEmpty(Server):
    """A request whose id is the empty string is answered without an id.

    2025-11-25 basic, responses; spec.
    """

    def send(self, message: Any) -> None:
        if isinstance(message, dict) and message.get("id") == "":
            message = {name: value for name, value in message.items() if name != "id"}
        super().send(message)


@fault
class IdRounded(Server):
    """Integer ids go through a float, so ids beyond 2**53 change (2025-11-25 basic, responses; spec)."""

    def send(self, message: Any) -> None:
        if isinstance(message, dict) and isinstance(message.get("id"), int):
            message = message | {"id": int(float(message["id"]))}
        super().send(message)


@fault
class NullError(Server):
    """Each result has "error": null beside it (JSON-RPC 2.0 section 5; spec)."""

    def response(self, request: Request, result: Json) -> Json:
        return super().response(request, result) | {"error": None}


@fault
class AnswersNotifications(Server):
    """An unknown notification is answered with an error (2025-11-25 basic, notifications; java-sdk#130)."""

    def on_notification(self, message: Json) -> None:
        if not str(message["method"]).startswith("notifications/"):
            self.send(self.error(None, RpcError(-32601, f"Method not found: {message['method']}")))
        super().on_notification(message)


@fault
class CancelKills(Server):
    """A cancellation without a requestId ends the process.

    2025-11-25 basic/utilities/cancellation; mcp-gsuite#21.
    """

    def on_notification(self, message: Json) -> None:
        if message["method"] == "notifications/cancelled" and "requestId" not in message.get("params", {}):
            os._exit(1)
        super().on_notification(message)


@fault
class TextCode(Server):
    """The code of the error for an unknown method is a string.

    2025-11-25 basic, error codes are integers; spec.
    """

    def error(self, id: Any, error: RpcError) -> Json:
        if error.body["code"] == -32601:
            error.body["code"] = "-32601"
        return super().error(id, error)


@fault
class UnknownMethodInternal(Server):
    """An unknown method is an internal error (JSON-RPC 2.0 section 5.1; spec)."""

    def error(self, id: Any, error: RpcError) -> Json:
        if error.body["code"] == -32601:
            error.body["code"] = -32603
        return super().error(id, error)


@fault
class NoMessageForCursor(Server):
    """The error for an unknown cursor has no message (2025-11-25 basic, error responses; spec)."""

    def start_of(self, kind: str, cursor: Any, count: int) -> int:
        try:
            return super().start_of(kind, cursor, count)
        except RpcError as error:
            del error.body["message"]
            raise


@fault
class NullForEmpty(Server):
    """logging/setLevel is answered with result: null (2025-11-25 schema, EmptyResult; spec)."""

    def response(self, request: Request, result: Json) -> Json:
        answer = super().response(request, result)
        return answer | {"result": None} if request.method == "logging/setLevel" else answer


@fault
class ReservedCode(Server):
    """An unknown tool is answered with -32050, which is reserved (2026-07-28 basic, error codes; spec)."""

    def tools_call(self, request: Request) -> Json:
        try:
            return super().tools_call(request)
        except RpcError as error:
            if request.modern and "Unknown tool" in str(error):
                error.body["code"] = -32050
            raise


# the stream


@fault
class Banner(Server):
    """Prints a banner on stdout before the first answer (2025-11-25 basic/transports, stdio; spec)."""

    def run(self) -> None:
        self.write(b"right-server is ready\n")
        super().run()


@fault
class PrettyList(Server):
    """The answer to resources/templates/list is printed with newlines.

    2025-11-25 basic/transports, stdio; spec.
    """

    def encode(self, message: Any) -> bytes:
        pretty = isinstance(message, dict) and "resourceTemplates" in message.get("result", {})
        return json.dumps(message, indent=1).encode() if pretty else super().encode(message)


@fault
class Latin1(Server):
    """Writes Latin-1, not UTF-8 (2025-11-25 basic/transports; technocore-chat#361)."""

    def encode(self, message: Any) -> bytes:
        return json.dumps(message, ensure_ascii=False).encode("latin-1", "replace")


@fault
class StaysAfterEnd(Server):
    """Does not exit when stdin is closed (2025-11-25 basic/lifecycle, shutdown; data-api-builder#3647)."""

    def on_end(self) -> None:
        time.sleep(3600)


@fault
class DebugLine(Server):
    """Prints a debug line on stdout when a search finds nothing.

    2025-11-25 basic/transports, stdio; spec.
    """

    def call_search(self, request: Request, arguments: Json) -> Json:
        result = super().call_search(request, arguments)
        if "Nothing" in result["content"][0]["text"]:
            with self.lock:
                self.write(b"DEBUG no hits\n")
        return result


@fault
class ShortLines(Server):
    """Reads at most 8192 bytes of a line and takes the rest for the next one.

    2025-11-25 basic/transports; spec.
    """

    def run(self) -> None:
        while line := sys.stdin.buffer.readline(8192):
            self.on_line(line)


@fault
class ByteOrderMark(Server):
    """Writes a byte order mark before its first message.

    2025-11-25 basic/transports, stdio; data-api-builder#3647.
    """

    def run(self) -> None:
        self.write(b"\xef\xbb\xbf")
        super().run()


@fault
class DiesOfGarbage(Server):
    """A line that is not JSON ends the process (JSON-RPC 2.0 section 5.1, parse error; spec)."""

    def on_line(self, line: bytes) -> None:
        try:
            self.decode(line)
        except (ValueError, RecursionError):
            os._exit(1)
        super().on_line(line)


# pagination


@fault
class EndCursorEmpty(Server):
    """The last page has nextCursor "", which then gives the first page.

    2026-07-28 pagination; langchain-mcp-adapters#250.
    """

    def page(self, request: Request, kind: str, items: list[Json]) -> Json:
        if request.params.get("cursor") == "":
            del request.params["cursor"]
        return {"nextCursor": ""} | super().page(request, kind, items)


@fault
class CursorNull(Server):
    """The last page has nextCursor: null (2025-11-25 schema, PaginatedResult: a string; spec)."""

    def page(self, request: Request, kind: str, items: list[Json]) -> Json:
        return {"nextCursor": None} | super().page(request, kind, items)


@fault
class PageOverlap(Server):
    """A page begins with the last item of the page before (2025-11-25 server/utilities/pagination; spec)."""

    def page(self, request: Request, kind: str, items: list[Json]) -> Json:
        result = super().page(request, kind, items)
        if "cursor" in request.params and result[kind]:
            before = items.index(result[kind][0]) - 1
            result[kind] = [items[before], *result[kind]]
        return result


@fault
class BadCursorFirstPage(Server):
    """An unknown cursor gives the first page.

    2025-11-25 server/utilities/pagination, SHOULD -32602; spec.
    """

    def start_of(self, kind: str, cursor: Any, count: int) -> int:
        try:
            return super().start_of(kind, cursor, count)
        except RpcError:
            return 0


@fault
class CursorOnce(Server):
    """A cursor works only once (2025-11-25 server/utilities/pagination, SHOULD be stable; spec)."""

    def start_of(self, kind: str, cursor: Any, count: int) -> int:
        start = super().start_of(kind, cursor, count)
        used = self.__dict__.setdefault("used", set())
        if cursor in used:
            raise RpcError(-32602, "Invalid params: the cursor is used up")
        used.add(cursor)
        return start


# tools


@fault
class SchemaWithoutType(Server):
    """The inputSchema of a tool has no type: object (2025-11-25 schema, Tool; spec)."""

    def count_tool(self, request: Request) -> Json:
        tool = super().count_tool(request)
        del tool["inputSchema"]["type"]
        return tool


@fault
class RequiredInProperty(Server):
    """A property says required: true, as JSON Schema draft 3 did.

    2025-11-25 basic, schemas are valid; spec.
    """

    def search_tool(self, request: Request) -> Json:
        tool = super().search_tool(request)
        tool["inputSchema"]["properties"]["query"]["required"] = True
        return tool

    def __init__(self) -> None:
        super().__init__()

        class Lenient(Validator):
            def check_required(self, wanted: Any, value: Any, path: str, schema: Json) -> str | None:
                return None if wanted is True else super().check_required(wanted, value, path, schema)

        self.validator = Lenient()


@fault
class UnknownToolInResult(Server):
    """An unknown tool is told with isError, not as a protocol error.

    2025-11-25 server/tools, errors; spec.
    """

    def tools_call(self, request: Request) -> Json:
        try:
            return super().tools_call(request)
        except RpcError as error:
            if "Unknown tool" in str(error):
                return self.tool_error(str(error))
            raise


@fault
class ArgumentsProtocolError(Server):
    """Wrong arguments are a protocol error also since 2025-11-25 (2025-11-25 server/tools, errors; spec)."""

    def tools_call(self, request: Request) -> Json:
        result = super().tools_call(request)
        text = result.get("content", [{}])[0].get("text", "")
        if text.startswith("Invalid arguments"):
            raise RpcError(-32602, text)
        return result


@fault
class StructuredMissing(Server):
    """A tool with an outputSchema gives no structuredContent (2025-11-25 server/tools; wassette#263)."""

    def call_convert(self, request: Request, arguments: Json) -> Json:
        result = super().call_convert(request, arguments)
        return {name: value for name, value in result.items() if name != "structuredContent"}


@fault
class StructuredNotInText(Server):
    """The text beside structuredContent is not its JSON (2025-11-25 server/tools, SHOULD; spec)."""

    def tool_structured(self, request: Request, value: Any) -> Json:
        return super().tool_structured(request, value) | self.tool_text("Done.")


@fault
class ContentMissing(Server):
    """A result with structuredContent has no content (2025-11-25 schema, CallToolResult; spec)."""

    def call_order(self, request: Request, arguments: Json) -> Json:
        result = super().call_order(request, arguments)
        return {name: value for name, value in result.items() if name != "content"}


@fault
class ImageDataUrl(Server):
    """The data of an image is a data URL, not Base64 (2025-11-25 server/tools, image content; spec)."""

    def content(self, kind: str) -> Json:
        content = super().content(kind)
        return content | {"data": f"data:image/png;base64,{PNG}"} if kind == "image" else content


@fault
class LinkWithoutName(Server):
    """A resource link has no name (2025-11-25 schema, ResourceLink; spec)."""

    def content(self, kind: str) -> Json:
        content = super().content(kind)
        return {key: value for key, value in content.items() if kind != "link" or key != "name"}


@fault
class IsErrorText(Server):
    """isError is the string "false" (2025-11-25 schema, CallToolResult; spec)."""

    def call_search(self, request: Request, arguments: Json) -> Json:
        return super().call_search(request, arguments) | {"isError": "false"}


@fault
class ToolFailureInternal(Server):
    """A failure of a tool is the protocol error -32603.

    2025-11-25 server/tools, errors; typescript-sdk#654.
    """

    def call_tool(self, request: Request, name: str, arguments: Json) -> Json:
        try:
            return super().call_tool(request, name, arguments)
        except ToolError as error:
            raise RpcError(-32603, str(error)) from error


@fault
class ToolsGrow(Server):
    """tools/list has one tool more after a tool was called (2026-07-28 server/tools, capabilities; spec)."""

    called = False

    def tool_names(self) -> list[str]:
        return super().tool_names()[: 7 if self.called else 6]

    def call_tool(self, request: Request, name: str, arguments: Json) -> Json:
        self.called = True
        return super().call_tool(request, name, arguments)


@fault
class ToolsShuffled(Server):
    """The order of tools/list differs from request to request (2026-07-28 server/tools, SHOULD; spec)."""

    def tools_list(self, request: Request) -> Json:
        result = super().tools_list(request)
        random.shuffle(result["tools"])
        return result


@fault
class ArgumentsNeeded(Server):
    """A call without arguments of a tool that needs none is an error.

    2025-11-25 schema, CallToolRequest; spec.
    """

    def tools_call(self, request: Request) -> Json:
        if "arguments" not in request.params:
            raise RpcError(-32602, "Invalid params: arguments is missing")
        return super().tools_call(request)


# prompts


@fault
class PromptArgumentMissing(Server):
    """A prompt is given without its required argument (2025-11-25 server/prompts, errors, SHOULD; spec)."""

    def check_prompt_arguments(self, declared: list[Json], given: Json) -> None:
        for argument in declared:
            given.setdefault(argument["name"], "None")


@fault
class PromptUnknownEmpty(Server):
    """An unknown prompt has no messages, and no error (2025-11-25 server/prompts, errors, SHOULD; spec)."""

    def prompts_get(self, request: Request) -> Json:
        try:
            return super().prompts_get(request)
        except RpcError as error:
            if "unknown prompt" in str(error):
                return {"messages": []}
            raise


@fault
class PromptRoleSystem(Server):
    """A message of a prompt has the role "system" (2025-11-25 schema, PromptMessage; spec)."""

    def story(self) -> list[Json]:
        return [super().story()[0] | {"role": "system"}, *super().story()[1:]]


@fault
class PromptContentList(Server):
    """The content of a prompt's message is a list when a style is given.

    2025-11-25 schema, PromptMessage; spec.
    """

    def letter(self, given: Json) -> list[Json]:
        messages = super().letter(given)
        return [
            message | {"content": [message["content"]]} if "style" in given else message
            for message in messages
        ]


@fault
class PromptResourceWithoutType(Server):
    """A resource embedded in a prompt has no mimeType (2025-11-25 server/prompts, MUST include; spec)."""

    def story(self) -> list[Json]:
        messages = super().story()
        del messages[1]["content"]["resource"]["mimeType"]
        return messages


# resources


@fault
class NotFoundEmpty(Server):
    """An unknown resource has empty contents (2026-07-28 server/resources, MUST NOT; spec)."""

    def resources_read(self, request: Request) -> Json:
        try:
            return super().resources_read(request)
        except RpcError as error:
            if "not found" in str(error):
                return {"contents": []}
            raise


@fault
class NotFoundZero(Server):
    """An unknown resource is answered with the code 0.

    2025-11-25 server/resources, errors; python-sdk#1579.
    """

    def not_found(self, request: Request, uri: str) -> RpcError:
        return RpcError(0, f"Unknown resource: {uri}")


@fault
class OldCodeInModern(Server):
    """An unknown resource is answered with -32002 in 2026-07-28 too.

    2026-07-28 server/resources; python-sdk#2920.
    """

    def not_found(self, request: Request, uri: str) -> RpcError:
        return RpcError(-32002, "Resource not found", {"uri": uri})


@fault
class ContentsOtherUri(Server):
    """The contents of a resource have another uri than the one that was read.

    2025-11-25 server/resources; spec.
    """

    def contents(self, uri: str) -> list[Json] | None:
        contents = super().contents(uri)
        return contents and [item | {"uri": uri + "/"} for item in contents]


@fault
class BlobUrlSafe(Server):
    """A blob is written in the URL-safe alphabet of Base64, without padding.

    2025-11-25 schema, byte format; spec.
    """

    def contents(self, uri: str) -> list[Json] | None:
        blob = base64.urlsafe_b64encode(base64.b64decode(PNG)).decode().rstrip("=") + "-_"
        contents = super().contents(uri)
        return contents and [item | ({"blob": blob} if "blob" in item else {}) for item in contents]


@fault
class ContentsWithoutText(Server):
    """The contents of an empty note have neither text nor blob.

    2025-11-25 schema, ReadResourceResult; spec.
    """

    def contents(self, uri: str) -> list[Json] | None:
        return [{"uri": uri, "mimeType": "text/plain"}] if uri == "note://2" else super().contents(uri)


@fault
class SizeWrong(Server):
    """A resource says a size that its contents do not have.

    2025-11-25 server/resources, size in bytes; spec.
    """

    def resources(self, request: Request) -> list[Json]:
        resources = super().resources(request)
        return [resources[0] | {"size": 600}, *resources[1:]]


@fault
class UriWithoutScheme(Server):
    """The uri of a listed resource is a bare path with a space.

    2025-11-25 server/resources, RFC 3986; spec.
    """

    def resources(self, request: Request) -> list[Json]:
        return [*super().resources(request), {"uri": "my notes/3", "name": "note-3"}]

    def contents(self, uri: str) -> list[Json] | None:
        text = [{"uri": uri, "mimeType": "text/plain", "text": "Note 3"}]
        return text if uri == "my notes/3" else super().contents(uri)


@fault
class TemplateBroken(Server):
    """A uriTemplate has a brace that is not closed (2025-11-25 server/resources, RFC 6570; spec)."""

    def templates(self, request: Request) -> list[Json]:
        return [*super().templates(request), {"uriTemplate": "note://{number", "name": "note"}]


@fault
class SubscribeMissing(Server):
    """Declares subscribe but does not know resources/subscribe (2025-11-25 server/resources; spec)."""

    def methods(self, request: Request) -> dict[str, Any]:
        return {
            name: value for name, value in super().methods(request).items() if name != "resources/subscribe"
        }


@fault
class ListedNotReadable(Server):
    """A listed resource cannot be read: it is looked up by its name in lower case.

    2025-11-25 server/resources; spec.
    """

    def resources(self, request: Request) -> list[Json]:
        return [*super().resources(request), {"uri": "note://Readme", "name": "Readme"}]


# completion


@fault
class CompletionTooMany(Server):
    """Gives 150 values for an empty text (2025-11-25 server/utilities/completion, at most 100; spec)."""

    def suggestions(self, known: list[str], value: str) -> list[str]:
        return super().suggestions(known, value) + [f"Stadt {n}" for n in range(150) if not value]


@fault
class CompletionByName(Server):
    """Completes a template only when the ref has its name, not its uri.

    2025-11-25 completion; quarkus-mcp-server#493.
    """

    def completed(self, request: Request, ref: Json, name: str) -> list[str]:
        if ref.get("type") == "ref/resource" and "name" not in ref:
            raise RpcError(-32602, "Invalid params: there is no template null")
        return super().completed(request, ref, name)


@fault
class CompletionTotalLow(Server):
    """total is lower than the number of values (2025-11-25 server/utilities/completion; spec)."""

    def complete(self, request: Request) -> Json:
        result = super().complete(request)
        result["completion"]["total"] = max(0, len(result["completion"]["values"]) - 1)
        return result


@fault
class CompletionUnknownRef(Server):
    """An unknown prompt is completed with no values (2025-11-25 completion, errors, SHOULD -32602; spec)."""

    def completed(self, request: Request, ref: Json, name: str) -> list[str]:
        try:
            return super().completed(request, ref, name)
        except RpcError:
            return []


# logging


@fault
class LevelIgnored(Server):
    """Sends info messages after logging/setLevel to error (2025-11-25 server/utilities/logging; spec)."""

    def wants_log(self, request: Request, level: str) -> bool:
        return not request.modern or super().wants_log(request, level)


@fault
class LevelUnknown(Server):
    """Takes an unknown level for info (2025-11-25 server/utilities/logging, SHOULD -32602; spec)."""

    def set_level(self, request: Request) -> Json:
        self.level = request.params.get("level") if request.params.get("level") in LEVELS else "info"
        return {}


@fault
class LevelWarn(Server):
    """Sends messages of the level "warn" (2025-11-25 schema, LoggingLevel; spec)."""

    def log(self, request: Request, level: str, text: str) -> None:
        super().log(request, level, text)
        if self.wants_log(request, "warning"):
            self.notify("notifications/message", {"level": "warn", "data": text})


@fault
class ModernLogUnasked(Server):
    """Sends messages for requests without logLevel (2026-07-28 server/utilities/logging, MUST NOT; spec)."""

    def wants_log(self, request: Request, level: str) -> bool:
        return super().wants_log(request, level) or (request.modern and META + "logLevel" not in request.meta)


@fault
class ModernLogSticky(Server):
    """Remembers the logLevel of an earlier request (2026-07-28 server/utilities/logging, basic; spec)."""

    sticky: str | None = None

    def wants_log(self, request: Request, level: str) -> bool:
        if request.modern:
            self.sticky = request.meta.get(META + "logLevel", self.sticky)
            request.meta = request.meta | ({META + "logLevel": self.sticky} if self.sticky else {})
        return super().wants_log(request, level)


# progress and cancellation


@fault
class OwnToken(Server):
    """Makes up a progress token from the id (2025-11-25 basic/utilities/progress; twenty#24559)."""

    def progress(self, request: Request, step: float, total: float) -> None:
        token = f"tool-call-{request.id}" if "progressToken" in request.meta else None
        request.meta = request.meta | {"progressToken": token}
        super().progress(request, step, total)


@fault
class TokenAsText(Server):
    """A progress token that is a number comes back as a string.

    2025-11-25 basic/utilities/progress; spec.
    """

    def progress(self, request: Request, step: float, total: float) -> None:
        if "progressToken" in request.meta:
            request.meta = request.meta | {"progressToken": str(request.meta["progressToken"])}
        super().progress(request, step, total)


@fault
class ProgressAfterEnd(Server):
    """Sends one more progress notification after the answer (2025-11-25 basic/utilities/progress; spec)."""

    def reply(self, message: Json) -> None:
        super().reply(message)
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(meta, dict) and "progressToken" in meta and message["method"] == "tools/call":
            last = {"progressToken": meta["progressToken"], "progress": 100}
            threading.Timer(0.02, self.notify, ["notifications/progress", last]).start()


@fault
class ProgressRestarts(Server):
    """The last progress is as high as the one before.

    2025-11-25 basic/utilities/progress, MUST increase; spec.
    """

    def progress(self, request: Request, step: float, total: float) -> None:
        super().progress(request, step - 1 if step == total and step > 1 else step, total)


@fault
class CancelAnswered(Server):
    """A cancelled request is answered with an error.

    2025-11-25 basic/utilities/cancellation; python-sdk#2480.
    """

    def on_cancelled(self, id: Any) -> None:
        super().on_cancelled(id)
        if isinstance(id, str | int) and id in self.cancelled:
            self.send(self.error(id, RpcError(0, "Request cancelled")))


@fault
class CancelProgress(Server):
    """Sends progress after the cancellation (2026-07-28 basic/transports/stdio, MUST NOT; spec)."""

    def call_count(self, request: Request, arguments: Json) -> Json:
        token = request.meta.get("progressToken")
        for step in range(1, 6):
            time.sleep(0.05)
            if token is not None:
                self.notify("notifications/progress", {"progressToken": token, "progress": step})
        return self.tool_text("Counted.")


# changes of lists


@fault
class ChangeUndeclared(Server):
    """Sends prompts/list_changed though prompts.listChanged is not declared.

    2025-11-25 server/prompts; spec.
    """

    def on_notification(self, message: Json) -> None:
        super().on_notification(message)
        if message["method"] == "notifications/initialized":
            self.notify("notifications/prompts/list_changed")


@fault
class ModernChangeUnasked(Server):
    """Sends tools/list_changed that nobody listens to (2026-07-28 basic/patterns/subscriptions; spec)."""

    def tools_list(self, request: Request) -> Json:
        if request.modern:
            self.notify("notifications/tools/list_changed")
        return super().tools_list(request)


# the stateless revision


@fault
class VersionOptional(Server):
    """server/discover needs no protocolVersion in _meta (2026-07-28 basic, _meta; spec)."""

    def check_meta(self, request: Request) -> None:
        if request.method == "server/discover":
            request.meta = {META + "protocolVersion": request.revision} | request.meta
        super().check_meta(request)


@fault
class CapabilitiesOptional(Server):
    """clientCapabilities may be missing in _meta (2026-07-28 basic, _meta; spec)."""

    def check_meta(self, request: Request) -> None:
        request.meta = {META + "clientCapabilities": {}} | request.meta
        super().check_meta(request)


@fault
class UnsupportedWithoutList(Server):
    """The error for an unsupported version does not list the supported ones.

    2026-07-28 basic/versioning; spec.
    """

    def check_meta(self, request: Request) -> None:
        try:
            super().check_meta(request)
        except RpcError as error:
            error.body.get("data", {}).pop("supported", None)
            raise


@fault
class DiscoverOtherVersions(Server):
    """supportedVersions names an older version only, not the one that is spoken.

    2026-07-28 server/discover; spec.
    """

    def discover(self, request: Request) -> Json:
        return super().discover(request) | {"supportedVersions": HANDSHAKE[-1:]}


@fault
class NoResultType(Server):
    """The result of completion/complete has no resultType (2026-07-28 basic, resultType; spec)."""

    def finish(self, request: Request, result: Json) -> Json:
        result = super().finish(request, result)
        if request.method == "completion/complete":
            result.pop("resultType", None)
        return result


@fault
class ResultTypeUnknown(Server):
    """The resultType of a tool error is "error" (2026-07-28 basic, resultType; spec)."""

    def tool_error(self, text: str) -> Json:
        return super().tool_error(text) | {"resultType": "error"}


@fault
class TtlFraction(Server):
    """ttlMs of resources/read is not an integer (2026-07-28 server/utilities/caching; spec)."""

    def cache_hints(self, request: Request) -> Json:
        hints = super().cache_hints(request)
        return hints | {"ttlMs": 1500.5} if request.method == "resources/read" else hints


@fault
class ScopeVaries(Server):
    """The second page of a list has another cacheScope (2026-07-28 server/utilities/caching, MUST; spec)."""

    def cache_hints(self, request: Request) -> Json:
        hints = super().cache_hints(request)
        return hints | {"cacheScope": "private"} if "cursor" in request.params else hints


@fault
class ScopeMissing(Server):
    """resources/templates/list has no cacheScope (2026-07-28 server/utilities/caching; spec)."""

    def cache_hints(self, request: Request) -> Json:
        hints = super().cache_hints(request)
        return {"ttlMs": hints["ttlMs"]} if request.method == "resources/templates/list" else hints


@fault
class ModernPing(Server):
    """Still answers ping in 2026-07-28, where it was removed (2026-07-28 changelog; spec)."""

    def methods(self, request: Request) -> dict[str, Any]:
        return super().methods(request) | {"ping": self.ping}


@fault
class DiscoverFirst(Server):
    """Refuses a request before server/discover was sent (2026-07-28 basic, statelessness; spec)."""

    discovered = False

    def call_method(self, request: Request) -> Json | None:
        self.discovered = self.discovered or request.method == "server/discover"
        if request.modern and not self.discovered:
            raise RpcError(-32600, "Invalid request: send server/discover first")
        return super().call_method(request)


@fault
class ListenEndsAtOnce(Server):
    """subscriptions/listen is answered at once, and not acknowledged.

    2026-07-28 subscriptions; inspector#2097.
    """

    def listen(self, request: Request) -> Any:
        return {"_meta": {META + "subscriptionId": request.id}}


@fault
class ListenAgreesToAll(Server):
    """Acknowledges promptsListChanged, which it does not support (2026-07-28 subscriptions; spec)."""

    def agreed(self, request: Request, wanted: Json) -> Json:
        super().agreed(request, wanted)
        return wanted


@fault
class ListenIdText(Server):
    """The subscriptionId is a string also when the id is a number (2026-07-28 subscriptions; spec)."""

    def acknowledge(self, request: Request, agreed: Json) -> None:
        meta = {META + "subscriptionId": str(request.id)}
        self.notify("notifications/subscriptions/acknowledged", {"_meta": meta, "notifications": agreed})


@fault
class ListenUnasked(Server):
    """A subscription for tools gets resources/list_changed, too.

    2026-07-28 subscriptions, MUST NOT; spec.
    """

    def acknowledge(self, request: Request, agreed: Json) -> None:
        super().acknowledge(request, agreed)
        self.notify("notifications/resources/list_changed", {"_meta": {META + "subscriptionId": request.id}})


@fault
class ListenTooEarly(Server):
    """A notification of the subscription comes before its acknowledgement.

    2026-07-28 subscriptions; spec.
    """

    def acknowledge(self, request: Request, agreed: Json) -> None:
        if agreed.get("toolsListChanged"):
            self.notify("notifications/tools/list_changed", {"_meta": {META + "subscriptionId": request.id}})
        super().acknowledge(request, agreed)


@fault
class AsksUndeclared(Server):
    """Asks for elicitation that the client did not declare.

    2026-07-28 basic/patterns/mrtr, MUST NOT; spec.
    """

    def call_greet(self, request: Request, arguments: Json) -> Json:
        retry = "inputResponses" in request.params or "name" in arguments or not request.modern
        return super().call_greet(request, arguments) if retry else self.ask()


@fault
class AsksNothing(Server):
    """An input_required result has neither inputRequests nor requestState (2026-07-28 mrtr, MUST; spec)."""

    def ask(self) -> Json:
        return {"resultType": "input_required", "content": []}


@fault
class RetryRefused(Server):
    """An unexpected member of inputResponses is an error (2026-07-28 mrtr, errors, SHOULD ignore; spec)."""

    def call_greet(self, request: Request, arguments: Json) -> Json:
        if set(self.object(request, "inputResponses")) - {"who"}:
            raise RpcError(-32602, "Invalid params: unknown input response")
        return super().call_greet(request, arguments)


# faults that only particular valid arguments show


@fault
class LimitOffByOne(Server):
    """search fails for the highest limit (2025-11-25 server/tools: valid arguments; spec)."""

    def call_search(self, request: Request, arguments: Json) -> Json:
        if arguments.get("limit", 5) >= 10:
            raise RpcError(-32603, "list index out of range")
        return super().call_search(request, arguments)


@fault
class EmptyQuery(Server):
    """search never answers for an empty query (JSON-RPC 2.0 section 5: each request is answered; spec)."""

    def call_search(self, request: Request, arguments: Json) -> Json:
        if not arguments["query"]:
            sys.exit()  # ends the thread only
        return super().call_search(request, arguments)


@fault
class DateTimeOut(Server):
    """order gives a date back with a time, against its outputSchema.

    2025-11-25 server/tools, output schema; spec.
    """

    def tool_structured(self, request: Request, value: Any) -> Json:
        return super().tool_structured(
            request, value | {"due": value["due"] + "T00:00:00"} if value.get("due") else value
        )


@fault
class EmptyTagsNull(Server):
    """order gives null for an empty list of tags, against its outputSchema.

    2025-11-25 server/tools; go-sdk nil slices.
    """

    def tool_structured(self, request: Request, value: Any) -> Json:
        return super().tool_structured(request, value | {"tags": None} if value.get("tags") == [] else value)


@fault
class EqualLines(Server):
    """order fails when two lines have the same sku (2025-11-25 server/tools: valid arguments; spec)."""

    def call_order(self, request: Request, arguments: Json) -> Json:
        skus = [line["sku"] for line in arguments["lines"]]
        if len(set(skus)) < len(skus):
            raise ToolError("KeyError: 'sku'")
        return super().call_order(request, arguments)


@fault
class MeltingPoint(Server):
    """convert gives a state that is not in its enum for 0 degrees.

    2025-11-25 server/tools, output schema; spec.
    """

    def tool_structured(self, request: Request, value: Any) -> Json:
        odd = value.get("celsius") == 0
        return super().tool_structured(request, value | {"state": "melting"} if odd else value)


@fault
class WholeFloat(Server):
    """2.0 is refused where an integer is wanted (2025-11-25 basic, JSON Schema 2020-12; spec)."""

    def __init__(self) -> None:
        super().__init__()

        class Strict(Validator):
            def is_type(self, name: str, value: Any) -> bool:
                return super().is_type(name, value) and not (name == "integer" and isinstance(value, float))

        self.validator = Strict()


@fault
class NullCity(Server):
    """order fails inside for a customer whose city is null, which is allowed.

    2025-11-25 server/tools; spec.
    """

    def call_order(self, request: Request, arguments: Json) -> Json:
        if arguments["customer"].get("city", "") is None:
            raise ToolError("'NoneType' object has no attribute 'strip'")
        return super().call_order(request, arguments)


@fault
class Utf16Length(Server):
    """maxLength counts UTF-16 units, so 40 emoji are too long for 40.

    2025-11-25 basic, JSON Schema 2020-12; spec.
    """

    def __init__(self) -> None:
        super().__init__()

        class Utf16(Validator):
            def check_maxLength(self, wanted: int, value: Any, path: str, schema: Json) -> str | None:  # noqa: N802
                units = len(value.encode("utf-16-le", "surrogatepass")) // 2 if isinstance(value, str) else 0
                return f"{path} is too long" if units > wanted else None

        self.validator = Utf16()


@fault
class AsciiOnly(Server):
    """search never answers for a query that is not ASCII.

    2025-11-25 basic/transports, UTF-8; mempalace#503.
    """

    def call_search(self, request: Request, arguments: Json) -> Json:
        if not arguments["query"].isascii():
            sys.exit()  # ends the thread only
        return super().call_search(request, arguments)


@fault
class ExactText(Server):
    """search gives content that is a string, not a list, with exact: true.

    2025-11-25 schema, CallToolResult; spec.
    """

    def call_search(self, request: Request, arguments: Json) -> Json:
        result = super().call_search(request, arguments)
        return result | {"content": result["content"][0]["text"]} if arguments.get("exact") else result


@fault
class HighAndDue(Server):
    """order is an internal error with priority high and a due date together.

    2025-11-25 server/tools; spec.
    """

    def call_order(self, request: Request, arguments: Json) -> Json:
        if arguments.get("priority") == "high" and "due" in arguments:
            raise RpcError(-32603, "unsupported operand type(s)")
        return super().call_order(request, arguments)


@fault
class NotANumber(Server):
    """convert writes NaN, which is not JSON, for the lowest temperature (RFC 8259; spec)."""

    def encode(self, message: Any) -> bytes:
        return json.dumps(message).encode()

    def tool_structured(self, request: Request, value: Any) -> Json:
        odd = value.get("celsius") == -273.15
        return super().tool_structured(request, value | {"fahrenheit": float("nan")} if odd else value)


# faults that only invalid arguments show: one keyword of the schema is not validated


class Without(Server):
    """A right server whose validator leaves out one keyword."""

    keyword = ""

    def __init__(self) -> None:
        super().__init__()
        setattr(self.validator, f"check_{self.keyword}", None)


@fault
class NoPattern(Without):
    """The pattern of a sku in a line of an order is not validated.

    2025-11-25 server/tools, MUST validate; spec.
    """

    keyword = "pattern"


@fault
class NoUniqueItems(Without):
    """uniqueItems of the tags of an order is not validated (2025-11-25 server/tools, MUST validate; spec)."""

    keyword = "uniqueItems"


@fault
class NoFormat(Without):
    """The format of a date is not validated (2025-11-25 server/tools, MUST validate; spec)."""

    keyword = "format"


@fault
class NoMaxItems(Without):
    """maxItems is not validated (2025-11-25 server/tools, MUST validate; spec)."""

    keyword = "maxItems"


@fault
class NoAdditional(Without):
    """additionalProperties: false is not validated (2025-11-25 server/tools, MUST validate; spec)."""

    keyword = "additionalProperties"


@fault
class NoMaxLength(Without):
    """maxLength is not validated (2025-11-25 server/tools, MUST validate; Yuzu#4368)."""

    keyword = "maxLength"


@fault
class TrueIsOne(Server):
    """true is taken for an integer, as Python's isinstance does.

    2025-11-25 server/tools, MUST validate; spec.
    """

    def __init__(self) -> None:
        super().__init__()

        class Loose(Validator):
            def is_type(self, name: str, value: Any) -> bool:
                return super().is_type(name, value) or (name == "integer" and isinstance(value, bool))

        self.validator = Loose()


@fault
class FirstItemOnly(Server):
    """Only the first item of a list is validated (2025-11-25 server/tools, MUST validate; spec)."""

    def __init__(self) -> None:
        super().__init__()

        class First(Validator):
            def check_items(self, wanted: Json, value: Any, path: str, schema: Json) -> str | None:
                return super().check_items(
                    wanted, value[:1] if isinstance(value, list) else value, path, schema
                )

        self.validator = First()

    def call_order(self, request: Request, arguments: Json) -> Json:
        lines = [line if isinstance(line, dict) else {} for line in arguments["lines"]]
        numbers = [line.get("quantity") for line in lines]
        quantity = [number if isinstance(number, int) and 0 < number < 100 else 1 for number in numbers]
        tags = [str(tag) for tag in arguments.get("tags", [])]
        lines = [{"quantity": number} for number in quantity]
        return super().call_order(request, arguments | {"lines": lines, "tags": tags})


def main() -> None:
    if len(sys.argv) > 1:
        FAULTS[sys.argv[1]]().run()
        return
    for name, server in FAULTS.items():
        print(f"{name}\n    {' '.join((server.__doc__ or '').split())}")


if __name__ == "__main__":
    main()
