"""All that a server can harmlessly be made to send: the traffic that general rules are judged on."""

from __future__ import annotations

from mcp_conformance.client.refusals import REFUSED
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server


@scenario
def exercise_everything(server: Server) -> None:
    """Fetch every list, call, get and read once; send requests that fail, and a line that is not JSON."""
    send_what_fails(server)
    list(server.listings())
    for ask in (server.prompts, server.resources, server.calls):
        ask()


@scenario
def send_what_fails(server: Server) -> None:
    """Send requests that fail, and a line that is not JSON."""
    for method, params in REFUSED:
        server.session.request(method, params)
    server.malformed_session.send_raw(b"this line is not JSON")
    server.malformed_session.drain()
