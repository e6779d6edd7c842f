"""Scenes on the server with state, in memory: what is learned of it, and what is found, without a world."""

from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.value import Value
from mcp_conformance.state.hand import Hand
from mcp_conformance.state.judging import Judging, plays, seen_again
from mcp_conformance.state.learning import Learner
from mcp_conformance.state.links import Workable
from mcp_conformance.state.scene import Stage
from mcp_conformance.state.tokens import Tokens
from mcp_conformance.state.workshop import Workshop
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.ours import Ours
from support.in_memory import MemoryTransport, VirtualClock
from support.state import REVISION, state_in_memory

MARK = "example0a1b"
OURS = Ours(frozenset({"example"}), frozenset({MARK}))
PARENTS = {
    ("folder",): Known("", ("folder",), Origin("an answer of", "create_folder"), Owner.MADE, 3),
    ("id",): Known("", ("id",), Origin("an answer of", "create_note"), Owner.MADE, 3),
}
"""The members that name what another tool has made."""


class Theatre:
    """A process of the server with state, and the tools that may be called in it.

    ``arguments`` are those with which each tool works there; `folder` is one that was made before.
    """

    def __init__(self, name="", tools=(), max_calls=1500, log=None):
        transport = MemoryTransport(state_in_memory(name, log), VirtualClock())
        self.session = Session(transport, revision=REVISION, timeout=5.0)
        self.session.open(5.0)
        listed = self.session.request("tools/list").result["tools"]
        cursor = self.session.request("tools/list").result.get("nextCursor")
        while cursor is not None:
            page = self.session.request("tools/list", {"cursor": cursor}).result
            listed, cursor = [*listed, *page["tools"]], page.get("nextCursor")
        self.tools = {one["name"]: Tool(Value(one, "tool", ())) for one in listed}
        self._names = tools or tuple(self.tools)
        self.folder = self.result("create_folder", name=MARK)["id"]
        note = self.result("create_note", folder=self.folder, title=MARK, text="example")["id"]
        self.arguments = {
            "create_folder": {"name": MARK},
            "list_folders": {},
            "delete_folder": {"id": self.folder},
            "create_note": {"folder": self.folder, "title": MARK, "text": "example"},
            "get_note": {"id": note},
            "get_note_of_folder": {"folder": self.folder, "id": note},
            "list_notes": {"folder": self.folder},
            "update_note": {"id": note},
            "move_note": {"id": note, "folder": self.folder},
            "delete_note": {"id": note},
            "search": {"query": MARK},
            "increment_counter": {"name": MARK},
            "read_counter": {"name": MARK},
            "write_file": {"name": MARK, "text": "example"},
            "read_file": {"name": MARK},
            "list_files": {},
            "delete_file": {"name": MARK},
        }
        hand = Hand(
            lambda tool, arguments: Call(tool, arguments, self._ask(tool.name, arguments)),
            self._together,
            max_calls=max_calls,
            clock=transport.clock.monotonic,
            pause=lambda: self.session.wait_for(lambda: False, 0.5),
        )
        self.shop = Workshop(hand, Tokens(MARK, len(name)), OURS, REVISION, self._renamed)

    def _ask(self, tool, arguments):
        return self.session.request("tools/call", {"name": tool, "arguments": arguments})

    def _together(self, calls):
        sent = [
            self.session.send("tools/call", {"name": tool.name, "arguments": given}) for tool, given in calls
        ]
        replies = [self.session.await_reply(one, 5.0) for one in sent]
        return [Call(tool, given, reply) for (tool, given), reply in zip(calls, replies, strict=True)]

    def _renamed(self, arguments):
        """Put the folder of this process in the place of that of another one."""
        return {**arguments, **({"folder": self.folder} if "folder" in arguments else {})}

    def result(self, tool, **arguments):
        """Call a tool, and return its structured content."""
        return self._ask(tool, arguments).result["structuredContent"]

    @property
    def workables(self):
        """The tools with arguments that work, in the order of the list."""
        return [
            Workable(self.tools[name], given, {path: PARENTS[path] for path in PARENTS if path[0] in given})
            for name, given in self.arguments.items()
            if name in self._names
        ]

    def learn(self):
        """Return what is learned of the server."""
        return Learner(self.shop, self.workables).learn()


def found_in(name="", tools=(), log=None):
    """Return the rules that were judged on a server, and the violations that a fresh process confirms."""
    theatre = Theatre(name, tools, log=log)
    learned = theatre.learn()
    judging = Judging(Stage(theatre.shop, learned.noise))
    judging.judge_all(plays(learned))
    sure = {}
    for one in judging.found:
        if one.oracle.rule not in sure:
            again = seen_again(one, Stage(Theatre(name, tools, log=log).shop, learned.noise))
            if again is not None:
                sure[one.oracle.rule] = again
    return judging.judged, sure
