"""Where clients look for the metadata of a server and of its authorization server, and whom they may ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from mcp_conformance.transport.http.endpoint import Endpoint

RESOURCE = "/.well-known/oauth-protected-resource"
OAUTH, OPENID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
OPENID_SINCE = "2025-11-25"
"""The first revision in which the document of OpenID Connect Discovery will do."""


def resource_paths(own: Endpoint) -> tuple[str, ...]:
    """Return where clients look for the metadata of a server that names no address of it, in their order."""
    path = own.target.partition("?")[0]
    return tuple(dict.fromkeys((RESOURCE + ("" if path == "/" else path), RESOURCE)))


def issuer_urls(issuer: str, revision: str) -> Iterator[str]:
    """Yield where clients look for the document of an authorization server, in their order."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    yield f"{origin}{OAUTH}{path}"
    if revision >= OPENID_SINCE:
        yield f"{origin}{OPENID}{path}"
        if path:
            yield f"{origin}{path}{OPENID}"


def issuer_fault(named: Any) -> str:
    """Return why a value is no issuer: an http or https URL without a query; empty if it is one."""
    if not isinstance(named, str):
        return "it is no text"
    try:
        Endpoint.parse(named)
    except ValueError as error:
        return str(error)
    return "it has a query" if urlsplit(named).query else ""


def may_ask(named: Endpoint, own: Endpoint, allowed: tuple[str, ...]) -> bool:
    """Return whether an address may be requested.

    It is at the server's own origin, at one that the user allows, or on this machine as the server is: a
    server elsewhere could have us ask what only this machine reaches.
    """
    is_near = named.is_loopback and own.is_loopback
    return is_near or named.origin == own.origin or named.origin in allowed


def is_same_origin(one: Endpoint, other: Endpoint) -> bool:
    """Return whether two addresses have the same origin; all names of this machine are the same."""
    if one.is_loopback and other.is_loopback:
        return (one.scheme, one.port) == (other.scheme, other.port)
    return one.origin == other.origin


def identifies(resource: Any, own: Endpoint) -> bool:
    """Return whether a resource identifier is the address of the server, or one above it at its origin."""
    try:
        named = Endpoint.parse(resource) if isinstance(resource, str) else None
    except ValueError:
        return False
    if named is None or not is_same_origin(own, named):
        return False
    above, path = named.target.rstrip("/"), own.target.partition("?")[0].rstrip("/")
    return path == above or path.startswith(f"{above}/")
