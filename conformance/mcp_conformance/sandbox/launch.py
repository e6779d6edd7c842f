"""A program that confines itself, then becomes the server: a fork of a process with threads cannot do that.

Its arguments are a policy in JSON and the server's command.  With ``--limits`` there are nothing but limits,
and with ``--shown`` and a policy the files are besides another user's, for the sandbox that the command
makes.  With ``--try`` and a folder that may be written it reports what works here.
"""

# ruff: noqa: E402  (on another system mypy reads no further than the assertion)
from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

assert sys.platform == "linux"

from mcp_conformance.sandbox import landlock, limits, namespaces, network, system_calls
from mcp_conformance.sandbox.kernel import unshare
from mcp_conformance.sandbox.other_user import NOT_STARTED, become_program
from mcp_conformance.sandbox.policy import LIMITS, OTHER_USER, SHOWN, TRY, Policy
from mcp_conformance.sandbox.processes import run_inside
from mcp_conformance.sandbox.view import View

INSIDE = namespaces.MOUNTS | namespaces.PROCESSES | namespaces.IPC


def main(words: Sequence[str]) -> None:
    """Become the server, confined; or report what works."""
    if words[0] == TRY:
        folder = words[1]
        found = {
            "abi": landlock.abi(),
            "apart": _works(_enter_network),
            "inside": _works(partial(_enter_all, folder, is_other=False)),
            "other": _works(partial(_enter_all, folder, is_other=True)),
        }
        sys.stdout.write(json.dumps(found))
        return
    how, command = words[0], list(words[1:])
    try:
        limits.restrict()
        if how == SHOWN:
            _show(Policy.from_json(command.pop(0)))
        elif how != LIMITS:
            confine(Policy.from_json(how), command)
        become_program(command)
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]} in the sandbox: {error}\n")
        sys.exit(NOT_STARTED)


def confine(policy: Policy, command: list[str]) -> NoReturn:
    """Confine this process and those it starts, for good, and become the server.  Raises `OSError`."""
    here = os.getcwd()  # noqa: PTH109

    def restrict_and_become() -> NoReturn:
        os.chdir(here)
        limits.drop_privileges()
        if landlock.abi() or not policy.is_inside:
            landlock.restrict(policy)
        system_calls.restrict(policy)
        become_program(command)

    if policy.is_inside:
        seen = _enter(policy)
    elif policy.is_apart:
        namespaces.enter(namespaces.NETWORK)
    if policy.is_apart:
        network.furnish()
        network.hand_over_packets(policy.tap)
    if policy.is_inside:
        run_inside(policy.life, lambda: _prepare(seen), restrict_and_become)
    restrict_and_become()


def _enter(policy: Policy) -> View:
    """Enter all namespaces, as another user if the policy says so.  Raises `OSError`."""
    kinds = INSIDE | (namespaces.NETWORK if policy.is_apart else 0)
    if not policy.is_other:
        namespaces.enter(kinds)
        return View(policy)
    with namespaces.owned_by(OTHER_USER) as users:
        seen = View(policy, users)
    namespaces.become_other(OTHER_USER)
    namespaces.enter(kinds, shown=0)
    return seen


def _show(policy: Policy) -> None:
    """Show the files of a policy at their paths as another user's, to what root starts.  Raises `OSError`."""
    with namespaces.owned_by(OTHER_USER) as users:
        seen = View(policy, users)
    unshare(namespaces.MOUNTS)
    seen.stay()


def _prepare(seen: View) -> None:
    """Prepare the namespaces, in their first process.  Raises `OSError`."""
    namespaces.forbid_more()
    seen.enter()


# What works here ---------------------------------------------------------------------------------


def _works(what: Callable[[], None]) -> str:
    """Return why something does not work in a process of its own; empty if it does."""
    ours, theirs = os.pipe()
    if os.fork() == 0:
        try:
            what()
        except OSError as error:
            os.write(theirs, str(error).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8") as reason:  # noqa: PTH123
        return reason.read()


def _enter_network() -> None:
    namespaces.enter(namespaces.NETWORK)
    network.furnish()


def _enter_all(folder: str, *, is_other: bool) -> None:
    seen = _enter(Policy(write=(folder,), is_apart=True, is_other=is_other))
    network.furnish()

    def prepare() -> None:
        _prepare(seen)

    # The first child is the first process of the new namespace.
    if reason := _works(prepare):
        raise OSError(reason)
