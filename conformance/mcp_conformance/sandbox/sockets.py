"""A filter of system calls (seccomp) that refuses the kinds of sockets that nothing else holds.

Landlock leaves UDP open, and Unix sockets with a path, by which a process asks Docker or systemd to start
programs.  An empty network holds neither of the latter.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import socket
import struct
from collections.abc import Collection

from mcp_conformance.sandbox.kernel import PR_SET_NO_NEW_PRIVS, prctl
from mcp_conformance.sandbox.policy import Policy

PR_SET_SECCOMP, FILTER_MODE = 22, 2
AF_NETLINK = 16
"""The family of the sockets by which a process asks for the addresses of its machine."""
MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""The audit architecture of a machine, and the number of its system call ``socket``."""
IO_URING_SETUP = 425
"""It makes sockets without the system call."""
X32 = 0x40000000
"""The bit of the system calls of another ABI of the same machine."""
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
NUMBER, ARCHITECTURE, FAMILY, KIND = 0, 4, 16, 24
"""Where a filter finds the number of a system call, its architecture and the arguments of ``socket``."""
KIND_MASK = 0xF
ALLOW, REFUSE = 0x7FFF0000, 0x00050000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def is_known_machine() -> bool:
    """Return whether there is a filter for this machine."""
    return platform.machine() in MACHINES


def restrict(policy: Policy) -> None:
    """Refuse sockets to this process and those it starts, for good.  Raises `OSError`."""
    if not is_known_machine():
        return
    has_datagrams = policy.network or policy.is_apart
    internet = (socket.AF_INET, socket.AF_INET6) if has_datagrams or policy.port else ()
    program = _filter((AF_NETLINK, *internet), streams_only=not has_datagrams)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    whole = _Program(len(program) // 8, program)
    prctl(PR_SET_SECCOMP, FILTER_MODE, ctypes.addressof(whole))


def _filter(families: Collection[int], *, streams_only: bool) -> bytes:
    """Return the program of a filter that allows sockets of these families.

    With ``streams_only``, those of the internet may only be streams.
    """
    architecture, socket_call = MACHINES[platform.machine()]
    unknown, refused = REFUSE | errno.ENOSYS, REFUSE | errno.EACCES
    stream = [
        _step(LOAD, KIND),
        _step(AND, KIND_MASK),
        _step(EQUAL, socket.SOCK_STREAM, 0, 1),
        _step(RETURN, ALLOW),
        _step(RETURN, refused),
    ]
    steps = [
        _step(LOAD, ARCHITECTURE),
        _step(EQUAL, architecture, 1, 0),
        _step(RETURN, unknown),
        _step(LOAD, NUMBER),
        _step(AT_LEAST, X32, 0, 1),
        _step(RETURN, unknown),
        _step(EQUAL, IO_URING_SETUP, 0, 1),
        _step(RETURN, unknown),
        _step(EQUAL, socket_call, 1, 0),
        _step(RETURN, ALLOW),
        _step(LOAD, FAMILY),
    ]
    for family in families:
        is_limited = streams_only and family != AF_NETLINK
        allowed = stream if is_limited else [_step(RETURN, ALLOW)]
        steps += [_step(EQUAL, family, 0, len(allowed)), *allowed]
    return b"".join([*steps, _step(RETURN, refused)])


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one instruction; a jump skips so many of the following."""
    return struct.pack("=HBBI", code, if_true, if_false, operand)
