"""Log messages and the level from which on they are wanted (spec: server/utilities/logging)."""

from __future__ import annotations

import pytest

from conformance.client.subscriptions import LISTEN, tag_of
from conformance.expect import expect_each, expect_error, expect_none, require_answer, require_some, skip
from conformance.protocol.jsonrpc import ABSENT, Kind
from conformance.protocol.revisions import SUBSCRIPTION_ID
from conformance.protocol.value import Value, members
from conformance.scenarios.log_messages import (
    LEVELS,
    MESSAGE,
    chatty_requests,
    level_of,
    levels,
    logged_at_debug,
    logged_in,
    set_level,
    with_level,
)
from conformance.scenarios.request_metadata import modern_lines, plain_method
from conformance.scenarios.subscriptions import evoke_news
from conformance.verdicts import Finding

CANARY = "conformance-secret-1f3870be274f6c49"


def needs_logging(server):
    if not server.declares("logging"):
        skip("logging is not declared")


# Setting a level


@pytest.mark.requirement("logging.set-level.accepted")
def test_each_level_can_be_set(server):
    needs_logging(server)
    wrong = {
        level: reply
        for level, reply in levels(server).items()
        if not isinstance(require_answer(reply).result, dict)
    }
    if wrong:
        first = next(iter(wrong.values()))
        raise Finding("an empty object for each level", f"{', '.join(wrong)}: {first}", first.lines)


@pytest.mark.requirement("logging.set-level.invalid-code")
@pytest.mark.parametrize("params", [{"level": "loud"}, {"level": 3}, {}], ids=["loud", "number", "absent"])
def test_a_level_that_is_none_is_refused(server, params):
    needs_logging(server)
    if not any(reply.value is not None for reply in levels(server).values()):
        skip("no level can be set")
    expect_error(server.shared("logging").request("logging/setLevel", params), -32602)


@pytest.mark.requirement("logging.set-level.removed")
def test_setting_a_level_is_gone(session):
    expect_error(session.request("logging/setLevel", {"level": "error"}), -32601)


@pytest.mark.requirement("logging.invalid-level-rejected")
@pytest.mark.parametrize("level", ["loud", 3], ids=["loud", "number"])
def test_a_request_with_a_level_that_is_none_is_refused(server, session, level):
    method = plain_method(server) if server.surface.found_features else "server/discover"
    expect_error(session.request(method, with_level({}, level)), -32602)


# What a message looks like


@pytest.mark.requirement("logging.message.level")
def test_a_log_message_has_a_level(server, traffic):
    expect_each(
        logged(server), lambda message: level_of(Value(message)) in LEVELS, "a level of the eight in params"
    )


@pytest.mark.requirement("logging.message.data-present")
def test_a_log_message_has_data(server, traffic):
    expect_each(logged(server), lambda message: "data" in params_of(message), "a member data in params")


@pytest.mark.requirement("logging.message.logger-string")
def test_the_logger_of_a_log_message_is_a_string(server, traffic):
    loggers = members(logged(server), "params", "logger")
    expect_each(loggers, lambda logger: isinstance(logger, str), "a string, or no logger")


def params_of(message):
    params = message.get("params")
    return params if isinstance(params, dict) else {}


# What is sent


@pytest.mark.requirement("logging.level-filter")
def test_a_level_keeps_lower_messages_back(server, traffic):
    needs_logging(server)
    session, level, lower = server.shared("logging"), *least_level(server)
    if require_answer(set_level(session, level)).value is None:
        skip(f"the level {level} cannot be set")
    late = logged_during(session, [(chatty.method, chatty.params) for chatty in chatty_requests(server)])
    expect_each(late, lambda message: level_of(Value(message)) not in lower, f"nothing below {level}")


@pytest.mark.requirement("logging.threshold")
def test_a_request_gets_no_messages_below_its_level(server):
    needs_logging(server)
    session, level, lower = server.shared("logging"), *least_level(server)
    seen = len(session.lines)
    logged_during(session, [(chatty.method, chatty.at(level)) for chatty in chatty_requests(server)])
    told = [one.message for one in logged_in(session.lines[seen:]) if one.is_wanted]
    expect_each(told, lambda message: level_of(Value(message)) not in lower, f"nothing below {level}")


@pytest.mark.requirement("logging.opt-in", "reqmeta.log-opt-in")
def test_nothing_is_logged_unasked(server, traffic):
    logged = (one for session in server.sessions for one in logged_in([*modern_lines(session)]))
    unasked = [one.message for one in logged if not one.asked]
    expect_none(unasked, "no log message before any request has asked for some")


@pytest.mark.requirement("logging.before-response")
def test_nothing_is_logged_after_the_answer(server, traffic):
    late = [one.message for one in all_logged(server) if one.is_late]
    expect_none(late, "log messages while the request that asks for them is under way")


@pytest.mark.requirement("logging.not-on-listen")
def test_nothing_is_logged_to_who_listens(server, traffic):
    evoke_news(server)
    told = all_logged(server)
    expect_none(
        [one.message for one in told if tag_of(one.message) is not ABSENT],
        f"no {SUBSCRIPTION_ID}",
    )
    idle = [
        one.message for one in told if one.open and all(request["method"] == LISTEN for request in one.open)
    ]
    expect_none(idle, "no log message while nothing but listen requests is open")
    require_some(
        [one for one in told if LISTEN in methods_of(one)], skip="nothing was logged while somebody listened"
    )


@pytest.mark.requirement("logging.no-secrets")
def test_a_log_message_does_not_tell_the_environment(server, traffic):
    logged(server)
    with server.with_environment(CONFORMANCE_API_TOKEN=CANARY).fresh() as session:
        list(logged_at_debug(server, session))
        session.send_raw(b"this line is not JSON")
        session.drain()
        told = [Value(message, "", (line,)) for line, message in session.notifications(MESSAGE)]
    wanted = f"nothing of the environment, such as {CANARY}"
    expect_each(
        require_some(told, skip="no log message came again"),
        lambda message: CANARY not in str(message),
        wanted,
    )


def logged(server):
    """Every log message so far, after the server was asked for as many as it has."""
    if server.declares("logging"):
        chatty_requests(server)
    found = [each for each in server.received(Kind.NOTIFICATION) if each.json["method"] == MESSAGE]
    return require_some(found, skip="the server sent no log messages")


def all_logged(server):
    """The same, with what was under way when they came, in a modern revision."""
    logged(server)
    return [one for session in server.sessions for one in logged_in(session.lines)]


def least_level(server):
    """A level above those of the messages that come at the level debug, and the levels below it."""
    chatty = require_some(
        chatty_requests(server), skip="nothing was logged below emergency at the level debug"
    )
    highest = max(LEVELS.index(level) for one in chatty for level in one.levels)
    return LEVELS[highest + 1], LEVELS[: highest + 1]


def logged_during(session, requests):
    """The log messages that come while these requests are made, one after the other."""
    session.drain()
    seen = len(session.notifications(MESSAGE))
    for method, params in requests:
        require_answer(session.request(method, params))
    session.drain()
    return [Value(message, "", (line,)) for line, message in session.notifications(MESSAGE)[seen:]]


def methods_of(logged):
    return [request["method"] for request in logged.open]
