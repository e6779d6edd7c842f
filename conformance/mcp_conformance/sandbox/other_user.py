"""A program that stops to be root, then becomes the server: for a sandbox that another program makes.

Its arguments are the number of the user, the working directory, which the user alone may enter, and the
server's command.  It runs alone, as a server that it becomes sees no other file of ours.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

assert sys.platform == "linux"

NOT_STARTED = 127
"""The exit status of a program that could not be started, as a shell has it."""
RESTORED = ("SIGPIPE", "SIGXFSZ")
"""The signals that Python ignores, and a program that it becomes would ignore too."""


def become_user(user: int) -> None:
    """Let root become another user and group, for good.  Raises `OSError`."""
    os.setgroups(())
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def become_program(command: list[str]) -> NoReturn:
    """Become a program, with the signals that any other one has.  Raises `OSError`."""
    for name in RESTORED:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    os.execvp(command[0], command)  # noqa: S606


def main(user: int, folder: str, command: list[str]) -> NoReturn:
    """Become the server, as another user in a folder."""
    try:
        become_user(user)
        os.chdir(folder)
        become_program(command)
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]} in the sandbox: {error}\n")
        sys.exit(NOT_STARTED)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
