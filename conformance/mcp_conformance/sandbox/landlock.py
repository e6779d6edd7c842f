"""Landlock: a process of Linux gives up access to files, TCP ports and other processes, without privileges.

Its versions (ABI) hold ever more: 1 files, 2 moves between folders, 3 truncation, 4 TCP ports, 5 device
controls, 6 signals and abstract Unix sockets.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress

from mcp_conformance.sandbox.kernel import PR_SET_NO_NEW_PRIVS, prctl, syscall
from mcp_conformance.sandbox.policy import DEVICES, OWN, SYSTEM, Policy

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""The numbers of the system calls, on every machine."""
VERSION_FLAG = 1
PATH_RULE, PORT_RULE = 1, 2
EXECUTE, WRITE_FILE, READ_FILE, READ_DIRECTORY = 1, 2, 4, 8
READ = EXECUTE | READ_FILE | READ_DIRECTORY
TRUNCATE, DEVICE_CONTROL = 1 << 14, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_CONTROL
"""The accesses that a rule for a file, not a folder, may have."""
BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_SOCKETS, SIGNALS = 1, 2
FILE_ACCESSES = {1: 13, 2: 14, 3: 15, 5: 16}
"""How many accesses to files each ABI knows; later ones add none."""
TRUNCATION_ABI, TCP_ABI, SIGNAL_ABI = 3, 4, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("ports", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    # The kernel's is packed, thus 4 bytes shorter, with both members in their places; `_pack_` warns on 3.14.
    _fields_ = (("access", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _PortRule(ctypes.Structure):
    _fields_ = (("access", ctypes.c_uint64), ("port", ctypes.c_uint64))


def abi() -> int:
    """Return the version of Landlock here; 0 if the system has none."""
    try:
        return syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION_FLAG)
    except (OSError, AttributeError):
        return 0


def not_held(version: int) -> list[str]:
    """Return what a version leaves open, beside the network."""
    limits = {"the truncation of files": TRUNCATION_ABI, "signals to your processes": SIGNAL_ABI}
    return [what for what, needed in limits.items() if version < needed]


def restrict(policy: Policy) -> None:
    """Restrict this process and those it starts, for good.  Raises `OSError`."""
    version = abi()
    files = _file_accesses(version)
    holds_ports = version >= TCP_ABI and not policy.network and not policy.is_apart
    ports = BIND_TCP | CONNECT_TCP if holds_ports else 0
    rules = _ruleset(version, files, ports, SIGNALS | ABSTRACT_SOCKETS)
    _allow(rules, (*SYSTEM, *policy.read), READ)
    _allow(rules, DEVICES, files & (OF_FILES & ~EXECUTE))
    _allow(rules, (*policy.write, *(OWN if policy.is_inside else ())), files)
    if ports and policy.port:
        syscall(ADD_RULE, rules, PORT_RULE, ctypes.byref(_PortRule(BIND_TCP, policy.port)), 0)
    _enforce(rules)


def hold_writes(paths: Iterable[str]) -> None:
    """Let this process and those it starts write below these paths and to devices alone, and signal no other.

    All may be read.  Raises `OSError`.
    """
    version = abi()
    files = _file_accesses(version) & ~READ
    rules = _ruleset(version, files, 0, SIGNALS)
    _allow(rules, (*paths, "/dev"), files)
    _enforce(rules)


def keep_signals() -> None:
    """Let this process and those it starts signal no others, where the system can hold that.

    Raises `OSError`.
    """
    if (version := abi()) >= SIGNAL_ABI:
        _enforce(_ruleset(version, 0, 0, SIGNALS))


def _ruleset(version: int, files: int, ports: int, scoped: int) -> int:
    """Return the number of an open new ruleset, which holds these accesses as far as the version can."""
    held = _Ruleset(files, ports, scoped if version >= SIGNAL_ABI else 0)
    size = 24 if version >= SIGNAL_ABI else 16 if version >= TCP_ABI else 8
    return syscall(CREATE_RULESET, ctypes.byref(held), ctypes.c_size_t(size), 0)


def _enforce(rules: int) -> None:
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    syscall(RESTRICT_SELF, rules, 0)
    os.close(rules)


def _file_accesses(version: int) -> int:
    known: int = FILE_ACCESSES[max(one for one in FILE_ACCESSES if one <= version)]
    return (1 << known) - 1


def _allow(rules: int, paths: Iterable[str], access: int) -> None:
    """Allow accesses below paths; a path that does not exist is left out."""
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
            try:
                held = access if os.path.isdir(path) else access & OF_FILES  # noqa: PTH112
                syscall(ADD_RULE, rules, PATH_RULE, ctypes.byref(_PathRule(held, opened)), 0)
            finally:
                os.close(opened)
