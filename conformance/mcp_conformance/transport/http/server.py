"""The HTTP server under test: at a URL, or a process that we start with a port and replace when it ends."""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace

from mcp_conformance.protocol.text import shorten
from mcp_conformance.sandbox.traffic import Traffic
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.exchange import Exchange
from mcp_conformance.transport.http.headers import Parameters
from mcp_conformance.transport.http.request import Headers
from mcp_conformance.transport.http.stream import ConnectionFailed, Stream
from mcp_conformance.transport.http.throttle import Throttle
from mcp_conformance.transport.http.turns import Turns
from mcp_conformance.transport.interface import NotServing
from mcp_conformance.transport.process import Process

DEFAULT_PATH = "/mcp"
PORT = "{port}"
"""What stands for the port in a command."""
LOOPBACK, LOOPBACK_NAME = "127.0.0.1", "localhost"
# A start takes 0.1 s or more: a fifth of that is lost at most.
TRY_SECONDS = 0.02
"""How long to wait between two attempts to connect to a process that starts."""
# Not measured: an interpreter takes tenths of a second to end; with less, its end is taken for a lost
# connection.
EXIT_SECONDS = 1.0
"""How long a process that closed a connection may take to exit."""
# A handshake that is lost is sent again after 1 s, then after 3 s: two may be lost.
CONNECT_SECONDS = 5.0
# For a person; a challenge may hold a whole token.
MAX_CHALLENGE = 500
"""The characters of a challenge that are quoted."""

Launch = Callable[[tuple[str, ...]], Process]


class HttpServer:
    """The server of a run.  ``headers`` go with every request, of which it gets ``rate`` a second at most.

    ``credential`` returns those among them that change while the run goes on.
    With a ``command``, that has `PORT` in it, `ready` starts it; else it must run at ``url`` already.
    ``tally`` counts what got lost on the way.  ``unauthorized`` is the exchange of the last message if that
    was answered with the status 401, and ``is_locked`` says that no session opens any more for that reason.
    ``is_spoilt`` says that one exchange spoils the process for all others: each conversation needs its own.
    """

    def __init__(
        self,
        url: str = "",
        command: tuple[str, ...] = (),
        path: str = DEFAULT_PATH,
        headers: Headers = (),
        rate: float = math.inf,
    ):
        self.url, self.command, self.path = url, command, path
        self.fixed_headers = headers
        self.credential: Callable[[], Headers] = tuple
        self.parameters: Parameters = {}
        self.turns = Turns(rate)
        self.throttle = Throttle(self.turns)
        self.tally = self.throttle.tally
        self.starts = 0
        self.is_lost = False
        self._host = LOOPBACK
        self._refuses_host = False
        self.is_slow_in_order = False
        self.is_spoilt = False
        self.unauthorized: Exchange | None = None
        self.is_locked = False
        self._endpoint = Endpoint.parse(url) if url else None
        self._process: Process | None = None
        self._lock = threading.Lock()

    @property
    def endpoint(self) -> Endpoint:
        """The address; known once the server is `ready`."""
        assert self._endpoint is not None
        return self._endpoint

    @property
    def headers(self) -> Headers:
        """The headers that go with a request now."""
        return (*self.fixed_headers, *self.credential())

    @property
    def has_credential(self) -> bool:
        """Whether the user gives a header Authorization."""
        return any(name.lower() == b"authorization" for name, _ in self.headers)

    @property
    def rejection(self) -> str:
        """The status 401 with its challenge, in words."""
        challenges = self.unauthorized.header("WWW-Authenticate") if self.unauthorized is not None else []
        quoted = shorten(", ".join(challenges), MAX_CHALLENGE)
        return f"HTTP 401 ({f'WWW-Authenticate: {quoted}' if quoted else 'without WWW-Authenticate'})"

    def note(self, exchange: Exchange) -> None:
        """Note whether a message was rejected for its credential, or perhaps for its host."""
        self._refuses_host = exchange.status in (403, 421)
        if exchange.status == 401:
            self.unauthorized = exchange
        elif exchange.status is not None and exchange.status < 400:
            self.unauthorized = None

    def use_name(self) -> bool:
        """Reach a started server that refuses 127.0.0.1 by the name localhost; return whether that is new."""
        if not self.command or not self._refuses_host or self._host == LOOPBACK_NAME:
            return False
        self._host = LOOPBACK_NAME
        self._endpoint = replace(self.endpoint, host=LOOPBACK_NAME)
        return True

    def ready(self, launch: Launch, timeout: float) -> None:
        """Make sure that the server takes connections.  Raises `CannotStart`, `NotServing` if it does not."""
        with self._lock:
            if self.url:
                self._connect_once()
            elif self._process is None or self._process.exit_code is not None:
                self._start(launch, timeout)

    def _connect_once(self) -> None:
        try:
            Stream.connect(self.endpoint, CONNECT_SECONDS).close()
        except ConnectionFailed as error:
            raise NotServing(f"cannot connect to {self.url}: {error}") from error
        self.is_lost = False

    def _start(self, launch: Launch, timeout: float) -> None:
        """Start the process with a free port, and connect to it until it accepts."""
        if self._process is not None:
            self._process.stop()
        port = _free_port()
        self._endpoint = Endpoint.parse(f"http://{self._host}:{port}{self.path}")
        process = self._process = launch(tuple(word.replace(PORT, str(port)) for word in self.command))
        # Frameworks log on stdout, and would stop when the pipe is full.
        process.ignore_stdout()
        self._endpoint = replace(self.endpoint, dial=process.dial)
        self.starts += 1
        self.tally.processes += 1
        self.is_lost = False
        while process.age < timeout:
            try:
                Stream.connect(self.endpoint, CONNECT_SECONDS).close()
            except ConnectionFailed:
                if process.wait(TRY_SECONDS) is not None:
                    raise NotServing(_why_ended(process, port), process.stderr) from None
            else:
                return
        raise NotServing(f"the server does not listen on port {port} after {timeout:g} s", process.stderr)

    def has_gone(self, exchange: Exchange) -> bool:
        """Return whether an exchange failed because the server has ended, or takes no connection any more."""
        if self._process is not None:
            is_gone = self._process.wait(EXIT_SECONDS) is not None
        else:
            is_gone = exchange.was_refused or (exchange.was_lost and not self._accepts())
        self.is_lost |= is_gone
        self.tally.lost -= is_gone and exchange.was_lost
        return is_gone

    def _accepts(self) -> bool:
        """Return whether the server takes connections."""
        with suppress(ConnectionFailed):
            Stream.connect(self.endpoint, CONNECT_SECONDS).close()
            return True
        return False

    @property
    def pid(self) -> int | None:
        """The id of the process; None without one."""
        return self._process.pid if self._process is not None else None

    @property
    def exit_code(self) -> int | None:
        """The exit status of the process; None while it runs, or without one."""
        return self._process.exit_code if self._process is not None else None

    @property
    def traffic(self) -> Traffic | None:
        """What the process sends to the network; None if that cannot be seen."""
        return self._process.traffic if self._process is not None else None

    def wait(self, timeout: float) -> int | None:
        """Wait for the process to exit; return its exit status, None if it runs, or without one."""
        return self._process.wait(timeout) if self._process is not None else None

    def stderr_since(self, moment: float) -> str:
        """Return what the process wrote to stderr since a moment of its clock."""
        process, moment = self._process, self.throttle.clock.machine_time(moment)
        return process.stderr_since(moment - process.started) if process is not None else ""

    def beside(self) -> HttpServer:
        """Return a server of the same command for a process and a port of its own, which is not started."""
        other = HttpServer("", self.command, self.path, self.fixed_headers)
        other.turns, other.throttle, other.tally = self.turns, self.throttle, self.tally
        other._host = self._host
        return other

    def terminate(self) -> None:
        """Ask the process to end by a signal, if it is ours."""
        if self._process is not None:
            self._process.terminate()

    def close(self) -> None:
        """End the process, if it is ours."""
        if self._process is not None:
            # A server over HTTP does not notice that its stdin is closed.
            self._process.terminate()
            self._process.stop()


def server_of(command: tuple[str, ...], path: str = DEFAULT_PATH, headers: Headers = ()) -> HttpServer | None:
    """Return the server over HTTP that a URL names, or a command with `PORT`; None for one over stdio."""
    if command and command[0].lower().startswith(("http://", "https://")):
        return HttpServer(command[0], headers=headers)
    return HttpServer("", command, path, headers) if any(PORT in word for word in command) else None


def _free_port() -> int:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as one:
        # Another process may take the port before the server does: that is rare, and the server then says so.
        one.bind((LOOPBACK, 0))
        port: int = one.getsockname()[1]
    return port


def _why_ended(process: Process, port: int) -> str:
    return f"the server ended (exit status {process.exit_code}) before it listened on port {port}"
