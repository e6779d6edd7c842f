"""The prompts and resources of a server, as what may ask its API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.value import Value
from mcp_conformance.scenarios.resource_templates import expansions
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Skipped

MAX_FETCHES = 10
"""How many prompts, resources and expansions of templates are fetched, of each.  Not measured."""
KEYS = {"prompts/get": "name", "resources/read": "uri"}
"""The member of the params that names what is fetched, by the method."""


@dataclass(frozen=True)
class Fetch:
    """A fetch of a prompt or a resource, which stands where a `Call` does."""

    method: str
    params: dict[str, Any]
    reply: Reply

    @property
    def tool(self) -> Tool:
        """What is fetched, as a tool that only reads."""
        name = f"{self.method} {self.params[KEYS[self.method]]}"
        return Tool(Value({"name": name, "annotations": {"readOnlyHint": True}}))

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a prompt, or the parts of a URI that may be values."""
        if self.method == "prompts/get":
            return dict(self.params.get("arguments", {}))
        return {str(at): part for at, part in enumerate(self.params["uri"].split("/"))}


def api_fetches(server: Server) -> list[Fetch]:
    """Return a fetch of each prompt, resource and template that is listed, a result if there is one."""
    prompts = _fetched(server, server.prompts)
    resources = _fetched(server, server.resources)
    expanded = _fetched(server, lambda: [one.reply for one in _best_of_each(server)])
    return [*prompts, *resources, *expanded]


def _fetched(server: Server, replies: Callable[[], list[Reply]]) -> list[Fetch]:
    """Return the first fetch of each thing; none if one is not answered, which another rule is about."""
    found: dict[str, Fetch] = {}
    with suppress(Skipped), server.reported.without_report("a fetch is not answered"):
        for reply in replies():
            message = reply.request.message
            params = {name: value for name, value in message["params"].items() if name != "_meta"}
            one = Fetch(message["method"], params, reply)
            found.setdefault(one.tool.name, one)
    return list(found.values())[:MAX_FETCHES]


def _best_of_each(server: Server) -> list[Any]:
    """Return one expansion of each template, one that could be read if there is one."""
    found: dict[str, Any] = {}
    for one in expansions(server):
        key = one.template.json["uriTemplate"]
        if key not in found or (found[key].reply.value is None and one.reply.value is not None):
            found[key] = one
    return list(found.values())
