"""The first processes of a server, which open their sessions while this tool loads the rest of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from mcp_conformance.client.session import Session, begin
from mcp_conformance.protocol import revisions
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.interface import CannotStart

LATEST = ("latest",)
MAX_SESSIONS = 2
"""How many processes start at once: the next one while the one before is probed."""


def probe_order(wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the revisions to propose for those that the user wants, in their order."""
    is_latest = tuple(wanted) == LATEST
    return (revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN) if is_latest else tuple(wanted)


class HeadStart:
    """The first sessions of the probe, each with its first request sent; none for a server over HTTP.

    A server that cannot be started has none either: the probe finds out why.
    """

    def __init__(self, settings: Settings, wanted: Sequence[str]):
        self.sessions: list[Session] = []
        with suppress(CannotStart):
            for revision in probe_order(wanted)[:MAX_SESSIONS] if settings.http is None else ():
                session = settings.session(settings.start(), revision)
                self.sessions.append(session)
                begin(session)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to wait for: the server has answered, or is not there."""
        first = self.sessions[0] if self.sessions else None
        return first is None or first.wait_for(lambda: first.closed or _has_opened(first), 0.0)

    def use(self, loads: Iterable[Callable[[], object]]) -> None:
        """Load one thing after another until the server has answered."""
        for load in loads:
            if self.is_over:
                return
            load()

    def take(self, settings: Settings) -> list[Session]:
        """Return the sessions, once; their waits are reported as the settings say."""
        taken, self.sessions = self.sessions, []
        for session in taken:
            session.process.on_wait = settings.on_wait
        return taken

    def close(self) -> None:
        """End the processes of the sessions that nobody has taken."""
        for session in self.sessions:
            session.begin_close()
        for session in self.sessions:
            session.close()


def _has_opened(session: Session) -> bool:
    return session.begun is None or session.is_answered(session.begun)
