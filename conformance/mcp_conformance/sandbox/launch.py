"""A program that confines itself, then becomes the server: a fork of a process with threads cannot do that.

Its arguments are a policy in JSON, or ``--limits`` for nothing but limits, and the server's command; with
``--try`` alone it writes what works here.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence

from mcp_conformance.sandbox import landlock, limits, namespaces, network, sockets
from mcp_conformance.sandbox.policy import LIMITS, TRY, Policy

assert sys.platform == "linux"

NOT_STARTED = 127
"""The exit status of a program that could not be started, as a shell has it."""
RESTORED = ("SIGPIPE", "SIGXFSZ")
"""The signals that Python ignores, and a program that it becomes would ignore too."""


def main(words: Sequence[str]) -> None:
    """Become the server, confined; or report what works."""
    if words == [TRY]:
        sys.stdout.write(json.dumps({"abi": landlock.abi(), "apart": _can_be_apart()}))
        return
    how, command = words[0], list(words[1:])
    try:
        if how == LIMITS:
            limits.restrict()
        else:
            confine(Policy.from_json(how))
        for name in RESTORED:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]} in the sandbox: {error}\n")
        sys.exit(NOT_STARTED)


def confine(policy: Policy) -> None:
    """Confine this process and those it starts, for good.  Raises `OSError`."""
    if policy.is_apart:
        namespaces.enter(namespaces.NETWORK)
        network.furnish()
        if policy.tap >= 0:
            network.hand_over_packets(policy.tap)
    limits.restrict()
    limits.drop_privileges()
    landlock.restrict(policy)
    sockets.restrict(policy)


def _can_be_apart() -> bool:
    try:
        namespaces.enter(namespaces.NETWORK)
        network.furnish()
    except OSError:
        return False
    return True
