"""Requests with another credential than the user's, or with none, and the metadata of a protected resource.

The user's credential goes nowhere else: these requests go to the server itself, and redirects are not
followed.  Metadata is requested without any of the user's headers, and from another origin only where
`may_ask` allows it.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from urllib.parse import quote

from mcp_conformance.client.session import Session
from mcp_conformance.expect import require, skip
from mcp_conformance.login.discovery import is_same_origin, may_ask, resource_paths
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.scenarios.http_requests import (
    HeaderValue,
    HttpReply,
    changed,
    delete,
    exchanges,
    lines_of,
    requested,
    send_raw,
)
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.surface import LOCKED, is_live
from mcp_conformance.transport.http.challenge import Challenge, challenges
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.headers import ACCEPT, JSON, SESSION_ID
from mcp_conformance.transport.http.request import Headers, Request
from mcp_conformance.verdicts import Cause

AUTHORIZATION = "Authorization"
CHALLENGE = "WWW-Authenticate"
METADATA = "resource_metadata"
REFUSED_OTHERWISE = (
    'Answer 401, with error="invalid_token" in WWW-Authenticate: a client then gets a new token, and takes '
    "any other status for final."
)
NOT_ASKED = Cause.CIRCUMSTANCES
"""The cause of what is not judged as an origin is not asked: the report says so."""
BUSY = (429, 502, 503, 504)
"""The statuses that say nothing about the request."""
LOCAL_ENDINGS = (".local", ".internal", ".localdomain", ".home.arpa")
"""The endings of names on a network of one's own (RFC 6762, RFC 8375; ICANN keeps .internal for it)."""
FAR_FUTURE = 4102444800
"""The first second of the year 2100."""


# Requests with another credential

NOBODY: Headers = ()
"""The headers of an identity without a credential."""


def credential(server: Server) -> str:
    """Return the value of the header Authorization that the user gives; empty if there is none."""
    http = server.settings.http
    found = [value for name, value in (http.headers if http else ()) if name.lower() == b"authorization"]
    return found[0].decode() if found else ""


@scenario
def outsider(server: Server) -> Session:
    """Return a conversation in which no session is opened, for requests with other credentials."""
    return server.sessions.launch("requests with other credentials")


@scenario
def without_credential(server: Server) -> HttpReply:
    """Send the request that opens a session, without a credential; return the response."""
    return with_credential(server, None)


@scenario
def with_credential(server: Server, authorization: str | None, query: str = "") -> HttpReply:
    """Send the request that opens a session, with this header Authorization and more in the query."""
    session = outsider(server)
    message = opening_of(session)
    headers = (JSON, ACCEPT, *lines_of(session).mirror.headers(message))
    reply = send_as(session, bearing(authorization), "POST", headers, message, query=query)
    for id in reply.header(SESSION_ID) if reply.was_served else ():
        delete(session, {SESSION_ID: id})
    return reply


def opening_of(session: Session) -> dict[str, Any]:
    """Return the request that opens a session in its revision."""
    if session.is_modern:
        return session.request_of("server/discover")
    info = session.client_info
    params = {"protocolVersion": session.revision, "capabilities": {}, "clientInfo": info}
    return session.request_of("initialize", params)


def in_session(
    session: Session,
    method: str,
    headers: Mapping[str, HeaderValue] | None = None,
    message: Mapping[str, Any] | None = None,
    identity: Headers = NOBODY,
) -> HttpReply:
    """Send a request of an open session with another identity than the user's; a POST has a ``message``."""
    mirror = lines_of(session).mirror
    if method != "POST":
        usual = ((b"Accept", b"text/event-stream"), *mirror.session_headers)
    else:
        usual = (JSON, ACCEPT, *mirror.headers(message))
    return send_as(session, identity, method, changed(usual, headers or {}), message)


def bearing(authorization: str | None) -> Headers:
    """Return the headers of an identity: Authorization with this value, or none."""
    return ((AUTHORIZATION.encode(), authorization.encode()),) if authorization is not None else NOBODY


def send_as(  # noqa: PLR0913  (the parts of a request)
    session: Session,
    identity: Headers,
    method: str,
    headers: Headers,
    message: Any = None,
    *,
    query: str = "",
) -> HttpReply:
    """Send a request to the server with the headers of another identity in place of the user's.

    Those of the user with the same names are left out, and Authorization.
    """
    server = lines_of(session).server
    replaced = {b"authorization", *(name.lower() for name, _ in identity)}
    others = tuple(one for one in server.headers if one[0].lower() not in replaced)
    body = encode(message) if message is not None else b""
    request = Request.to(server.endpoint, method, (*headers, *others, *identity), body)
    if query:
        separator = "&" if "?" in request.target else "?"
        request = replace(request, target=f"{request.target}{separator}{query}")
    return (
        send_raw(session, request, message=message, seconds=0.0)
        if method != "POST"
        else send_raw(session, request, message=message)
    )


def refused_without_credential(server: Server) -> HttpReply:
    """Return the response to a request without a credential; skip unless the server rejects it for that.

    A server that opens sessions rejects it for that only if it serves the same request with the credential.
    Where no session opens, the probe knows whether a credential is what lacks.
    """
    reply = without_credential(server)
    if reply.was_served:
        skip("a session opens without a credential")
    if reply.status is None or reply.status in BUSY:
        skip(f"a request without a credential is not answered: {reply}")
    is_known = is_locked(server) or (credential(server) and is_live(server.surface))
    if reply.status != 401 and not is_known:
        skip(f"it is not known whether a credential is what lacks: {reply}")
    return reply


def is_locked(server: Server) -> bool:
    """Return whether no session opens as there is no credential."""
    http, closed = server.settings.http, server.surface.closed
    return closed is not None and closed.name == LOCKED and http is not None and not http.has_credential


def require_token(server: Server) -> str:
    """Return the bearer token that the user gives; skip unless sessions open with it, and not without."""
    scheme, _, token = credential(server).partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        skip("no bearer token is given (--header-env Authorization=VARIABLE)")
    if not is_live(server.surface):
        skip("no session opens with the token that is given")
    refused_without_credential(server)
    return token.strip()


def token_in_query(server: Server) -> HttpReply:
    """Send the user's token in the query instead of the header; skip unless the server is on this machine."""
    token = require_token(server)
    if not lines_of(outsider(server)).server.endpoint.is_loopback:
        skip("a token in a URL ends up in logs, so only a server on this machine gets one")
    return with_credential(server, None, f"access_token={quote(token, safe='')}")


def made_up_tokens(server: Server) -> dict[str, str]:
    """Return tokens that no authorization server has issued, by what they are."""
    resource = lines_of(outsider(server)).server.endpoint.url
    claims = {"iss": "https://issuer.invalid", "aud": resource, "sub": "conformance", "exp": FAR_FUTURE}
    unsigned = f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(claims)}."
    signed = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(claims)}.{_encoded(b'conformance' * 3)}"
    return {"a word": "conformance", "a JWT without a signature": unsigned, "a JWT of nobody": signed}


def _part(value: Mapping[str, Any]) -> str:
    return _encoded(json.dumps(value, separators=(",", ":")).encode())


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


# The challenge


def unauthorized(server: Server) -> HttpReply:
    """Return a response with the status 401; skip if the server sends none."""
    reply = without_credential(server)
    found = [reply] if reply.status == 401 else [one for one in exchanges(server) if one.status == 401]
    return require(next(iter(found), None), skip="no request is answered with the status 401")


def challenge_fault(reply: HttpReply) -> str:
    """Return why the challenge in a response is malformed; empty if it is not."""
    try:
        challenges(reply.header(CHALLENGE))
    except ValueError as error:
        return str(error)
    return ""


def bearer_challenge(reply: HttpReply) -> Challenge | None:
    """Return the challenge for a bearer token in a response; None without one, or if it is malformed.

    Skips the check if the server wants another kind of authorization, of which MCP has no rules.
    """
    try:
        found = challenges(reply.header(CHALLENGE))
    except ValueError:
        return None
    bearer = next((one for one in found if one.scheme == "bearer"), None)
    if found and bearer is None:
        skip(f"the server wants other authorization than bearer tokens: {found[0].scheme}")
    return bearer


# The metadata


@dataclass(frozen=True, eq=False)
class Metadata:
    """The metadata of the server as a protected resource: its ``document``, and the response that brought it.

    ``is_named`` says that a challenge names its address, else it was found at a well-known path.
    """

    reply: HttpReply
    is_named: bool

    @property
    def document(self) -> dict[str, Any] | None:
        """The document; None if the response has none."""
        return self.reply.document


@scenario
def metadata(server: Server) -> Metadata | None:
    """Request the metadata where the challenge names it, else at the well-known paths; None if there is none.

    Skips the check if the challenge names an origin that is not asked.
    """
    session = outsider(server)
    own = lines_of(session).server.endpoint
    named = metadata_url(unauthorized(server))
    if named:
        return Metadata(requested(session, _named(server, named)), is_named=True)
    addresses = (replace(own, target=one) for one in resource_paths(own))
    found = (Metadata(requested(session, one), is_named=False) for one in addresses)
    return next((one for one in found if one.document is not None), None)


def metadata_url(reply: HttpReply) -> str:
    """Return the address of the metadata in a challenge; empty if it has none."""
    challenge = bearer_challenge(reply)
    return challenge.parameters.get(METADATA, "") if challenge is not None else ""


def metadata_document(server: Server) -> tuple[HttpReply, dict[str, Any]]:
    """Return the metadata and the response with it; skip the check if there is none."""
    found = metadata(server)
    if found is None or found.document is None:
        skip("the server has no metadata of a protected resource")
    return found.reply, found.document


def named_address(reply: HttpReply) -> Endpoint:
    """Return the address of the metadata in a challenge; skip if it names none that can be requested."""
    return _parsed(require(metadata_url(reply) or None, skip="no challenge names the metadata"))


def _parsed(url: str) -> Endpoint:
    try:
        return Endpoint.parse(url)
    except ValueError as error:
        skip(f"the address of the metadata cannot be requested: {error}")


def _named(server: Server, url: str) -> Endpoint:
    """Return the address of the metadata; skip if it cannot be asked."""
    own = lines_of(outsider(server)).server.endpoint
    named = _parsed(url)
    if is_same_origin(own, named):
        return replace(own, target=named.target)
    if not may_ask(named, own, server.settings.auth_origins):
        skip(
            f"the metadata is at another origin: --auth-origin {named.origin} lets it be asked",
            cause=NOT_ASKED,
        )
    return named


def is_hidden(named: Endpoint, own: Endpoint) -> bool:
    """Return whether clients that reach the server cannot reach an address: its name or network is inside.

    That is a name without a dot or with an ending that public names do not have, or an address of this
    machine or of a private network where the server has none.
    """
    ending = _ending(named.host)
    is_beside = bool(ending) and own.host.endswith(ending)
    if named.host == own.host or (named.is_loopback and own.is_loopback) or is_beside:
        return False
    return _is_inside(named) and not (_is_inside(own) and _address(named.host) is not None)


def _is_inside(endpoint: Endpoint) -> bool:
    address = _address(endpoint.host)
    if address is None:
        return endpoint.is_loopback or "." not in endpoint.host or bool(_ending(endpoint.host))
    return address.is_private


def _ending(host: str) -> str:
    """Return the ending of a name that is known on one network only; empty without one."""
    return next((one for one in LOCAL_ENDINGS if host.endswith(one)), "")


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
