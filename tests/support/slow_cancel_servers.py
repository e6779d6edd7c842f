"""A server with a slow tool that does not take it well when a call is cancelled, or that never answers."""

import os
import sys
import threading

from conformance.fixtures.awkward.slow_tool import Server


class Deaf(Server):
    """Goes on with what is cancelled."""

    def cancel(self, id):
        """Ignore it."""


class Dying(Server):
    """Ends with what is cancelled."""

    def cancel(self, id):
        """End the process."""
        os._exit(3)


class Mute(Server):
    """Never answers a slow call."""

    def work(self):
        """Wait for nothing."""
        threading.Event().wait()


if __name__ == "__main__":
    {"deaf": Deaf, "dying": Dying, "mute": Mute}[sys.argv[1]]().serve()
