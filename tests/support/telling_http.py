"""A server over HTTP that shows the credentials of each request, in answers, headers and reasons."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from support.telling_server import Telling


class Handler(BaseHTTPRequestHandler):
    """Answers a POST with JSON, and everything else with an error; the reason phrase has a credential."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Print nothing."""

    @property
    def secrets(self):
        """The credentials of the request: in its headers and its query."""
        given = [value for name, value in self.headers.items() if name.startswith("X-Tell")]
        given += [value for _, value in parse_qsl(urlsplit(self.path).query)]
        return [*given, self.headers.get("Authorization", "Bearer none").partition(" ")[2]]

    def do_POST(self):
        """Answer a message."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        try:
            message = json.loads(body)
        except ValueError:
            return self._send(400, b"no JSON")
        found = Telling(self.secrets).messages(message)
        if not found:
            return self._send(202, b"")
        if len(found) == 1:
            return self._send(200, json.dumps(found[0]).encode())
        events = "".join(f"data: {json.dumps(one)}\n\n" for one in found)
        return self._send(200, events.encode(), "text/event-stream")

    def _send(self, status, body, media="application/json"):
        telling = Telling([one.encode().decode("latin-1") for one in self.secrets])
        self.send_response(status, f"OK {telling.last}")
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        for number, secret in enumerate(telling.secrets):
            self.send_header(f"X-Echo-{number}", secret)
            self.send_header(f"X-Name-{secret}" if secret.isalnum() else "X-Other", "1")
        self.end_headers()
        self.wfile.write(body)

    def refuse(self):
        """Answer with an error."""
        telling = Telling(self.secrets)
        self._send(405, telling.all.encode(), "text/plain")


for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
    setattr(Handler, f"do_{method}", Handler.refuse)


@contextmanager
def telling_over_http():
    """Serve in a thread, and give the URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
