"""The sandbox that the user chose (``--sandbox``): what confines the server, and how it is started."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypedDict

from mcp_conformance.sandbox import bubblewrap, docker, landlock
from mcp_conformance.sandbox.confined import Confined, Start
from mcp_conformance.sandbox.lifeline import Lifeline
from mcp_conformance.sandbox.policy import ANY_HOST, LIMITS, SHOWN, SYSTEM, Policy, Unavailable
from mcp_conformance.sandbox.programs import launched, tried
from mcp_conformance.sandbox.refusals import Refusal, refusal_in
from mcp_conformance.sandbox.runtime_paths import named_paths, runtime_paths
from mcp_conformance.sandbox.system_calls import is_known_machine, of_namespaces
from mcp_conformance.sandbox.traffic import Traffic

AUTO, NAMESPACES, LANDLOCK, BUBBLEWRAP = "auto", "namespaces", "landlock", "bubblewrap"
DOCKER, NONE = "docker", "none"
KINDS = (AUTO, NAMESPACES, BUBBLEWRAP, LANDLOCK, f"{DOCKER}:IMAGE", NONE)
LAUNCH = "mcp_conformance.sandbox.launch"
RESOLVERS = "/etc/resolv.conf"
ROOT = "the server runs as root: run this tool as another user"
UNCONFINED_ROOT = "root: the server could change this whole machine: be another user, or use --sandbox auto"
"""What a report says of a server that root runs without a sandbox."""


@dataclass(frozen=True)
class Sandbox:
    """A sandbox of a ``kind`` that works here.

    ``read`` and ``write`` are the paths that the user adds, ``network`` opens the network.  ``abi`` is the
    version of Landlock, 0 without it, ``can_be_apart`` says that an empty network can be made,
    ``is_other`` that a server of root is another user outside.  ``program`` starts a container of ``image``.
    """

    kind: str
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    network: bool = False
    abi: int = 0
    can_be_apart: bool = False
    is_other: bool = False
    image: str = ""
    program: str = ""

    def confined(self, start: Start) -> Confined:
        """Return the command that starts the server confined."""
        is_container = self.kind == DOCKER
        needed = named_paths((*start.command[1:], *start.own.values()))
        needed += [] if is_container else runtime_paths(start.command, start.env)
        if self.kind == BUBBLEWRAP and self.is_other:
            needed += [*runtime_paths(bubblewrap.BECOME, start.env), bubblewrap.BECOME[-1]]
        # Systems keep it where servers may not read, as in /run.
        needed += [str(Path(RESOLVERS).resolve())] if self.network and not is_container else []
        write = (*([start.folder] if start.folder is not None else []), *self.write)
        known = write if is_container else (*write, *map(Path, SYSTEM))
        policy = Policy(
            read=_outermost((*map(Path, needed), start.cwd, *self.read), known),
            write=tuple(map(str, write)),
            network=self.network,
            port=start.port,
            is_apart=self.can_be_apart and not self.network and not start.port,
            is_inside=self.kind == NAMESPACES,
            is_other=self.is_other,
        )
        if is_container:
            name = f"mcp-conformance-{secrets.token_hex(8)}"
            container = docker.Container(self.program, self.image, name, start.places, tuple(start.own))
            words = container.wrapped(start.words, policy, start.cwd)
            return Confined(words, {**os.environ, **start.own}, is_elsewhere=True, on_end=container.end)
        if self.kind == BUBBLEWRAP:
            return _by_bubblewrap(start, policy)
        return _by_launch(start, policy)

    @property
    def keeps_everything(self) -> bool:
        """Whether the server can change nothing but the throwaway folder."""
        is_held = self.kind != LANDLOCK or self.abi >= landlock.TRUNCATION_ABI
        return is_held and not self.write and not self.network

    @property
    def _name(self) -> str:
        """The text of ``--sandbox`` that asks for this kind."""
        return f"{DOCKER}:{self.image}" if self.kind == DOCKER else self.kind

    @property
    def words(self) -> tuple[str, ...]:
        """The options by which a command of this tool gets the same sandbox."""
        return (
            *("--sandbox", self._name),
            *(word for path in self.read for word in ("--allow-read", str(path))),
            *(word for path in self.write for word in ("--allow-write", str(path))),
            *(("--allow-net",) if self.network else ()),
        )

    def refusal(self, text: str) -> Refusal | None:
        """Return what the sandbox refused the server, by what it wrote; None if that has nothing."""
        return refusal_in(text, network=self.network, hides=self.kind != LANDLOCK)

    def describe(self, *, listens: bool) -> str:
        """Return what confines the server, and what is left open, in one line."""
        how = self._how(listens=listens) if self.kind in (NAMESPACES, LANDLOCK) else self._name
        return f"{how}; {ROOT}" if is_root() and not self.is_other else how

    def _how(self, *, listens: bool) -> str:
        is_apart = self.can_be_apart and not (self.network or listens)
        version = "version" if self.kind == LANDLOCK else "landlock version"
        facts = [f"{version} {self.abi}"] if self.abi else []
        facts += ["with an empty network"] if is_apart else []
        how = f"{self.kind} ({', '.join(facts)})" if facts else self.kind
        left = landlock.not_held(self.abi) if self.kind == LANDLOCK else []
        left += self._open(listens=listens, is_apart=is_apart)
        return f"{how}; not confined: {', '.join(left)}" if left else how

    def _open(self, *, listens: bool, is_apart: bool) -> list[str]:
        """Return what stays open of the sockets that are not allowed."""
        is_filtered, has_none = is_known_machine(), not (self.network or is_apart)
        holds_tcp = self.abi >= landlock.TCP_ABI or (is_filtered and not listens)
        tcp = ["TCP"] if has_none and not holds_tcp else []
        udp = ["UDP"] if has_none and not is_filtered else []
        return [*tcp, *udp, *([] if is_filtered else ["Unix sockets"])]


def _outermost(paths: Iterable[Path], known: Iterable[Path]) -> tuple[str, ...]:
    """Return these paths without those that are below another one, or below a known one."""
    outer = list(known)
    found = []
    for path in sorted({Path(os.path.normpath(path)) for path in paths}):
        if not any(path.is_relative_to(one) for one in outer):
            outer.append(path)
            found.append(str(path))
    return tuple(found)


def _by_launch(start: Start, policy: Policy) -> Confined:
    """Return the command that starts `launch`, with the channels to what it makes."""
    theirs: list[socket.socket] = []

    def channel() -> tuple[socket.socket, int]:
        ours, other = socket.socketpair()
        theirs.append(other)
        return ours, other.fileno()

    def close() -> None:
        for one in theirs:
            one.close()

    traffic = lifeline = None
    if policy.is_apart:
        ours, number = channel()
        policy, traffic = policy._replace(tap=number), Traffic(ours)
    if policy.is_inside:
        ours, number = channel()
        policy, lifeline = policy._replace(life=number), Lifeline(ours)
    return Confined(
        launched(LAUNCH, policy.to_json(), *start.words),
        start.env,
        traffic,
        lifeline,
        files=tuple(one.fileno() for one in theirs),
        close=close,
    )


def _by_bubblewrap(start: Start, policy: Policy) -> Confined:
    """Return the command that starts Bubblewrap, which reads the filter of system calls from a file."""
    program, given = of_namespaces(), -1
    if sys.platform == "linux" and program:
        given = os.memfd_create("filter")
        os.write(given, program)
        os.lseek(given, 0, os.SEEK_SET)

    def close() -> None:
        if program:
            os.close(given)

    how = (SHOWN, policy.to_json()) if policy.is_other else (LIMITS,)
    words = launched(LAUNCH, *how, *bubblewrap.wrapped(start.words, policy, start.cwd, given))
    return Confined(words, start.env, files=(given,) if program else (), close=close)


# The choice --------------------------------------------------------------------------------------


class Tried(TypedDict):
    """What works here: the version of Landlock, and why the rest does not.

    That is an empty network, all namespaces, and a server of root that is another user outside.
    """

    abi: int
    apart: str
    inside: str
    other: str


@dataclass(frozen=True)
class Choice:
    """What the user asks for: the text of ``--sandbox``, and what is allowed beside.

    ``hosts`` are those that may be connected to, `ANY_HOST` for all; without any, none may be.  ``listens``
    says that the server listens on a port of this machine.
    """

    text: str
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    listens: bool = False

    def sandbox(self) -> Sandbox | None:
        """Return the sandbox; None if none is wanted.  Raises `Unavailable`."""
        kind, _, image = self.text.partition(":")
        if kind == NONE:
            return None
        if kind not in (*MADE, AUTO, DOCKER) or bool(image) != (kind == DOCKER):
            raise Unavailable(f"{', '.join(KINDS[:-1])} or {NONE} is expected, not {self.text!r}")
        if named := [one for one in self.hosts if one != ANY_HOST]:
            hosts = ", ".join(named)
            raise Unavailable(f"{kind} cannot limit the network to {hosts}; --allow-net without it opens all")
        if sys.platform != "linux" and kind != DOCKER:
            raise Unavailable(f"{kind} needs Linux; --sandbox docker:IMAGE may work here")
        if kind == DOCKER:
            return self._docker(image)
        return self._strongest() if kind == AUTO else MADE[kind](self)

    def of_kind(self, kind: str, **facts: object) -> Sandbox:
        """Return the sandbox of a kind, with what the user allows."""
        return Sandbox(kind, self.read, self.write, bool(self.hosts), **facts)  # type: ignore[arg-type]

    def _strongest(self) -> Sandbox:
        """Return the first sandbox that works here, the strongest first."""
        reasons = []
        for make in MADE.values():
            try:
                return make(self)
            except Unavailable as reason:
                reasons.append(str(reason))
        raise Unavailable(f"nothing confines a server here: {'; '.join(reasons)}")

    def _docker(self, image: str) -> Sandbox:
        if self.listens:
            raise Unavailable("docker: a server over HTTP cannot be reached in it; start it yourself (--url)")
        try:
            return self.of_kind(DOCKER, image=image, program=docker.program_with(image))
        except Unavailable as reason:
            raise Unavailable(f"docker: {reason}") from None


def _namespaces(choice: Choice) -> Sandbox:
    works = _tried()
    if reason := works["inside"]:
        raise Unavailable(f"namespaces: this system refuses them, or their maximum is reached ({reason})")
    return choice.of_kind(NAMESPACES, abi=works["abi"], can_be_apart=True, is_other=_is_other())


def is_root() -> bool:
    """Return whether root runs this, who may do all on this machine."""
    return sys.platform != "win32" and os.getuid() == 0


def _is_other() -> bool:
    """Return whether a server of root can be another user outside."""
    return is_root() and not _tried()["other"]


def _bubblewrap(choice: Choice) -> Sandbox:
    if choice.listens and not choice.hosts:
        raise Unavailable("bubblewrap: a server over HTTP cannot be reached in it without --allow-net")
    if reason := bubblewrap.why_not():
        raise Unavailable(f"bubblewrap: {reason}")
    return choice.of_kind(BUBBLEWRAP, is_other=_is_other())


def _landlock(choice: Choice) -> Sandbox:
    works = _tried()
    if not works["abi"]:
        raise Unavailable("landlock: this system has none (Linux 5.13 or later, and not switched off)")
    return choice.of_kind(LANDLOCK, abi=works["abi"], can_be_apart=not works["apart"])


MADE = {NAMESPACES: _namespaces, BUBBLEWRAP: _bubblewrap, LANDLOCK: _landlock}
"""What makes each kind of Linux, the strongest first."""


@cache
def _tried() -> Tried:
    """Return what works here, as `launch` finds out in a process of its own."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            found: Tried = json.loads(tried(LAUNCH, folder))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return Tried(abi=0, apart=str(error), inside=str(error), other=str(error))
    return found
