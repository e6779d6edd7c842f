"""The reference server, asking its client in ways that are unusual and allowed."""

import sys

from conformance.fixtures.mutants import answered, member, method, params
from conformance.fixtures.reference import main
from conformance.fixtures.reference_surface import text

RETRY = ("inputResponses", "requestState")


def mutate(server, request, reply):
    """What is sent instead of a reply, None for the reply itself."""
    odd = ODD.get(params(request).get("name")) if method(request) == "tools/call" else None
    return odd(server, request, reply) if odd is not None and reply is not None else None


def begins_with_a_state_alone(server, request, reply):
    """Has the client come again before it asks."""
    if asks(reply) and "requestState" not in params(request):
        del reply["result"]["inputRequests"]


def never_has_enough(server, request, reply):
    """Asks the same again, whatever it is given."""
    if "result" not in reply or asks(reply):
        return None
    known = {name: value for name, value in params(request).items() if name not in RETRY}
    return server.reply_to(request | {"params": known})


def does_not_look_at_its_state(server, request, reply):
    """Gives a state that says nothing, and takes any."""
    if asks(reply):
        reply["result"]["requestState"] = "nothing of note"
    elif isinstance(params(request).get("requestState"), str):
        known = {name: value for name, value in params(request).items() if name != "requestState"}
        return server.reply_to(request | {"params": known})
    return None


def refuses_in_words(server, request, reply):
    """Says in a result that it cannot use a response."""
    if "error" in reply and isinstance(params(request).get("requestState", ""), str) and is_retry(request):
        words = f"These are no answers: {params(request).get('inputResponses')}"
        return answered(request, server.modern.stamped("tools/call", {"content": [text(words)]}))
    return None


def asks(reply):
    """Tell whether a reply asks the client for something."""
    return member(reply, "result").get("resultType") == "input_required"


def is_retry(request):
    """Tell whether a request brings responses."""
    return "inputResponses" in params(request)


ODD = {
    "folders": begins_with_a_state_alone,
    "summarize": never_has_enough,
    "confirm": does_not_look_at_its_state,
    "ask": refuses_in_words,
}

if __name__ == "__main__":
    sys.exit(main(mutate))
