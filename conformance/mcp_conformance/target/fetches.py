"""The prompts and resources of the server: each is fetched once, and all checks judge the same answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_conformance.client.refusals import NO_SUCH_NAME
from mcp_conformance.client.reply import Closed, Reply, Unread
from mcp_conformance.expect import exercised, skip
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.lists import Lists
from mcp_conformance.target.reported import Reported
from mcp_conformance.target.sessions import CALLS, Sessions
from mcp_conformance.target.tool_calls import ToolCalls
from mcp_conformance.verdicts import Blocked

MAX_SILENT_FETCHES = 2
"""The same for prompts and resources: with the default timeout two cost a minute, four two minutes."""
MAX_READS = 10
"""How many of the listed resources are read: what the checks of results judge; each costs one request."""
MADE_UP = "example"
"""The value of each argument of a prompt."""


class Fetches:
    """The prompts and resources fetched in one revision; refusals are among the replies.

    ``completes`` is false when a request has shown that the server does not complete templates' variables.
    """

    def __init__(self, sessions: Sessions, lists: Lists, tool_calls: ToolCalls, reported: Reported):
        self.completes = True
        self._sessions, self._lists = sessions, lists
        self._tool_calls, self._reported = tool_calls, reported
        self._replies: dict[tuple[str, str], Reply] = {}
        self._silent = 0

    def prompts(self) -> list[Reply]:
        """Fetch each listed prompt once with made-up arguments."""
        if not self._sessions.surface.declares("prompts"):
            return []
        return exercised(self._prompt, self._lists.get("prompts/list").items)

    def resources(self) -> list[Reply]:
        """Read the first listed resources once."""
        if not self._sessions.surface.declares("resources"):
            return []
        items = self._lists.get("resources/list").first(MAX_READS)
        return exercised(self._resource, items)

    def read(self, uri: str) -> Reply:
        """Read a resource once in a run, listed or not."""
        return self._fetch("resources/read", uri, {"uri": uri}, "resources.read.not-found-is-error")

    def wanting_input(self) -> list[Reply]:
        """Return the fetches so far of listed prompts and resources that failed or asked for something."""
        known = [one for one in self._replies.values() if NO_SUCH_NAME not in one.request.text]
        return [one for one in known if one.error is not None or one.needs_input]

    def _prompt(self, item: Value) -> Reply:
        name, listed = item.get("name"), item.get("arguments")
        if name is None or not name.is_a(str):
            skip("a prompt without a name")
        names = [argument.get("name") for argument in listed.each()] if listed is not None else []
        arguments = {one.json: MADE_UP for one in names if one is not None and one.is_a(str)}
        return self._fetch("prompts/get", name.json, {"name": name.json, "arguments": arguments})

    def _resource(self, item: Value) -> Reply:
        uri = item.get("uri")
        if uri is None or not uri.is_a(str):
            skip("a resource without a URI")
        params = {"uri": uri.json}
        return self._fetch("resources/read", uri.json, params, "resources.read.listed-is-readable")

    def _fetch(self, method: str, key: str, params: Mapping[str, Any], requirement: str = "") -> Reply:
        if (method, key) not in self._replies:
            self._replies[method, key] = self._fetched(method, params)
        reply = self._replies[method, key]
        if reply.fault is not None:
            reason = f"{method} of {key} was not answered: {reply.fault}"
            blocked = Blocked(reason, reply.lines, reply.fault.stderr, requirement)
            self._reported.raise_once(f"{method} {key}", blocked)
        if reply.needs_input:
            skip(f"{method} of {key} asks the client for something first")
        return reply

    def _fetched(self, method: str, params: Mapping[str, Any]) -> Reply:
        if self._silent >= MAX_SILENT_FETCHES:
            skip(f"{MAX_SILENT_FETCHES} prompts or resources did not come, so no more are fetched")
        if self._tool_calls.pending.keep_others_waiting:
            self._tool_calls.end_pending()
        reply = self._sessions.shared(CALLS).request(method, params)
        if reply.fault is not None and not isinstance(reply.fault, Closed | Unread):
            self._silent += 1
        return reply
