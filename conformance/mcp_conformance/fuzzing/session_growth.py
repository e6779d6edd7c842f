"""What a server over HTTP keeps of the sessions that were opened and ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from mcp_conformance.fuzzing.drift import LEAST, MEMORY, shown_amount
from mcp_conformance.fuzzing.growth import MIN_SAMPLES, Sample, growth
from mcp_conformance.protocol import revisions
from mcp_conformance.target.server import Server
from mcp_conformance.transport.usage import usage_of

# With 32 samples growth can be judged.  Not measured: more sessions show a smaller leak.
MAX_SESSIONS = 400
"""How many sessions are opened, one after the other."""


class SessionGrowth:
    """The memory of the server's process after each of many sessions."""

    def __init__(self, server: Server):
        self._server = server
        self._memory: list[Sample] = []
        self._sessions = 0

    def watch(self, until: float) -> None:
        """Open and end sessions until ``until`` (seconds of the clock), if the process is ours.

        A server of both eras has sessions in the earlier one, and one of the modern era alone has none.
        """
        settings, revision = self._server.settings, self._server.revision
        if settings.http is None or settings.http.pid is None:
            return
        revision = revisions.LATEST_HANDSHAKE if revisions.is_modern(revision) else revision
        while self._sessions < MAX_SESSIONS and settings.clock.monotonic() < until:
            with closing(settings.session(settings.start(), revision)) as session:
                if session.open(settings.timeout).value is None or session.drain().fault is not None:
                    return  # a check of sessions judges that
            self._sessions += 1
            if (usage := usage_of(settings.http.pid)) is not None:
                self._memory.append((self._sessions, usage.memory))

    def lines(self) -> Iterator[str]:
        """Yield whether the memory kept on growing with the sessions; nothing if none were opened."""
        if not self._sessions or not self._memory:
            return
        if len(self._memory) < MIN_SAMPLES:
            number = self._sessions
            yield f"what sessions leave was not judged: that takes {MIN_SAMPLES}, and {number} were opened"
        elif (found := growth(self._memory, *LEAST[MEMORY])) is not None:
            before, after = shown_amount(MEMORY, found.before), shown_amount(MEMORY, found.after)
            yield (
                f"memory grew from {before} to {after} over {found.calls:,} sessions that were opened and "
                f"ended, {shown_amount(MEMORY, found.per_call)} a session, and did not level off"
            )
        else:
            opened = f"{self._sessions:,} sessions that were opened and ended"
            yield f"memory did not keep on growing over {opened}"
