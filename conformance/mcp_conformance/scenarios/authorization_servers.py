"""The authorization servers that a protected resource names, and what they say of themselves.

A document is requested only where `may_ask` allows it, without any of the user's headers; redirects are not
followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.expect import skip
from mcp_conformance.login.discovery import issuer_fault, issuer_urls, may_ask
from mcp_conformance.scenarios.http_auth import NOT_ASKED, metadata_document, outsider
from mcp_conformance.scenarios.http_requests import HttpReply, lines_of, requested
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.endpoint import Endpoint

CODE_GRANT = "authorization_code"
DEFAULT_GRANTS = (CODE_GRANT, "implicit")
"""The value of ``grant_types_supported`` that is left out (RFC 8414, section 2)."""


@dataclass(frozen=True, eq=False)
class AuthorizationServer:
    """An authorization server: its ``issuer`` as the resource names it, and what it says of itself.

    ``document`` is None if no well-known address has one; ``replies`` are all responses, that of the document
    last.
    """

    issuer: str
    document: Mapping[str, Any] | None
    replies: tuple[HttpReply, ...]

    @property
    def reply(self) -> HttpReply:
        """The last response."""
        return self.replies[-1]

    @property
    def gives_codes(self) -> bool:
        """Whether people log in there: it gives codes for tokens."""
        grants = (self.document or {}).get("grant_types_supported", DEFAULT_GRANTS)
        return not isinstance(grants, list | tuple) or CODE_GRANT in grants


def named_servers(server: Server) -> tuple[HttpReply, list[Any]]:
    """Return the members of ``authorization_servers`` and the response with them; skip without metadata."""
    reply, document = metadata_document(server)
    listed = document.get("authorization_servers")
    return reply, listed if isinstance(listed, list) else []


def addresses(server: Server) -> dict[str, tuple[HttpReply, str]]:
    """Return the URLs of authorization servers elsewhere and of endpoints, by where they stand.

    Each has the response that names it.
    """
    reply, listed = named_servers(server)
    found = {f"authorization_servers[{at}]": (reply, one) for at, one in enumerate(listed)}
    asked = asked_server(server)
    if asked is not None:
        endpoints = {name: one for name, one in (asked.document or {}).items() if name.endswith("_endpoint")}
        found |= {name: (asked.reply, one) for name, one in endpoints.items()}
    return {name: (reply, one) for name, (reply, one) in found.items() if _is_elsewhere(one)}


def _is_elsewhere(value: Any) -> bool:
    """Return whether a value is the URL of another machine than this one."""
    try:
        return isinstance(value, str) and not Endpoint.parse(value).is_loopback
    except ValueError:
        return False


def authorization_server(server: Server) -> AuthorizationServer:
    """Return the first authorization server that may be asked, with its document; skip if there is none."""
    found = asked_server(server)
    if found is None:
        _, listed = named_servers(server)
        issuers = [one for one in listed if not issuer_fault(one)]
        if not issuers:
            skip("the metadata names no authorization server that could be asked")
        origin = Endpoint.parse(issuers[0]).origin
        said = f"the authorization server is at another origin: --auth-origin {origin} lets it be asked"
        skip(said, cause=NOT_ASKED)
    if all(reply.status is None or reply.status >= 500 for reply in found.replies):
        skip(f"the authorization server {found.issuer} does not answer: {found.reply}")
    return found


@scenario
def asked_server(server: Server) -> AuthorizationServer | None:
    """Request the document of the first authorization server that may be asked; None if there is none."""
    _, listed = named_servers(server)
    own = lines_of(outsider(server)).server.endpoint
    allowed = server.settings.auth_origins
    issuers = (one for one in listed if not issuer_fault(one))
    asked = next((one for one in issuers if may_ask(Endpoint.parse(one), own, allowed)), None)
    return _described(server, asked) if asked is not None else None


def _described(server: Server, issuer: str) -> AuthorizationServer:
    session = outsider(server)
    replies = list[HttpReply]()
    for url in issuer_urls(issuer, session.revision):
        replies.append(requested(session, Endpoint.parse(url)))
        if replies[-1].document is not None:
            return AuthorizationServer(issuer, replies[-1].document, tuple(replies))
    return AuthorizationServer(issuer, None, tuple(replies))


def described_server(server: Server) -> tuple[HttpReply, Mapping[str, Any]]:
    """Return what an authorization server says of itself, and the response with it; skip without that."""
    found = authorization_server(server)
    if found.document is None:
        skip("the authorization server has no document at a well-known address")
    return found.reply, found.document


def require_codes(server: Server) -> tuple[HttpReply, Mapping[str, Any]]:
    """Return what an authorization server says of itself; skip if people do not log in there."""
    reply, document = described_server(server)
    if not authorization_server(server).gives_codes:
        skip("the authorization server gives no codes for people who log in")
    return reply, document
