"""Processes of a server that starts slowly are started before they are needed."""

from __future__ import annotations

from contextlib import suppress

from conformance.process import CannotStart, Process
from conformance.surface import Settings, Surface

AHEAD = 2
"""How many processes are started before they are needed."""
SLOW_START = 0.2


class Starter:
    """Starts the processes of a server, some of them ahead if it starts slowly."""

    def __init__(self, settings: Settings, surface: Surface):
        self._settings = settings
        self._starts_slowly = any(line.at > SLOW_START for line in surface.hello[1:])
        self._ahead: list[Process] = []

    def process(self, *, more: bool) -> Process:
        """A process that was started ahead, if it still runs, else a new one.

        With ``more``, others may follow, and are started ahead.
        """
        ahead = [process for process in self._ahead if process.exit_code is None]
        for ended in set(self._ahead) - set(ahead):
            ended.stop()
        process = ahead.pop(0) if ahead else self._settings.start()
        with suppress(CannotStart):
            while more and self._starts_slowly and len(ahead) < AHEAD:
                ahead.append(self._settings.start())
        self._ahead = ahead
        return process

    def dismiss(self) -> None:
        """Begin to end what was started ahead; `stop` waits until it has ended."""
        for process in self._ahead:
            process.dismiss()

    def stop(self) -> None:
        """End what was started ahead."""
        for process in self._ahead:
            process.stop()
        self._ahead.clear()
