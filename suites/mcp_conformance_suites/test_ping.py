"""Pings of the client and of the server (spec: basic/utilities/ping)."""

from __future__ import annotations

from functools import partial

import pytest

from mcp_conformance.client.handlers import WAITING
from mcp_conformance.client.reply import results_of
from mcp_conformance.expect import expect, expect_result, is_object, require_some, skip
from mcp_conformance.protocol.jsonrpc import Kind, id_key, kind
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.remedies import of_refused_ping
from mcp_conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.target.scenario import scenario
from mcp_conformance.verdicts import Finding

PONG_SECONDS = 3.0
MORE_PINGS_SECONDS = 2.0
MINUTE_SECONDS = 60.0
MAX_PINGS_A_MINUTE = 60


@pytest.mark.requirement("ping.responds")
def test_a_ping_is_answered_with_a_result(server):
    reply = ping(server)
    expect_result(reply, fix=of_refused_ping(reply.code))


@pytest.mark.requirement("ping.empty-result")
def test_a_ping_is_answered_with_an_empty_result(server):
    results = results_of([ping(server), server.session.request("ping")])
    for result in require_some(results, skip="no ping is answered with a result"):
        expect(result, is_object(result.json) and set(result.json) <= {"_meta"}, "{}")


@pytest.mark.requirement("ping.prompt")
def test_a_ping_is_answered_while_a_tool_runs(server):
    waiting = pong_while_waiting(server)
    slow = [call for call in server.calls() if call.pong is not None and call.pong.fault is None]
    if not slow and waiting is None:
        skip("no tool that may be called takes a second, or sends a request to the client")
    limit = server.session.scaled_timeout(PONG_SECONDS)
    for call in slow:
        if call.pong.seconds > limit and call.pong.line.at >= call.reply.line.at:
            got = f"one after {call.pong.seconds:.1f} s, when {call.tool.name} had ended"
            raise Finding("an answer before the tool ends", got, (*call.pong.lines, *call.reply.lines))
    if waiting is not None and waiting.fault is not None:
        raise Finding("an answer while a tool waits for the client", str(waiting), waiting.lines)


@pytest.mark.requirement("ping.not-excessive")
def test_pings_are_not_sent_in_excess(server):
    exercise_everything(server)
    if any(idle_pings(server.session)):
        server.session.wait_for(lambda: excessive(server.session), MORE_PINGS_SECONDS)
    for session in server.sessions:
        for pings in excessive(session):
            got = f"{len(pings)} while no request was open"
            raise Finding(f"at most {MAX_PINGS_A_MINUTE} pings a minute", got, pings[:2])


@scenario
def ping(server):
    """Send a ping in the shared session, with an id that is a text."""
    return server.session.request("ping", id="conformance ping")


@scenario
def pong_while_waiting(server):
    """Return the reply to a ping while a tool waits for the client; None if no tool does."""
    for call in run_with_client(server, FULL_CLIENT).calls:
        if call.asked:
            with server.fresh(
                "a ping while a tool waits", all_capabilities(server.revision), WAITING
            ) as session:
                request = session.send("tools/call", call.params)
                asked = partial(session.received.requests, *FEATURES)
                if session.wait_for(asked, session.timeout):
                    pong = session.drain()
                    if not session.inbox.has(id_key(request.message["id"])):
                        return pong
    return None


def idle_pings(session):
    """Return the server's pings while no request was open, in a list for each gap between client messages."""
    waiting, stretches = set(), [[]]
    for line in sorted(session.lines, key=lambda line: line.at):
        for message in line.parts():
            what = kind(message)
            if line.sent and what in (Kind.REQUEST, Kind.NOTIFICATION):
                stretches.append([])
            if line.sent and what is Kind.REQUEST:
                waiting.add(id_key(message["id"]))
            elif what in (Kind.RESULT, Kind.ERROR) and not line.sent:
                waiting.discard(id_key(message.get("id")))
            elif what is Kind.REQUEST and message["method"] == "ping" and not waiting:
                stretches[-1].append(line)
    return stretches


def excessive(session):
    """Return the lists with too many pings in a minute."""
    return [pings for pings in idle_pings(session) if is_excessive(pings)]


def is_excessive(pings):
    """Return whether a minute has too many of the pings."""
    pairs = zip(pings, pings[MAX_PINGS_A_MINUTE:], strict=False)
    return any(last.at - first.at < MINUTE_SECONDS for first, last in pairs)
