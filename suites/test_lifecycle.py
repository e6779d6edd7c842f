"""Opening a session, agreeing on a revision, and keeping to what was agreed (spec: basic/lifecycle).

Each way to open a session costs one process: five revisions are asked for besides the server's own, and
three processes are opened in unusual ways.
"""

from __future__ import annotations

import pytest

from conformance.expect import expect_each, require_answer, require_some, skip
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import Kind, kind, show
from conformance.protocol.methods import FEATURES
from conformance.protocol.value import Value, members
from conformance.scenarios.client_features import all_capabilities
from conformance.scenarios.content import blocks
from conformance.verdicts import Finding

pytestmark = pytest.mark.stage("first")

OLD_AND_NEW = ("1999-01-01", "2099-01-01")
AGREEABLE = revisions.HANDSHAKE[1:]
OUTSIDE = "org.example/unknown"
IDENTITY_SINCE = {
    "title": ("2025-06-18", str),
    "description": ("2025-11-25", str),
    "websiteUrl": ("2025-11-25", str),
    "icons": ("2025-11-25", list),
}
NEEDED = {
    "notifications/tools/list_changed": ("tools", "listChanged"),
    "notifications/prompts/list_changed": ("prompts", "listChanged"),
    "notifications/resources/list_changed": ("resources", "listChanged"),
    "notifications/resources/updated": ("resources", "subscribe"),
    "notifications/message": ("logging",),
    "notifications/tasks/status": ("tasks",),
}
"""The capability that a notification of the server belongs to."""
SINCE = {
    "elicitation/create": "2025-06-18",
    "notifications/elicitation/complete": "2025-11-25",
    "notifications/tasks/status": "2025-11-25",
    "notifications/subscriptions/acknowledged": "2026-07-28",
}
"""The revision that brought a method with which a server turns to the client."""


# What initialize is answered with


@pytest.mark.requirement("lifecycle.initialize.responds", "lifecycle.supported")
def test_initialize_is_answered_with_all_that_belongs_to_it(server):
    names = ("protocolVersion", "capabilities", "serverInfo")
    missing = [name for name in names if server.surface.result.get(name) is None]
    if missing:
        raise Finding(f"a result with {', '.join(names)}", f"no {', '.join(missing)}", server.surface.opening)


@pytest.mark.requirement("lifecycle.initialize.server-info")
def test_a_server_says_who_it_is(server, revision):
    found = require_some(members([server.surface.result], "serverInfo"), skip="there is no serverInfo")
    expect_each(found, is_identity, "an object with strings in name and version")
    for name, (since, form) in IDENTITY_SINCE.items():
        if since <= revision:
            wanted = "a string" if form is str else "an array"
            expect_each(members(found, name), lambda value, form=form: isinstance(value, form), wanted)


@pytest.mark.requirement("lifecycle.initialize.capabilities-shape")
def test_capabilities_are_objects(server):
    declared = require_some(
        members([server.surface.result], "capabilities"), skip="there are no capabilities"
    )
    experimental = members(declared, "experimental")
    objects = [*declared, *experimental, *(each for one in experimental for each in one.each())]
    expect_each(objects, lambda value: isinstance(value, dict), "an object")


@pytest.mark.requirement("lifecycle.initialize.instructions")
def test_instructions_are_text(server):
    found = require_some(
        members([server.surface.result], "instructions"), skip="the server gives no instructions"
    )
    expect_each(found, lambda value: isinstance(value, str), "a string, or no instructions at all")


# The revision that is agreed on


@pytest.mark.requirement("lifecycle.initialize.version-echo")
def test_a_revision_that_is_supported_is_agreed_to(server):
    for asked in AGREEABLE:
        others = [other for other in AGREEABLE if other != asked and offer(server, other) == asked]
        if others and offer(server, asked) != asked:
            reply = server.proposed(asked)
            got = f"{answer_of(reply)}, although it offers {asked} when it is asked for {others[0]}"
            raise Finding(f"{asked} when it is asked for", got, reply.lines)


@pytest.mark.requirement("lifecycle.initialize.version-counter-offer")
@pytest.mark.parametrize("asked", OLD_AND_NEW)
def test_another_revision_is_offered_for_an_unknown_one(server, asked):
    reply = server.proposed(asked)
    if offer(server, asked) not in revisions.KNOWN:
        expected, disputed = "a result with another revision", reply.error is not None
        raise Finding(expected, answer_of(reply), reply.lines, advisory=disputed)


@pytest.mark.requirement("lifecycle.initialize.counter-offer-true")
def test_a_revision_that_is_offered_is_agreed_to(server):
    for asked, other in counter_offers(server, *OLD_AND_NEW):
        reply = server.proposed(other)
        if offer(server, other) != other:
            got = f"{answer_of(reply)}, although it is offered for {asked}"
            raise Finding(f"{other} when it is asked for", got, reply.lines)


@pytest.mark.requirement("lifecycle.initialize.counter-offer-latest")
def test_the_revision_offered_instead_is_the_newest(server):
    offers = counter_offers(server, *OLD_AND_NEW, *AGREEABLE)
    newest = max((one for one in AGREEABLE if offer(server, one) == one), default="")
    for asked, other in offers:
        if other < newest:
            got = f"{other} when it is asked for {asked}"
            raise Finding(f"{newest}, the newest it supports", got, server.proposed(asked).lines)


# Before the session is open


@pytest.mark.requirement("lifecycle.ping-before-initialize")
def test_a_ping_before_initialize_is_answered(server):
    ping = early_talk(server)["ping"]
    if ping.value is None:
        raise Finding("a result, before initialize as after it", str(ping), ping.lines)
    if spoilt_by_ping(server):
        hello = pinged_first(server)
        raise Finding("initialize to work after a ping", str(hello), hello.lines)


@pytest.mark.requirement("lifecycle.request-before-initialize")
def test_a_request_before_initialize_does_no_harm(server):
    early = early_talk(server)
    if "first list" not in early or spoilt_by_ping(server):
        skip("a ping does harm already")
    for name, expected in (("first list", "any answer"), ("initialize", "initialize to work afterwards")):
        expect_answer(early, name, f"{expected}, when tools/list comes before initialize")


@pytest.mark.requirement("lifecycle.request-before-initialize")
def test_a_request_before_initialized_does_no_harm(server):
    early = early_talk(server)
    if "second list" not in early:
        skip("a request before initialize does harm already")
    for name, expected in (("second list", "any answer"), ("ping again", "an answer to a ping afterwards")):
        expect_answer(early, name, f"{expected}, when tools/list comes before notifications/initialized")


@pytest.mark.requirement("lifecycle.initialize.unknown-client-capabilities")
def test_a_client_may_tell_what_the_server_does_not_know(server):
    with server.launch({OUTSIDE: {}, "experimental": {OUTSIDE: {}}}) as session:
        session.client_info |= {OUTSIDE: [], "title": "Example", "websiteUrl": "https://example.org"}
        hello = session.propose(server.settings.start_timeout)
    if hello.value is None:
        raise Finding("a result, as without the unknown members", str(hello), hello.lines)


@pytest.mark.requirement("lifecycle.server-requests-before-initialized")
def test_the_server_asks_nothing_before_initialized(server):
    held_back(server)
    asked = [each for session in server.sessions for each in asked_before_initialized(session)]
    if asked:
        raise Finding("no request but ping before notifications/initialized", str(asked[0]), asked[0].lines)


@pytest.mark.requirement("lifecycle.initialization-first")
def test_the_server_starts_nothing_before_it_answers_initialize(server):
    held_back(server)
    told = [each for session in server.sessions for each in told_before_hello(session)]
    if told:
        raise Finding("the answer to initialize before anything else", str(told[0]), told[0].lines)


# The session


@pytest.mark.requirement("lifecycle.operation.version")
def test_nothing_of_a_later_revision_is_used(server, traffic, revision):
    later = [block for block in blocks(server) if since_of_block(block) > revision]
    told = traffic(Kind.REQUEST, Kind.NOTIFICATION)
    later += [each for each in told if SINCE.get(method_of(each), "") > revision]
    if later:
        raise Finding(f"what {revision} has", str(later[0]), later[0].lines)


@pytest.mark.requirement("lifecycle.operation.client-features")
def test_nothing_is_asked_of_the_client_that_it_does_not_offer(server, traffic):
    held_back(server)
    for session in server.sessions:
        for each in told_in(session, Kind.REQUEST):
            feature = FEATURES.get(method_of(each))
            if feature is not None and feature not in session.capabilities:
                raise Finding(f"no request for {feature}, which the client lacks", str(each), each.lines)


@pytest.mark.requirement("lifecycle.operation.server-features")
def test_nothing_is_announced_that_was_not_declared(server, traffic):
    for each in traffic(Kind.NOTIFICATION):
        feature = NEEDED.get(method_of(each), ())
        if feature and not server.declares(*feature):
            raise Finding(f"{'.'.join(feature)} to be declared before", str(each), each.lines)


@pytest.mark.requirement("lifecycle.capabilities.advertised")
def test_what_is_declared_is_there_and_what_is_there_is_declared(server, malformed_session):
    lists = [walk.replies[0] for walk in server.listings() if walk.method != "resources/templates/list"]
    level = require_answer(malformed_session.request("logging/setLevel", {"level": "info"}))
    declared = [*lists, *([level] if server.declares("logging") else [])]
    for reply in declared:
        if reply.fault is not None or reply.code == -32601:
            raise Finding(f"{reply.method} to work, since it is declared", str(reply), reply.lines)
    if level not in declared and level.value is not None:
        raise Finding("logging to be declared, since it is there", str(level), level.lines)


# Opening


def offer(server, asked):
    """The revision that the server offers when it is asked for one; None if it offers none."""
    reply = server.proposed(asked)
    offered = reply.value.get("protocolVersion") if reply.value is not None else None
    return offered.json if offered is not None and offered.is_a(str) else None


def counter_offers(server, *asked):
    """Each revision of these that is not agreed to, and the one that is offered instead."""
    pairs = [(one, offer(server, one)) for one in asked]
    found = [(one, other) for one, other in pairs if other != one and other in AGREEABLE]
    return require_some(found, skip="the server offers nothing else")


def answer_of(reply):
    offered = reply.value.get("protocolVersion") if reply.value is not None else None
    return str(reply) if offered is None else show(offered.json)


def early_talk(server):
    """The replies to requests that come too early, by name; there are no more after one without answer."""
    return server.once("early talk", lambda: hold_early_talk(server))


def hold_early_talk(server):
    with server.launch() as session:
        steps = {
            "ping": lambda: session.request("ping", timeout=server.settings.start_timeout),
            "first list": lambda: session.request("tools/list"),
            "initialize": lambda: session.propose(server.settings.start_timeout),
            "second list": lambda: session.request("tools/list"),
            "ping again": lambda: session.notify("notifications/initialized") and session.drain(),
        }
        early = {}
        for name, step in steps.items():
            early[name] = step()
            if early[name].fault is not None or (name == "initialize" and early[name].value is None):
                break
    return early


def spoilt_by_ping(server):
    """Whether initialize fails when nothing but a ping came before it."""
    hello = early_talk(server).get("initialize")
    return hello is not None and hello.value is None and pinged_first(server).value is None


def pinged_first(server):
    """The answer to initialize after a ping."""

    def hold():
        with server.launch() as session:
            session.request("ping", timeout=server.settings.start_timeout)
            return session.propose(server.settings.start_timeout)

    return server.once("pinged first", hold)


def expect_answer(early, name, expected):
    reply = early.get(name)
    if reply is not None and (reply.fault is not None or (name == "initialize" and reply.value is None)):
        raise Finding(expected, str(reply), reply.lines)


def held_back(server):
    """A session whose client offers all it can and says ``initialized`` late."""

    def hold():
        with server.launch(all_capabilities(server.revision)) as session:
            if session.propose(server.settings.start_timeout).fault is None:
                session.drain()
                session.drain()
                session.notify("notifications/initialized")
                session.drain()
        return session

    return server.once("held back", hold)


# What was said


def told_in(session, *kinds):
    return [Value(message, "", (line,)) for line, message in session.received(*kinds)]


def method_of(message):
    method = message.json["method"]
    return method if isinstance(method, str) else ""


def asked_before_initialized(session):
    """The requests, pings aside, that came before ``initialized`` was sent."""
    ends = [line.at for line in session.lines if line.sent and is_initialized(line.message)]
    told = told_in(session, Kind.REQUEST) if session.opening is not None else []
    return [each for each in told if each.lines[0].at < min(ends, default=0) and method_of(each) != "ping"]


def is_initialized(message):
    return kind(message) is Kind.NOTIFICATION and message["method"] == "notifications/initialized"


def told_before_hello(session):
    """What the server told or asked, pings and log messages aside, before it answered ``initialize``."""
    told = told_in(session, Kind.REQUEST, Kind.NOTIFICATION, Kind.RESULT)
    answers = [at for at, each in enumerate(told) if session.opening and each.lines[0] is session.opening.line]
    early = [each for each in told[: min(answers, default=0)] if "method" in each.json]
    return [each for each in early if method_of(each) not in ("ping", "notifications/message")]


def since_of_block(block):
    """The first revision that has the type of a content block; empty for a type that none has."""
    type = block.get("type")
    if type is None or not type.is_a(str):
        return ""
    return min((one for one, types in revisions.CONTENT_TYPES.items() if type.json in types), default="")


def is_identity(value):
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("name", "version"))
