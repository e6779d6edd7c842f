"""Which authorization server gives tokens for a server, and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp_conformance.login.discovery import (
    identifies,
    is_same_origin,
    issuer_fault,
    issuer_urls,
    resource_paths,
)
from mcp_conformance.login.web import Answer, LoginFailed, Web
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.revisions import HANDSHAKE, LATEST_MODERN
from mcp_conformance.transport.http.challenge import Challenge, challenges
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.headers import ACCEPT
from mcp_conformance.transport.http.request import Headers

DEFAULTS = {
    "authorization_endpoint": "/authorize",
    "token_endpoint": "/token",
    "registration_endpoint": "/register",
}
"""The endpoints of a server of 2025-03-26 that does not describe itself."""
OFFLINE = "offline_access"
ASKED, DESCRIBED, TOKEN_USED = "the server without a token", "metadata", "the server with the token"
OPENING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": HANDSHAKE[-1],
        "capabilities": {},
        "clientInfo": {"name": "mcp-conformance", "version": "0"},
    },
}


@dataclass(frozen=True)
class Provider:
    """An authorization server, and what is asked of it: a token for ``resource`` with ``scope``.

    ``document`` is what it says of itself; its issuer may have one more slash than the ``named`` one.
    """

    issuer: str
    named: str
    document: Mapping[str, Any]
    resource: str
    scope: str

    def endpoint(self, name: str) -> str:
        """Return the URL of an endpoint.  Raises `LoginFailed` if there is none."""
        found = self.document.get(f"{name}_endpoint")
        if not isinstance(found, str):
            raise LoginFailed(f"the authorization server {self.issuer} has no {name}_endpoint")
        return found

    def lists(self, name: str, value: str) -> bool:
        """Return whether a list in the document has a value."""
        found = self.document.get(name)
        return isinstance(found, list) and value in found


def open_session(web: Web, name: str, endpoint: Endpoint, headers: Headers) -> Answer:
    """Send the request that opens a session."""
    return web.post_json(name, endpoint.url, OPENING, (ACCEPT, *headers))


def provider(web: Web, own: Endpoint, headers: Headers) -> Provider:
    """Ask the server, and what it names, who gives tokens.  Raises `LoginFailed`."""
    answer = open_session(web, ASKED, own, headers)
    if answer.status is None:
        raise LoginFailed(f"{own.url} does not answer: {answer}")
    challenge = _bearer(answer)
    metadata = _resource_metadata(web, own, challenge)
    if metadata is None and answer.status != 401:
        raise LoginFailed(f"{own.url} asks nobody to log in: initialize is answered with {answer}")
    resource = _resource(own, metadata or {})
    named = [one for one in _listed(metadata, "authorization_servers") if not issuer_fault(one)]
    if len(named) > 1:
        web.say(f"the server names {len(named)} authorization servers: this is the first")
    issuer = named[0] if named else own.origin
    web.expect_reachable(issuer)
    document = _described(web, issuer)
    if document is None and metadata is not None:
        raise LoginFailed(f"the authorization server {issuer} has no document at a well-known address")
    if document is None:
        web.say("nothing describes the authorization server: the addresses of 2025-03-26 are used")
        document = {"issuer": issuer} | {name: f"{issuer}{path}" for name, path in DEFAULTS.items()}
    _expect_safe(document, own, web)
    scope = (challenge.parameters.get("scope", "") if challenge else "") or " ".join(
        _listed(metadata, "scopes_supported")
    )
    said = str(document["issuer"])
    if said != issuer:
        web.say(f"the document of {issuer} has the issuer {said}: clients that compare each letter refuse it")
    return Provider(said, issuer, document, resource, _with_offline(scope, document))


def _bearer(answer: Answer) -> Challenge | None:
    try:
        found = challenges(answer.header("WWW-Authenticate"))
    except ValueError:
        return None
    return next((one for one in found if one.scheme == "bearer"), None)


def _resource_metadata(web: Web, own: Endpoint, challenge: Challenge | None) -> dict[str, Any] | None:
    named = challenge.parameters.get("resource_metadata") if challenge is not None else None
    if named is not None:
        web.expect_reachable(named)
        answer = web.get(DESCRIBED, named)
        if not answer.document or answer.status != 200:
            raise LoginFailed(f"the metadata of the server at {named} is answered with {answer}")
        return answer.document
    for path in resource_paths(own):
        answer = web.get(DESCRIBED, replace(own, target=path).url)
        if answer.status == 200 and answer.document:
            return answer.document
    return None


def _resource(own: Endpoint, metadata: Mapping[str, Any]) -> str:
    """Return what a token is requested for: the resource of the metadata, if that is this server."""
    named = metadata.get("resource", own.url.partition("?")[0])
    if not identifies(named, own):
        raise LoginFailed(
            f"the metadata is of another resource than {own.url}, and clients refuse it: {show(named)}"
        )
    return str(named)


def _listed(metadata: Mapping[str, Any] | None, name: str) -> list[str]:
    found = (metadata or {}).get(name)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _described(web: Web, issuer: str) -> dict[str, Any] | None:
    for url in issuer_urls(issuer, LATEST_MODERN):
        answer = web.get(DESCRIBED, url)
        if answer.status != 200 or not answer.document:
            continue
        said = answer.document.get("issuer")
        if not isinstance(said, str) or said.rstrip("/") != issuer.rstrip("/"):
            raise LoginFailed(
                f"the document at {url} has the issuer {show(said)}, not {issuer}: clients refuse it"
            )
        return answer.document
    return None


def _with_offline(scope: str, document: Mapping[str, Any]) -> str:
    """Return the scopes to ask for, with the one for refresh tokens if the authorization server has it."""
    words = scope.split()
    if words and OFFLINE in _listed(document, "scopes_supported"):
        words = list(dict.fromkeys((*words, OFFLINE)))
    return " ".join(words)


def _expect_safe(document: Mapping[str, Any], own: Endpoint, web: Web) -> None:
    """Raise `LoginFailed` for an endpoint to which a code or a token would go unencrypted over a network."""
    for name in DEFAULTS:
        url = document.get(name)
        if not isinstance(url, str):
            continue
        named = web.expect_reachable(url)
        if not named.tls and not named.is_loopback and not is_same_origin(named, own):
            raise LoginFailed(f"the {name} {url} has no TLS: whoever reads along gets the token")
