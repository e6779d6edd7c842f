"""The address on this machine to which an authorization server sends the browser back (RFC 8252, 7.3)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from urllib.parse import parse_qsl, urlsplit

from mcp_conformance.login.web import LoginFailed

PATH = "/callback"
# Python notices Ctrl-C on Windows only between two waits.
WAIT_SECONDS = 0.5
# Not measured: a command does not end before.
END_SECONDS = 0.02
PAGE = b"""<!doctype html><meta charset="utf-8"><title>mcp-conformance</title>
<p>mcp-conformance has the answer of the authorization server. You can close this page."""


class Callback:
    """A listener on 127.0.0.1.  ``url`` is the redirect URI."""

    def __init__(self, port: int = 0):
        from mcp_conformance.transport.http.front import Front, FrontHandler  # noqa: PLC0415  (loads h11)

        self._answers = SimpleQueue[dict[str, str]]()
        answers = self._answers

        class Handler(FrontHandler):
            def answer(self) -> None:
                parts = urlsplit(self.path)
                if self.command != "GET":
                    self.refuse(501, "a browser comes back by GET")
                    return
                is_ours = parts.path == PATH
                self.send_response(200 if is_ours else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(PAGE) if is_ours else 0))
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                if is_ours:
                    self.wfile.write(PAGE)
                    answers.put(dict(parse_qsl(parts.query)))

        try:
            self._server = Front(port, Handler)
        except OSError as error:
            raise LoginFailed(f"port {port} of 127.0.0.1 cannot be used: {error.strerror}") from error
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{PATH}"

    def wait(self, seconds: float, is_ours: Callable[[dict[str, str]], bool]) -> dict[str, str]:
        """Return the parameters with which the browser came; raise `LoginFailed` if ours do not in time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with suppress(Empty):
                got = self._answers.get(timeout=WAIT_SECONDS)
                if is_ours(got):
                    return got
        raise LoginFailed(f"nobody has logged in within {seconds:g} s")

    def serve(self) -> None:
        """Answer the browser until `close`."""
        self._server.serve_forever(END_SECONDS)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def listening(port: int = 0) -> Iterator[Callback]:
    """Listen on a port of 127.0.0.1, a free one if it is 0.  Raises `LoginFailed`."""
    callback = Callback(port)
    thread = threading.Thread(target=callback.serve, daemon=True)
    thread.start()
    try:
        yield callback
    finally:
        callback.close()
        thread.join()
