"""Interfaces of tools (MCP Apps): which tool refers to which, what they are, and what they load.

A server should show interfaces only to clients that declare the extension, and may show them to all.  If it
shows none to a client without it, it is asked once more as by a host that has it.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.expect import require_some
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.html import Purpose
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server

FLAT_KEY = "ui/resourceUri"
MIME_TYPE = "text/html;profile=mcp-app"
SCHEME = "ui://"
EXTENSION = "io.modelcontextprotocol/ui"
HOST: dict[str, Any] = {"extensions": {EXTENSION: {"mimeTypes": [MIME_TYPE]}}}
"""The capabilities of a host that shows interfaces."""
# Not measured: a server has one interface or a few; more of one kind teach nothing.
MAX_READS = 20
"""How many interfaces are read."""
DOMAINS: dict[Purpose, str] = {
    "resource": "resourceDomains",
    "frame": "frameDomains",
    "base": "baseUriDomains",
}
"""The list of a csp that has to have the origin of an address, by the purpose of that."""


@dataclass(frozen=True)
class Interface:
    """An interface that a tool refers to: the reference, the answer to its read, and its contents."""

    reference: Value
    reply: Reply
    contents: tuple[Value, ...]

    @property
    def html(self) -> Iterator[tuple[Value, str]]:
        """The contents with their text."""
        for one in self.contents:
            text = one.get("text")
            blob = one.get("blob")
            if text is not None and isinstance(text.json, str):
                yield one, text.json
            elif blob is not None and isinstance(blob.json, str):
                yield one, _decoded(blob.json)


@dataclass(frozen=True)
class Shown:
    """What a host sees that shows interfaces: the definitions of tools, and the interfaces they refer to."""

    tools: tuple[Value, ...]
    interfaces: tuple[Interface, ...]


@scenario
def shown(server: Server) -> Shown:
    """Read the interfaces that tools refer to, each once."""
    tools = tuple(tool.definition for tool in server.tools)
    if any(reference(one) is not None for one in tools):
        return Shown(tools, _read(tools, server.read))
    if revisions.is_modern(server.revision):
        return _shown_in(server.session, {"_meta": {revisions.CLIENT_CAPABILITIES: HOST}}) if tools else _NONE
    if tools and _has_interfaces(server):
        with server.fresh("a host that shows interfaces", HOST) as session:
            return _shown_in(session, {})
    return _NONE


_NONE = Shown((), ())


def _shown_in(session: Session, declaring: dict[str, Any]) -> Shown:
    listing = fetch_list(session, "tools/list", "tools", declaring)
    tools = tuple(one for one in listing.items if one.is_a(dict))
    return Shown(
        tools, _read(tools, lambda uri: session.request("resources/read", {"uri": uri, **declaring}))
    )


def _has_interfaces(server: Server) -> bool:
    """Return whether a server has interfaces though no tool refers to one, so that a process is worth it."""
    uris = [str(one.json) for one in members(server.listed("resources/list"), "uri")]
    is_declared = server.offers.get("extensions", EXTENSION) is not None
    return is_declared or any(uri.startswith(SCHEME) for uri in uris)


def _read(tools: Iterable[Value], read: Callable[[str], Reply]) -> tuple[Interface, ...]:
    named = {uri.json: uri for one in tools if (uri := reference(one)) is not None and uri.is_a(str)}
    found = [(one, read(uri)) for uri, one in list(named.items())[:MAX_READS]]
    return tuple(Interface(one, reply, tuple(_contents(reply))) for one, reply in found)


def references(server: Server) -> list[Value]:
    """Return the URIs of interfaces that tools refer to; skip if none does."""
    found = [one for tool in shown(server).tools if (one := reference(tool)) is not None]
    return require_some(found, skip="no tool refers to an interface (MCP Apps)")


def reference(definition: Value) -> Value | None:
    """Return the member that refers to the interface of a tool: the newer one if there are both."""
    return definition.get("_meta", "ui", "resourceUri") or definition.get("_meta", FLAT_KEY)


def interfaces(server: Server) -> tuple[Interface, ...]:
    """Return the interfaces that tools refer to; skip if none does."""
    references(server)
    return shown(server).interfaces


def _contents(reply: Reply) -> Iterator[Value]:
    array = reply.value.get("contents") if reply.value is not None else None
    yield from (one for one in (array.each() if array is not None else ()) if one.is_a(dict))


def read_interfaces(server: Server) -> list[Interface]:
    """Return the interfaces that can be read; skip if none can."""
    found = [one for one in interfaces(server) if one.contents]
    return require_some(found, skip="no interface could be read")


def listed_interfaces(server: Server) -> dict[str, Value]:
    """Return the listed resources that are interfaces of tools, by URI."""
    uris = {one.json for one in references(server) if isinstance(one.json, str)}
    listed = ((one.get("uri"), one) for one in server.listed("resources/list"))
    return {uri.json: one for uri, one in listed if uri is not None and uri.json in uris}


def undeclared(
    interface: Interface, entry: Value | None, addresses: Iterable[tuple[str, Purpose]]
) -> list[tuple[str, str]]:
    """Return the addresses whose origins an interface does not declare, each with the list that lacks it.

    A list that is not an array declares nothing that can be judged.
    """
    values = [*interface.contents, *([entry] if entry is not None else [])]
    csp = {domains: members(values, "_meta", "ui", "csp", domains) for domains in DOMAINS.values()}
    wanted = [(url, DOMAINS[purpose]) for url, purpose in dict.fromkeys(addresses)]
    return [
        (url, domains)
        for url, domains in wanted
        if all(one.is_a(list) for one in csp[domains])
        and not is_covered(url, [origin for one in csp[domains] for origin in _strings(one)])
    ]


def is_covered(url: str, origins: list[str]) -> bool:
    """Return whether a csp has the origin of a URL, perhaps with a wildcard for a subdomain."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    for origin in origins:
        scheme, _, name = origin.rpartition("://")
        name = name.partition("/")[0]
        has_wildcard = name.startswith("*.")
        is_host = host.endswith(name[1:]) if has_wildcard else name in (host, parts.netloc)
        if origin in ("*", f"{parts.scheme}:") or (is_host and scheme in ("", parts.scheme)):
            return True
    return False


def _strings(value: Value) -> list[str]:
    return [one.json for one in value.each() if isinstance(one.json, str)]


def _decoded(blob: str) -> str:
    try:
        return b64decode(blob, validate=True).decode("utf-8", "replace")
    except (Error, ValueError):
        return ""
