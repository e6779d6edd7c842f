"""The processes of the server: counted by what they are for, some of them started ahead of their use."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.interface import CannotStart, Transport

MAX_PROCESSES_AHEAD = max(2, os.cpu_count() or 2)
"""How many processes are started before they are needed."""
SLOW_START_SECONDS = 0.02
"""A server that starts more slowly is started ahead."""


class Processes:
    """Starts the processes of a server, some of them ahead if it starts slowly, as an ``opening`` shows.

    ``starts`` counts the processes by what they are for; the checks that run need ``sure`` ones at least.
    """

    def __init__(self, settings: Settings, opening: Sequence[Line]):
        self.starts: Counter[str] = Counter()
        self.sure = 0
        self._settings = settings
        self._starts_slowly = any(line.at > SLOW_START_SECONDS for line in opening[1:])
        self._ahead: list[Transport] = []

    def start(self, because: str) -> Transport:
        """Return a process that was started ahead, if it still runs, else a new one; count it."""
        self.starts[because] += 1
        ahead = [process for process in self._ahead if process.exit_code is None]
        for ended in set(self._ahead) - set(ahead):
            ended.stop()
        process = ahead.pop(0) if ahead else self._settings.start()
        self._ahead = ahead
        self._prepare_sure()
        return process

    def foresee(self) -> None:
        """Start a process ahead that will be needed, although not every server needs it."""
        self.sure += 1
        self._prepare_sure()

    def _prepare_sure(self) -> None:
        self.prepare(self.sure - self.starts.total())

    def prepare(self, number: int) -> None:
        """Start so many processes ahead, or as many as may be, if the server starts slowly."""
        if self._settings.solo.reason:
            return
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
