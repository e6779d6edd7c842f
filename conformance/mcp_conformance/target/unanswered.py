"""The verdict on a call with valid arguments that got no answer."""

from __future__ import annotations

from mcp_conformance import remedies
from mcp_conformance.client.reply import Closed, Unanswered
from mcp_conformance.client.tool_call import Call, call_in
from mcp_conformance.expect import skip
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.target.preparation import renamed_value
from mcp_conformance.target.sessions import Sessions
from mcp_conformance.target.transcripts import write_transcripts
from mcp_conformance.verdicts import Blocked, Cause, Finding

CALLABLE, NOT_FATAL = "tools.call.listed-is-callable", "tools.call.valid-not-fatal"
MAX_ARGUMENTS = 200
FORBIDDEN = (401, 403)
"""The statuses of a call that its credential does not permit."""
SLOW_BY_OTHERS = "{tool} answers in time in the folder as it was before other tools were called"


def unanswered(sessions: Sessions, call: Call) -> Finding | Blocked:
    """Return the verdict on a call that was not answered.

    If the process ended, the tool is called in a new one: a `Finding` if that ends too.  What the arguments
    name may have been made by other calls: if it answers, these are made in it before the tool is called
    again.  If no new one opens a session, both are reported.  Raises `Skipped` if the server was given up
    before, if the credential is not permitted to call the tool, or if a call is only slow in the folder that
    other calls have changed.
    """
    _require_permitted(call)
    if not isinstance(call.reply.fault, Closed):
        _require_slow_as_furnished(sessions, call)
        return _blocked(call, CALLABLE)
    try:
        session = sessions.connect("a call ended the process")
    except Blocked as error:
        return _blocked(call, NOT_FATAL).with_others([error])
    session.drain()
    again = call_in(session, call.tool, call.arguments)
    if again.reply.fault is None:
        sessions.prepare(session)
        if session.preparation:
            again = call_in(session, call.tool, renamed_value(session, call.arguments))
    if not isinstance(again.reply.fault, Closed):
        return _blocked(call, NOT_FATAL, ", but not when it was called again in a new process")
    after = ", after the calls that worked before" if session.preparation else ""
    name = f"{sessions.revision} {NOT_FATAL} {call.tool.name}"
    written = write_transcripts(sessions, [session.lines], name=name, about=f"{NOT_FATAL}: {call.tool.name}")
    return Finding(
        "an answer",
        f"{show(call.arguments, MAX_ARGUMENTS)}: {again.reply.fault}, in two processes{after}{written}",
        again.reply.lines,
        NOT_FATAL,
        transcripts=written.paths,
        stderr=again.reply.fault.stderr,
        tool=call.tool.name,
        fatal=True,
    )


def _require_permitted(call: Call) -> None:
    fault = call.reply.fault
    if isinstance(fault, Unanswered) and fault.status in FORBIDDEN:
        why = f"as the call got HTTP {fault.status}"
        subject = f"{call.tool.name} is not for the credential of this run"
        skip(f"{subject}, {why}; {remedies.NOT_PERMITTED}", cause=Cause.CIRCUMSTANCES)


def _require_slow_as_furnished(sessions: Sessions, call: Call) -> None:
    with sessions.session_as_furnished() as session:
        if session is None:
            return
        sessions.prepare(session)
        again = call_in(session, call.tool, renamed_value(session, call.arguments))
    if again.reply.fault is None:
        skip(SLOW_BY_OTHERS.format(tool=call.tool.name), cause=Cause.CIRCUMSTANCES)


def _blocked(call: Call, rule: str, more: str = "") -> Blocked:
    reply = call.reply
    stderr = reply.fault.stderr if reply.fault is not None else ""
    reason = f"tools/call of {call.tool.name} was not answered: {reply.fault}{more}"
    fix = remedies.of_missing_answer(reply.fault) if rule == CALLABLE else ""
    defect = Defect.DIES if isinstance(reply.fault, Closed) else Defect.HANGS
    blocked = Blocked(reason, reply.lines, stderr, rule, call.tool.name, fix=fix, defect=defect)
    blocked.seen = reply.fault
    return blocked
