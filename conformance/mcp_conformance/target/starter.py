"""The start of the server's processes, some of them ahead of their use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.interface import CannotStart, Transport

MAX_PROCESSES_AHEAD = max(2, os.cpu_count() or 2)
"""How many processes are started before they are needed."""
SLOW_START_SECONDS = 0.02
"""A server that starts more slowly is started ahead."""


class Starter:
    """Starts the processes of a server, some of them ahead if it starts slowly, as an ``opening`` shows."""

    def __init__(self, settings: Settings, opening: Sequence[Line]):
        self._settings = settings
        self._starts_slowly = any(line.at > SLOW_START_SECONDS for line in opening[1:])
        self._ahead: list[Transport] = []

    def process(self, following: int) -> Transport:
        """Return a process that was started ahead, if it still runs, else a new one.

        So many others are sure to follow; some of them are started ahead.
        """
        ahead = [process for process in self._ahead if process.exit_code is None]
        for ended in set(self._ahead) - set(ahead):
            ended.stop()
        process = ahead.pop(0) if ahead else self._settings.start()
        self._ahead = ahead
        self.prepare(following)
        return process

    def prepare(self, number: int) -> None:
        """Start so many processes ahead, or as many as may be, if the server starts slowly."""
        with suppress(CannotStart):
            while self._starts_slowly and len(self._ahead) < min(number, MAX_PROCESSES_AHEAD):
                self._ahead.append(self._settings.start())

    def begin_stop(self) -> None:
        """Begin to end the processes started ahead; `stop` waits for that."""
        for process in self._ahead:
            process.begin_stop()

    def stop(self) -> None:
        """End the processes started ahead."""
        for process in self._ahead:
            process.stop()
        self._ahead.clear()
