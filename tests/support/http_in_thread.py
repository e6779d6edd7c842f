"""The reference server over HTTP, and mutants of it, in a thread of this process."""

import threading
from contextlib import contextmanager
from unittest.mock import patch

from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance_fixtures import reference_modern
from mcp_conformance_fixtures.http_unusual import headers_for
from mcp_conformance_fixtures.reference_http import PATH
from mcp_conformance_fixtures.reference_http_wire import Connection, Server

STEP_SECONDS = 0.1
"""How long a pause of a tool is: on a busy machine too, a connection is closed meanwhile."""


@contextmanager
def served(http, handler=Connection, port=0):
    """Serve an `HttpReference`, and give the `HttpServer` that reaches it."""
    with patch.object(reference_modern, "STEP", STEP_SECONDS):
        server = Server(http, port, handler)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}{PATH}"
            yield HttpServer(url, headers=headers_for(http))
        finally:
            server.end()
