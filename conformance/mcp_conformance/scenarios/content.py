"""Content that a server sent: content blocks, resource contents, annotations and icons."""

from __future__ import annotations

from mcp_conformance.protocol.value import Value, members
from mcp_conformance.target.server import Server


def tool_blocks(server: Server, *types: str) -> list[Value]:
    """Return the content blocks of these types (all if none are named) in the results of tools."""
    found = [call.reply.value.get("content") for call in server.calls() if call.reply.value is not None]
    return _of_type([block for content in found if content is not None for block in content.each()], types)


def prompt_blocks(server: Server, *types: str) -> list[Value]:
    """Return the content blocks of these types (all if none are named) in the messages of prompts."""
    found = [reply.value.get("messages") for reply in server.prompts() if reply.value is not None]
    messages = [message for array in found if array is not None for message in array.each()]
    return _of_type(members(messages, "content"), types)


def embedded_uris(server: Server) -> list[Value]:
    """Return the URIs of the resources in prompts, without those that repeat an argument of the client."""
    found = members(prompt_blocks(server, "resource"), "resource", "uri")
    sent = [reply.request.message["params"]["arguments"] for reply in server.prompts()]
    return [uri for uri in found if not any(uri.json in arguments.values() for arguments in sent)]


def blocks(server: Server, *types: str) -> list[Value]:
    """Return the content blocks of these types (all if none are named) from tools and prompts."""
    return tool_blocks(server, *types) + prompt_blocks(server, *types)


def read_contents(server: Server) -> list[Value]:
    """Return the contents of resources, whether read or embedded in a block."""
    found = [reply.value.get("contents") for reply in server.resources() if reply.value is not None]
    read = [content for array in found if array is not None for content in array.each()]
    return read + members(blocks(server, "resource"), "resource")


def annotatable(server: Server) -> list[Value]:
    """Return everything that may have content annotations: blocks, and listed items other than tools."""
    return [*blocks(server), *server.listed()]


def with_icons(server: Server) -> list[Value]:
    """Return everything other than tools that may have icons: listed items, resource links, the server."""
    info = server.surface.server_info
    return [*server.listed(), *blocks(server, "resource_link"), *([info] if info is not None else [])]


def all_icons(server: Server) -> list[Value]:
    """Return every icon, those of tools included."""
    found = members([*with_icons(server), *(tool.definition for tool in server.tools)], "icons")
    return [icon for icons in found if icons.is_a(list) for icon in icons.each() if icon.is_a(dict)]


def _of_type(blocks: list[Value], types: tuple[str, ...]) -> list[Value]:
    return [block for block in blocks if not types or getattr(block.get("type"), "json", None) in types]
