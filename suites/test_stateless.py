"""Each request stands for itself, whatever came before it (spec: basic, "Statelessness").

Most is seen in one process whose first message is a list request, and in the conversation all checks share.
"""

from __future__ import annotations

import pytest

from conformance.client.input_required import input_requests, send_retry
from conformance.client.listing import fetch_list
from conformance.expect import expect_result, require_answer, require_some, skip
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import ABSENT
from conformance.protocol.methods import FEATURES, LISTS
from conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, answers_for, run_with_client
from conformance.scenarios.multi_round_trip import abandoned_process, is_refused, require_responses, still_accepted
from conformance.scenarios.request_metadata import first_talk, said_of
from conformance.verdicts import Finding

STRANGERS = (
    {"name": "ExampleHost", "version": "9.9.9", "title": "Example"},
    {"name": "conformance-other", "version": "0"},
)


# What came before


@pytest.mark.requirement("stateless.no-prior-context", "stateless.discover-not-required")
def test_the_first_request_may_be_any(server):
    if not server.served_lists():
        skip("the server offers no list")
    _, reply = first_talk(server)
    if require_answer(reply).value is None:
        raise Finding("a result, as after server/discover", str(reply), reply.lines)


@pytest.mark.requirement("stateless.no-prior-context", "stateless.capabilities-not-inferred")
def test_capabilities_are_those_of_the_request(server):
    expect_own_capabilities(server, capability_talk(server)[:3])


@pytest.mark.requirement("stateless.capabilities-not-inferred")
def test_capabilities_are_not_those_of_a_request_under_way(server):
    expect_own_capabilities(server, capability_talk(server)[3:])


# Who asks


@pytest.mark.requirement("stateless.interleaved-clients")
def test_several_clients_may_take_turns(server):
    session, methods = first_talk(server)[0], require_some(server.served_lists(), skip="the server offers no list")
    pairs = [(method, who) for method in methods for who in (*STRANGERS, session.client_info)]
    sent = [
        (method, session.send(method, meta_of(who, f"turn-{at}"))) for at, (method, who) in enumerate(pairs)
    ]
    for method, request in sent:
        reply = session.await_reply(request)
        result, member = expect_result(reply), LISTS[method][1]
        if result.get(member) is None:
            raise Finding(f"the answer to {method}, with {member}", str(reply), reply.lines)


@pytest.mark.requirement("stateless.identity-neutral")
def test_who_asks_changes_nothing(server):
    methods = require_some(server.served_lists(), skip="the server offers no list")
    session = first_talk(server)[0]
    usual = session.client_info
    for method in methods:
        before, *others, after = [listed_for(session, method, who) for who in (usual, *STRANGERS, usual)]
        for who, other in zip(STRANGERS, others, strict=True):
            if names(before) == names(after) != names(other):
                got = f"{', '.join(different(before, other))} only for one of them"
                lines = (*before.replies[0].lines, *other.replies[0].lines)
                raise Finding(f"the same {method} for {usual['name']} and {who['name']}", got, lines)


# Which process is asked


@pytest.mark.requirement("stateless.no-connection-affinity")
def test_a_page_may_be_asked_of_another_process(server):
    for walk in require_some(server.paged_listings(), skip="no list has a second page"):
        cursor = {"cursor": next(cursor.json for cursor in walk.cursors if cursor.is_a(str))}
        with server.fresh() as session:
            reply = require_answer(session.request(walk.method, cursor))
        if reply.value is None and server.session.request(walk.method, cursor).value is not None:
            raise Finding("the next page, as from the first process", str(reply), reply.lines, advisory=True)


@pytest.mark.requirement("stateless.no-connection-affinity")
def test_a_request_may_be_retried_in_another_process(server):
    asked = require_some(abandoned_process(server).asked, skip="nothing asks for anything a second time")
    with server.fresh(FULL_CLIENT.declares(server.revision), answers_for(server, FULL_CLIENT)) as session:
        for asker, first in asked:
            reply = require_answer(send_retry(session, first, require_responses(session, first) or ABSENT))
            taken = len(asker.rounds) > 1 and not is_refused(asker.rounds[1])
            if taken and is_refused(reply) and still_accepted(server, asker):
                raise Finding("what the first process answers", str(reply), reply.lines, advisory=True)


def capability_talk(server):
    """The replies to a call that asks for something: three one by one, and three made at once."""
    return server.once("talk of capabilities", lambda: hold_capability_talk(server))


def hold_capability_talk(server):
    params = list(params_of(server, asking(server)))
    with server.fresh() as session:
        replies = [session.request("tools/call", one) for one in params]
        sent = [session.send("tools/call", one) for one in params]
        return replies + [session.await_reply(one) for one in sent]


def asking(server):
    """A call of an able client that was answered by asking for something, of which others were not asked."""
    asked = [call for call in run_with_client(server, FULL_CLIENT).calls if input_requests(call.rounds[0])]
    wanting = {call.tool.name: call for call in server.calls_wanting_input()}
    found = [call for call in asked if call.tool.name in wanting and not wanting[call.tool.name].asked]
    return require_some(found, skip="no tool asks the client for something")[0]


def params_of(server, call):
    """The params of the call for an able client, for one that is not, and for an able one."""
    able = all_capabilities(server.revision)
    for declared in (able, {}, able):
        meta = {revisions.CLIENT_CAPABILITIES: declared}
        yield {"name": call.tool.name, "arguments": call.arguments, "_meta": meta}


def expect_own_capabilities(server, replies):
    """Raise a `Finding` unless what is asked for with each reply is what its request declares."""
    for reply in map(require_answer, replies):
        declared = said_of(reply.request.message, revisions.CLIENT_CAPABILITIES)
        asked = [str(one.get("method")) for one in input_requests(reply).values() if isinstance(one, dict)]
        if any(FEATURES.get(method, "") not in declared for method in asked):
            expected = "nothing asked for that another request declared, and this one does not"
            raise Finding(expected, str(reply), reply.lines)
        if declared and not asked and asks_again(server, reply):
            expected = "the same as when no request came before that declared less"
            raise Finding(expected, str(reply), reply.lines)


def asks_again(server, reply):
    """Whether a process that heard of nobody less able asks for something when the same call is made."""
    with server.fresh(all_capabilities(server.revision)) as session:
        return bool(
            input_requests(require_answer(session.request("tools/call", reply.request.message["params"])))
        )


def meta_of(who, token):
    return {"_meta": {revisions.CLIENT_INFO: who, "progressToken": token}}


def listed_for(session, method, who):
    session.client_info = who
    return fetch_list(session, method, LISTS[method][1])


def names(walk):
    return set(walk.identifiers())


def different(one, other):
    return sorted(names(one) ^ names(other))
