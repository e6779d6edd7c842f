"""Whether a process of the server ends, or serves no call, when it is started beside another one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from mcp_conformance.client.reply import Closed, Reply
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.text import shorten
from mcp_conformance.target.settings import Settings
from mcp_conformance.world.success import is_success

MAX_WORDS = 300


def find_alone(settings: Settings, revision: str) -> None:
    """Start one more process beside one that has opened a session only alone; note it if that ends too."""
    with closing(settings.session(settings.start(), revision)) as session:
        fault = session.open(settings.start_timeout).fault
        if isinstance(fault, Closed):
            last = next(reversed(fault.stderr.splitlines()), "")
            how = shorten(f"{fault}{f': {last}' if last else ''}", MAX_WORDS)
            settings.solo.reason = f"a process that is started beside another one ends ({how})"


def find_lone_calls(settings: Settings, revision: str, call: Callable[[Session], Reply]) -> bool:
    """Note it if a call works in a process that runs alone, and fails beside one; return whether that is so.

    It is looked at once in a run, as all processes are ended for it.
    """
    solo = settings.solo
    if solo.reason or solo.has_looked or not solo.has_several:
        return False
    solo.has_looked = True
    solo.end_running()

    def opened() -> Session:
        session = settings.session(settings.start(), revision)
        session.open(settings.start_timeout)
        return session

    with closing(opened()) as alone:
        if not is_success(call(alone)):
            return False
        with closing(opened()) as beside:
            reply = call(beside)
        if is_success(reply) or not is_success(call(alone)):
            return False
    words = shorten(" ".join(next(iter(reply.texts), str(reply)).split()), MAX_WORDS)
    solo.reason = f"a call that works in a process alone fails beside another one ({words})"
    return True
