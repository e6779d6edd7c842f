"""The reference server, requiring input in ways that are unusual and allowed."""

import sys

from mcp_conformance_fixtures.mutants import answered, member, method, params
from mcp_conformance_fixtures.reference import main
from mcp_conformance_fixtures.reference_surface import text

RETRY = ("inputResponses", "requestState")


def mutate(server, request, reply):
    """Return the message to send instead of a reply; None to send the reply."""
    change = CHANGES.get(params(request).get("name")) if method(request) == "tools/call" else None
    return change(server, request, reply) if change is not None and reply is not None else None


def requires_a_state_first(server, request, reply):
    """Require a retry with a state alone before the first input request."""
    if needs_input(reply) and "requestState" not in params(request):
        del reply["result"]["inputRequests"]


def always_requires_more(server, request, reply):
    """Require the same input again after every response."""
    if "result" not in reply or needs_input(reply):
        return None
    known = {name: value for name, value in params(request).items() if name not in RETRY}
    return server.reply_to(request | {"params": known})


def ignores_its_state(server, request, reply):
    """Send a constant state, and accept every state."""
    if needs_input(reply):
        reply["result"]["requestState"] = "nothing of note"
    elif isinstance(params(request).get("requestState"), str):
        known = {name: value for name, value in params(request).items() if name != "requestState"}
        return server.reply_to(request | {"params": known})
    return None


def refuses_in_a_tool_result(server, request, reply):
    """Refuse a response in a tool result."""
    if "error" in reply and isinstance(params(request).get("requestState", ""), str) and is_retry(request):
        words = f"These are no answers: {params(request).get('inputResponses')}"
        return answered(request, server.modern.stamped("tools/call", {"content": [text(words)]}))
    return None


def needs_input(reply):
    """Return True if a reply requires input."""
    return member(reply, "result").get("resultType") == "input_required"


def is_retry(request):
    """Return True if a request has input responses."""
    return "inputResponses" in params(request)


CHANGES = {
    "folders": requires_a_state_first,
    "summarize": always_requires_more,
    "confirm": ignores_its_state,
    "ask": refuses_in_a_tool_result,
}

if __name__ == "__main__":
    sys.exit(main(mutate))
