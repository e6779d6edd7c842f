"""What calls of tools do to files and on the network, beside the hints of the tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.sandbox.traffic import Attempt
from mcp_conformance.scenarios.folder_contents import Baits, FileChange, changed, contents, written
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS

UNSEEN = "what the server sends is not visible: --sandbox auto shows it, if the system has empty networks"
MAX_FILE_CHANGES = 3
"""How many files a finding names."""


@dataclass(frozen=True)
class ToolEffects:
    """What two further calls of a tool with the same arguments did, and a pause between them did not.

    ``written`` are files that were written or deleted, ``changed`` those whose content is another one after
    each call, ``attempts`` what both tried to reach outside.  ``reached`` is all that was tried meanwhile,
    and ``lines`` are the calls.  ``unsure`` are files that may be the program's own, where no call of another
    tool shows whether they are, and ``kinds`` are those of all changes of files.
    """

    call: Call
    lines: tuple[Line, ...] = ()
    written: tuple[FileChange, ...] = ()
    changed: tuple[FileChange, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    reached: tuple[Attempt, ...] = ()
    unsure: tuple[FileChange, ...] = ()
    kinds: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class _Window:
    """What happened while something was done: ``written`` and ``changed`` files, and ``attempts``.

    ``reply`` is that of the call, if there was one.
    """

    written: tuple[FileChange, ...]
    changed: tuple[FileChange, ...]
    attempts: tuple[Attempt, ...]
    reply: Reply | None


@scenario
def effects_of_tools(server: Server) -> tuple[ToolEffects, ...]:
    """Call each tool with a hint twice more, if its call succeeded and was fast; return what that did.

    A file or an address counts if both calls have to do with it, and the pause between them, as long as a
    call, has not: other processes of the server work in the same folder, and a server may do things by the
    clock.  A call that was made before has prepared what the tool prepares once.  A file whose name may be
    one of the program's own counts if the call of some other tool does not write it.
    """
    calls = [call for call in server.quick_calls() if _is_judged(call) and not call.failed]
    chosen = [call for call in calls if not server.newer_revision_with(call.tool)]
    effects = [found for call in chosen if (found := _effects(server, call)) is not None]
    judged = [_judged(one, [other for other in effects if other is not one]) for one in effects]
    for one in judged:
        if one.written:
            server.arguments.world.jail.distrust(one.call.tool.name)
    return tuple(judged)


def _judged(one: ToolEffects, others: Sequence[ToolEffects]) -> ToolEffects:
    """Return the effects without the files that are the program's own, as the calls of others show."""

    def is_of_tool(change: FileChange) -> bool:
        alone = any(change.kind not in other.kinds for other in others)
        return alone or not change.is_perhaps_own

    unsure = () if others else tuple(each for each in one.written if each.is_perhaps_own)
    written, changed = (tuple(filter(is_of_tool, some)) for some in (one.written, one.changed))
    return replace(one, written=written, changed=changed, unsure=unsure)


def _is_judged(call: Call) -> bool:
    return call.tool.read_only or call.tool.idempotent or call.tool.closed_world


def _effects(server: Server, call: Call) -> ToolEffects | None:
    """Return the effects of a tool; None if a call fails this time, or if there are too many files."""
    throwaway, session = server.settings.throwaway, server.shared(CALLS)
    if throwaway is None:
        return None
    has_baits = server.settings.cwd is None and call.tool.read_only
    baits = Baits(throwaway.work, call.arguments if has_baits else {})

    def call_again() -> Reply:
        return session.request("tools/call", call.params)

    with closing(baits):
        baits.put()
        one = _watch(server, session, call_again)
        pause = _watch(server, session, lambda: _wait(session, call.reply.seconds))
        baits.put()
        other = _watch(server, session, call_again)
    if one is None or pause is None or other is None:
        return None
    replies = [reply for reply in (one.reply, other.reply) if reply is not None]
    if any(reply.value is None or reply.is_tool_error for reply in replies):
        return None
    return ToolEffects(
        call,
        tuple(line for reply in replies for line in reply.lines),
        _repeated(one.written, pause.written, other.written),
        _repeated(one.changed, pause.changed, other.changed),
        tuple(each for each in one.attempts if each in other.attempts and each not in pause.attempts),
        (*one.attempts, *pause.attempts, *other.attempts),
        kinds=frozenset(each.kind for each in (*one.written, *other.written)),
    )


def _wait(session: Session, seconds: float) -> None:
    """Do nothing for as long as a call took."""
    session.wait_for(lambda: False, seconds)


def _watch(server: Server, session: Session, act: Callable[[], Reply | None]) -> _Window | None:
    """Do something, and return what happened meanwhile; None if there are too many files to look at."""
    folder, layer = server.settings.throwaway, server.settings.layer
    assert folder is not None
    known = len(attempts(session))
    before = contents(folder, layer)
    reply = act()
    after = contents(folder, layer)
    if before is None or after is None:
        return None
    return _Window(written(before, after), changed(before, after), tuple(attempts(session)[known:]), reply)


def attempts(session: Session) -> Sequence[Attempt]:
    """Return what the server of a session tried to reach so far, as far as that is seen."""
    traffic = session.process.traffic
    return traffic.attempts if traffic is not None else ()


def _repeated(
    one: Iterable[FileChange], pause: Iterable[FileChange], other: Iterable[FileChange]
) -> tuple[FileChange, ...]:
    """Return what happened in both calls and not in the pause, as far as names tell."""
    kinds = {each.kind for each in other} - {each.kind for each in pause}
    return tuple(each for each in one if each.kind in kinds)


def named_changes(changes: Sequence[FileChange]) -> str:
    """Return the changes of files in words, the first ones by name."""
    listed = ", ".join(map(str, changes[:MAX_FILE_CHANGES]))
    more = len(changes) - MAX_FILE_CHANGES
    return f"{listed} and {more} more" if more > 0 else listed
