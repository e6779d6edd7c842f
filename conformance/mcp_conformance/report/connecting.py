"""Who can connect: clients of each era against the server, by the sessions that the probe opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_conformance.protocol.revisions import KNOWN, is_modern
from mcp_conformance.target.surface import LOCKED, OLD, Subject, Surface, is_live

HANDSHAKE, MODERN, DUAL = "handshake-only", "modern-only", "dual"
YES, NO, CREDENTIAL, NOT_TRIED = "yes", "no", "with a credential", "not tried"


@dataclass(frozen=True)
class ConnectingClient:
    """A kind of client over one ``transport``, whether it ``can`` connect, and the newest ``revision`` if so.

    A handshake-only client speaks revisions up to 2025-11-25, a modern-only one those since, a dual one both.
    """

    client: str
    transport: str
    can: str
    revision: str = ""

    @property
    def answer(self) -> str:
        """Whether it can connect, and in which revision."""
        return f"{self.can}{f' ({self.revision})' if self.revision else ''}"

    def __str__(self) -> str:
        return f"{self.client} {self.answer}"


def in_words(clients: Sequence[ConnectingClient]) -> str:
    """Return which kinds of clients can connect, in a line."""
    return ", ".join(map(str, clients))


def connecting_clients(subject: Subject) -> tuple[ConnectingClient, ...]:
    """Return whether each kind of client can connect, over the transport of the run.

    A server that answers `initialize` with another revision of the same era serves a client of that era.
    """
    surfaces = subject.surfaces
    is_old = any(failure.name == OLD for one in surfaces for failure in one.failures)
    transport = "stdio" if subject.settings.http is None else OLD if is_old else "Streamable HTTP"
    eras = [_of_era(subject.probed, surfaces, transport, client) for client in (HANDSHAKE, MODERN)]
    best = min(reversed(eras), key=lambda one: (YES, CREDENTIAL, NOT_TRIED, NO).index(one.can))
    return (*eras, ConnectingClient(DUAL, transport, best.can, best.revision))


def _of_era(
    probed: Sequence[str], surfaces: Sequence[Surface], transport: str, client: str
) -> ConnectingClient:
    modern = client == MODERN
    opened = [one.revision for one in surfaces if is_live(one)] + [one.refused for one in surfaces]
    own = [one for one in opened if one in KNOWN and is_modern(one) is modern]
    if own or (transport == OLD and not modern):
        return ConnectingClient(client, transport, YES, max(own, default=""))
    if any(failure.name == LOCKED for one in surfaces for failure in one.failures):
        return ConnectingClient(client, transport, CREDENTIAL)
    was_tried = any(is_modern(one) is modern for one in probed)
    return ConnectingClient(client, transport, NO if was_tried else NOT_TRIED)
