"""What sequences of calls show: things are made, read, changed and deleted, with values of this run's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mcp_conformance.client.session import Session
from mcp_conformance.expect import require, skip
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.state.hand import Lost, Spent
from mcp_conformance.state.judging import Found, Judging, plays, seen_again
from mcp_conformance.state.learning import Learned, Learner
from mcp_conformance.state.links import Thing
from mcp_conformance.state.noise import Noise
from mcp_conformance.state.oracles import namespace, restart
from mcp_conformance.state.scene import Stage, Unjudged
from mcp_conformance.state.uses import uses_of
from mcp_conformance.state.violation import Violation
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.transcripts import write_transcripts
from mcp_conformance.transport.http.lines import HttpLines
from mcp_conformance.verdicts import Finding

MAX_CONFIRMED = 6
"""How many violations are looked for again, each in a fresh process, in a run that is not thorough."""
MAX_SHARED = 3
"""Not measured: how many kinds of things are looked for in another session."""
MAX_SHOWN = 5
"""How many calls a finding shows, as reports show ten lines: what was made, and the last ones."""
LEARNING_SHARE = 0.55
"""The part of the limits for learning: a server with 62 tools took all, so that no scene was played."""
SAME_CAUSE = {"state.failed-change": "state.failed-create"}
"""Rules that a tool breaks for the reason for which it breaks another: it is reported under that one."""
NO_WRITER = "no tool that may change something may be called (--call all releases them)"
LIMITED = "tools that may change something have a limit of calls (openWorldHint: true, --calls-per-tool)"


@dataclass(frozen=True, eq=False)
class StateRecord:
    """What was learned of a server, how often each rule was judged, and what a fresh process confirmed."""

    learned: Learned
    judged: Mapping[str, int]
    violations: Mapping[str, tuple[Violation, ...]]


@scenario
def state_of(server: Server) -> StateRecord:
    """Learn what the tools do to each other, play scenes on what they make, and see violations again.

    Skips the check in older revisions, and where no tool may write.
    """
    if not server.is_newest:
        skip("sequences of calls are judged in the newest revision")
    if not server.state.may_write():
        may_call = server.settings.may_call
        skip(LIMITED if any(may_call(one) and not one.read_only for one in server.tools) else NO_WRITER)
    server.quick_calls()
    workables = server.state.workables()
    if all(one.tool.read_only for one in workables):
        skip("no tool that may change something works")
    session, limits = server.state.session(), server.state.limits
    learned = Learner(server.state.workshop(session, "noise", limits.part(LEARNING_SHARE)), workables).learn()
    server.state.uses = tuple(uses_of(learned, workables))
    judging = Judging(
        Stage(server.state.workshop(session, "scenes", limits.part(1 - LEARNING_SHARE)), learned.noise)
    )
    judging.judge_all(plays(learned))
    violations = _confirmed(server, judging.found, learned)
    return StateRecord(learned, judging.judged, violations)


@scenario
def restarts(server: Server) -> tuple[Violation, ...] | None:
    """Return what a restart loses or brings back, seen twice; None if nothing lasts, or it cannot be seen.

    The things are those that most tools do something to.
    """
    learned = state_of(server).learned
    lasting = [one for one in learned.things if one.lasts]
    thing = max(lasting, key=lambda one: len(one.effects) + len(one.links), default=None)
    if thing is None or server.settings.http is not None:
        return None
    first = _restarted(server, thing, learned.noise)
    if not first:
        return first
    again = _restarted(server, thing, learned.noise) or ()
    return tuple(one for one in again if one.tool in [each.tool for each in first])


def _restarted(server: Server, thing: Thing, noise: Noise) -> tuple[Violation, ...] | None:
    """Make things in a process, and look at them in the next one; None if that shows none of them."""
    with suppress(Unjudged, Spent, Lost):
        with server.state.fresh() as session:
            scene = Stage(server.state.workshop(session, "a restart"), noise).before_restart(thing)
            session.close()
        with server.state.fresh() as session:
            scene = Stage(server.state.workshop(session, "a restart"), noise).after_restart(scene)
        return tuple(restart.judge(scene)) if restart.can_judge(scene) else None
    return None


@scenario
def strangers(server: Server) -> tuple[Violation, ...] | None:
    """Return what a session over HTTP shows of what another one has for itself, seen twice.

    None if the sessions know the same, or there are none.
    """
    learned = state_of(server).learned
    things = [one for one in learned.things if one.lasts][:MAX_SHARED]
    if server.settings.http is None or server.surface.is_modern:
        return None
    judged = [_met(server, one, learned.noise) for one in things]
    if all(one is None for one in judged):
        return None
    found = []
    for thing, first in zip(things, judged, strict=True):
        again = _met(server, thing, learned.noise) if first else ()
        found += [one for one in again or () if one.tool in [each.tool for each in first or ()]]
    return tuple(found)


def _met(server: Server, thing: Thing, noise: Noise) -> tuple[Violation, ...] | None:
    """Make a thing in one of two new sessions; None if the other one knows it too."""
    with suppress(Unjudged, Spent, Lost), server.state.fresh() as one, server.state.fresh() as other:
        if not all(
            isinstance(each.process, HttpLines) and each.process.mirror.session_id for each in (one, other)
        ):
            return None
        stages = [Stage(server.state.workshop(each, "two sessions"), noise) for each in (one, other)]
        scene = stages[0].meet(stages[1], thing)
        return tuple(namespace.judge(scene)) if namespace.can_judge(scene) else None
    return None


def _has_id(session: Session) -> bool:
    """Return whether the server has given a session an id."""
    return isinstance(session.process, HttpLines) and bool(session.process.mirror.session_id)


def expect_namespaces(server: Server) -> None:
    """Report what a session shows of another one's; skip the check if they share all that is made."""
    found = require(strangers(server), skip="no session over HTTP has things for itself")
    if findings := [finding_of(one) for one in found]:
        raise findings[0].with_others(findings[1:])


def expect_lasting(server: Server) -> None:
    """Report what a restart loses or brings back; skip the check if nothing lasts."""
    found = require(restarts(server), skip="nothing that tools make is shown by the next process")
    if findings := [finding_of(one) for one in found]:
        raise findings[0].with_others(findings[1:])


def _confirmed(server: Server, found: list[Found], learned: Learned) -> Mapping[str, tuple[Violation, ...]]:
    """Return the violations by rule that are seen again in a fresh process, one of each tool."""
    most = MAX_CONFIRMED if server.settings.is_gentle else len(found)
    sure: dict[str, tuple[Violation, ...]] = {}
    tried: set[tuple[str, str]] = set()
    for one in found:
        rule, tool = one.oracle.rule, one.violation.tool
        known = [each.tool for each in sure.get(SAME_CAUSE.get(rule, ""), ())]
        if (rule, tool) in tried or tool in known or len(tried) >= most:
            continue
        tried.add((rule, tool))
        with server.state.fresh() as session:
            again = seen_again(one, Stage(server.state.workshop(session, "seen again"), learned.noise))
        if again is not None:
            sure[rule] = (*sure.get(rule, ()), kept(server, rule, again, session.lines))
    return sure


def kept(server: Server, rule: str, one: Violation, lines: Sequence[Line]) -> Violation:
    """Return a violation with the transcript of the process that showed it."""
    name = f"{server.revision} {rule} {one.tool}"
    written = write_transcripts(server.sessions, [lines], name=name, about=f"{rule}: {one.got}")
    return replace(one, transcripts=written.paths)


def expect_none_of(server: Server, rule: str) -> None:
    """Report the violations of a rule; skip the check if no scene could be judged by it."""
    record = state_of(server)
    require(record.judged.get(rule), skip=_unjudged(record))
    found = [finding_of(one) for one in record.violations.get(rule, ())]
    if found:
        raise found[0].with_others(found[1:])


def _unjudged(record: StateRecord) -> str:
    """Return why a rule was not judged."""
    if not record.learned.things:
        return "no tool shows what another one makes"
    made = ", ".join(one.maker.name for one in record.learned.things[:3])
    return f"no such sequence was seen three times of three (things are made by {made})"


def finding_of(one: Violation, rule: str = "") -> Finding:
    """Return what a check reports of a violation; ``rule`` is the broken one if the check cites several."""
    calls = one.calls if len(one.calls) <= MAX_SHOWN else (one.calls[0], *one.calls[1 - MAX_SHOWN :])
    lines = [line for call in calls for line in call.reply.lines]
    inferred = "; ".join(one.inferred)
    got = f"{one.got} ({inferred})"
    return Finding(one.expected, got, lines, rule, tool=one.tool, transcripts=one.transcripts)
