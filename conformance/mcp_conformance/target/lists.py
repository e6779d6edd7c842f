"""The lists of the server: each is fetched once, and all checks judge the same record."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.client.listing import Listing, fetch_list
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.sessions import SHARED, Sessions
from mcp_conformance.target.trail import traced

ALL_BUT_TOOLS = ("prompts/list", "resources/list", "resources/templates/list")


class Lists:
    """The lists of the server in one revision, by their methods (``tools/list``, ``prompts/list``, ...)."""

    def __init__(self, sessions: Sessions):
        self._sessions, self.trail = sessions, sessions.trail
        self._fetched: dict[str, Listing] = {}

    @traced
    def get(self, method: str) -> Listing:
        """Return a list, declared or not, from the shared session."""
        if method not in self._fetched:
            self._fetched[method] = fetch_list(self._sessions.shared(SHARED), method, LISTS[method][1])
        return self._fetched[method]

    def declared(self) -> Iterator[Listing]:
        """Yield the list of each declared feature."""
        for method, (feature, _) in LISTS.items():
            if self._sessions.surface.declares(feature):
                yield self.get(method)

    def served(self) -> list[str]:
        """Return the methods of the lists that are declared and answered."""
        return [one.method for one in self.declared() if one.replies[0].value is not None]

    def paged(self) -> list[Listing]:
        """Return the lists that have a second page."""
        return [one for one in self.declared() if any(cursor.is_a(str) for cursor in one.cursors)]

    def complete_paged(self) -> list[Listing]:
        """Return the lists that have a second page, came to an end, and were read in full."""
        return [one for one in self.paged() if one.is_complete]

    def items(self, *methods: str) -> list[Value]:
        """Return every item of these declared lists (`ALL_BUT_TOOLS` if none are named)."""
        wanted = methods or ALL_BUT_TOOLS
        return [item for one in self.declared() if one.method in wanted for item in one.items]
