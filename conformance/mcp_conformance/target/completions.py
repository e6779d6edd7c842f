"""What the server completes: values for the arguments of prompts and the variables of templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.target.sessions import SHARED, Sessions

CONTEXT_SINCE = "2025-06-18"
DECLARED_SINCE = "2025-03-26"
"""The first revision with a capability for completions."""


class Completions:
    """The completions in one revision.

    ``are_served`` is false when a request has shown that the server completes nothing.
    """

    def __init__(self, sessions: Sessions):
        self.are_served = True
        self._sessions = sessions

    @property
    def are_declared(self) -> bool:
        """Whether the server says that it completes, where the revision lets it say so."""
        surface = self._sessions.surface
        return surface.declares("completions") or surface.revision < DECLARED_SINCE

    def values(
        self, ref: Mapping[str, str], name: str, text: str = "", known: Mapping[str, str] | None = None
    ) -> list[str]:
        """Return the values for an argument that begins with ``text``, in the context of ``known`` ones."""
        if not self.are_served:
            return []
        params: dict[str, Any] = {"ref": dict(ref), "argument": {"name": name, "value": text}}
        if known and self._sessions.revision >= CONTEXT_SINCE:
            params["context"] = {"arguments": dict(known)}
        reply = self._sessions.shared(SHARED).request("completion/complete", params)
        if reply.fault is not None or reply.code == -32601:
            self.are_served = False
        return completed(reply)


def completed(reply: Reply) -> list[str]:
    """Return the values of a completion that are not empty."""
    found = members([reply.value or Value({})], "completion", "values")
    return [value.json for array in found for value in array.each() if value.is_a(str) and value.json]
