"""What a process sees of the files: a root directory of its own that has only what a policy names."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from mcp_conformance.sandbox import mounts
from mcp_conformance.sandbox.kernel import mount
from mcp_conformance.sandbox.mounts import NO_DEVICES, NO_EXECUTION, NO_SUID, READ_ONLY
from mcp_conformance.sandbox.policy import DEVICES, OWN, SYSTEM, Policy

assert sys.platform == "linux"

BASE = "/tmp"  # noqa: S108
"""Where the new root is put together."""
PROC = "/proc"
KEPT = ("/etc", "/sys")
"""The folders of the system with files that only root may read."""
OWN_BYTES = 1 << 30
LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
MAX_LINKS = 40
"""How many links of a path are followed, as in Linux."""


class View:
    """The files that a policy names, found by the paths of the old root.

    With ``users``, an open namespace of users, others own them, but for the files of ``KEPT``.  Raises
    `OSError`.
    """

    def __init__(self, policy: Policy, users: int = -1):
        shown = dict.fromkeys(map(os.path.realpath, policy.write), NO_SUID | NO_DEVICES)
        for path in sorted({os.path.realpath(path) for path in (*SYSTEM, *policy.read)} - {PROC}):
            if not _is_below(path, shown):
                shown[path] = READ_ONLY | NO_SUID | NO_DEVICES
        shown |= dict.fromkeys(DEVICES, NO_SUID)
        ways = (*SYSTEM, *policy.read, *policy.write, *os.get_exec_path())
        self._links = dict(_links(ways, shown))
        self._trees: list[tuple[str, bool, int]] = []
        """Each path, whether it is a folder, and the number of the open copy of its mounts."""
        for path, attributes in sorted(shown.items()):
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                whose = -1 if path in (*KEPT, *DEVICES) else users
                self._trees.append((path, os.path.isdir(path), _tree(path, attributes, whose)))  # noqa: PTH112

    def stay(self) -> None:
        """Show the files at their own paths, beside all others in this namespace of mounts.

        Raises `OSError`.
        """
        mounts.keep_to_oneself()
        for path, _, tree in self._trees:
            mounts.attach(tree, path)
            os.close(tree)

    def enter(self) -> None:
        """Change the root of this namespace of mounts.  Raises `OSError`.

        The first process of a namespace of processes does it, as the new root shows only its processes.
        """
        mounts.keep_to_oneself()
        mount("tmpfs", BASE, "tmpfs", NO_SUID | NO_DEVICES, "mode=755,size=1m")
        for path in OWN:
            _make(path, is_folder=True)
            mount("tmpfs", BASE + path, "tmpfs", NO_SUID | NO_DEVICES, f"mode=1777,size={OWN_BYTES}")
        for path, is_folder, tree in self._trees:
            _make(path, is_folder=is_folder)
            mounts.attach(tree, BASE + path)
            os.close(tree)
        _make(PROC, is_folder=True)
        mount("proc", BASE + PROC, "proc", NO_SUID | NO_DEVICES | NO_EXECUTION | READ_ONLY)
        for path, text in (*self._links.items(), *((f"/dev/{name}", text) for name, text in LINKS.items())):
            with suppress(FileExistsError):
                os.makedirs(os.path.dirname(BASE + path), exist_ok=True)  # noqa: PTH103, PTH120
                os.symlink(text, BASE + path)  # noqa: PTH211
        mounts.change_root(BASE)
        mounts.set_attributes("/", READ_ONLY)


def _tree(path: str, attributes: int, users: int) -> int:
    """Return a copy of the mounts of a path; some file systems cannot give what is only read other owners."""
    try:
        return mounts.tree(path, attributes, users)
    except OSError as error:
        if users < 0 or not attributes & READ_ONLY or error.errno != errno.EINVAL:
            raise
    return mounts.tree(path, attributes)


def _make(path: str, *, is_folder: bool) -> None:
    """Make an empty folder or file of the new root at which something can be mounted."""
    folder = path if is_folder else os.path.dirname(path)  # noqa: PTH120
    os.makedirs(BASE + folder, exist_ok=True)  # noqa: PTH103
    if not is_folder and not os.path.exists(BASE + path):  # noqa: PTH110
        os.close(os.open(BASE + path, os.O_CREAT | os.O_WRONLY))


def _is_below(path: str, others: Iterable[str]) -> bool:
    """Return whether a path is one of others or below it."""
    return any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in others)


def _links(paths: Iterable[str], shown: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the links by which one comes to these paths, each with its text, unless they are shown anyway."""
    for path in paths:
        if os.path.isabs(path) and _is_below(os.path.realpath(path), shown):  # noqa: PTH117
            yield from (link for link in _on_the_way(path) if not _is_below(link[0], shown))


def _on_the_way(path: str) -> Iterator[tuple[str, str]]:
    """Yield the links on the way of an absolute path."""
    place, rest = "/", path.split("/")[::-1]
    left = MAX_LINKS
    while rest and left:
        part = rest.pop()
        here = os.path.normpath(os.path.join(place, part))  # noqa: PTH118
        if not os.path.islink(here):  # noqa: PTH114
            place = here
            continue
        text = os.readlink(here)  # noqa: PTH115
        yield here, text
        place = "/" if text.startswith("/") else place
        rest += text.split("/")[::-1]
        left -= 1
