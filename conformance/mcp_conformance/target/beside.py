"""Whether a process of the server ends when it is started beside another one."""

from __future__ import annotations

from contextlib import closing

from mcp_conformance.client.reply import Closed
from mcp_conformance.client.session import Session
from mcp_conformance.target.settings import Settings


def find_alone(settings: Settings, revision: str) -> None:
    """Start one more process beside one that has opened a session only alone; note it if that ends too."""
    with closing(Session(settings.start(), revision=revision)) as session:
        fault = session.open(settings.start_timeout).fault
        if isinstance(fault, Closed):
            last = next(reversed(fault.stderr.splitlines()), "")
            settings.solo.reason = f"{fault}{f': {last}' if last else ''}"
