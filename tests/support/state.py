"""The server with state, in memory: its processes, and a client that calls its tools."""

import io
import json

from mcp_conformance_fixtures.state.faults import FAULTS
from mcp_conformance_fixtures.state.notebook import Notebook
from mcp_conformance_fixtures.state.odd import ODD
from mcp_conformance_fixtures.state.server import State

REVISION = "2025-11-25"
OPENING = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
KINDS_OF_SERVERS = {"": Notebook, **FAULTS, **ODD}
"""The notebooks by the name of their fault or of what is odd; the right one has no name."""


def state_in_memory(name="", log=None):
    """Return a ``serve`` for the server with state; with a ``log`` its processes share this file."""
    kind = KINDS_OF_SERVERS[name]
    return lambda out, _: State(kind(kind.store_type(log)), out)


class Caller:
    """A client of one process, for which no time passes: what the server schedules is never done."""

    asked = 0

    def __init__(self, name="", log=None, server=None):
        self.out = io.BytesIO()
        self.server = server or state_in_memory(name, log)(self.out, None)
        self.server.schedule = lambda _, job: None
        self.request("initialize", OPENING)

    def request(self, method, params):
        """Send a request, and return the messages that the server wrote."""
        self.asked += 1
        return self.write({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})

    def write(self, message):
        """Write a message, and return those of the server."""
        start = self.out.tell()
        self.server.take(json.dumps(message).encode())
        return [json.loads(line) for line in self.out.getvalue()[start:].splitlines()]

    def result(self, tool, /, **arguments):
        """Call a tool, answer the pings for which it waits, and return the result."""
        messages = self.request("tools/call", {"name": tool, "arguments": arguments})
        while messages[-1].get("method") == "ping":
            messages = self.write({"jsonrpc": "2.0", "id": messages[-1]["id"], "result": {}})
        return messages[-1]["result"]

    def call(self, tool, /, **arguments):
        """Call a tool, and return its structured content, or None if it refuses."""
        return self.result(tool, **arguments).get("structuredContent")

    def announced(self, tool, /, **arguments):
        """Call a tool, and return what is announced, as pairs of the method's last word and the params."""
        messages = self.request("tools/call", {"name": tool, "arguments": arguments})
        return [(one["method"].rpartition("/")[2], one.get("params")) for one in messages if "method" in one]

    def folder(self, name="plans"):
        """Create a folder, and return its id."""
        return self.call("create_folder", name=name)["id"]

    def note(self, folder, title="title", text="text"):
        """Create a note, and return its id."""
        return self.call("create_note", folder=folder, title=title, text=text)["id"]

    def titles(self, folder, **more):
        """Return the titles of the notes that a folder lists."""
        return [note["title"] for note in self.call("list_notes", folder=folder, **more)["notes"]]
