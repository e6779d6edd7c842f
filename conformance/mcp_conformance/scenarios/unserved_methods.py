"""Methods of declared features that the server does not have: one cause, which one rule reports."""

from __future__ import annotations

from mcp_conformance.client.refusals import FEATURE_REQUESTS
from mcp_conformance.client.reply import Reply
from mcp_conformance.expect import skip
from mcp_conformance.protocol.revisions import REMOVED, is_modern
from mcp_conformance.scenarios.invalid_requests import lacks_method, misshapen_request
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding

RULE_SINCE = "2024-11-05"
OF_ITEMS = {
    "tools/call": ("tools/list",),
    "prompts/get": ("prompts/list",),
    "resources/read": ("resources/list", "resources/templates/list"),
}
"""The methods that take a listed item, and the lists of these items."""
OF_FEATURES = {
    method: path for path, _, method, _ in FEATURE_REQUESTS if method != "resources/templates/list"
}
"""The methods that a server must serve, each with its capability; that of templates is optional."""


@scenario
def unserved_methods(server: Server) -> tuple[Reply, ...]:
    """Return the refusal of each method that the server does not have although it declares the feature.

    A method that takes an item counts only if one is listed.
    """
    wanted = [method for method, path in OF_FEATURES.items() if server.declares(*path)]
    if is_modern(server.revision):
        wanted = [method for method in wanted if method not in REMOVED]
    needed = [one for one in wanted if one not in OF_ITEMS or _has_items(server, OF_ITEMS[one])]
    return tuple(misshapen_request(server, method) for method in needed if lacks_method(server, method))


def _has_items(server: Server, lists: tuple[str, ...]) -> bool:
    return bool(server.tools if lists == ("tools/list",) else server.listed(*lists))


def require_served(server: Server, method: str) -> None:
    """Skip the check if the server does not have a method; `expect_declared_methods` reports that."""
    if server.revision >= RULE_SINCE and lacks_method(server, method):
        rules = {False: "lifecycle.capabilities.advertised", True: "discover.capabilities-true"}
        skip(f"the server has no {method}: see {rules[is_modern(server.revision)]}")


def expect_declared_methods(server: Server) -> None:
    """Expect that the server has the methods of each declared feature.

    The probe itself reports that there is no tools/list.
    """
    is_reported = any(failure.name == "tools" for failure in server.surface.failures)
    lacking = [one for one in unserved_methods(server) if one.method != "tools/list" or not is_reported]
    if lacking:
        methods = ", ".join(reply.method for reply in lacking)
        lines = [line for reply in lacking[:3] for line in reply.lines]
        raise Finding(f"{methods} to be served, as the capability is declared", str(lacking[0]), lines)
