"""The preparation of a new process: a server may keep in memory what its tools need, and others made.

The calls that worked are made again in the new process, so that known values exist there too.  A server that
keeps its state elsewhere, such as in files, gets no call that changes something.  The world speaks of things
by the names that they have in the first process: where another one gives them other names, arguments are
renamed when they are sent.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.answers import values_of
from mcp_conformance.world.known import Origin
from mcp_conformance.world.made_up import STORED
from mcp_conformance.world.ownership import is_deleting
from mcp_conformance.world.success import is_success
from mcp_conformance.world.world import World

T = TypeVar("T")
SHOWN, SENT = "an answer of", "arguments of"
"""The kinds of origins of values that a call of another tool has made, or may have."""
# Not measured: a tool's first calls that worked make what the others need.
MAX_OF_A_TOOL = 3
# Not measured: fifty calls of 0.1 s.  A process that is prepared in part knows the values of some tools.
MAX_SECONDS = 5.0
MIN_LENGTH = 3
"""The length of the shortest text that is replaced by the one that the new process has in its place."""


class Preparation:
    """The preparation of new processes by the calls that worked in a first one."""

    def __init__(self, world: World):
        self._world = world
        self._worked: list[Call] = []
        self._numbers: Counter[str] = Counter()

    def note(self, call: Call) -> None:
        """Keep a call if it worked, to be made again; but none that takes something away."""
        name = call.tool.name
        is_usual = not (call.is_slow or call.asked or is_deleting(call.tool))
        is_new = all((one.tool.name, one.arguments) != (name, call.arguments) for one in self._worked)
        if is_usual and is_new and self._numbers[name] < MAX_OF_A_TOOL and is_success(call.reply):
            self._numbers[name] += 1
            self._worked.append(call)

    def has_worked(self, call: Call) -> bool:
        """Return whether a call that only reads, or has no arguments, worked in another process as it is."""
        is_simple = call.tool.read_only or not call.arguments
        wanted = (call.tool.name, call.arguments)
        same = [one for one in self._worked if (one.tool.name, one.arguments) == wanted]
        return is_simple and any(not self._is_witness(one) for one in same)

    def prepare(self, session: Session, tools: Collection[str]) -> None:
        """Make in a new process, which has these tools, what the known values name, if it does not have that.

        Tools that only read are called first: if all calls with values that other tools have made work, then
        these last.
        """
        if not any(map(self._is_witness, self._worked)):
            return
        before = len(session.lines)
        calls = [call for call in self._worked if call.tool.name in tools]
        reading = [call for call in calls if call.tool.read_only or self._reads_rows(call)]
        failed = self._failed(session, reading)
        if failed or not any(map(self._is_witness, reading)):
            self._failed(session, calls)
        session.preparation = tuple(session.lines[before:])

    def _failed(self, session: Session, calls: list[Call]) -> bool:
        """Make calls again; return whether one with values that others have made does not work."""
        until, has_failed = session.clock.monotonic() + MAX_SECONDS, False
        for call in calls:
            if session.closed or session.clock.monotonic() > until:
                break
            reply = session.request("tools/call", renamed_value(session, call.params))
            if is_success(reply):
                session.renamed.update(_renamed(call, reply))
            has_failed |= self._is_witness(call) and not is_success(reply)
        return has_failed

    def _is_witness(self, call: Call) -> bool:
        """Return whether a call has a value that a call of another tool has made."""
        origins = self._origins(call)
        has_others = any(one.kind in (SHOWN, SENT) and one.of != call.tool.name for one in origins)
        return has_others or self._reads_rows(call)

    def _reads_rows(self, call: Call) -> bool:
        """Return whether a call reads rows that another call of its tool has stored."""
        return any(one.kind == STORED for one in self._origins(call))

    def _origins(self, call: Call) -> list[Origin]:
        same = [one for one in self._world.worked[call.tool.name] if one.arguments == call.arguments]
        return [known.origin for one in same for known in one.known.values()]


def renamed(session: Session, text: bytes) -> bytes:
    """Return a JSON text with the values that a session's process has in the place of those of the first."""
    if not session.renamed:
        return text
    wanted = b"|".join(map(re.escape, sorted(session.renamed, key=len, reverse=True)))
    return re.sub(wanted, lambda found: session.renamed[found[0]], text)


def renamed_value(session: Session, value: T) -> T:
    """Return a JSON value with the values that a session's process has in the place of those of the first."""
    if not session.renamed:
        return value
    made: T = json.loads(renamed(session, encode(value)))
    return made


def _renamed(call: Call, reply: Reply) -> Mapping[bytes, bytes]:
    """Return the texts in the answer to a call that are others when the call is made again, as JSON."""
    pairs = zip(_texts(call, call.reply), _texts(call, reply), strict=False)
    return {encode(old): encode(new) for (keys, old), (same, new) in pairs if keys == same and old != new}


def _texts(call: Call, reply: Reply) -> Iterator[tuple[tuple[str, ...], Any]]:
    for one in values_of(reply.result, call.tool.name, call.arguments):
        if isinstance(one.value, str) and len(one.value) >= MIN_LENGTH:
            yield one.keys, one.value
