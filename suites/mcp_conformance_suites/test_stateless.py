"""Each request is served by itself, whatever came before it (spec: basic, "Statelessness").

Most checks use one process whose first message is a list request, and the shared session.
"""

from __future__ import annotations

import pytest

from mcp_conformance.client.input_required import input_requests, send_retry
from mcp_conformance.client.listing import fetch_list
from mcp_conformance.expect import expect_result, require_answer, require_some, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.protocol.methods import FEATURES, LISTS
from mcp_conformance.scenarios.client_features import (
    FULL_CLIENT,
    all_capabilities,
    answers_for,
    run_with_client,
)
from mcp_conformance.scenarios.multi_round_trip import (
    abandoned_process,
    is_refused,
    require_responses,
    still_accepted,
)
from mcp_conformance.scenarios.request_metadata import first_calls, first_exchange, meta_value, succeeds
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.target.scenario import scenario
from mcp_conformance.verdicts import Finding

OTHER_CLIENTS = (
    {"name": "ExampleHost", "version": "9.9.9", "title": "Example"},
    {"name": "conformance-other", "version": "0"},
)


# Earlier requests


@pytest.mark.requirement("stateless.no-prior-context", "stateless.discover-not-required")
def test_the_first_request_may_be_any(server):
    if not server.served_lists():
        skip("the server offers no list")
    _, reply = first_exchange(server)
    if require_answer(reply).value is None:
        raise Finding("a result, as after server/discover", str(reply), reply.lines)


@pytest.mark.requirement("stateless.no-prior-context")
def test_a_call_may_come_before_any_list(server):
    require_served(server, "tools/call")
    first, *later = first_calls(server)
    require_answer(first)
    if any(succeeds(call) for call in later):
        raise Finding("a result, as after tools/list", str(first), (*first.lines, *later[0].lines))
    if later:
        skip(f"the call fails after tools/list too: {later[0]}")


@pytest.mark.requirement("stateless.no-prior-context", "stateless.capabilities-not-inferred")
def test_capabilities_are_those_of_the_request(server):
    expect_own_capabilities(server, calls_with_capabilities(server)[:3])


@pytest.mark.requirement("stateless.capabilities-not-inferred")
def test_capabilities_are_not_those_of_a_concurrent_request(server):
    expect_own_capabilities(server, calls_with_capabilities(server)[3:])


# The identity of the client


@pytest.mark.requirement("stateless.interleaved-clients")
def test_several_clients_may_take_turns(server):
    pages = {method: server.listing(method).replies[0].value for method in server.served_lists()}
    methods = [method for method, page in pages.items() if page.get(LISTS[method][1]) is not None]
    require_some(methods, skip="the server offers no list")
    session, _ = first_exchange(server)
    clients = (*OTHER_CLIENTS, session.client_info)
    turns = enumerate((method, client) for method in methods for client in clients)
    sent = [(method, session.send(method, meta_of(client, f"turn-{at}"))) for at, (method, client) in turns]
    for method, request in sent:
        reply = session.await_reply(request)
        result, member = expect_result(reply), LISTS[method][1]
        if result.get(member) is None:
            raise Finding(f"the answer to {method}, with {member}", str(reply), reply.lines)


@pytest.mark.requirement("stateless.identity-neutral")
def test_client_info_changes_nothing(server):
    methods = require_some(server.served_lists(), skip="the server offers no list")
    session, _ = first_exchange(server)
    usual = session.client_info
    for method in methods:
        before, *others, after = [
            listed_for(session, method, client) for client in (usual, *OTHER_CLIENTS, usual)
        ]
        for client, other in zip(OTHER_CLIENTS, others, strict=True):
            if names(before) == names(after) != names(other):
                got = f"{', '.join(sorted(names(before) ^ names(other)))} only for one of them"
                lines = (*before.replies[0].lines, *other.replies[0].lines)
                raise Finding(f"the same {method} for {usual['name']} and {client['name']}", got, lines)


# Another process


@pytest.mark.requirement("stateless.no-connection-affinity")
def test_a_page_may_be_requested_from_another_process(server):
    listings = require_some(server.lists.paged(), skip="no list has a second page")
    with server.fresh("pages of another process") as session:
        for listing in listings:
            cursor = {"cursor": next(cursor.json for cursor in listing.cursors if cursor.is_a(str))}
            reply = require_answer(session.request(listing.method, cursor))
            if reply.value is None and server.session.request(listing.method, cursor).value is not None:
                expected = "the next page, as from the first process"
                raise Finding(expected, str(reply), reply.lines, advisory=True)


@pytest.mark.requirement("stateless.no-connection-affinity")
def test_a_request_may_be_retried_in_another_process(server):
    rounds = require_some(abandoned_process(server).asked, skip="no request requires input a second time")
    capabilities, answers = FULL_CLIENT.declares(server.revision), answers_for(server, FULL_CLIENT)
    with server.fresh("a retry in another process", capabilities, answers) as session:
        for one, first in rounds:
            reply = require_answer(send_retry(session, first, require_responses(session, first) or ABSENT))
            taken = len(one.rounds) > 1 and not is_refused(one.rounds[1])
            if taken and is_refused(reply) and still_accepted(server, one):
                raise Finding("what the first process answers", str(reply), reply.lines, advisory=True)


@scenario
def calls_with_capabilities(server):
    """Make a call that requires input three times one by one, and three times at once; return the replies."""
    params = list(params_of(server, require_asking_call(server)))
    with server.fresh("capabilities of each request") as session:
        replies = [session.request("tools/call", one) for one in params]
        sent = [session.send("tools/call", one) for one in params]
        return (*replies, *map(session.await_reply, sent))


def require_asking_call(server):
    """Return a call that requires input of a client with every capability, but not of one with none."""
    calls = [call for call in run_with_client(server, FULL_CLIENT).calls if input_requests(call.rounds[0])]
    plain = {call.tool.name: call for call in server.tool_calls.wanting_input()}
    found = [call for call in calls if call.tool.name in plain and not plain[call.tool.name].asked]
    return require_some(found, skip="no tool sends a request to the client")[0]


def params_of(server, call):
    """Yield the params of a call with every capability, with none, and with every capability again."""
    full = all_capabilities(server.revision)
    for declared in (full, {}, full):
        meta = {revisions.CLIENT_CAPABILITIES: declared}
        yield {**call.params, "_meta": meta}


def expect_own_capabilities(server, replies):
    """Expect that the input requests of each reply are within the capabilities of its request."""
    for reply in map(require_answer, replies):
        declared = meta_value(reply.request.message, revisions.CLIENT_CAPABILITIES)
        methods = [str(one.get("method")) for one in input_requests(reply).values() if isinstance(one, dict)]
        if any(FEATURES.get(method, "") not in declared for method in methods):
            expected = "no input request for a capability that only another request declared"
            raise Finding(expected, str(reply), reply.lines)
        if declared and not methods and requires_input_first(server, reply):
            expected = "the same as when no request with fewer capabilities came before"
            raise Finding(expected, str(reply), reply.lines)


def requires_input_first(server, reply):
    """Return whether the same call, as the first one of a new process, requires input."""
    with server.fresh("a first call", all_capabilities(server.revision)) as session:
        again = require_answer(session.request("tools/call", reply.request.message["params"]))
        return bool(input_requests(again))


def meta_of(client, token):
    """Return params with the `_meta` of another client."""
    return {"_meta": {revisions.CLIENT_INFO: client, "progressToken": token}}


def listed_for(session, method, client):
    """Fetch a list as another client."""
    session.client_info = client
    return fetch_list(session, method, LISTS[method][1])


def names(listing):
    """Return the identifiers of a list."""
    return set(listing.identifiers())
