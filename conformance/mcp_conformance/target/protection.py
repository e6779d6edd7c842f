"""Whether a server over HTTP says that it wants a credential, other than by the status 401 (RFC 9728)."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace

from mcp_conformance.client.reply import Reply, Unanswered
from mcp_conformance.login.discovery import resource_paths
from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.server import HttpServer

# Not measured: a document is sent at once.
DOCUMENT_SECONDS = 5.0
MAX_DOCUMENT = 1024 * 1024
TURNED_AWAY = (302, 303, 307, 403)
"""The statuses, besides 401, with which servers turn somebody away for a credential."""
FAILING = 500
"""The first status of a server that fails."""


def wants_credential(http: HttpServer, opening: Reply) -> bool:
    """Return whether an opening that failed lacks a credential, by the status, and by metadata of the server.

    The document of a protected resource is at a well-known path of such a server.  A server that knows no
    modern revision refuses `server/discover` with an error for that: only `initialize` counts then.
    """
    status = opening.fault.status if isinstance(opening.fault, Unanswered) else None
    if status == 401:
        return True
    if http.has_credential or opening.value is not None:
        return False
    is_refusal = opening.fault is None or (status is not None and status < FAILING)
    is_turned_away = is_refusal if opening.method == "initialize" else status in TURNED_AWAY
    return is_turned_away and _describes_itself(http)


def _describes_itself(http: HttpServer) -> bool:
    """Return whether there is a document of a protected resource; no header of the user is sent for it."""
    own = http.endpoint
    with closing(Client(own, max_body=MAX_DOCUMENT)) as client:
        for path in resource_paths(own):
            exchange = client.begin(Request.to(replace(own, target=path), "GET"))
            exchange.wait(DOCUMENT_SECONDS)
            if exchange.status == 200 and _is_document(exchange.body):
                return True
    return False


def _is_document(body: bytes) -> bool:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("resource"), str)
