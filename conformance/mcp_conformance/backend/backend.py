"""All hosts of the network, as one: what they are asked, and how they answer."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from mcp_conformance.backend.authority import Authority
from mcp_conformance.backend.contact import Contact
from mcp_conformance.backend.dialer import Dialer
from mcp_conformance.backend.exchange import Api, EmptyApi
from mcp_conformance.backend.line import Caller, Line, is_readable, take
from mcp_conformance.backend.names import Names
from mcp_conformance.backend.network import Network
from mcp_conformance.backend.place import NO_CHANNEL, Place
from mcp_conformance.backend.sickness import SICKNESSES, WELL, Sickness
from mcp_conformance.backend.trust import replaced_files, trusting
from mcp_conformance.sandbox.confined import Confined
from mcp_conformance.sandbox.programs import launched, tried
from mcp_conformance.sandbox.traffic import Traffic
from mcp_conformance.transport.throwaway import ScratchFolder

LAUNCH = "mcp_conformance.backend.launch"
# Not measured: what a client says at once is read in milliseconds, on a busy machine in a second.
SETTLE_SECONDS = 5.0
"""How long to wait for what a client says on a connection that was taken."""


class _Home:
    """The authority that servers trust, and its files, which are deleted with it."""

    def __init__(self) -> None:
        self.authority = Authority()
        folder = ScratchFolder("mcp-conformance-backend-")
        weakref.finalize(self, folder.remove)
        self.folder = folder.path
        self.bundle, self.files = replaced_files(self.folder, self.authority.pem)


class _Wires:
    """Pairs of Unix sockets between this process and the launcher, by what is handed over."""

    def __init__(self) -> None:
        pairs = {name: socket.socketpair() for name in ("sockets", "packets", "dials")}
        self.ours = {name: pair[0] for name, pair in pairs.items()}
        self._theirs = {name: pair[1] for name, pair in pairs.items()}

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers of the files of the launcher."""
        return {name: one.fileno() for name, one in self._theirs.items()}

    def close(self) -> None:
        """Close the ends of the launcher, which it has inherited."""
        for one in self._theirs.values():
            one.close()


class Backend:
    """Every host that a server can reach: its API, and whatever else it asks.

    It begins well, and is as `become` says for all servers that are started in it.  ``sicknesses`` are those
    that the user chose.  ``api`` answers while it is well.  ``finds`` tells whether a text has a credential
    of the user.  Raises `OSError` if its files cannot be written.
    """

    def __init__(
        self,
        sicknesses: tuple[Sickness, ...] = (),
        api: Api | None = None,
        finds: Callable[[str], bool] = lambda _: False,
        home: _Home | None = None,
    ):
        self.sicknesses = sicknesses
        self.api = api or EmptyApi()
        self._finds = finds
        self._home = home or _Home()
        self._authority = self._home.authority
        self._names = Names()
        self._networks: weakref.WeakSet[Network] = weakref.WeakSet()
        self._contacts: list[Contact] = []
        self._unread: dict[socket.socket, socket.socket | None] = {}
        self._lines: list[Line] = []
        self._changed = threading.Condition()
        self._sickness, self._epoch, self._number, self._is_held = WELL, 0, 0, False

    def apart(self, finds: Callable[[str], bool]) -> Backend:
        """Return another one, with hosts of its own, which servers trust as they do this one."""
        return Backend(self.sicknesses, self.api, finds, self._home)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """What was asked so far."""
        with self._changed:
            return tuple(self._contacts)

    @property
    def waiting(self) -> tuple[Contact, ...]:
        """The requests that are not answered yet, and whose clients still wait for that."""
        with self._changed:
            return tuple(one.contact for one in self._lines if not one.is_left)

    def host_at(self, address: str) -> str:
        """Return the name of the host with this address, or the address if it has none."""
        return self._names.name_of(address)

    def settle(self) -> None:
        """Wait until each connection on which a client has begun to speak is a contact.

        A client may open one in advance, and leave it idle.
        """
        with self._changed:
            self._changed.wait_for(lambda: not any(map(_is_begun, self._unread.values())), SETTLE_SECONDS)

    @property
    def folder(self) -> Path:
        """The folder with the files that a server needs to read."""
        return self._home.folder

    def describe(self) -> str:
        """Return how it answers, in one line."""
        names = ", ".join(one.name for one in self.sicknesses)
        names = "sick" if self.sicknesses == SICKNESSES else names
        return f"{self.api.describe()}; {names}" if names else self.api.describe()

    # How it answers ------------------------------------------------------------------------------

    def become(self, sickness: Sickness, *, held: bool = False) -> None:
        """Answer in another way from now on; what waits for an answer is broken off.

        Held, it answers nothing until `release`.
        """
        with self._changed:
            self._sickness, self._is_held, self._number = sickness, held, 0
            self._epoch += 1
            self._changed.notify_all()
        for one in list(self._networks):
            one.become(resolves=sickness.resolves, listens=sickness.listens)

    def release(self) -> None:
        """Answer what was held."""
        with self._changed:
            self._is_held = False
            self._changed.notify_all()

    @contextmanager
    def untrusted(self) -> Iterator[None]:
        """Show certificates of another authority meanwhile, which no server trusts."""
        self._authority = Authority()
        try:
            yield
        finally:
            self._authority = self._home.authority

    # The servers ---------------------------------------------------------------------------------

    def around(
        self,
        confined: Confined,
        own: Mapping[str, str],
        *,
        is_sandboxed: bool = False,
        listens: bool = False,
    ) -> Confined:
        """Return the command that starts a server in a network where each host is this one.

        ``own`` are the variables that the user gives it.  One that ``listens`` is reached by its ``dial``.
        """
        wires = _Wires()
        with self._changed:
            sickness = self._sickness
        resolves, takes = sickness.resolves, sickness.listens
        network = Network(wires.ours["sockets"], self._names, self._begin, resolves=resolves, listens=takes)
        self._networks.add(network)
        dialer = Dialer(wires.ours["dials"])
        numbers = wires.numbers if listens else {**wires.numbers, "dials": NO_CHANNEL}
        place = Place(files=self._home.files, is_sandboxed=is_sandboxed, **numbers)

        def close() -> None:
            wires.close()
            confined.close()

        def end() -> None:
            network.close()
            with self._changed:
                self._changed.notify_all()
            confined.end()

        return replace(
            confined,
            command=launched(LAUNCH, place.to_json(), *confined.command),
            environment=trusting(confined.environment, own, self._home.bundle),
            traffic=Traffic(wires.ours["packets"]),
            dial=dialer.socket if listens else None,
            files=(*confined.files, *(one for one in numbers.values() if one != NO_CHANNEL)),
            close=close,
            on_stop=dialer.close,
            on_end=end,
        )

    def _begin(self, connection: socket.socket, caller: Caller) -> None:
        """Answer the request of one connection, in a thread of its own."""
        with self._changed:
            self._unread[connection] = connection
        threading.Thread(target=self._serve, args=(connection, caller), daemon=True).start()

    def _serve(self, plain: socket.socket, caller: Caller) -> None:
        def awaits(source: socket.socket | None) -> None:
            with self._changed:
                self._unread[plain] = source
                self._changed.notify_all()

        connection, contact, asked = take(plain, caller, self._authority, self._finds, awaits)
        is_known = not contact.method or self.api.knows(asked)

        def is_over() -> bool:
            return self._epoch != epoch or caller.gone.is_set()

        def wanted(seconds: float | None) -> bool:
            with self._changed:
                return not self._changed.wait_for(is_over, seconds)

        def note_size(size: int) -> None:
            with self._changed:
                self._contacts[place] = replace(self._contacts[place], received=size)

        with self._changed:
            place = len(self._contacts)
            epoch, sickness = self._epoch, self._sickness
            contact = replace(contact, number=self._number, at=time.monotonic(), is_known=is_known)
            line = Line(connection, contact, asked, self.api, wanted, note_size)
            self._number += bool(contact.method)
            self._contacts.append(contact)
            self._lines.append(line)
            del self._unread[plain]
            self._changed.notify_all()
        with suppress(OSError):
            if contact.method and self._is_released(is_over):
                sickness.answer(line)
        with self._changed:
            self._lines.remove(line)
        line.end()

    def _is_released(self, is_over: Callable[[], bool]) -> bool:
        """Wait until answers are not held; return whether one is still wanted."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_held or is_over())
            return not is_over()


def _is_begun(awaited: socket.socket | None) -> bool:
    """Return whether a client has begun to speak on a connection; None for one that is read already."""
    return awaited is None or is_readable(awaited)


@cache
def obstacle() -> str:
    """Return why no server can have a network of its own here; empty if one can."""
    try:
        reason = tried(LAUNCH)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return f"a process gets no network of its own here: {reason}" if reason else ""
