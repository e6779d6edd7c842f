"""Log messages, and the level from which the client wants them (spec: server/utilities/logging)."""

from __future__ import annotations

import pytest

from mcp_conformance.client.subscriptions import LISTEN, tag_of
from mcp_conformance.expect import (
    expect_each,
    expect_error,
    expect_none,
    is_string,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind
from mcp_conformance.protocol.methods import LOG_LEVELS
from mcp_conformance.protocol.revisions import SUBSCRIPTION_ID
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.invalid_requests import expect_removed
from mcp_conformance.scenarios.log_messages import (
    MESSAGE,
    find_logging_requests,
    level_of,
    log_messages_in,
    logging_requests,
    logging_session,
    set_each_level,
    set_level,
    with_log_level,
)
from mcp_conformance.scenarios.request_metadata import modern_lines, simple_method
from mcp_conformance.scenarios.subscriptions import trigger_notifications
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.verdicts import Finding

CANARY = "conformance-secret-1f3870be274f6c49"
MAX_REPEATED = 3
"""How many requests that log are repeated without a level."""


# Setting a level


@pytest.mark.requirement("logging.set-level.accepted")
@pytest.mark.capability("logging")
def test_each_level_can_be_set(server):
    require_served(server, "logging/setLevel")
    replies = set_each_level(server)
    wrong = {level: one for level, one in replies.items() if not isinstance(require_answer(one).result, dict)}
    if wrong:
        first = next(iter(wrong.values()))
        raise Finding("an empty object for each level", f"{', '.join(wrong)}: {first}", first.lines)


@pytest.mark.requirement("logging.set-level.invalid-code")
@pytest.mark.parametrize("params", [{"level": "loud"}, {"level": 3}, {}], ids=["loud", "number", "absent"])
@pytest.mark.capability("logging")
def test_an_invalid_level_is_rejected(server, params):
    if all(reply.value is None for reply in set_each_level(server).values()):
        skip("no level can be set")
    expect_error(server.shared("logging").request("logging/setLevel", params), -32602)


@pytest.mark.requirement("logging.set-level.removed")
def test_setting_a_level_is_an_unknown_method(server, session):
    expect_removed(server, session.request("logging/setLevel", {"level": "error"}))


@pytest.mark.requirement("logging.invalid-level-rejected")
@pytest.mark.parametrize("level", ["loud", 3], ids=["loud", "number"])
@pytest.mark.capability("logging")
def test_a_request_with_an_invalid_level_is_rejected(server, session, level):
    method = simple_method(server) if server.surface.found_features else "server/discover"
    expect_error(session.request(method, with_log_level({}, level)), -32602)


# The form of a log message


@pytest.mark.requirement("logging.message.level")
def test_a_log_message_has_a_level(server):
    sent = require_log_messages(server)
    expect_none([one for one in sent if level_of(one) not in LOG_LEVELS], "a level of the eight in params")


@pytest.mark.requirement("logging.message.data-present")
def test_a_log_message_has_data(server):
    sent = require_log_messages(server)
    expect_none([one for one in sent if one.get("params", "data") is None], "a member data in params")


@pytest.mark.requirement("logging.message.logger-string")
def test_the_logger_of_a_log_message_is_a_string(server):
    loggers = members(require_log_messages(server), "params", "logger")
    expect_each(loggers, is_string, "a string, or no logger")


# The messages that are sent


@pytest.mark.requirement("logging.level-filter")
@pytest.mark.capability("logging")
def test_a_level_excludes_lower_messages(server):
    session, (level, lower) = server.shared("logging"), require_least_level(server)
    if require_answer(set_level(session, level)).value is None:
        skip(f"the level {level} cannot be set")
    sent = sent_during(session, [(one.method, one.params) for one in logging_requests(server)])
    expect_none([message for message in sent if level_of(message) in lower], f"nothing below {level}")


@pytest.mark.requirement("logging.threshold")
@pytest.mark.capability("logging")
def test_a_request_gets_no_messages_below_its_level(server):
    session, (level, lower) = server.shared("logging"), require_least_level(server)
    seen = len(session.lines)
    sent_during(session, [(one.method, one.params_with(level)) for one in logging_requests(server)])
    wanted = [one.message for one in log_messages_in(session.lines[seen:]) if one.is_wanted]
    expect_none([message for message in wanted if level_of(message) in lower], f"nothing below {level}")


@pytest.mark.requirement("logging.opt-in", "reqmeta.log-opt-in")
def test_nothing_is_logged_without_a_request_for_it(server):
    exercise_everything(server)
    sent = [one for session in server.sessions for one in log_messages_in([*modern_lines(session)])]
    unrequested = [one.message for one in sent if not one.is_requested]
    expect_none(unrequested, "no log message before any request has requested some")


@pytest.mark.requirement("logging.opt-in", "reqmeta.log-opt-in")
def test_a_level_does_not_outlast_its_request(server):
    found = require_some(
        logging_requests(server), skip="nothing was logged below emergency at the level debug"
    )
    session = logging_session(server)
    for one in found[:MAX_REPEATED]:
        require_answer(session.request(one.method, one.params_with("debug")))
        unrequested = [sent_while_open(session, one) for _ in range(2)]
        if all(unrequested):
            expect_none(unrequested[-1], "no log message during a request that requests none")


def sent_while_open(session, one):
    """Make a request without a level, and return the log messages that come before its answer."""
    require_answer(session.drain())
    seen = len(session.lines)
    require_answer(session.request(one.method, one.params))
    return [each.message for each in log_messages_in(session.lines[seen:]) if each.open]


@pytest.mark.requirement("logging.before-response")
def test_nothing_is_logged_after_the_answer(server):
    require_log_messages(server)
    late = [one.message for one in all_log_messages(server) if one.is_late]
    expect_none(late, "log messages while the request that requests them is under way")


@pytest.mark.requirement("logging.not-on-listen")
def test_nothing_is_logged_to_a_subscription(server):
    exercise_everything(server)
    trigger_notifications(server)
    require_log_messages(server)
    sent = all_log_messages(server)
    tagged = [one.message for one in sent if tag_of(one.message) is not ABSENT]
    expect_none(tagged, f"no {SUBSCRIPTION_ID}")
    idle = [one.message for one in sent if open_methods(one) == {LISTEN}]
    expect_none(idle, "no log message while nothing but listen requests is open")
    if not any(LISTEN in open_methods(one) for one in sent):
        skip("nothing was logged while a subscription was open")


@pytest.mark.requirement("logging.no-secrets")
def test_a_log_message_does_not_show_the_environment(server):
    require_log_messages(server)
    sessions = server.sessions.with_environment(CONFORMANCE_API_TOKEN=CANARY)
    with sessions.fresh("another environment") as session:
        list(find_logging_requests(server, session))
        session.send_raw(b"this line is not JSON")
        session.drain()
        sent = [Value(message, "", (line,)) for line, message in session.received.notifications(MESSAGE)]
    require_some(sent, skip="no log message came again")
    expected = f"nothing of the environment, such as {CANARY}"
    expect_each(sent, lambda message: CANARY not in str(message), expected)


def require_log_messages(server):
    """Return every log message so far, after the level debug was requested; skip if there are none."""
    if server.declares("logging"):
        logging_requests(server)
    exercise_everything(server)
    found = [each for each in server.received(Kind.NOTIFICATION) if each.json["method"] == MESSAGE]
    return require_some(found, skip="the server sent no log messages")


def all_log_messages(server):
    """Return the log messages of every modern session, with the requests that were open when they came."""
    return [one for session in server.sessions for one in log_messages_in(session.lines)]


def require_least_level(server):
    """Return a level above every message at the level debug, and the levels below it."""
    requests = logging_requests(server)
    require_some(requests, skip="nothing was logged below emergency at the level debug")
    highest = max(LOG_LEVELS.index(level) for one in requests for level in one.levels)
    return LOG_LEVELS[highest + 1], LOG_LEVELS[: highest + 1]


def sent_during(session, requests):
    """Make requests one after the other, and return the log messages that come meanwhile."""
    session.drain()
    seen = len(session.received.notifications(MESSAGE))
    for method, params in requests:
        require_answer(session.request(method, params))
    session.drain()
    return [Value(message, "", (line,)) for line, message in session.received.notifications(MESSAGE)[seen:]]


def open_methods(log_message):
    """Return the methods of the requests that were open when a log message came."""
    return {request["method"] for request in log_message.open}
