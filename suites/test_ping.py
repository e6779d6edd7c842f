"""Pings, ours and the server's (spec: basic/utilities/ping)."""

from __future__ import annotations

import pytest

from conformance.client.handlers import WAITING
from conformance.expect import expect, expect_result, require_some, skip
from conformance.protocol.jsonrpc import Kind, id_key, kind
from conformance.protocol.methods import FEATURES
from conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from conformance.verdicts import Finding

PROMPT = 3.0
GRACE = 2.0
MINUTE = 60.0
MOST_IN_A_MINUTE = 60


@pytest.mark.requirement("ping.responds")
def test_a_ping_is_answered_with_a_result(server):
    expect_result(ping(server))


@pytest.mark.requirement("ping.empty-result")
def test_a_ping_is_answered_with_an_empty_result(server):
    result = ping(server).value or skip("a ping is not answered with a result")
    expect(result, isinstance(result.json, dict) and set(result.json) <= {"_meta"}, "{}")


@pytest.mark.requirement("ping.prompt")
def test_a_ping_is_answered_while_a_tool_runs(server):
    slow = [call for call in server.calls() if call.pong is not None and call.pong.fault is None]
    for call in slow:
        if call.pong.seconds > server.session.scaled_timeout(PROMPT) and call.pong.line.at >= call.reply.line.at:
            got = f"one after {call.pong.seconds:.1f} s, when {call.tool.name} had come to its end"
            raise Finding("an answer before the tool is done", got, (*call.pong.lines, *call.reply.lines))
    pong = pong_while_waiting(server)
    if pong is not None and pong.fault is not None:
        raise Finding("an answer while a tool waits for the client", str(pong), pong.lines)
    if pong is None:
        require_some(slow, skip="no tool that may be called takes a second, or asks the client for something")


@pytest.mark.requirement("ping.not-excessive")
def test_pings_are_not_sent_in_excess(server, traffic):
    if any(idle_pings(server.session)):
        server.session.wait_for(lambda: excessive(server.session), GRACE)
    for session in server.sessions:
        for pings in excessive(session):
            got = f"{len(pings)} while it was asked nothing"
            raise Finding(f"at most {MOST_IN_A_MINUTE} pings a minute", got, pings[:2])


def ping(server):
    return server.once("ping", lambda: server.session.request("ping", id="conformance ping"))


def pong_while_waiting(server):
    """The answer to a ping while a tool waits for the client; None if no tool asks it for something."""
    for call in run_with_client(server, FULL_CLIENT).calls:
        if call.asked:
            with server.fresh(all_capabilities(server.revision), WAITING) as session:
                session.send("tools/call", {"name": call.tool.name, "arguments": call.arguments})
                if session.wait_for(lambda session=session: session.server_requests(*FEATURES), session.timeout):
                    return session.drain()
    return None


def idle_pings(session):
    """The pings of the server while no request was open: a list for each stretch between messages of ours."""
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
    """The stretches with too many pings in a minute."""
    return [pings for pings in idle_pings(session) if is_excessive(pings)]


def is_excessive(pings):
    pairs = zip(pings, pings[MOST_IN_A_MINUTE:], strict=False)
    return any(last.at - first.at < MINUTE for first, last in pairs)
