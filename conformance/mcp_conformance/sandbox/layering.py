"""A program that makes a layer over all files, or enters one and becomes the server.

With ``--make``, the number of an open channel and the paths in JSON that are written as they are, it makes
namespaces of users and mounts in which a layer in memory lies over each file system: whatever is written goes
there.  It hands over the namespaces and the layers, which last as long as somebody has them open.  With
``--enter`` and the numbers of the namespaces it becomes the command in them, the same user as outside.
"""

# ruff: noqa: E402  (on another system mypy reads no further than the assertion)
from __future__ import annotations

import json
import os
import re
import socket
import stat
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

assert sys.platform == "linux"

from mcp_conformance.sandbox import landlock, mounts, namespaces
from mcp_conformance.sandbox.kernel import mount, setns, unshare
from mcp_conformance.sandbox.mounts import NO_DEVICES, NO_SUID, READ_ONLY
from mcp_conformance.sandbox.other_user import NOT_STARTED, become_program
from mcp_conformance.sandbox.policy import ENTER, HOLD, MAKE, UPPER

BASE = "/tmp"  # noqa: S108
"""Where the new root is put together."""
ROOT, LAYERS = f"{BASE}/root", f"{BASE}/layers"
KERNEL = ("/proc", "/sys", "/dev")
"""What is no file of anybody's, and is shown as it is."""
SETTINGS = ("/proc/sys", "/proc/sysrq-trigger")
MEMORY = ("/dev/mem", "/dev/kmem", "/dev/port")
SHARED_MEMORY = "/dev/shm"  # noqa: S108
WITH_SOCKETS = ("/run", BASE)
"""Where services have their sockets, which a layer does not show."""
# Not measured: Docker, PostgreSQL, X and an agent are four.
MAX_SOCKETS = 100
MAX_DEPTH = 3
COVERED, FOLDER, BOUND, LINK = "covered", "folder", "bound", "link"
"""How the new root shows something: with a layer, made anew, as it is and only read, as a link."""
WORK = "..work"
"""The folder of a layer that the kernel works in, beside `UPPER`."""
ESCAPE = re.compile(r"\\([0-7]{3})")


def main(words: Sequence[str]) -> None:
    """Make a layer, or become the server in one, or behind Landlock alone."""
    how, command = words[0], list(words[1:])
    try:
        if how == MAKE:
            _make(socket.socket(fileno=int(command[0])), json.loads(command[1]))
        elif how == ENTER:
            _enter(int(command.pop(0)), int(command.pop(0)))
            become_program(command)
        elif how == HOLD:
            landlock.hold_writes(json.loads(command.pop(0)))
            become_program(command)
    except OSError as error:
        what = "" if how == MAKE else f"cannot start {command[0]}: "
        sys.stderr.write(f"{what}{error}\n")
        sys.exit(NOT_STARTED)


def _enter(users: int, seen: int) -> None:
    here = os.getcwd()
    setns(users, namespaces.USER)
    setns(seen, namespaces.MOUNTS)
    for one in (users, seen):
        os.close(one)
    os.chdir(here)
    landlock.keep_signals()


# Making a layer ----------------------------------------------------------------------------------


def _make(channel: socket.socket, written: Sequence[str]) -> None:
    """Make the layer in a child: the numbers of users in its namespace are written from outside."""
    ready, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            unshare(namespaces.USER | namespaces.MOUNTS)
            theirs.send(b"!")
            if theirs.recv(1):
                places, layers = _lay(written)
                _hand_over(channel, places, layers)
        except OSError as error:
            sys.stderr.write(f"{error}\n")
            os._exit(NOT_STARTED)
        os._exit(0)
    theirs.close()
    if ready.recv(1):
        namespaces.keep_users(child)
        ready.send(b"!")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _hand_over(channel: socket.socket, places: Sequence[str], layers: int) -> None:
    opened = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in ("user", "mnt")]
    socket.send_fds(channel, [json.dumps(places).encode()], [*opened, layers])


def _lay(written: Sequence[str]) -> tuple[list[str], int]:
    """Lay a layer over all files; return the places of the layers, and an open folder with each of them."""
    mounts.keep_to_oneself()
    parts = [(kind, path, os.open(path, os.O_PATH | os.O_NOFOLLOW)) for kind, path in _parts("/", _mounted())]
    kept = [(path, mounts.tree(path, NO_DEVICES)) for path in written]
    kept += [(path, mounts.tree(path, 0)) for path in _sockets()]
    system = [(path, mounts.tree(path, READ_ONLY if path == "/sys" else 0)) for path in KERNEL]
    mount("tmpfs", BASE, "tmpfs", NO_SUID | NO_DEVICES, "mode=755")
    os.mkdir(ROOT)
    mount("tmpfs", ROOT, "tmpfs", NO_SUID | NO_DEVICES, "mode=755")
    places = [path for kind, path, opened in parts if _show(kind, path, opened)]
    for path, tree in (*system, *kept):
        with suppress(FileNotFoundError):
            mounts.attach(tree, ROOT + path)
        os.close(tree)
    with suppress(OSError):
        mount("tmpfs", ROOT + SHARED_MEMORY, "tmpfs", NO_SUID | NO_DEVICES, "mode=1777")
    if os.getuid() == 0:
        _keep_machine()
    layers = os.open(LAYERS, os.O_RDONLY | os.O_DIRECTORY)
    mounts.change_root(ROOT)
    return places, layers


def _keep_machine() -> None:
    """Let root change no setting of the kernel and write to no disk."""
    for path in filter(os.path.exists, SETTINGS):
        mounts.bind(path, ROOT + path, READ_ONLY)
    for folder, _, names in os.walk("/dev"):
        for path in (os.path.join(folder, name) for name in names):
            with suppress(OSError):
                if stat.S_ISBLK(os.lstat(path).st_mode) or path in MEMORY:
                    mounts.bind("/dev/null", ROOT + path, 0)


def _parts(path: str, mounted: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield what the new root has of a folder: how it is shown, and its path, outer ones first.

    A folder below which something is mounted takes no layer: it is made anew, with what is in it.
    """
    top = path.rstrip("/")
    if path in KERNEL:
        yield FOLDER, path
    elif not any(one.startswith(f"{top}/") for one in mounted if one != path):
        yield COVERED, path
    else:
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except PermissionError:
            yield BOUND, path
            return
        yield FOLDER, path
        for entry in entries:
            inner = f"{top}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _parts(inner, mounted)
            else:
                yield LINK if entry.is_symlink() else BOUND, inner


def _show(kind: str, path: str, opened: int) -> bool:
    """Show what is open at the same path of the new root; return whether it has a layer there."""
    target, source, layer = ROOT + path.rstrip("/"), f"/proc/self/fd/{opened}", LAYERS + path.rstrip("/")
    try:
        if kind == LINK:
            os.symlink(os.readlink("", dir_fd=opened), target)
            return False
        status = os.stat(opened)
        if not stat.S_ISDIR(status.st_mode):
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
        else:
            os.makedirs(target, exist_ok=True)
            os.chmod(target, stat.S_IMODE(status.st_mode))
        if kind == COVERED:
            for name in (UPPER, WORK):
                os.makedirs(f"{layer}/{name}")
            with suppress(OSError):
                options = f"lowerdir={source},upperdir={layer}/{UPPER},workdir={layer}/{WORK},userxattr"
                mount("overlay", target, "overlay", NO_SUID, options)
                return True
        if kind != FOLDER:
            mounts.bind(source, target, READ_ONLY | NO_SUID | NO_DEVICES)
        return False
    finally:
        os.close(opened)


def _mounted() -> list[str]:
    """Return the paths at which something is mounted."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return [ESCAPE.sub(lambda code: chr(int(code[1], 8)), line.split()[4]) for line in file]


def _sockets() -> Iterator[str]:
    """Yield the sockets of services, `MAX_SOCKETS` at most."""
    left = MAX_SOCKETS
    for top in WITH_SOCKETS:
        for folder, inner, names in os.walk(top):
            if folder.count("/") - top.count("/") >= MAX_DEPTH - 1:
                inner.clear()
            for name in names:
                with suppress(OSError):
                    path = os.path.join(folder, name)
                    if left and stat.S_ISSOCK(os.lstat(path).st_mode):
                        left -= 1
                        yield path
