"""Servers with a slow tool that handle its cancellation wrongly, or answer it late or never."""

import os
import sys
import threading
from pathlib import Path

from mcp_conformance_fixtures.awkward._base import text
from mcp_conformance_fixtures.awkward.slow_tool import Cancelled, Server

MANY_CALLS = 60


class Ignoring(Server):
    """A server that ignores cancellations."""

    def cancel(self, id):
        """Ignore the cancellation."""


class Exiting(Server):
    """A server that ends when a call is cancelled."""

    def cancel(self, id):
        """End the process."""
        os._exit(3)


class Silent(Server):
    """A server that never answers a slow call."""

    def work(self):
        """Wait without end."""
        threading.Event().wait()


class FuzzedFirst(Server):
    """A server that ends slow calls when another of its processes has got more calls than checks make."""

    calls = 0

    def handle(self, request):
        """Count the calls of the quick tools."""
        self.calls += isinstance(request, dict) and request.get("method") == "tools/call"
        if self.calls > MANY_CALLS:
            Path(sys.argv[2]).touch()
        return super().handle(request)

    def work(self):
        """Wait for the other process, or until the call is cancelled."""
        stop = self.stops[self.here.request["id"]] = threading.Event()
        while not Path(sys.argv[2]).exists():
            if stop.wait(0.05):
                raise Cancelled
        return text("done")


if __name__ == "__main__":
    {"ignoring": Ignoring, "exiting": Exiting, "silent": Silent, "fuzzed-first": FuzzedFirst}[
        sys.argv[1]
    ]().serve()
