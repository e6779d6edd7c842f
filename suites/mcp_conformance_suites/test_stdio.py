"""The stdio transport (spec: basic/transports, "stdio")."""

from __future__ import annotations

import json

import pytest

from mcp_conformance import remedies
from mcp_conformance.client.reply import Closed
from mcp_conformance.expect import expect_none, skip
from mcp_conformance.json_schema.validation import TOO_COSTLY
from mcp_conformance.protocol.jsonrpc import (
    BYTE_ORDER_MARK,
    NOT_JSON,
    NOT_UTF_8,
    Kind,
    glued,
    is_response,
    torn,
)
from mcp_conformance.protocol.text import shorten
from mcp_conformance.scenarios.client_features import FULL_CLIENT, run_with_client
from mcp_conformance.scenarios.request_metadata import modern_messages
from mcp_conformance.scenarios.traffic import exercise_everything, repeat_of
from mcp_conformance.target.scenario import scenario
from mcp_conformance.verdicts import Cause, Finding

ANSWER_SECONDS = 2.0
EXIT_SECONDS = 10.0
# Not measured: a server that exits takes less, and the process for the control starts only if it does not.
AT_WORK_SECONDS = 1.0
"""After how long without an exit a process with nothing to do shows whether the server exits."""
KILLED = -9
"""The exit status of a process that only SIGKILL has ended."""
PADDING = "x" * 300_000
ACCENTS, SEPARATOR, TWO_LINES = "conformance é漢😀", "conformance \u2028\u0085 end", "conformance two\nlines"


# Output


@pytest.mark.stage("last")
@pytest.mark.requirement("stdio.stdout-purity")
def test_stdout_has_only_messages(server):
    close_stdin(server)
    noise = [line for session in server.sessions.every for line in noise_in(session)]
    printed = [line for line in noise if line.raw.strip()]
    if noise:
        first = (printed or noise)[0]
        constant = next((one for one in first.oddities if one in NOT_JSON), "")
        what = f"lines with {constant}, which is not JSON" if constant else "other lines"
        got = f"{len(noise)} {what}, first {shorten(first.text, 200)!r}"
        lines = (*server.sessions.after_request(first), *(printed or noise)[1:3])
        again = repeat_of(server, lines)
        fix = remedies.of_oddities([constant])
        raise Finding("JSON-RPC messages only", got, lines, advisory=not printed, repeat=again, fix=fix)
    unread = [session.inbox.unread for session in server.sessions.every if session.inbox.unread]
    if unread:
        reason = f"{unread[0]} is {TOO_COSTLY}, so it was not read (--max-line)"
        skip(reason, cause=Cause.TOO_COSTLY)


@pytest.mark.stage("last")
@pytest.mark.requirement("stdio.newline-delimited")
def test_each_message_has_a_line_end(server):
    close_stdin(server)
    for session in server.sessions.every:
        several = [line for line in session.received.kept_lines if line.fault and glued(line)]
        if several:
            again = repeat_of(server, server.sessions.after_request(several[0]))
            raise Finding("one message on each line", shorten(several[0].text), several[:1], repeat=again)
        if session.inbox.unended is not None:
            got = f"none after {shorten(session.inbox.unended.text)}"
            again = repeat_of(server, [line for line in session.lines if line.sent][-1:])
            raise Finding("a line end after each message", got, [session.inbox.unended], repeat=again)


@pytest.mark.requirement("stdio.no-embedded-newline")
def test_a_message_is_on_one_line(server):
    ping_with(server, TWO_LINES)
    exercise_everything(server)
    for session in server.sessions:
        for pieces in torn(session.received.kept_lines):
            again = repeat_of(server, server.sessions.after_request(pieces[0]))
            got = f"one on {len(pieces)} lines"
            raise Finding("each message on one line", got, pieces[:3], repeat=again)


@pytest.mark.requirement("stdio.utf8-output")
def test_the_output_is_utf_8(server):
    ping_with(server, ACCENTS)
    exercise_everything(server)
    for line in [line for session in server.sessions for line in session.received.kept_lines]:
        if line.raw.startswith(BYTE_ORDER_MARK) or is_undecodable(line):
            again = repeat_of(server, server.sessions.after_request(line))
            raise Finding("UTF-8 without a byte order mark", repr(line.raw[:200]), [line], repeat=again)


@pytest.mark.requirement("stdio.no-server-requests")
def test_the_server_writes_no_requests(server):
    exercise_everything(server)
    run_with_client(server, FULL_CLIENT)
    expect_none(modern_messages(server, Kind.REQUEST), "no server-to-client request")


# Input


@pytest.mark.requirement("stdio.utf8-input")
@pytest.mark.parametrize("text", [ACCENTS, SEPARATOR], ids=["accents", "separator"])
def test_the_input_is_read_as_utf_8(server, text):
    sent, came = ping_with(server, text)
    if text not in ids_of(came) and not any(map(is_undecodable, came)):
        got = f"{shorten(came[0].text)}" if came else "none"
        raise Finding("an answer that has the id of the request", got, (sent, *came[:1]))


@pytest.mark.requirement("stdio.framing-on-read")
def test_two_messages_of_one_write_are_two_messages(server):
    expect_pongs(server.malformed_session, {}, {})


@pytest.mark.requirement("stdio.framing-on-read")
def test_a_message_that_takes_many_reads_is_one_message(server):
    expect_pongs(server.malformed_session, {"_meta": {"org.example/padding": PADDING}})


def expect_pongs(session, *params):
    """Send pings with these params in one write; expect an answer to each."""
    count = len(session.lines)
    pings = [
        session.request_of(session.liveness_method, one, id=f"conformance {count}-{number}")
        for number, one in enumerate(params)
    ]
    lines = session.send_together(*pings)
    drain(session)
    lost = [
        line
        for line in lines
        if session.await_reply(line, session.scaled_timeout(ANSWER_SECONDS)).fault is not None
    ]
    if lost:
        got = f"none to {len(lost)} of {len(lines)}, {len(lost[0].raw)} bytes long"
        raise Finding("an answer to each ping", got, lines)


# The end


@pytest.mark.stage("last")
@pytest.mark.requirement("stdio.exit-on-stdin-close")
def test_the_server_exits_when_stdin_is_closed(server):
    session, status, _ = close_stdin(server)
    if status is None:
        got = f"a server that keeps running for {EXIT_SECONDS:g} s or more"
        raise Finding("an exit when its stdin is closed", got, session.received.kept_lines[-1:])


@pytest.mark.stage("last")
@pytest.mark.requirement("stdio.exit-status")
def test_the_server_exits_without_an_error_when_stdin_is_closed(server):
    session, status, stderr = close_stdin(server)
    if status is None:
        skip("the server does not exit by itself")
    if status != 0:
        got = f"{Closed(status, stderr)}{Closed(status, stderr).last_line}"
        raise Finding("exit status 0 when its stdin is closed", got, session.received.kept_lines[-1:])


@pytest.mark.stage("last")
@pytest.mark.requirement("stdio.exit-on-signal")
def test_the_server_need_not_be_killed(server):
    session, status, _ = close_stdin(server)
    session.close()
    if status is None and session.process.exit_code == KILLED:
        expected = "an exit when its stdin is closed, or then at SIGTERM"
        raise Finding(expected, "a server that only SIGKILL ends", session.received.kept_lines[-1:])


@scenario
def close_stdin(server):
    """Close stdin in the session of the tool calls; return it, the exit status, and what came on stderr.

    If the server goes on, it may be at work on a call: then that of a process with nothing to do counts.
    """
    exercise_everything(server)
    session = server.shared("calls")
    idle, closed_at = None, session.process.age
    session.process.close_stdin()
    if not session.wait_for(lambda: session.closed, session.scaled_timeout(AT_WORK_SECONDS)):
        idle = server.sessions.connect("an end of stdin while nothing is to do")
        idle.process.close_stdin()
    status = session.finish(session.scaled_timeout(EXIT_SECONDS))
    if idle is not None and status is None:
        session, closed_at = idle, 0.0
        status = idle.finish(idle.scaled_timeout(AT_WORK_SECONDS))
    return session, status, session.process.stderr_since(closed_at)


@scenario
def ping_with(server, text):
    """Send a ping with this id, unescaped; return its line, and the lines that came after it."""
    session = server.malformed_session
    message = session.request_of(session.liveness_method, id=text)
    sent = session.send_raw(json.dumps(message, ensure_ascii=False).encode(), message)
    drain(session)
    session.await_reply(sent, session.scaled_timeout(ANSWER_SECONDS))
    return sent, tuple(session.received.since(sent))


def drain(session):
    """Wait for the answers to two pings: another answer may overtake one, but hardly both."""
    session.drain()
    session.drain()


def ids_of(lines):
    """Return the ids of the answers on these lines."""
    answers = [part for line in lines for part in line.parts() if is_response(part)]
    return [answer.get("id") for answer in answers]


def noise_in(session):
    """Return the lines that are not messages, without broken ones that other checks judge.

    These are messages in several lines, several in a line, and messages that are not UTF-8.
    """
    pieces = [line for run in torn(session.received.kept_lines) for line in run]
    return [
        line
        for line in session.received.non_json()
        if not glued(line) and not any(line is one for one in pieces)
        if not (is_undecodable(line) and b'"jsonrpc"' in line.raw.replace(b"\0", b""))
    ]


def is_undecodable(line):
    """Return whether a line is not UTF-8."""
    return line.fault.startswith(NOT_UTF_8)
