"""Whether a server over HTTP says that it wants a credential, other than by the status 401 (RFC 9728)."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace

from mcp_conformance.client.reply import Reply, Unanswered
from mcp_conformance.login.discovery import identifies, resource_paths
from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.server import HttpServer

# Not measured: a document is sent at once.
DOCUMENT_SECONDS = 5.0
MAX_DOCUMENT = 1024 * 1024
TURNED_AWAY = (302, 303, 307, 403)
"""The statuses, besides 401, with which servers turn somebody away for a credential."""
OK = 200


def wants_credential(http: HttpServer, opening: Reply) -> bool:
    """Return whether an opening that failed lacks a credential, by the status, and by metadata of the server.

    The document of a protected resource is at a well-known path of such a server, and names this very
    endpoint: at another path it may be the URL of the run that is wrong.  A server that knows no modern
    revision refuses `server/discover` with an error for that: only `initialize` counts then.
    """
    status = opening.fault.status if isinstance(opening.fault, Unanswered) else None
    if status == 401:
        return True
    if http.has_credential or opening.value is not None:
        return False
    is_refusal = opening.method == "initialize" and (opening.fault is None or status == OK)
    return (is_refusal or status in TURNED_AWAY) and _describes_itself(http)


def _describes_itself(http: HttpServer) -> bool:
    """Return whether there is a document of a protected resource; no header of the user is sent for it."""
    own = http.endpoint
    with closing(Client(own, max_body=MAX_DOCUMENT)) as client:
        for path in resource_paths(own):
            exchange = client.begin(Request.to(replace(own, target=path), "GET"))
            exchange.wait(DOCUMENT_SECONDS)
            if exchange.status == OK and _is_of(own, exchange.body):
                return True
    return False


def _is_of(own: Endpoint, body: bytes) -> bool:
    """Return whether a document is that of an endpoint."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    named = found.get("resource") if isinstance(found, dict) else None
    if not isinstance(named, str) or not identifies(named, own):
        return False
    return Endpoint.parse(named).target.rstrip("/") == own.target.partition("?")[0].rstrip("/")
