"""The server with a world behind it, in memory: calls of its tools that work, and what reaches its faults."""

import io
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, field

from mcp_conformance.target.probe import probe_all
from mcp_conformance.transport.throwaway import Throwaway
from mcp_conformance.world.folder import furnish
from mcp_conformance_fixtures.world.server import World
from mcp_conformance_fixtures.world.store import Store
from support.bench import Bench, settings_in_memory

WHOLE = os.environ.get("WORLD") == "whole"
"""Whether all seeds, faults and states are tested, as `tox -e world` does, and not those of each push."""
REVISION = "2025-11-25"
OPENING = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
NOTE = {"title": "example", "text": "example text\nof rows"}


@dataclass
class Seen:
    """What was seen of the processes of a world: their stores, and the lines that clients sent."""

    stores: list = field(default_factory=list)
    lines: list = field(default_factory=list)

    @property
    def changes(self):
        """What calls changed of the things that were there before."""
        return [change for store in self.stores for change in store.changes]


def settings_on(throwaway, seed=0, examples=0, *, found_values=False, kept=None, **world):
    """Return settings for the world, which works in a furnished throwaway folder."""
    serve = world_in_memory(throwaway.work, **world)
    more = {"throwaway": throwaway, "seed": seed, "found_values": found_values, "kept": kept}
    return settings_in_memory(serve, examples, **more)


def bench_on(throwaway, seed=0, examples=0, **world):
    """Return a bench with the world, which works in a furnished throwaway folder."""
    return Bench(probe_all(settings_on(throwaway, seed, examples, **world), (REVISION,)), REVISION)


@contextmanager
def furnished():
    """Give a furnished throwaway folder."""
    throwaway = Throwaway()
    try:
        furnish(throwaway.work)
        yield throwaway
    finally:
        throwaway.remove()


class SeenWorld(World):
    """A world that keeps the lines of its clients."""

    seen: Seen

    def take(self, line):
        """Keep a line, and answer it."""
        self.seen.lines.append(bytes(line))
        super().take(line)


def world_in_memory(folder, *, disk=False, fault=None, existing=None, seen=None, own_ids=False):
    """Return a ``serve`` for the world, whose working directory is ``folder``.

    With ``disk``, its processes share their state; with ``own_ids``, each gives its notes ids of its own.
    ``seen`` gets what is seen of them.
    """
    seen = seen or Seen()

    def serve(out, _):
        made = 100 * len(seen.stores) if own_ids else 0
        store = Store(folder / "world.jsonl" if disk else None, existing, made=made)
        world = SeenWorld(store, folder, fault, out)
        world.seen = seen
        seen.stores.append(store)
        return world

    return serve


class Visitor:
    """A client of one world; ``out`` is what the server wrote."""

    def __init__(self, folder, fault=None, **more):
        self.out = io.BytesIO()
        self.world = world_in_memory(folder, fault=fault, **more)(self.out, None)
        self.request("initialize", OPENING)

    def request(self, method, params):
        """Send a request, and return the last line of the answer; None if nothing came."""
        start = self.out.tell()
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self.world.take(line.encode())
        lines = self.out.getvalue()[start:].splitlines()
        return json.loads(lines[-1]) if lines else None

    def call(self, tool, /, **arguments):
        """Call a tool, and return the result."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})["result"]

    def value(self, tool, /, **arguments):
        """Call a tool, and return its structured content, or the value in its text."""
        result = self.call(tool, **arguments)
        assert "isError" not in result, result
        return result.get("structuredContent") or json.loads(result["content"][0]["text"])

    def folder(self):
        """Create a folder, and return its name."""
        return self.call("create_folder", name="plans")["content"][0]["text"].split()[-1]

    def note(self, folder=None):
        """Create a note, and return its id."""
        return self.value("create_note", folder=folder or self.folder(), **NOTE)["id"]


def working_calls(visitor, folder):
    """Yield a call of each tool that works, as name and arguments; it has to be made before the next."""
    shelf = visitor.folder()
    id, other = visitor.note(shelf), visitor.note(shelf)
    day = visitor.value("get_note", id=id)["created"]
    number = visitor.value("list_notes", folder=shelf)["notes"][0]["number"]
    (folder / "rows.csv").write_text("title,size\nsmall,1\n", encoding="utf-8")
    yield "list_folders", {}
    yield "create_folder", {"name": "plans"}
    yield "list_notes", {"folder": shelf}
    yield "create_note", {"folder": shelf, **NOTE}
    yield "get_note", {"id": id}
    yield "get_by_number", {"number": number}
    yield "search_notes", {"query": "example"}
    yield "notes_between", {"from_date": day, "to_date": day}
    yield "set_state", {"id": id, "state": "done"}
    yield "move_note", {"id": id, "target_folder": visitor.folder()}
    yield "remind", {"id": id, "days": 3}
    yield "remind", {"id": id, "date": day}
    yield "read_range", {"id": id, "range": "A1:B2"}
    yield "count", {"id": id, "unit": "words"}
    yield "stats", {"unit": "words"}
    yield "paint_note", {"id": id, "colour": "teal"}
    yield "set_priority", {"id": id, "priority": "later"}
    yield "show_note", {"id": id, "layout": "roomy"}
    yield "pin_note", {"id": id, "position": 12}
    yield "export_note", {"id": id, "path": str(folder / "note.txt")}
    yield "import_csv", {"path": "rows.csv", "folder": shelf}
    yield "open_book", {"folder": shelf}
    yield "read_page", {"handle": visitor.value("open_book", folder=shelf)["handle"], "page": 1}
    yield "delete_note", {"id": other}
