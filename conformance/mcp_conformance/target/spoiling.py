"""Exchanges over HTTP after which a server serves nobody any more, found on a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress

from mcp_conformance.client.reply import Reply, Unanswered
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.http.lines import HttpLines
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.verdicts import Finding

RESPONSE_SECONDS = 5.0
"""How long a response to one of these exchanges may take."""
SPOILING = SECOND, DELETED, OTHER_METHODS = (
    "lifecycle.initialize.responds",
    "http.session.delete-other",
    "http.endpoint.other-methods",
)
"""The rules of a server that opens no session beside another one, or after one of these requests."""
Exchange = tuple[str, str, Callable[[HttpLines], Line | None]]
"""What an exchange is called, the rule that is broken if nobody is served after it, and what does it."""


def spoiling(settings: Settings, revision: str) -> Finding | None:
    """Return the finding on the first exchange after which no session opens; None without one.

    All are done with one process, each before another session is opened.  Raises nothing: a process that
    does not start, or opens no first session, is another fault.
    """
    assert settings.http is not None
    with suppress(CannotStart), closing(_Process(settings, revision)) as process:
        if process.open().value is None:
            return None
        for name, rule, exchange in EXCHANGES:
            line = exchange(process.lines)
            opening = process.open()
            if opening.value is None and process.open().value is None:
                return _finding(name, rule, line, opening, process.lines.server)
    return None


def serves_each(settings: Settings, revision: str) -> bool:
    """Return whether two more sessions open, one after the end of the other."""
    return all(_opens(settings, revision) for _ in range(2))


def _opens(settings: Settings, revision: str) -> bool:
    with suppress(CannotStart), closing(settings.session(settings.start(), revision)) as session:
        opening = session.open(settings.start_timeout)
        return opening.fault is None and (opening.value is not None or session.is_modern)
    return False


class _Process:
    """A process of the server, and the conversations with it."""

    def __init__(self, settings: Settings, revision: str):
        self.settings, self.revision = settings, revision
        self.lines = settings.start_beside()
        self._sessions: list[Session] = []

    def open(self) -> Reply:
        """Open one more session, and return the opening."""
        settings = self.settings
        transport = self.lines if not self._sessions else HttpLines(self.lines.server)
        session = settings.session(transport, self.revision)
        self._sessions.append(session)
        return session.open(settings.timeout)

    def close(self) -> None:
        """End the conversations and the process."""
        for session in reversed(self._sessions):
            session.close()
        self.lines.stop()


def _nothing(_: HttpLines) -> None:
    """Do nothing: the second session itself is the exchange."""


def _sent(method: str, *, in_session: bool = False) -> Callable[[HttpLines], Line]:
    """Return a function that sends a request without a body, and returns the line that shows it."""

    def send(lines: HttpLines) -> Line:
        server = lines.server
        headers = (*(lines.mirror.session_headers if in_session else ()), *server.headers)
        exchange = lines.exchange(Request.to(server.endpoint, method, headers))
        exchange.wait_or_abort(RESPONSE_SECONDS)
        return Line(True, exchange.request.head.strip().replace(b"\r\n", b" | "))

    return send


EXCHANGES: tuple[Exchange, ...] = (
    ("a second session beside the first", SECOND, _nothing),
    ("HEAD", OTHER_METHODS, _sent("HEAD")),
    ("OPTIONS", OTHER_METHODS, _sent("OPTIONS")),
    ("DELETE of a session", DELETED, _sent("DELETE", in_session=True)),
)


def _finding(name: str, rule: str, line: Line | None, opening: Reply, server: HttpServer) -> Finding:
    """Return the finding that no session opens after an exchange."""
    status = server.wait(RESPONSE_SECONDS) if not isinstance(opening.fault, Unanswered) else server.exit_code
    end = f"the process ends (exit status {status})" if status is not None else str(opening)
    when = "when one is open" if rule == SECOND else f"after {name}"
    got = (
        f"{when}: {end}; a new process opens the first session, so each conversation of this run gets its own"
    )
    return Finding(
        "a server that opens a session for each client",
        got,
        (*([line] if line is not None else []), *opening.lines),
        rule,
        fault=opening.fault,
        fatal=True,
        stderr=server.stderr_since(0.0),
    )
