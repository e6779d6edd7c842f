"""The processes of a namespace: its first one, which ends all others, and the parent of the server.

::

    launch            the child of the run, outside the namespace: it ends as the server ends
      first           number 1 inside: when it ends, the system ends everything inside
        parent        a server takes number 1 as its parent for the end of its client
          server

A signal to the group of ``launch`` reaches the server, the others have blocked it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NoReturn

from mcp_conformance.sandbox.kernel import PR_SET_DUMPABLE, prctl

assert sys.platform == "linux"

MAX_STATUS_BYTES = 16
ALONE = b"="
"""Precedes a status if no process is left that the server has started."""
EVERYBODY_ELSE = -1


def run_inside(channel: int, prepare: Callable[[], None], become: Callable[[], NoReturn]) -> NoReturn:
    """Have a namespace of processes, which was just entered, run a server, and end as that ends.

    ``prepare`` runs in its first process, ``become`` in the one that becomes the server.  The run has the
    other end of the ``channel``.  Raises `OSError` in any of the processes.
    """
    life = socket.socket(fileno=channel)
    life.set_inheritable(False)
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    # The server is the same user and could else trace these processes.
    prctl(PR_SET_DUMPABLE, 0)
    status, given = os.pipe()
    first = os.fork()
    if first == 0:
        prepare()
        _be_first(life, given, *_start(life, signals, become))
    _close_all(but=status)
    word = os.read(status, MAX_STATUS_BYTES)
    with suppress(OSError):
        if not word:
            _end_as(os.waitpid(first, 0)[1])
        if word.startswith(ALONE):
            os.waitpid(first, 0)
    _end_as(int(word.lstrip(ALONE)))


def _start(life: socket.socket, signals: Iterable[int], become: Callable[[], NoReturn]) -> tuple[int, int]:
    """Start the server and its parent; return the number of the parent, and the file with the status."""
    status, given = os.pipe()
    parent = os.fork()
    if parent == 0:
        server = os.fork()
        if server == 0:
            life.send(b"!")
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
            become()
        _close_all(but=given)
        os.write(given, str(os.waitpid(server, 0)[1]).encode())
        os._exit(0)
    os.close(given)
    return parent, status


def _be_first(life: socket.socket, given: int, parent: int, status: int) -> NoReturn:
    """Take care of the processes inside until the run closes the channel, or none is left."""
    # To ignore the signal instead would lose the processor time of the server.
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD,))
    _reap()
    # The group of the server may be killed before the processes that have left it are counted.
    os.setsid()
    for standard in range(3):
        os.close(standard)
    waiting = select.poll()
    for one in (life.fileno(), status):
        waiting.register(one, select.POLLIN)
    if status in {ready for ready, _ in waiting.poll()}:
        word = os.read(status, MAX_STATUS_BYTES)
        is_alone = not {pid for pid, _ in _others()} - {parent}
        os.write(given, (ALONE if is_alone else b"") + (word or str(signal.SIGKILL.value).encode()))
        os.close(given)
        if is_alone:
            _wait_for_all()
            os._exit(0)
        waiting.unregister(status)
        waiting.poll()
    left = sum(1 for _, group in _others() if group)
    os.kill(EVERYBODY_ELSE, signal.SIGKILL)
    _wait_for_all()
    with suppress(OSError):
        life.send(str(left).encode())
    os._exit(0)


def _reap() -> None:
    """Let the system forget the processes that have ended and whose parent has, too."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _wait_for_all() -> None:
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _others() -> list[tuple[int, int]]:
    """Return the number and the group of each other process inside that has not ended.

    The group of the server, which comes from outside, is 0.
    """
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit() and int(name) != os.getpid():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                state, _, group = file.read().rpartition(b")")[2].split()[:3]
                if state not in (b"Z", b"X"):
                    found.append((int(name), int(group)))
    return found


def _close_all(*, but: int) -> None:
    """Close all open files but one: a pipe of the server ends when the server closes it."""
    os.closerange(0, but)
    os.closerange(but + 1, os.sysconf("SC_OPEN_MAX"))


def _end_as(status: int) -> NoReturn:
    """End as a process has ended whose status ``wait`` gave."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))
