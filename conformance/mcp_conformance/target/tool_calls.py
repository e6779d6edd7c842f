"""The calls of tools with valid arguments: each tool is called once, and all checks judge the same call."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any

from mcp_conformance.client.refusals import asks_client, complaint_about_network
from mcp_conformance.client.reply import Closed, Reply, Silence, Unread
from mcp_conformance.client.session import Session
from mcp_conformance.client.thrown import with_log
from mcp_conformance.client.tool_call import SLOW_SECONDS, Call, PendingCall, Tool, call_in
from mcp_conformance.expect import exercised, require_answer, skip
from mcp_conformance.generation import NoExample
from mcp_conformance.protocol.text import first_names
from mcp_conformance.sandbox.traffic import Traffic
from mcp_conformance.target.arguments import Arguments
from mcp_conformance.target.beside import find_lone_calls
from mcp_conformance.target.circumstances import hosts_tried
from mcp_conformance.target.exercise import Exercise
from mcp_conformance.target.lists import Lists
from mcp_conformance.target.pending_calls import PendingCalls
from mcp_conformance.target.preparation import Preparation, renamed_value
from mcp_conformance.target.reported import Reported
from mcp_conformance.target.scenario import Records, scenario
from mcp_conformance.target.sessions import CALLS, Sessions
from mcp_conformance.target.trail import traced
from mcp_conformance.target.unanswered import unanswered
from mcp_conformance.target.world import values_of_server
from mcp_conformance.verdicts import Blocked, Cause, Finding, Skipped
from mcp_conformance.world.exploration import Exploration, needs_exploration
from mcp_conformance.world.replay import replay
from mcp_conformance.world.success import is_success

MAX_SILENT_CALLS = 2
"""How many tools may leave a call without an answer, each for a whole timeout, before no more are called."""
# Not measured: 46 tools of a real server took 30 s on a busy machine.  Who has less waits for no answer.
MAX_EXPLORED_SECONDS = 60.0
"""How long the tools are explored at most; a quarter of ``--time`` or ``--max-time`` if that is less."""

# Not measured: one that makes a thing of ours, which others may work on, and one to spare.
MAX_EXPLORED_BESIDE_EXAMPLES = 2
"""How often a tool is explored for which the user gives arguments."""


class ToolCalls:
    """The calls of tools in one revision.

    ``exercise`` counts them, ``pending`` are slow calls without an answer.  ``unanswered_retries`` counts
    the retries, with the input that a server required, that got no answer.
    """

    def __init__(
        self,
        sessions: Sessions,
        lists: Lists,
        arguments: Arguments,
        reported: Reported,
        preparation: Preparation,
    ):
        self.records: Records = {}
        self.exercise = Exercise(arguments.origins)
        self.pending = PendingCalls()
        self._preparation = preparation
        self.unanswered_retries = 0
        self._sessions, self._lists, self.trail = sessions, lists, sessions.trail
        self._arguments, self._reported = arguments, reported
        self._tools = sessions.surface.tools
        self._calls: dict[str, Call] = {}
        self._silent = 0
        self._attempts: dict[Traffic, int] = {}
        self._world = arguments.world
        self._world.meet(self._tools, sessions.revision)
        self._exploration = Exploration(self._world, sessions.revision, self._call_explored, self._most_calls)
        self._has_begun = self._has_read = self._is_first_process = False
        self._explored: set[str] = set()
        limits = (MAX_EXPLORED_SECONDS, sessions.settings.time / 4, sessions.settings.max_time / 4)
        self._exploration_seconds = min(limits)
        self._explored_until = math.inf

    @property
    def _session(self) -> Session:
        return self._sessions.shared(CALLS)

    @traced
    def call(self, tool: Tool) -> Call:
        """Call a tool with valid arguments, once in a run; if that fails, with others.

        The call is the one that worked best, else the first of all.  If it needs values that other tools may
        give, all are called and explored (`begin`).  Skips the check when the tool may not be called or no
        arguments are known.  Raises a `Finding` or `Blocked` for the first check that meets a call without an
        answer.
        """
        self.trail.note_use(ToolCalls.begin.__qualname__)  # which makes the same call, if it comes first
        if tool.name in self.pending:
            self.end_pending(tool.name)
        elif tool.name not in self._calls:
            self._calls[tool.name] = self._call(tool, self._arguments_for(tool))
            if needs_exploration(self._calls[tool.name]):
                self.begin()
                self._explore(tool.name)
        call = self._calls[tool.name]
        if call.is_at_work:
            seconds = self._sessions.settings.timeout_of(tool.name)
            skip(f"{tool.name} takes longer than {seconds:g} s and reports progress (--timeout)")
        if call.reply.fault is not None:
            self._reported.raise_once(f"call {tool.name}", self._unanswered(call))
        if call.reply.needs_input:
            skip(f"{tool.name} asks the client for something first")
        return call

    def all(self) -> list[Call]:
        """Call every tool that may be called, once; leave out those without an answer.

        Raises `Blocked` for a call without an answer that no check has met yet.
        """
        self.begin()
        return exercised(self.call, self._tools)

    def quick(self) -> list[Call]:
        """Call every tool as `all` does; leave out the slow ones, without a wait for their answers."""
        self.begin()
        quick = (tool for tool in self._tools if not self.pending.is_slow(tool.name))
        return [call for call in exercised(self.call, quick) if not call.is_slow]

    @traced
    def begin(self, max_seconds: float = math.inf) -> None:
        """Call the tools, then explore those that need it, for so long at most; the first time only.

        The first slow calls stay pending until some check needs them.
        """
        if self._has_begun:
            return
        self._has_begun = True
        self._exploration_seconds = min(self._exploration_seconds, max_seconds)
        self._replay()
        for tool in self._world.in_order(self._tools):
            if not self.pending.leave_room:
                self._take_answered(SLOW_SECONDS)
            if self.pending.leave_room and tool.name not in self._calls:
                with suppress(Skipped):
                    self._begin(tool, self._arguments_for(tool))
        self._take_answered(0.0)
        if not self.pending.keep_others_waiting:
            self._explore(*self._calls)

    def _replay(self) -> None:
        """Call the tools as an earlier run did; those that work have their calls."""
        self._explored_until = self._sessions.settings.clock.monotonic() + self._exploration_seconds
        calls = replay(self._world, self._tools, self._call_explored, self._may_replay)
        for name, (best, *others) in calls.items():
            before = self._calls[name].with_others if name in self._calls else ()
            has_worked = not needs_exploration(best)
            if has_worked or best.reply.fault is not None:
                self._calls[name] = replace(best, others=(*others, *before))
            if has_worked:
                self._exploration.replayed.add(name)

    def _may_replay(self, tool: Tool) -> bool:
        is_callable = self._sessions.settings.may_call(tool) and tool.definition.get("name") is not None
        return is_callable and self._most_calls(tool) > 0

    def _explore(self, *names: str) -> None:
        """Look for arguments with which these tools work, beside those of their calls so far."""
        clock = self._sessions.settings.clock
        self._explored_until = clock.monotonic() + self._exploration_seconds
        new = [name for name in names if name not in self._explored]
        self._explored.update(new)
        if any(needs_exploration(self._calls[name]) for name in new):
            self._read_server()
        tools, seconds = [self._calls[name].tool for name in new], self._exploration_seconds
        with self._world.shared(tools, seconds):
            for name in new:
                self._calls[name] = self._recalled(self._calls[name])
            self._exploration.explore([self._calls[name] for name in new])
        self._exploration_seconds = max(0.0, self._explored_until - clock.monotonic())
        for name in new:
            calls = [*self._calls[name].with_others, *self._exploration.calls_of(name)]
            best = self._exploration.best_of(name) or self._calls[name]
            others = tuple(replace(one, others=()) for one in calls if one is not best)
            self._calls[name] = replace(best, others=others)

    def explored(self, tool: str) -> list[Call]:
        """Return the calls of a tool that looked for arguments which work."""
        return self._exploration.calls_of(tool)

    def _read_server(self) -> None:
        """Add what the server lists and describes to the known values, the first time only.

        A list that cannot be had is reported by the checks of that list.
        """
        if not self._has_read:
            self._has_read = True
            with suppress(Skipped, Blocked):
                ours = self._world.ownership.ours
                self._world.add(values_of_server(self._sessions.surface, self._lists, ours))

    def _recalled(self, call: Call) -> Call:
        """Return the call that another process has learned meanwhile, or else the one that was made."""
        known = self._world.working(call.tool, self._sessions.revision)
        if not needs_exploration(call) or not known or known[0] == call.arguments:
            return call
        self._world.make_copies(known[0])
        found = self._call_explored(call.tool, deepcopy(dict(known[0])))
        return replace(found, others=call.with_others)

    def _call_explored(self, tool: Tool, arguments: dict[str, Any]) -> Call:
        call = self._called(tool, arguments)
        self._note(call)
        return call

    def _called(self, tool: Tool, arguments: dict[str, Any]) -> Call:
        """Call a tool, with the names that things have in the process."""
        return self._pending(tool, arguments).end()

    def _pending(self, tool: Tool, arguments: dict[str, Any]) -> PendingCall:
        session = self._session
        self._is_first_process = not session.renamed
        return PendingCall(session, tool, renamed_value(session, arguments))

    def _most_calls(self, tool: Tool) -> float:
        """Return how often a tool may be called while it is explored; 0 if there is no time left."""
        settings = self._sessions.settings
        if self._silent >= MAX_SILENT_CALLS or settings.clock.monotonic() > self._explored_until:
            return 0
        most = settings.explored_calls(tool)
        return min(most, MAX_EXPLORED_BESIDE_EXAMPLES) if settings.vouched(tool.name) else most

    def end_pending(self, *names: str) -> None:
        """Wait for the pending calls of these tools, for all if none are named.

        Raises `Deferred` in place of a long wait, if the check may be deferred.
        """
        for name in self._take(names):
            self._explore(name)

    def _take_answered(self, seconds: float) -> None:
        """Wait until pending calls last so long, and take the answers that came: others may need them."""
        answered = [one.tool.name for one in self.pending if not one.lasts(seconds)]
        if answered:
            self._take(answered)

    def _take(self, names: Sequence[str]) -> list[str]:
        """Wait for the pending calls of these tools, for all if none are named; return their names."""
        ended = self.pending.end(*names)
        for call in ended:
            self._calls[call.tool.name] = self._finished(self._alone(call))
        return [call.tool.name for call in ended]

    def again(self, call: Call, params: Mapping[str, Any]) -> Reply:
        """Call a tool once more, with other ``params``; skip if the tool is slow.

        An earlier call may have ended the process, so a call that meets its end is repeated in another one.
        """
        if call.is_slow:
            skip(f"{call.tool.name} takes {call.reply.seconds:.1f} s, so it is called only once")
        reply = self._session.request("tools/call", params)
        if isinstance(reply.fault, Closed):
            reply = self._session.request("tools/call", params)
        return with_log(self._session, require_answer(reply))

    @scenario
    def missing_network(self, call: Call) -> str:
        """Return what a tool says twice when it reaches no host; empty if it does not."""
        if not complaint_about_network(call.reply):
            return ""
        return complaint_about_network(self.again(call, call.params))

    def answered(self) -> list[Reply]:
        """Return the results of the calls so far, without those of the fuzzer."""
        calls = [one for call in self._calls.values() for one in call.with_others]
        return [one.reply for one in calls if one.reply.value is not None]

    def wanting_input(self) -> list[Call]:
        """Return the calls so far that failed, or asked for something that the client lacks."""
        return [one for one in self._calls.values() if one.failed or one.asked or one.reply.needs_input]

    def other_death(self, call: Call) -> Finding | Blocked | None:
        """Return the verdict on the call with other valid arguments that ended the process; None without."""
        dead = next((one for one in call.others if isinstance(one.reply.fault, Closed)), None)
        return None if dead is None else self._unanswered(dead)

    @scenario
    def _unanswered(self, call: Call) -> Finding | Blocked:
        return unanswered(self._sessions, call)

    def _arguments_for(self, tool: Tool) -> dict[str, Any]:
        """Return the arguments to call a tool with; skip if it may not be called, or none are known."""
        if not self._sessions.settings.may_call(tool):
            skip(f"{tool.name} may not be called: --call {tool.name!r} or --call all releases it")
        name = tool.definition.get("name")
        if name is None or not name.is_a(str):
            skip(f"{tool.definition.path} has no name to be called by")
        try:
            arguments = self._arguments.valid(tool)
        except NoExample as error:
            self.exercise.leave_out(tool, f"no valid arguments: {error}")
            cause = Cause.TOO_COSTLY if error.is_too_costly else None
            skip(f"no valid arguments for {tool.name}: {error}", cause=cause)
        self._world.make_copies(arguments)
        return arguments

    def _call(self, tool: Tool, arguments: dict[str, Any]) -> Call:
        if not self.pending.leave_room:
            self.end_pending()
        if self._silent >= MAX_SILENT_CALLS:
            skip(f"{MAX_SILENT_CALLS} tools did not answer, so no more are called")
        return self._finished(self._called(tool, arguments))

    def _finished(self, first: Call) -> Call:
        """Call again with other valid arguments if a call fails; return the best call."""
        first = self._without_others(first)
        self._note(first)
        calls = [first]
        for arguments in self._further_arguments(first):
            calls.append(self._called(first.tool, arguments))
            self._note(calls[-1])
            if calls[-1].reply.fault is not None or not calls[-1].failed:
                break
        best = first if calls[-1].failed or calls[-1].reply.fault is not None else calls[-1]
        return replace(best, others=tuple(one for one in calls if one is not best))

    def _without_others(self, call: Call) -> Call:
        """Return a call, made again if it has only failed as other processes of ours run."""
        settings = self._sessions.settings
        if call.reply.fault is not None or is_success(call.reply) or not self._preparation.has_worked(call):
            return call
        is_lone = find_lone_calls(
            settings, self._sessions.revision, lambda one: call_in(one, call.tool, call.arguments).reply
        )
        return call_in(self._session, call.tool, call.arguments) if is_lone else call

    def _note(self, call: Call) -> None:
        """Count a call, and whether it was answered."""
        if call.reply.fault is not None and not isinstance(call.reply.fault, Closed | Unread):
            self._silent += 1
        self.exercise.count(call.tool, call.reply)
        self.exercise.keep_nearest(call, self._world)
        request, fault = call.reply.request, call.reply.fault
        if isinstance(fault, Silence) and (session := self._sessions.with_request(request)) is not None:
            hosts = hosts_tried(session, request, self._sessions.settings, fault.seconds)
            self.exercise.note_unreached(call.tool, first_names(hosts))
        # The process of an ended session would be started again to be asked.
        attempt = self._attempted() if call.reply.fault is None else ""
        if attempt and call.failed:
            self.exercise.note_attempt(call.tool, attempt)
        if self._is_first_process:
            self._preparation.note(call)

    def _attempted(self) -> str:
        """Return what the process of the calls has tried to reach outside since the last call; empty without.

        It is seen in a sandbox with an empty network, where it reaches nothing; the backend is reached.
        """
        traffic = self._session.process.traffic
        if traffic is None or self._sessions.settings.backend is not None:
            return ""
        tried = traffic.attempts
        new, self._attempts = tried[self._attempts.get(traffic, 0) :], {traffic: len(tried)}
        return str(new[0]) if new else ""

    def _further_arguments(self, first: Call) -> Iterator[dict[str, Any]]:
        """Yield other valid arguments for a tool that may succeed with them."""
        reply = first.reply
        if first.failed and not (asks_client(reply) or complaint_about_network(reply) or first.is_slow):
            yield from self._arguments.further(first.tool)

    def _begin(self, tool: Tool, arguments: dict[str, Any]) -> None:
        call = self._pending(tool, arguments)
        if not self.pending.add_if_long(call):
            self._calls[tool.name] = self._finished(call.end())

    def _alone(self, call: Call) -> Call:
        """Return a call; make it again if the process ended, for which other calls may be the cause."""
        has_ended = isinstance(call.reply.fault, Closed)
        return call_in(self._session, call.tool, call.arguments) if has_ended else call
