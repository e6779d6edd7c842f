"""Opening a session, negotiating a revision and capabilities, and keeping to them (spec: basic/lifecycle).

The sessions that open in unusual ways serve other checks afterwards.
"""

from __future__ import annotations

import pytest

from mcp_conformance.client.reply import Closed, Unanswered
from mcp_conformance.expect import (
    expect_each,
    expect_none,
    is_identity,
    is_object,
    is_string,
    require,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Kind, kind, show
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.content import blocks
from mcp_conformance.scenarios.lifecycle import (
    NEW,
    OLD,
    PROPOSABLE,
    SHUTS_CLIENTS_OUT,
    delay_initialized,
    early_requests,
    initialize_after_ping,
    initialize_incompletely,
    initialize_with_unknown_members,
    ping_breaks_initialize,
    proposable,
)
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.scenarios.unserved_methods import expect_declared_methods, refuses_what_exists
from mcp_conformance.verdicts import Finding

pytestmark = pytest.mark.stage("first")

OLD_AND_NEW = (OLD, NEW)
OPTIONAL_STRINGS = {"title": "2025-06-18", "description": "2025-11-25", "websiteUrl": "2025-11-25"}
"""The optional members of serverInfo that are strings, with the revision that introduced each."""
ICONS_SINCE = "2025-11-25"
TASK_STATUS = "notifications/tasks/status"
SINCE = {
    "elicitation/create": "2025-06-18",
    "notifications/elicitation/complete": "2025-11-25",
    TASK_STATUS: "2025-11-25",
    "notifications/subscriptions/acknowledged": "2026-07-28",
}
"""The revision that introduced a method of the server's requests and notifications."""


# The result of initialize


@pytest.mark.requirement("lifecycle.initialize.responds", "lifecycle.supported")
@pytest.mark.stage("listed")
def test_the_result_of_initialize_is_complete(server):
    names = ("protocolVersion", "capabilities", "serverInfo")
    missing = [name for name in names if server.surface.result.get(name) is None]
    if missing:
        raise Finding(f"a result with {', '.join(names)}", f"no {', '.join(missing)}", server.surface.opening)


@pytest.mark.requirement("lifecycle.initialize.server-info")
@pytest.mark.stage("listed")
def test_server_info_names_the_server_and_its_version(server, revision):
    found = require_some(members([server.surface.result], "serverInfo"), skip="there is no serverInfo")
    expect_each(found, is_identity, "an object with strings in name and version")
    for name, since in OPTIONAL_STRINGS.items():
        if since <= revision:
            expect_each(members(found, name), is_string, "a string")
    if revision >= ICONS_SINCE:
        expect_each(members(found, "icons"), lambda icons: isinstance(icons, list), "an array")


@pytest.mark.requirement("lifecycle.initialize.capabilities-shape")
@pytest.mark.stage("listed")
def test_capabilities_are_objects(server):
    declared = members([server.surface.result], "capabilities")
    require_some(declared, skip="there are no capabilities")
    experimental = members(declared, "experimental")
    objects = [*declared, *experimental, *(each for one in experimental for each in one.each())]
    expect_each(objects, is_object, "an object")


@pytest.mark.requirement("lifecycle.initialize.instructions")
@pytest.mark.stage("listed")
def test_instructions_are_text(server):
    found = members([server.surface.result], "instructions")
    require_some(found, skip="the server gives no instructions")
    expect_each(found, is_string, "a string, or no instructions at all")


# Negotiating a revision


@pytest.mark.requirement("lifecycle.initialize.version-echo")
def test_a_supported_revision_is_accepted(server):
    proposals = proposable(server)
    proposals += {offer(server, one) for one in proposals} & {*PROPOSABLE} - {*proposals}
    for proposed in proposals:
        others = [other for other in proposals if other != proposed and offer(server, other) == proposed]
        if others and offer(server, proposed) != proposed:
            reply = server.proposed(proposed)
            got = f"{answer_of(reply)}, although it offers {proposed} when {others[0]} is proposed"
            raise Finding(f"{proposed} when it is proposed", got, reply.lines)


@pytest.mark.requirement("lifecycle.initialize.version-counter-offer")
@pytest.mark.parametrize("proposed", OLD_AND_NEW)
def test_an_unknown_revision_gets_a_counter_offer(server, proposed):
    offered, reply = offer(server, proposed), server.proposed(proposed)
    if offered not in revisions.KNOWN:
        expected, disputed = "a result with another revision", reply.error is not None
        defect = SHUTS_CLIENTS_OUT if disputed else None
        raise Finding(expected, answer_of(reply), reply.lines, advisory=disputed, defect=defect)


@pytest.mark.requirement("lifecycle.initialize.counter-offer-true")
def test_an_offered_revision_is_accepted(server):
    for proposed, other in counter_offers(server, *OLD_AND_NEW):
        reply = server.proposed(other)
        if offer(server, other) != other:
            got = f"{answer_of(reply)}, although it is offered for {proposed}"
            raise Finding(f"{other} when it is proposed", got, reply.lines)


@pytest.mark.requirement("lifecycle.initialize.counter-offer-latest")
def test_the_counter_offer_is_the_newest_revision(server):
    offers = counter_offers(server, *OLD_AND_NEW, *proposable(server))
    newest = max((one for one in proposable(server) if offer(server, one) == one), default="")
    for proposed, other in offers:
        if other < newest:
            got = f"{other} when {proposed} is proposed"
            raise Finding(f"{newest}, the newest it supports", got, server.proposed(proposed).lines)


# Before the session is open


@pytest.mark.requirement("lifecycle.ping-before-initialize")
def test_a_ping_before_initialize_is_answered(server):
    ping = early_requests(server).ping
    if ping.error is not None and server.session.request("ping").error is not None:
        skip("ping is refused after initialize too")
    if ping.value is None:
        end = ping.fault if isinstance(ping.fault, Closed) else None  # silence is no defect so early
        raise Finding("a result, before initialize as after it", str(ping), ping.lines, fault=end)
    if ping_breaks_initialize(server):
        opening = initialize_after_ping(server)
        raise Finding("initialize to work after a ping", str(opening), opening.lines)


@pytest.mark.requirement("lifecycle.request-before-initialize")
def test_a_request_before_initialize_does_no_harm(server):
    early = early_requests(server)
    first = require(early.list_before_initialize, skip="a ping does harm already")
    if ping_breaks_initialize(server):
        skip("a ping does harm already")
    expect_answer(first, "any answer, when tools/list comes before initialize")
    if early.initialize is not None and early.initialize.value is None:
        expected = "initialize to work afterwards, when tools/list comes before initialize"
        reply = early.initialize
        raise Finding(expected, str(reply), (*first.lines, *reply.lines), fault=reply.fault)


@pytest.mark.requirement("lifecycle.request-before-initialize")
def test_a_request_before_initialized_does_no_harm(server):
    early = early_requests(server)
    second = early.list_before_initialized
    second = require(second, skip="a request before initialize does harm already")
    expect_answer(second, "any answer, when tools/list comes before notifications/initialized")
    expected = "an answer to a ping afterwards, when tools/list comes before notifications/initialized"
    expect_answer(early.last_ping, expected)


@pytest.mark.requirement("lifecycle.initialize.unknown-client-capabilities")
def test_unknown_members_of_initialize_are_ignored(server):
    opening = initialize_with_unknown_members(server)
    if opening.value is None:
        raise Finding("a result, as without the unknown members", str(opening), opening.lines)


@pytest.mark.requirement("lifecycle.initialize.incomplete-answered")
def test_an_incomplete_initialize_is_answered(server):
    initialize_with_unknown_members(server)
    expect_answer(initialize_incompletely(server), "an answer, such as error -32602")


@pytest.mark.requirement("lifecycle.server-requests-before-initialized")
def test_the_server_sends_no_request_before_initialized(server):
    delay_initialized(server)
    early = [each for session in server.sessions for each in requests_before_initialized(session)]
    if early:
        raise Finding("no request but ping before notifications/initialized", str(early[0]), early[0].lines)


@pytest.mark.requirement("lifecycle.initialization-first")
def test_the_server_answers_initialize_first(server):
    delay_initialized(server)
    early = [each for session in server.sessions for each in messages_before_opening(session)]
    if early:
        raise Finding("the answer to initialize before anything else", str(early[0]), early[0].lines)


# The session


@pytest.mark.requirement("lifecycle.operation.version")
def test_nothing_of_a_later_revision_is_used(server, messages, revision):
    later = [block for block in blocks(server) if revision_of_block(block) > revision]
    sent = messages(Kind.REQUEST, Kind.NOTIFICATION)
    later += [each for each in sent if SINCE.get(method_of(each), "") > revision]
    if later:
        raise Finding(f"what {revision} has", str(later[0]), later[0].lines)


@pytest.mark.requirement("lifecycle.operation.client-features")
def test_the_server_requests_only_declared_client_features(server):
    exercise_everything(server)
    delay_initialized(server)
    for session in server.sessions:
        for each in messages_in(session, Kind.REQUEST):
            feature = FEATURES.get(method_of(each))
            if feature is not None and feature not in session.capabilities:
                raise Finding(f"no request for {feature}, which the client lacks", str(each), each.lines)
    if refuses_what_exists(server):
        skip("nothing is served for which the server may ask the client")


@pytest.mark.requirement("lifecycle.operation.server-features")
def test_the_server_sends_a_task_status_only_if_it_declares_tasks(server, messages):
    """Other notifications of undeclared features are judged with their features, citing this rule too."""
    if server.declares("tasks"):
        skip("the server declares tasks")
    statuses = [each for each in messages(Kind.NOTIFICATION) if method_of(each) == TASK_STATUS]
    expect_none(statuses, "no status of a task unless tasks are declared")


@pytest.mark.requirement("lifecycle.capabilities.advertised")
def test_the_capabilities_match_the_served_features(server, malformed_session):
    for reply in [one.replies[0] for one in server.listings() if one.method != "resources/templates/list"]:
        require_answer(reply)
    expect_declared_methods(server)
    level = require_answer(malformed_session.request("logging/setLevel", {"level": "info"}))
    if level.value is not None and not server.declares("logging"):
        finding = Finding("logging to be declared, since it is served", str(level), level.lines)
        finding.is_harmless = True  # it works, and no client asks for what is not declared
        raise finding


# Negotiation


def offer(server, proposed):
    """Return the revision that the server offers when one is proposed; None if it offers none."""
    early_requests(server)  # they propose OLD
    reply = server.proposed(proposed)
    offered = reply.value.get("protocolVersion") if reply.value is not None else None
    return offered.json if offered is not None and offered.is_a(str) else None


def counter_offers(server, *proposed):
    """Return each of these revisions that is not accepted, with the one that is offered instead."""
    pairs = [(one, offer(server, one)) for one in proposed]
    found = [(one, other) for one, other in pairs if other != one and other in PROPOSABLE]
    return require_some(found, skip="the server offers nothing else")


def answer_of(reply):
    """Return the revision that a reply offers, else the reply, as text."""
    offered = reply.value.get("protocolVersion") if reply.value is not None else None
    return str(reply) if offered is None else show(offered.json)


def expect_answer(reply, expected):
    """Expect an answer of any kind to a request that was sent; an error status of HTTP is one."""
    is_rejected = reply is not None and isinstance(reply.fault, Unanswered) and reply.fault.is_refusal
    if reply is not None and reply.fault is not None and not is_rejected:
        raise Finding(expected, str(reply), reply.lines, fault=reply.fault)


# Messages


def messages_in(session, *kinds):
    """Return the messages of these kinds that the server sent in a session."""
    return [Value(message, "", (line,)) for line, message in session.received.messages(*kinds)]


def method_of(message):
    """Return the method of a message; empty if it is not a string."""
    method = message.json["method"]
    return method if isinstance(method, str) else ""


def requests_before_initialized(session):
    """Return the server's requests other than ping that came before ``initialized`` was sent."""
    ends = [line.at for line in session.lines if line.sent and is_initialized(line.message)]
    requests = messages_in(session, Kind.REQUEST) if session.opening is not None else []
    return [
        each for each in requests if each.lines[0].at < min(ends, default=0) and method_of(each) != "ping"
    ]


def is_initialized(message):
    """Return whether a message is the notification ``initialized``."""
    return kind(message) is Kind.NOTIFICATION and message["method"] == "notifications/initialized"


def messages_before_opening(session):
    """Return the server's requests and notifications, but pings and log messages, before its opening."""
    sent = messages_in(session, Kind.REQUEST, Kind.NOTIFICATION, Kind.RESULT)
    answers = [
        at for at, each in enumerate(sent) if session.opening and each.lines[0] is session.opening.line
    ]
    early = [each for each in sent[: min(answers, default=0)] if "method" in each.json]
    return [each for each in early if method_of(each) not in ("ping", "notifications/message")]


def revision_of_block(block):
    """Return the first revision that has the type of a content block; empty for a type that none has."""
    type = block.get("type")
    if type is None or not type.is_a(str):
        return ""
    return revisions.CONTENT_SINCE.get(type.json, "")
