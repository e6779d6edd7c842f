"""Whether the processes of a server may run beside each other, and those that run."""

from __future__ import annotations

from mcp_conformance.transport.interface import Transport


class Solo:
    """The running processes of a server.  With a ``reason`` it cannot run twice, so each ends the others.

    The reason is empty until it is found that a process opens a session, or serves a call, only when no other
    one runs.  ``has_looked`` says that calls were looked at.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.has_looked = False
        self._running: list[Transport] = []
        self._ended: list[Transport] = []

    def prepare(self) -> None:
        """Before a process is started, end those that run, if they cannot run beside it."""
        if self.reason:
            self.end_running()

    def begin(self, process: Transport) -> None:
        """Note that a process was started."""
        self._running = [one for one in self._running if one.exit_code is None]
        self._running.append(process)

    @property
    def has_several(self) -> bool:
        """Whether more than one process runs."""
        return sum(one.exit_code is None for one in self._running) > 1

    def end_running(self) -> bool:
        """End the processes that run, and wait for that; return whether there were any."""
        running, self._running = [one for one in self._running if one.exit_code is None], []
        for process in running:
            process.begin_stop()
        for process in running:
            process.stop()
        self._ended += running
        return bool(running)

    def has_ended(self, process: Transport) -> bool:
        """Return whether a process was ended for another one."""
        return any(one is process for one in self._ended)
