"""A fault is reported as what it is: other rules do not accuse the server of its consequences."""

from types import SimpleNamespace

import pytest

from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE, LATEST_MODERN
from mcp_conformance_fixtures.mutants import answered, method, params, refused
from mcp_conformance_fixtures.reference import END, START
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

HANDSHAKE, MODERN = LATEST_HANDSHAKE, LATEST_MODERN


def found(mutate, revision, *rules):
    """Return the findings of some rules on the reference server with a fault."""
    settings = settings_in_memory(mutated(only_for_requests(mutate)))
    run = run_checks(settings, revision, lambda check: not check.ids.isdisjoint(rules))
    return [verdict for verdict in run.verdicts if verdict.row.id in rules]


def only_for_requests(mutate):
    """Return a mutation that leaves alone what is no answer to a request."""
    return lambda _, request, reply: (
        None
        if request in (START, END) or not isinstance(request, dict) or not reply
        else mutate(request, reply)
    )


def without(unknown):
    """Return a mutation: the server does not know a method."""
    return lambda request, _: (
        refused(request, -32601, "There is no such method.") if method(request) == unknown else None
    )


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
@pytest.mark.parametrize(
    ("unknown", "rules"),
    [
        ("tools/call", ["tools.call.unknown-tool-code", "tools.call.malformed-request-code"]),
        ("prompts/get", ["prompts.get.unknown-name-code"]),
        ("resources/templates/list", ["errors.invalid-params-code"]),
        ("tools/call", ["errors.invalid-params-code"]),
    ],
    ids=["calls", "prompts", "templates", "params of calls"],
)
def test_a_method_that_is_unknown_has_the_right_code(unknown, rules, revision):
    assert [verdict.text for verdict in found(without(unknown), revision, *rules)] == []


def test_an_unknown_tool_that_is_refused_like_an_unknown_method_is_reported():
    def unknown_tool(request, reply):
        is_unknown = method(request) == "tools/call" and "no_such" in str(params(request).get("name"))
        return refused(request, -32601, "There is no such method.") if is_unknown else reply

    assert found(unknown_tool, HANDSHAKE, "tools.call.unknown-tool-code")


def test_a_prompt_that_repeats_an_argument_as_a_uri_is_not_reported():
    def embeds_argument(request, reply):
        given = params(request).get("arguments", {})
        if method(request) == "prompts/get" and given and "result" in reply:
            resource = {"uri": next(iter(given.values())), "mimeType": "text/plain", "text": "a"}
            message = {"role": "user", "content": {"type": "resource", "resource": resource}}
            reply["result"]["messages"].append(message)

    assert found(embeds_argument, HANDSHAKE, "content.embedded.uri-valid") == []


def test_a_server_without_result_types_is_not_accused_of_mixing_eras():
    def has_no_type(_, reply):
        reply.get("result", {}).pop("resultType", None)

    assert found(has_no_type, MODERN, "dualera.modern-served-statelessly") == []


def test_a_wrong_mode_is_shown_with_the_request_that_declared_the_others():
    def asks_for_a_form(request, reply):
        if params(request).get("name") == "open_page" or method(request) == "prompts/get":
            form = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
            asked = {"a": {"method": "elicitation/create", "params": form}}
            return answered(request, {"resultType": "input_required", "inputRequests": asked})
        return reply

    finding = found(asks_for_a_form, MODERN, "clientfeature.elicitation.mode-supported")[0].error
    sent, received = (SimpleNamespace(**line.message) for line in finding.lines[:2])
    assert sent.id == received.id
    assert sent.method != "server/discover"


def test_a_request_that_is_never_answered_is_told_once():
    rules = ("tools.call.malformed-request", "tools.call.malformed-request-code")

    def silent_without_params(request, reply):
        return [] if method(request) == "tools/call" and "params" not in request else reply

    (blocked,) = found(silent_without_params, HANDSHAKE, *rules)
    assert "was not answered" in str(blocked.error)
