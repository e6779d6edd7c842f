"""Log messages and the level from which on they are wanted (spec: server/utilities/logging)."""

from __future__ import annotations

import pytest

from conformance.session import NO_PARAMS
from conformance.value import Value, members
from conformance.verdict import Finding, expect_each, expect_error, heard, not_exercised, some
from conformance.wire import Kind

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
MESSAGE = "notifications/message"
CANARY = "conformance-secret-1f3870be274f6c49"


def needs_logging(server):
    if not server.declares("logging"):
        not_exercised("logging is not declared")


# Setting a level


@pytest.mark.requirement("logging.set-level.accepted")
def test_each_level_can_be_set(server):
    needs_logging(server)
    wrong = {
        level: reply for level, reply in levels(server).items() if not isinstance(heard(reply).result, dict)
    }
    if wrong:
        first = next(iter(wrong.values()))
        raise Finding("an empty object for each level", f"{', '.join(wrong)}: {first}", first.lines)


@pytest.mark.requirement("logging.set-level.invalid-code")
@pytest.mark.parametrize("params", [{"level": "loud"}, {"level": 3}, {}], ids=["loud", "number", "absent"])
def test_a_level_that_is_none_is_refused(server, params):
    needs_logging(server)
    if not any(reply.value is not None for reply in levels(server).values()):
        not_exercised("no level can be set")
    expect_error(server.shared("logging").request("logging/setLevel", params), -32602)


def levels(server):
    """What became of setting each level, up to the first that was not answered."""
    return server.once("levels", lambda: dict(set_each_level(server.shared("logging"))))


def set_each_level(session):
    for level in LEVELS:
        reply = set_level(session, level)
        yield level, reply
        if reply.fault is not None:
            return


def set_level(session, level):
    return session.request("logging/setLevel", {"level": level})


# What a message looks like


@pytest.mark.requirement("logging.message.level")
def test_a_log_message_has_a_level(server, traffic):
    expect_each(logged(server), lambda message: level_of(message) in LEVELS, "a level of the eight in params")


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


def level_of(message):
    return params_of(message).get("level")


# What is sent


@pytest.mark.requirement("logging.level-filter")
def test_a_level_keeps_lower_messages_back(server, traffic):
    needs_logging(server)
    chatty = some(log_all(server), "nothing was logged below emergency at the level debug")
    highest = max(LEVELS.index(level) for _, levels in chatty for level in levels)
    session, level = server.shared("logging"), LEVELS[highest + 1]
    if heard(set_level(session, level)).value is None:
        not_exercised(f"the level {level} cannot be set")
    session.settle()
    seen = len(session.notifications(MESSAGE))
    for (method, params), _ in chatty:
        heard(session.request(method, params))
    session.settle()
    late = [Value(message, "", (line,)) for line, message in session.notifications(MESSAGE)[seen:]]
    expect_each(
        late, lambda message: level_of(message) not in LEVELS[: highest + 1], f"nothing below {level}"
    )


@pytest.mark.requirement("logging.no-secrets")
def test_a_log_message_does_not_tell_the_environment(server, traffic):
    logged(server)
    with server.with_environment(CONFORMANCE_API_TOKEN=CANARY).fresh() as session:
        list(log_at_debug(server, session))
        session.send_raw(b"this line is not JSON")
        session.settle()
        told = [Value(message, "", (line,)) for line, message in session.notifications(MESSAGE)]
    wanted = f"nothing of the environment, such as {CANARY}"
    expect_each(some(told, "no log message came again"), lambda message: CANARY not in str(message), wanted)


def logged(server):
    """Every log message so far, after the server was asked for as many as it has."""
    if server.declares("logging"):
        log_all(server)
    found = [each for each in server.received(Kind.NOTIFICATION) if each.json["method"] == MESSAGE]
    return some(found, "the server sent no log messages")


def log_all(server):
    """What `log_at_debug` finds, asked for once."""
    return server.once("logged at debug", lambda: list(log_at_debug(server, server.shared("logging"))))


def log_at_debug(server, session):
    """The requests, harmless or permitted, that log something at the level debug, with the levels logged."""
    if server.declares("logging") and levels(server)["debug"].value is not None:
        set_level(session, "debug")
    for method, params in harmless_requests(server):
        session.settle()
        seen = len(session.notifications(MESSAGE))
        reply = session.request(method, params)
        if reply.fault is not None or session.settle().fault is not None:
            return
        told = [level_of(message) for _, message in session.notifications(MESSAGE)[seen:]]
        lower = [level for level in LEVELS[:-1] if level in told]
        if lower:
            yield (method, params), lower


def harmless_requests(server):
    """What was asked of the server before: its lists, and all that it let be called, fetched and read."""
    calls = [call.reply for call in server.calls() if not server.is_slow(call)]
    replies = [walk.replies[0] for walk in server.lists()] + calls + server.prompts() + server.resources()
    asked = [reply.request.message for reply in replies if reply.fault is None]
    return [(message["method"], message.get("params", NO_PARAMS)) for message in asked]
