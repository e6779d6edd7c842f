"""What a confined server may do, whatever confines it."""

from __future__ import annotations

import json
from typing import NamedTuple

SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/opt"),
    *("/nix/store", "/gnu/store", "/snap", "/proc", "/sys"),
)
"""The folders of the system, which every server may read."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""The devices that every server may read and write."""
OWN = ("/tmp", "/dev/shm")  # noqa: S108
"""The directories that a server with files of its own has for itself, empty at first."""
MAX_MEMORY_BYTES = 8 << 30
"""The memory of one process: its data, not the addresses that a runtime only reserves."""
MAX_OPEN_FILES = 4096
MAX_MORE_TASKS = 1000
"""How many processes and threads may be added to those of the user; root has no such limit."""
ANY_HOST = "*"
"""What stands for all hosts of the network."""
TRY, LIMITS, SHOWN = "--try", "--limits", "--shown"
"""What `launch` takes in place of a policy: to write what works here, to limit resources alone, and to show
the files as another user's besides.
"""
MAKE, ENTER, HOLD = "--make", "--enter", "--hold"
"""What `layering` takes: to make a layer, to enter one, and to hold writes by Landlock."""
UPPER = "..upper"
"""The folder of a layer with what was written, by a name that no folder inside has."""
OTHER_USER = 0x7F00_0000
"""The user that a server of root is outside, of which no file is: the same for all, as root has no others.

Not measured: such a number is beyond those that systems give.
"""


class Unavailable(Exception):  # noqa: N818  (a fact about this machine, in one line)
    """The confinement that was asked for cannot be had here; the message says why."""


class Policy(NamedTuple):
    """The paths a server may ``read`` beside those of the system, and those it may ``write``.

    ``network`` says that it may use the network; else it may only listen on ``port``, if that is not 0.
    ``is_apart`` gives it an empty network of its own, ``tap`` is the number of the open file by which its
    packets are handed over, -1 for none.  ``is_inside`` gives it files, processes and memory shared between
    them of its own, ``life`` is the number of the open file by which they are ended, -1 for none.
    ``is_other`` makes a server of root another user's outside.  It is a tuple, as `launch` starts in a fifth
    less time without dataclasses.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool = False
    port: int = 0
    is_apart: bool = False
    tap: int = -1
    is_inside: bool = False
    life: int = -1
    is_other: bool = False

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Policy:
        """Return the policy that `to_json` made."""
        row = json.loads(text)
        return cls(**{**row, "read": tuple(row["read"]), "write": tuple(row["write"])})
