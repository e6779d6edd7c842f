"""Servers with a slow tool that handle its cancellation wrongly, or never answer it."""

import os
import sys
import threading

from conformance.fixtures.awkward.slow_tool import Server


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


if __name__ == "__main__":
    {"ignoring": Ignoring, "exiting": Exiting, "silent": Silent}[sys.argv[1]]().serve()
