"""Delete a folder whatever a server has made of it: deep, without permissions, with links that lead out.

Python's own deletion recurses, and before 3.11.8 and 3.12.1 it changes the modes of what links lead to.  The
watchdog runs this file alone, so that it imports nothing of ours.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count

MAX_SECONDS = 60.0
"""How long one deletion may take: 100,000 files take 2 s; a process that no longer is ours may make more."""
IS_BY_NUMBER = os.unlink in os.supports_dir_fd and os.listdir in os.supports_fd
ON_ERROR = "onexc" if sys.version_info >= (3, 12) else "onerror"
DIRECTORY = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def remove_tree(folder: str) -> bool:
    """Delete a folder and all that is in it, never through a link; return whether nothing is left."""
    if not IS_BY_NUMBER:  # Windows
        with suppress(RecursionError):
            shutil.rmtree(folder, **{ON_ERROR: _delete_read_only})  # type: ignore[arg-type]
        return not os.path.lexists(folder)
    with suppress(OSError):
        if os.path.islink(folder):  # noqa: PTH114  (the watchdog has no use for pathlib)
            os.unlink(folder)  # noqa: PTH108
        elif os.path.lexists(folder):
            with _opened(folder, None) as root:
                _empty(root)
            os.rmdir(folder)  # noqa: PTH106
    return not os.path.lexists(folder)


def _delete_read_only(delete: Callable[[str], None], path: str, _: object) -> None:
    """Delete what Windows refused to delete: a file that may not be written, such as git's objects."""
    with suppress(OSError):
        if not os.path.islink(path):  # noqa: PTH114
            os.chmod(path, stat.S_IWRITE)  # noqa: PTH101
            delete(path)


def _empty(root: int) -> None:
    """Delete what is in an open directory.

    A directory is emptied by moving the directories in it up to the root, where their turn comes: so no depth
    needs more than two open files, and no path gets too long.
    """
    deadline = time.monotonic() + MAX_SECONDS
    start = os.urandom(8).hex()
    fresh = (f"{start}-{number}" for number in count())
    kept: set[str] = set()
    while names := set(os.listdir(root)) - kept:
        for name in names:
            if time.monotonic() > deadline:
                return
            if not _is_deleted(name, root):
                _flatten(name, root, fresh)
                with suppress(OSError):
                    os.rmdir(name, dir_fd=root)
                    continue
                kept.add(name)


def _flatten(name: str, root: int, fresh: Iterator[str]) -> None:
    """Delete the files in a directory of the root, and move its directories to the root."""
    with suppress(OSError), _opened(name, root) as directory:
        for inner in os.listdir(directory):  # noqa: PTH208
            if not _is_deleted(inner, directory):
                with suppress(OSError):
                    _permit(inner, directory)  # a directory that moves changes its "..", which is a write
                    os.rename(inner, next(fresh), src_dir_fd=directory, dst_dir_fd=root)


def _is_deleted(name: str, directory: int) -> bool:
    """Delete a file or a link; return whether that was possible: it is not for a directory."""
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


@contextmanager
def _opened(name: str, parent: int | None) -> Iterator[int]:
    """Give an open directory, which its owner may change from now on; never one that a link leads to."""
    try:
        found = os.open(name, os.O_RDONLY | DIRECTORY, dir_fd=parent)
    except PermissionError:
        _permit(name, parent)
        found = os.open(name, os.O_RDONLY | DIRECTORY, dir_fd=parent)
    try:
        with suppress(OSError):
            os.chmod(found, 0o700)  # noqa: PTH101
        yield found
    finally:
        os.close(found)


def _permit(name: str, parent: int | None) -> None:
    """Let the owner read and change a directory; leave what a link leads to as it is."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
        return
    # Linux opens it like this without any permission on it.
    place = os.open(name, getattr(os, "O_PATH", 0) | DIRECTORY, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{place}", 0o700)  # noqa: PTH101
    finally:
        os.close(place)
