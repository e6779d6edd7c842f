"""The sandbox that the user chose (``--sandbox``): what confines the server, and how it is started."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from mcp_conformance.sandbox import bubblewrap, docker, landlock
from mcp_conformance.sandbox.confined import Confined, Start
from mcp_conformance.sandbox.policy import ANY_HOST, LIMITS, SYSTEM, TRY, Policy, Unavailable
from mcp_conformance.sandbox.refusals import Refusal, refusal_in
from mcp_conformance.sandbox.runtime_paths import named_paths, runtime_paths
from mcp_conformance.sandbox.sockets import is_known_machine
from mcp_conformance.sandbox.traffic import Traffic

AUTO, LANDLOCK, BUBBLEWRAP, DOCKER, NONE = "auto", "landlock", "bubblewrap", "docker", "none"
KINDS = (AUTO, LANDLOCK, BUBBLEWRAP, f"{DOCKER}:IMAGE", NONE)
START = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from mcp_conformance.sandbox.launch import main; main(sys.argv[1:])"
)
"""The program that starts `launch` without the user's modules."""
TRY_SECONDS = 30


@dataclass(frozen=True)
class Sandbox:
    """A sandbox of a ``kind`` that works here.

    ``read`` and ``write`` are the paths that the user adds, ``network`` opens the network.  ``abi`` is the
    version of Landlock, ``can_be_apart`` says that an empty network can be made.  ``program`` starts a
    container of ``image``.
    """

    kind: str
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    network: bool = False
    abi: int = 0
    can_be_apart: bool = False
    image: str = ""
    program: str = ""

    def confined(self, start: Start) -> Confined:
        """Return the command that starts the server confined."""
        is_container = self.kind == DOCKER
        needed = named_paths((*start.command[1:], *start.own.values()))
        needed += [] if is_container else runtime_paths(start.command, start.env)
        write = (*([start.folder] if start.folder is not None else []), *self.write)
        known = write if is_container else (*write, *map(Path, SYSTEM))
        policy = Policy(
            read=_outermost((*map(Path, needed), start.cwd, *self.read), known),
            write=tuple(map(str, write)),
            network=self.network,
            port=start.port,
            is_apart=self.can_be_apart and not self.network and not start.port,
        )
        if is_container:
            name = f"mcp-conformance-{secrets.token_hex(8)}"
            container = docker.Container(self.program, self.image, name, start.places, tuple(start.own))
            words = container.wrapped(start.words, policy, start.cwd)
            return Confined(words, {**os.environ, **start.own}, is_elsewhere=True, on_end=container.end)
        if self.kind == BUBBLEWRAP:
            return Confined(_launched(LIMITS, *bubblewrap.wrapped(start.words, policy)), start.env)
        return _by_landlock(start, policy)

    @property
    def keeps_everything(self) -> bool:
        """Whether the server can change nothing but the throwaway folder."""
        is_held = self.kind != LANDLOCK or self.abi >= landlock.TRUNCATION_ABI
        return is_held and not self.write and not self.network

    @property
    def words(self) -> tuple[str, ...]:
        """The options by which a command of this tool gets the same sandbox."""
        kind = f"{DOCKER}:{self.image}" if self.kind == DOCKER else self.kind
        return (
            *("--sandbox", kind),
            *(word for path in self.read for word in ("--allow-read", str(path))),
            *(word for path in self.write for word in ("--allow-write", str(path))),
            *(("--allow-net",) if self.network else ()),
        )

    def refusal(self, text: str) -> Refusal | None:
        """Return what the sandbox refused the server, by what it wrote; None if that has nothing."""
        return refusal_in(text, network=self.network, hides=self.kind != LANDLOCK)

    def describe(self, *, listens: bool) -> str:
        """Return what confines the server, and what is left open, in one line."""
        if self.kind != LANDLOCK:
            return f"{self.kind}{f':{self.image}' if self.image else ''}"
        is_apart = self.can_be_apart and not (self.network or listens)
        how = f"landlock (version {self.abi}{', with an empty network' if is_apart else ''})"
        left = [*landlock.not_held(self.abi), *self._open(listens=listens, is_apart=is_apart)]
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


def _by_landlock(start: Start, policy: Policy) -> Confined:
    if not policy.is_apart:
        return Confined(_launched(policy.to_json(), *start.words), start.env)
    ours, theirs = socket.socketpair()
    tapped = replace(policy, tap=theirs.fileno())
    words = _launched(tapped.to_json(), *start.words)
    return Confined(words, start.env, Traffic(ours), (theirs.fileno(),), close=theirs.close)


def _launched(*words: str) -> tuple[str, ...]:
    """Return the command that starts `launch` with these words."""
    return (sys.executable, "-I", "-S", "-c", START, str(Path(__file__).parents[2]), *words)


# The choice --------------------------------------------------------------------------------------


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
        if kind not in (AUTO, LANDLOCK, BUBBLEWRAP, DOCKER) or bool(image) != (kind == DOCKER):
            raise Unavailable(f"{', '.join(KINDS[:-1])} or {NONE} is expected, not {self.text!r}")
        if named := [one for one in self.hosts if one != ANY_HOST]:
            hosts = ", ".join(named)
            raise Unavailable(f"{kind} cannot limit the network to {hosts}; --allow-net without it opens all")
        if sys.platform != "linux" and kind != DOCKER:
            raise Unavailable(f"{kind} needs Linux; --sandbox docker:IMAGE may work here")
        make = {AUTO: self._strongest, LANDLOCK: self._landlock, BUBBLEWRAP: self._bubblewrap}
        return self._docker(image) if kind == DOCKER else make[kind]()

    def _of_kind(self, kind: str, **facts: object) -> Sandbox:
        return Sandbox(kind, self.read, self.write, bool(self.hosts), **facts)  # type: ignore[arg-type]

    def _strongest(self) -> Sandbox:
        """Return Landlock if it holds all, else Bubblewrap, else the Landlock that there is."""
        reasons = []
        found: list[Sandbox] = []
        for make in (self._landlock, self._bubblewrap):
            try:
                found.append(make())
            except Unavailable as reason:
                reasons.append(str(reason))
        if not found:
            raise Unavailable(f"nothing confines a server here: {'; '.join(reasons)}")
        is_whole = "not confined" not in found[0].describe(listens=self.listens)
        return found[0] if is_whole else found[-1]

    def _landlock(self) -> Sandbox:
        tried = _tried()
        if not tried["abi"]:
            raise Unavailable("landlock: this system has none (Linux 5.13 or later, and not switched off)")
        return self._of_kind(LANDLOCK, abi=tried["abi"], can_be_apart=bool(tried["apart"]))

    def _bubblewrap(self) -> Sandbox:
        if self.listens and not self.hosts:
            raise Unavailable("bubblewrap: a server over HTTP cannot be reached in it without --allow-net")
        if reason := bubblewrap.why_not():
            raise Unavailable(f"bubblewrap: {reason}")
        return self._of_kind(BUBBLEWRAP)

    def _docker(self, image: str) -> Sandbox:
        if self.listens:
            raise Unavailable("docker: a server over HTTP cannot be reached in it; start it yourself (--url)")
        try:
            return self._of_kind(DOCKER, image=image, program=docker.program_with(image))
        except Unavailable as reason:
            raise Unavailable(f"docker: {reason}") from None


@cache
def _tried() -> dict[str, int]:
    """Return what works here, as `launch` finds out in a process of its own."""
    try:
        done = subprocess.run(_launched(TRY), capture_output=True, text=True, timeout=TRY_SECONDS, check=True)
        found: dict[str, int] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return {"abi": 0, "apart": 0}
    return found
