"""Recorded sessions, replayed on the server: which of its answers are other ones now."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_conformance.client.replaying import Manner, ReplayStep, replay
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.text import first_names, named, shorten
from mcp_conformance.protocol.value import Value
from mcp_conformance.tap.conversation import items, part
from mcp_conformance.tap.differences import Answer, Comparison, Difference
from mcp_conformance.tap.lines import line_of
from mcp_conformance.tap.recordings import Exchanged, accept, answer_in, by_history, exchanged
from mcp_conformance.tap.sessions import Recorded
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.process_tree import mark_of_run
from mcp_conformance.transport.redaction import Redaction
from mcp_conformance.verdicts import Finding

MAX_REPLAYS = 4
"""How often a session is replayed until a difference counts.

What a server picks at random among two values is the same in all of them once in eight times.
"""
MAX_PAUSE_SECONDS = 1.0
"""The longest pause of the recorded client that a replay has too.  Not measured."""
MAX_SHOWN = 200
"""How many characters of the arguments of a call a finding shows."""


def expect_same_answers(server: Server, recorded: Recorded) -> None:
    """Report a finding if an answer differs from the recorded one, however often the session is replayed.

    With ``update`` the answers of now are written to the session instead, unless one is missing.  Skips the
    check if the session cannot be replayed, or may not be.
    """
    if reason := why_not_replayed(server, recorded):
        skip(f"{named(recorded.stem)}: {reason}")
    plays: list[Mapping[int, Played]] = []
    varies: dict[int, set[str]] = {}
    found: list[StepDifference] = []
    for number in range(MAX_REPLAYS):
        plays.append(_played(server, recorded, MAX_PAUSE_SECONDS if number % 2 else 0.0))
        found = _differing(server, recorded, plays, varies)
        if not found:
            return
    obstacle = ""
    if server.settings.update:
        obstacle = _update(server, recorded, found, varies)
        if not obstacle:
            return
    first = found[0]
    got = f"step {first.number} of {named(recorded.stem)}, {first}"
    if more := [f"step {one.number} ({one.asked})" for one in found[1:]]:
        got += f"; other answers too: {first_names(more)}"
    got += f"; not updated: {obstacle}" if obstacle else ""
    raise Finding("the recorded answers", got, first.lines)


def _update(
    server: Server, recorded: Recorded, found: Sequence[StepDifference], varies: Mapping[int, set[str]]
) -> str:
    """Write the answers of now to a session; return why it is not done, empty if it is."""
    answers = {one.exchanged.row: one.new_answer for one in found if one.new_answer is not None}
    if len(answers) < len(found):
        return "an answer is missing, or is one of a batch"
    try:
        accept(recorded, answers, varies)
    except OSError as error:
        return str(error)
    changes = "; ".join(f"step {one.number}, {one}" for one in found)
    server.updated.append(f"{recorded.path.name}: {changes}")
    return ""


# What may be replayed ----------------------------------------------------------------------------


def why_not_replayed(server: Server, session: Recorded) -> str:
    """Return why a session is not replayed on a server; empty if it is."""
    return next(_obstacles(server, session), "")


def _obstacles(server: Server, session: Recorded) -> Iterator[str]:
    info = server.surface.server_info
    own, other = named(str(part(info.json if info is not None else None, "name") or "")), session.server
    if other != own and any(one.server == own for one in server.settings.sessions):
        yield f"it is a session of {other or 'a server without a name'}"
    if any(row.get("sent") and row.get("redacted") for row in session.rows):
        yield "credentials are left out of what its client sends: it can't be sent again"
    if any(row.get("sent") and "cut_from" in row for row in session.rows):
        yield "a line of its client was too long to be recorded"
    if not exchanged(session):
        yield "no request of its client has an answer"
    settings, calls = server.settings, _called(server, session)
    if denied := [tool.name for tool in calls if not settings.may_call(tool)]:
        yield f"it calls {first_names(denied)}, which --call {','.join(denied)} permits"
    if left_out := [tool.name for tool in calls if not settings.tests(tool)]:
        yield f"it calls {first_names(left_out)}, which --tool or --not-tool leaves out"
    for name, arguments in recorded_arguments(session):
        if taken := server.arguments.world.jail.taken(name, arguments):
            what = first_names([named(one) for one in taken])
            yield f"it gives {named(name)} what is there already ({what}), which --found-values permits"


def recorded_arguments(session: Recorded) -> Iterator[tuple[str, Any]]:
    """Yield the name of the tool and the arguments of each call that a session has recorded."""
    for line in session.lines:
        for message in line.parts() if line.sent else ():
            if part(message, "method") == "tools/call":
                yield str(part(message, "params", "name")), part(message, "params", "arguments")


def _called(server: Server, session: Recorded) -> list[Tool]:
    """Return the tools that a session calls, as the server lists them now, else as it did then.

    One that it never listed has only a name.
    """
    listed = {tool.name: tool for tool in server.tools}
    called: dict[str, None] = {}
    for line in session.lines:
        for message in line.parts():
            for one in items(part(message, "result"), "tools") if not line.sent else ():
                listed.setdefault(str(one.get("name")), Tool(Value(one, "tool", (line,))))
            name = part(message, "params", "name")
            if line.sent and part(message, "method") == "tools/call" and isinstance(name, str):
                called[name] = None
    return [listed.get(name) or Tool(Value({"name": name}, "tool")) for name in called]


# Replaying ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Played:
    """A step of a replay, and the answer with the names of then, without credentials; None without one."""

    step: ReplayStep
    answer: Answer | None


def _played(server: Server, session: Recorded, max_pause: float) -> dict[int, Played]:
    """Replay a session in a fresh process, in the folder as it was furnished; return its steps by number.

    It ends with the first request that gets no answer.
    """
    settings, hide = server.settings, _redaction(server)
    manner = Manner(max_pause, awaits_all=False, spacing=settings.spacing)
    found = {}
    with settings.folder_as_furnished() as is_renewed:
        if is_renewed:
            server.processes.stop()  # those started ahead have the other folder
        process = server.processes.start("recorded sessions")
        for step in replay(session.transcript, process, settings.timeout, manner):
            recalled = step.recalled.message if step.recalled is not None else None
            answer = answer_in(hide(recalled), time.time(), step.took) if recalled is not None else None
            found[step.number] = Played(step, answer)
            if step.fault:
                break
        process.stop()
    return found


def _redaction(server: Server) -> Redaction:
    """Return what leaves out credentials, and what no other run has: the path of its folder, and its mark."""
    throwaway = server.settings.throwaway
    roots = (throwaway.root.resolve(), throwaway.root) if throwaway is not None else ()
    return server.settings.redaction.also(*map(str, roots), mark_of_run())


@dataclass(frozen=True)
class StepDifference:
    """A step of a session whose answer is another one now: the last replay of it, and what differs first."""

    exchanged: Exchanged
    then: Line
    last: Played | None
    difference: Difference | None

    @property
    def number(self) -> int:
        """The number of the request."""
        return self.exchanged.number

    @property
    def new_answer(self) -> Answer | None:
        """The answer that may stand in the place of the recorded one; None if there is none."""
        return self.last.answer if self.last is not None and self.exchanged.is_alone else None

    @property
    def asked(self) -> str:
        """The request in a few words."""
        params = self.exchanged.request.get("params")
        name = part(params, "name") or part(params, "uri") or ""
        return named(f"{self.exchanged.request['method']} {name}".strip(), 80)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The request as it is sent now, and the answers of both times."""
        step = self.last.step if self.last is not None else None
        request = step.line if step is not None else Line.sending(dict(self.exchanged.request))
        now = step.now if step is not None else None
        answers = ((self.then, "then"), (now, "now"))
        return (request, *(replace(line, carried_by=when) for line, when in answers if line is not None))

    def __str__(self) -> str:
        arguments = part(self.exchanged.request, "params", "arguments")
        shown = f" with {shorten(json.dumps(arguments, ensure_ascii=False), MAX_SHOWN)}" if arguments else ""
        fault = self.last.step.fault if self.last is not None else "the server has ended the conversation"
        what = str(self.difference) if self.difference is not None else f"there is no answer: {fault}"
        return f"{self.asked}{shown}: {what}"


def _differing(
    server: Server, session: Recorded, plays: Sequence[Mapping[int, Played]], varies: dict[int, set[str]]
) -> list[StepDifference]:
    """Return the steps in which all replays differ from the recording; put what varies by row to ``varies``.

    What comes after a request without an answer is not judged.
    """
    others, found = _recordings(server), []
    for one in exchanged(session):
        then = line_of(session.rows[one.row])
        steps = [play.get(one.number) for play in plays]
        nows = [step.answer for step in steps if step is not None and step.answer is not None]
        if then is None:
            continue
        if not nows:
            found.append(StepDifference(one, then, steps[-1], None))
            break
        thens = [
            one.answer,
            *(other for name, other in others.get((session.title, one.history), ()) if name != session.stem),
        ]
        comparison = Comparison({*session.rows[one.row].get("varies", ())})
        differences = comparison.differences(thens, nows)
        if comparison.varies:
            varies[one.row] = comparison.varies
        if differences:
            last = next(step for step in reversed(steps) if step is not None and step.answer is not None)
            found.append(StepDifference(one, then, last, differences[0]))
    return found


@scenario
def _recordings(server: Server) -> Mapping[tuple[str, str], tuple[tuple[str, Answer], ...]]:
    """Return the answers in all sessions by what was asked before them."""
    return by_history(server.settings.sessions)
