"""Docker, or Podman in its place: a container of an image that has the server's runtime."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance.sandbox.policy import (
    MAX_MEMORY_BYTES,
    MAX_MORE_TASKS,
    MAX_OPEN_FILES,
    Policy,
    Unavailable,
)

PROGRAMS = ("docker", "podman")
TRY_SECONDS = 30
END_SECONDS = 30


def program_with(image: str) -> str:
    """Return the program that has an image.  Raises `Unavailable` with what the last one says."""
    installed = [one for one in PROGRAMS if shutil.which(one)]
    reason = f"neither {' nor '.join(PROGRAMS)} is installed"
    for program in installed:
        tried = _run(program, "image", "inspect", image, seconds=TRY_SECONDS)
        if tried == "":
            return program
        reason = tried
    raise Unavailable(reason)


@dataclass(frozen=True)
class Container:
    """A container of an ``image``, started by a ``program`` under a ``name``.

    The server gets the variables ``places``, and of those of the program the ones with ``names``.
    """

    program: str
    image: str
    name: str
    places: Mapping[str, str]
    names: tuple[str, ...] = ()

    def wrapped(self, command: Sequence[str], policy: Policy, cwd: Path) -> tuple[str, ...]:
        """Return the command that starts another one in this container, in the folder ``cwd``."""
        given = [*(f"{name}={place}" for name, place in self.places.items()), *self.names]
        return (
            *(self.program, "run", "--rm", "--interactive", "--name", self.name),
            *(() if policy.network else ("--network", "none")),
            *("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"),  # noqa: S108
            *("--security-opt", "no-new-privileges", *_limits(), *_user()),
            *(word for path in policy.read for word in ("--volume", f"{path}:{path}:ro")),
            *(word for path in policy.write for word in ("--volume", f"{path}:{path}")),
            *(word for one in given for word in ("--env", one)),
            *("--workdir", str(cwd), "--entrypoint", command[0], self.image, *command[1:]),
        )

    def end(self) -> None:
        """End it, if it still runs: it does not end with the program that started it."""
        _run(self.program, "rm", "--force", self.name, seconds=END_SECONDS)


def _limits() -> tuple[str, ...]:
    return (
        *("--memory", f"{MAX_MEMORY_BYTES}b", "--pids-limit", str(MAX_MORE_TASKS)),
        *("--ulimit", f"nofile={MAX_OPEN_FILES}:{MAX_OPEN_FILES}"),
        *("--ulimit", f"nproc={MAX_MORE_TASKS}:{MAX_MORE_TASKS}"),
    )


def _user() -> tuple[str, ...]:
    """Return the option that makes the files of the server ours."""
    if sys.platform == "win32":
        return ()
    return ("--user", f"{os.getuid()}:{os.getgid()}")


def _run(program: str, *words: str, seconds: float) -> str:
    """Run the program; return the last line of its complaint, empty if it has none."""
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=seconds, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return done.stderr.strip().rpartition("\n")[2] or f"{program} {words[0]} failed"
