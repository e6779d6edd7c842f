"""A filter of system calls (seccomp) that refuses what nothing else holds.

Landlock leaves UDP open, and Unix sockets with a path, by which a process asks Docker or systemd to start
programs.  An empty network holds neither of the latter.  Without namespaces a process shares memory,
semaphores and queues with all others, and changes the limits and the priority of the user's.  Nothing else
holds the keys that the system keeps for the user.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import socket
import struct
from collections.abc import Collection, Sequence

from mcp_conformance.sandbox.kernel import PR_SET_NO_NEW_PRIVS, prctl
from mcp_conformance.sandbox.policy import Policy

PR_SET_SECCOMP, FILTER_MODE = 22, 2
AF_NETLINK = 16
"""The family of the sockets by which a process asks for the addresses of its machine."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SOCKET = {"x86_64": 41, "aarch64": 198}
KERNEL = {
    # add_key, request_key, keyctl; bpf, perf_event_open and userfaultfd, which attacks on the system use
    "x86_64": (248, 249, 250, 321, 298, 323),
    "aarch64": (217, 218, 219, 280, 241, 282),
}
"""The system calls that every server is refused."""
SHARED = {
    # shmget, shmat, shmctl; semget, semop, semctl, semtimedop; msgget, msgsnd, msgrcv, msgctl; mq_open
    "x86_64": (29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71, 240),
    "aarch64": (194, 196, 195, 190, 193, 191, 192, 186, 189, 188, 187, 180),
}
"""Those for what processes share, which a server without namespaces is refused."""
OF_A_PROCESS = {
    # prlimit64; sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr;
    # migrate_pages, move_pages
    "x86_64": (302, 142, 144, 203, 314, 256, 279),
    "aarch64": (261, 118, 119, 122, 274, 238, 239),
}
"""Those that change a process, by their first argument; such a server may change itself alone, by 0."""
OF_A_GROUP = {
    # setpriority, ioprio_set
    "x86_64": (141, 251),
    "aarch64": (140, 30),
}
"""The same by their second argument."""
IO_URING_SETUP = 425
"""It makes sockets without the system call."""
X32 = 0x40000000
"""The bit of the system calls of another ABI of the same machine."""
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
NUMBER, ARCHITECTURE, FIRST, SECOND = 0, 4, 16, 24
"""Where a filter finds the number of a system call, its architecture and its arguments."""
KIND_MASK = 0xF
ALLOW, REFUSE = 0x7FFF0000, 0x00050000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def is_known_machine() -> bool:
    """Return whether there is a filter for this machine."""
    return platform.machine() in ARCHITECTURES


def restrict(policy: Policy) -> None:
    """Filter the system calls of this process and those it starts, for good.  Raises `OSError`."""
    if not is_known_machine():
        return
    has_datagrams = policy.network or policy.is_apart
    internet = (socket.AF_INET, socket.AF_INET6) if has_datagrams or policy.port else ()
    sockets = _sockets((AF_NETLINK, *internet), streams_only=not has_datagrams)
    program = _program(shares=policy.is_inside, sockets=sockets)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    whole = _Program(len(program) // 8, program)
    prctl(PR_SET_SECCOMP, FILTER_MODE, ctypes.addressof(whole))


def of_namespaces() -> bytes:
    """Return the filter for a server that has namespaces and may have all sockets; empty if there is none."""
    return _program(shares=True, sockets=[_step(RETURN, ALLOW)]) if is_known_machine() else b""


def _program(*, shares: bool, sockets: Sequence[bytes]) -> bytes:
    """Return a filter that ends with the steps for ``sockets``.

    ``shares`` says that other processes and what is shared with them may be asked for, as they are inside.
    """
    machine = platform.machine()
    unknown, refused = REFUSE | errno.ENOSYS, REFUSE | errno.EPERM
    steps = [
        _step(LOAD, ARCHITECTURE),
        _step(EQUAL, ARCHITECTURES[machine], 1, 0),
        _step(RETURN, unknown),
        _step(LOAD, NUMBER),
        _step(AT_LEAST, X32, 0, 1),
        _step(RETURN, unknown),
        _step(EQUAL, IO_URING_SETUP, 0, 1),
        _step(RETURN, unknown),
    ]
    for call in (*KERNEL[machine], *(() if shares else SHARED[machine])):
        steps += [_step(EQUAL, call, 0, 1), _step(RETURN, refused)]
    for calls, argument in ((OF_A_PROCESS, FIRST), (OF_A_GROUP, SECOND)):
        for call in () if shares else calls[machine]:
            steps += [_step(EQUAL, call, 0, 4), _step(LOAD, argument), _step(EQUAL, 0, 1, 0)]
            steps += [_step(RETURN, refused), _step(RETURN, ALLOW)]
    return b"".join([*steps, _step(EQUAL, SOCKET[machine], 1, 0), _step(RETURN, ALLOW), *sockets])


def _sockets(families: Collection[int], *, streams_only: bool) -> list[bytes]:
    """Return the steps that allow sockets of these families.

    With ``streams_only``, those of the internet may only be streams.
    """
    refused = _step(RETURN, REFUSE | errno.EACCES)
    stream = [
        _step(LOAD, SECOND),
        _step(AND, KIND_MASK),
        _step(EQUAL, socket.SOCK_STREAM, 0, 1),
        _step(RETURN, ALLOW),
        refused,
    ]
    steps = [_step(LOAD, FIRST)]
    for family in families:
        is_limited = streams_only and family != AF_NETLINK
        allowed = stream if is_limited else [_step(RETURN, ALLOW)]
        steps += [_step(EQUAL, family, 0, len(allowed)), *allowed]
    return [*steps, refused]


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one instruction; a jump skips so many of the following."""
    return struct.pack("=HBBI", code, if_true, if_false, operand)
