"""Methods of declared features that the server does not have: one cause, which one rule reports."""

from __future__ import annotations

from mcp_conformance.client.refusals import FEATURE_REQUESTS
from mcp_conformance.client.reply import Reply, results_of
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
SAYING = {
    "tools/call": ("tools.call.result-content-array", {"content", "structuredContent", "toolResult", "task"}),
    "prompts/get": ("prompts.get.result-shape", {"messages"}),
    "resources/read": ("resources.read.result-shape", {"contents"}),
}
"""The members of which a result has one, and the rule that says so."""


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
    """Skip the check if the server does not have a method, or answers it with results that say nothing.

    `expect_declared_methods` reports the first, the rules in `SAYING` the second.
    """
    if server.revision >= RULE_SINCE and lacks_method(server, method):
        rules = {False: "lifecycle.capabilities.advertised", True: "discover.capabilities-true"}
        skip(f"the server has no {method}: see {rules[is_modern(server.revision)]}")
    if method in SAYING and _says_nothing(server, method):
        skip(f"no result of {method} says anything: see {SAYING[method][0]}")


def refuses_what_exists(server: Server) -> bool:
    """Return whether something is listed, or a list is refused, and no request for it gives a result."""
    replies = [*(call.reply for call in server.calls()), *server.prompts(), *server.resources()]
    return bool(replies or unserved_methods(server)) and not results_of(replies)


def _says_nothing(server: Server, method: str) -> bool:
    """Return whether no result says anything; of calls those so far, as another may end the server."""
    replies = {
        "tools/call": server.tool_calls.answered,
        "prompts/get": server.prompts,
        "resources/read": server.resources,
    }
    results = results_of(one for one in replies[method]() if not one.needs_input)
    said = (result.json.keys() for result in results if result.is_a(dict))
    return bool(results) and all(SAYING[method][1].isdisjoint(members) for members in said)


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
