"""A start of the server, and the command that starts it confined."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance.sandbox.lifeline import Lifeline
from mcp_conformance.sandbox.traffic import Traffic


@dataclass(frozen=True)
class Start:
    """A start of the server: its command, in ``cwd``, with the environment ``env``.

    Of its variables, ``own`` are those that the user gives it, ``places`` those that name directories in the
    throwaway ``folder``, if there is one.  ``port`` is the one that the server listens on, 0 without one.
    The ``launcher`` is a program of the system, with its arguments, that becomes the server.
    """

    command: tuple[str, ...]
    env: Mapping[str, str]
    own: Mapping[str, str]
    places: Mapping[str, str]
    cwd: Path
    folder: Path | None = None
    port: int = 0
    launcher: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The launcher and the command."""
        return (*self.launcher, *self.command)


@dataclass(frozen=True)
class Confined:
    """A command that starts the server confined.

    ``files`` are the numbers of open files that it inherits, ``close`` is called once it has been started,
    ``on_stop`` before its processes are killed, ``on_end`` once it has ended.  ``traffic`` is None if its
    packets cannot be seen, ``lifeline`` if its processes have no namespace.  ``dial`` makes a socket of a
    family that reaches the ports of the server, None if any does.  ``is_elsewhere`` says that the command
    only has another program start the server, as in a container.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    traffic: Traffic | None = None
    lifeline: Lifeline | None = None
    dial: Callable[[int], socket.socket] | None = None
    files: tuple[int, ...] = ()
    is_elsewhere: bool = False
    close: Callable[[], None] = lambda: None
    on_stop: Callable[[], None] = lambda: None
    on_end: Callable[[], None] = lambda: None

    def pid(self, child: int) -> int | None:
        """Return the id of the server, which a ``child`` of this process has started or become."""
        if self.is_elsewhere:
            return None
        return child if self.lifeline is None else self.lifeline.pid

    def end_processes(self) -> int:
        """End the processes of a namespace; return how many had left the group of the server."""
        self.on_stop()
        return 0 if self.lifeline is None else self.lifeline.end()

    def end(self) -> None:
        """Close what watches the server, and remove what it leaves."""
        if self.traffic is not None:
            self.traffic.close()
        self.end_processes()
        self.on_end()
