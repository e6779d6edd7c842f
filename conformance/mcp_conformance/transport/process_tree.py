"""A child process and every process that it starts: they end together, even if this process is killed.

POSIX: the child leads a session, so that its group can be signalled; the `watchdog` kills the groups if this
process is killed.  Linux: a process that has left its group is found at the end of the run by a mark in its
environment, unless it has cleared that; on other systems it is not found.  Windows: a job object, which no
process leaves and which ends with this process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_conformance.transport import watchdog
from mcp_conformance.transport.interrupts import interruptible, uninterrupted

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTEN = "0A"
"""The state of a listening socket."""


def listening(pids: Iterable[int]) -> tuple[int, ...]:
    """Return the ports on which these processes listen."""
    sockets = {socket for pid in pids for socket in _sockets(pid)}
    return tuple(sorted({port for socket, port in _listening() if socket in sockets}))


def _sockets(pid: int) -> Iterator[str]:
    """Yield the numbers of a process's sockets."""
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                kind, _, number = str(file.readlink()).partition(":")
                if kind == "socket":
                    yield number.strip("[]")


def _listening() -> Iterator[tuple[str, int]]:
    """Yield the number and the port of each listening socket."""
    for table in TABLES:
        with suppress(OSError):
            for row in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                cells = row.split()
                if cells[3] == LISTEN:
                    yield cells[9], int(cells[1].rpartition(":")[2], 16)


POSIX = os.name == "posix"
KILL_SECONDS = 30.0
"""How long the system may take to end a killed process; one that waits for a device may never end."""
MARK = "MCP_CONFORMANCE_RUN"
"""The environment variable that every process of a server inherits."""


class Tree:
    """A running child with three pipes, and the processes that it starts.

    The child is reaped when the tree is ended, so that its id remains that of its group until then (on macOS,
    which has no ``waitid``, as soon as it exits).  It inherits the open ``files``.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None,
        cwd: Path | None,
        files: Sequence[int] = (),
    ):
        self._exit: int | None = None
        self._ended = threading.Event()
        self.child = _RUN.started(command, os.environ if env is None else env, cwd, files)
        self._job = _Job(self.child)
        self._waiter = threading.Thread(target=self._wait, daemon=True)
        self._waiter.start()

    @property
    def exit_code(self) -> int | None:
        """The exit status of the child; None while it runs; negative, minus the signal that ended it."""
        return self._exit

    def wait(self, timeout: float) -> int | None:
        """Wait for the child to exit; return its exit status, None if it still runs."""
        self._ended.wait(timeout)
        return self._exit

    def note_outlived(self, processes: int = 1) -> None:
        """Count processes that the child has started and that have outlived it."""
        _RUN.outlived += processes

    def terminate(self) -> None:
        """Ask the group to end."""
        if sys.platform == "win32":
            self.child.terminate()
        else:
            _signal(self.child.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill the child and its group, and wait until the child has ended, if the system can end it."""
        if sys.platform == "win32":
            self._job.end()
            self.child.kill()
        else:
            _signal(self.child.pid, signal.SIGKILL)
        self._waiter.join(KILL_SECONDS)
        if self._exit is None:
            self.note_outlived()
        else:
            self.child.wait()
        _RUN.ended(self.child.pid)

    def _wait(self) -> None:
        self._exit = _exit_of(self.child)
        self._ended.set()


def _signal(group: int, number: int) -> None:
    """Send a signal to a process group, if it is still there."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _exit_of(child: subprocess.Popen[bytes]) -> int:
    """Wait for a child's exit and return its status; reap it only if the system gives no choice."""
    if sys.platform == "win32" or sys.platform == "darwin":
        return child.wait()
    try:
        # WNOWAIT leaves the child unreaped: until then no other process group can get its id.
        how = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:  # other code in this process reaps all children
        return child.wait()
    assert how is not None
    return how.si_status if how.si_code == os.CLD_EXITED else -how.si_status


# Windows -----------------------------------------------------------------------------------------

_NEW_GROUP = 0
if sys.platform == "win32":
    _NEW_GROUP = subprocess.CREATE_NEW_PROCESS_GROUP


class _Job:
    """On Windows, a job object with a child and its processes, which end with this process."""

    def __init__(self, child: subprocess.Popen[bytes]):
        self._handle = 0
        if sys.platform == "win32":
            self._handle = _new_job(int(child._handle))  # type: ignore[attr-defined]  # noqa: SLF001

    def end(self) -> None:
        """End every process in it."""
        if sys.platform == "win32":
            handle, self._handle = self._handle, 0
            if handle:
                _kernel().TerminateJobObject(handle, 1)
                _kernel().CloseHandle(handle)


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _LIMITS = 9
    """JobObjectExtendedLimitInformation."""
    _KILL_ON_CLOSE = 0x2000

    class _Basic(ctypes.Structure):
        """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

        _fields_ = (
            ("PerProcessUserTimeLimit", wintypes.LARGE_INTEGER),
            ("PerJobUserTimeLimit", wintypes.LARGE_INTEGER),
            ("LimitFlags", wintypes.DWORD),
            ("MinimumWorkingSetSize", ctypes.c_size_t),
            ("MaximumWorkingSetSize", ctypes.c_size_t),
            ("ActiveProcessLimit", wintypes.DWORD),
            ("Affinity", ctypes.c_size_t),
            ("PriorityClass", wintypes.DWORD),
            ("SchedulingClass", wintypes.DWORD),
        )

    class _Extended(ctypes.Structure):
        """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

        _fields_ = (
            ("BasicLimitInformation", _Basic),
            ("IoInfo", ctypes.c_ulonglong * 6),
            ("ProcessMemoryLimit", ctypes.c_size_t),
            ("JobMemoryLimit", ctypes.c_size_t),
            ("PeakProcessMemoryUsed", ctypes.c_size_t),
            ("PeakJobMemoryUsed", ctypes.c_size_t),
        )

    def _kernel() -> ctypes.WinDLL:
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.CreateJobObjectW.restype = wintypes.HANDLE
        kernel.CreateJobObjectW.argtypes = (wintypes.LPVOID, wintypes.LPCWSTR)
        kernel.SetInformationJobObject.argtypes = (
            *(wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD),
        )
        kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
        kernel.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
        kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
        return kernel

    def _new_job(process: int) -> int:
        """Return the handle of a new job with a process in it; 0 if the system refuses it."""
        kernel = _kernel()
        job = kernel.CreateJobObjectW(None, None)
        if not job:
            return 0
        limits = _Extended()
        limits.BasicLimitInformation.LimitFlags = _KILL_ON_CLOSE
        is_set = kernel.SetInformationJobObject(job, _LIMITS, ctypes.byref(limits), ctypes.sizeof(limits))
        if is_set and kernel.AssignProcessToJobObject(job, process):
            return int(job)
        kernel.CloseHandle(job)
        return 0


# The run -----------------------------------------------------------------------------------------


class _Run:
    """The run: the mark of its processes, and the watchdog, which starts with the first tree."""

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.mark = os.urandom(16).hex()
        self._folders: list[str] = []
        self._groups: set[int] = set()
        self.outlived = self.lost_watchdogs = 0
        self._is_swept = True
        self._pid, self._pipe = 0, -1
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Start the watchdog if there is none."""
        if not POSIX or not sys.executable:
            return
        with self._lock:
            if self._pid == 0:
                self._pid, self._pipe = _start_watchdog(f"{MARK}={self.mark}")
                self._send(*self._folders)

    @uninterrupted
    def started(
        self, command: Sequence[str], env: Mapping[str, str], cwd: Path | None, files: Sequence[int]
    ) -> subprocess.Popen[bytes]:
        """Start a child in a group of its own; from then on it is ended with the run."""
        self.begin()
        with self._lock:
            self._is_swept = False
            child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={**env, MARK: self.mark},
                cwd=cwd,
                start_new_session=POSIX,
                pass_fds=files,
                creationflags=_NEW_GROUP,
            )
            self._groups.add(child.pid)
            self._send(f"+{child.pid}")
        return child

    def ended(self, group: int) -> None:
        """Note that a group has ended; what left it is still to be found."""
        with self._lock:
            self._groups.discard(group)
            self._is_swept = False
            self._send(f"-{group}")

    def scratch(self, start: str) -> None:
        """Have the watchdog delete the folders whose paths start like this, if this process cannot."""
        self.begin()
        with self._lock:
            self._folders.append(_folder_word(start))
            self._send(self._folders[-1])

    def forget(self, start: str) -> None:
        """Note that such a folder is deleted."""
        with self._lock:
            self._folders.remove(_folder_word(start))
            self._end_watchdog()

    def _send(self, *words: str) -> None:
        if self._pipe < 0:
            return
        try:
            self._write(words)
        except BrokenPipeError:
            self._replace_watchdog()
        except OSError:  # it has stopped reading
            pass

    def _write(self, words: Iterable[str]) -> None:
        os.write(self._pipe, "".join(f"{word}\n" for word in words).encode())

    def _replace_watchdog(self) -> None:
        """Start another watchdog in the place of one that something has ended."""
        self.lost_watchdogs += 1
        self._bury_watchdog()
        self._pid, self._pipe = _start_watchdog(f"{MARK}={self.mark}")
        if self._pipe >= 0:
            with suppress(OSError):
                self._write([*self._folders, *(f"+{group}" for group in self._groups)])

    def _bury_watchdog(self) -> None:
        with suppress(ChildProcessError):  # other code in this process reaps all children
            os.waitpid(self._pid, 0)
        os.close(self._pipe)
        self._pid, self._pipe = 0, -1

    def running(self) -> frozenset[int]:
        """Return the groups that were started and not ended."""
        with self._lock:
            return frozenset(self._groups)

    def end(self, others: frozenset[int]) -> None:
        """Kill the groups except ``others``.  Without others, kill what left its group, and the watchdog."""
        with self._lock:
            for group in self._groups - others:
                self._kill(group)
            self._end_watchdog()

    def _end_watchdog(self) -> None:
        """Kill what left its group, and end the watchdog, unless something is left to watch."""
        if not self._pid or self._groups:
            return
        if not self._is_swept:
            self.outlived += watchdog.sweep(f"{MARK}={self.mark}")
            self._is_swept = True
        if not self._folders:
            os.kill(self._pid, watchdog.KILL)
            self._bury_watchdog()

    def _kill(self, group: int) -> None:
        if sys.platform != "win32":
            _signal(group, signal.SIGKILL)
        self._groups.discard(group)
        self._send(f"-{group}")

    def forked(self) -> None:
        """Begin anew in a fork of this process, whose watchdog is its parent's."""
        if self._pipe >= 0:
            os.close(self._pipe)
        self._begin_anew()


def _folder_word(start: str) -> str:
    return f"/{os.fsencode(start).hex()}"


def _start_watchdog(mark: str) -> tuple[int, int]:
    """Start a watchdog; return its id and its pipe, which closes with this process; 0 and -1 if it fails."""
    if sys.platform == "win32":
        return 0, -1
    theirs, ours = os.pipe()
    # A watchdog that is stopped must not stop the run.
    os.set_blocking(ours, False)
    nowhere = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    files = [(os.POSIX_SPAWN_DUP2, theirs, 0), nowhere, (os.POSIX_SPAWN_DUP2, 1, 2)]
    # Isolated and without site-packages: it starts faster, and imports nothing from the user's folder.
    command = [sys.executable, "-I", "-S", watchdog.__file__, mark]
    # A run in a survey has inherited the mark of that: its watchdog outlives it, and deletes the folder.
    unmarked = {name: text for name, text in os.environ.items() if name != MARK}
    try:
        pid = os.posix_spawn(sys.executable, command, unmarked, file_actions=files)
    except OSError:
        os.close(ours)
        return 0, -1
    finally:
        os.close(theirs)
    return pid, ours


_RUN = _Run()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_RUN.forked)


def scratch(start: str) -> None:
    """Have a throwaway folder deleted even if this process is killed: call this before it is made.

    Its path starts like this, and no other's does.
    """
    _RUN.scratch(start)


def forget(start: str) -> None:
    """Note that a throwaway folder is deleted."""
    _RUN.forget(start)


def ports() -> tuple[int, ...]:
    """Return the ports on which the servers of this run listen; empty on systems without /proc."""
    return listening(watchdog.marked(f"{MARK}={_RUN.mark}".encode()))


def end_run() -> int:
    """End the processes that ended servers left behind; return how many there were so far in this run."""
    _RUN.end(_RUN.running())
    return _RUN.outlived


def lost_watchdogs() -> int:
    """Return how many watchdogs something has ended so far in this run."""
    return _RUN.lost_watchdogs


@contextmanager
def no_process_left() -> Iterator[None]:
    """End every process that this block starts, even one that an interrupt keeps from being ended in order.

    The signals that end a run interrupt the block.
    """
    others = _RUN.running()
    try:
        with interruptible():
            yield
    finally:
        _RUN.end(others)


def mark_of_run() -> str:
    """Return the value of the variable `MARK` in this run."""
    return _RUN.mark
