"""What the user chose with ``--backend``: how the API of the server behaves."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mcp_conformance.backend.sickness import BY_NAME, SICKNESSES, Sickness
from mcp_conformance.protocol.text import did_you_mean
from mcp_conformance.sandbox.policy import Unavailable

if TYPE_CHECKING:
    from mcp_conformance.backend.backend import Backend

INVENTORY, SICK = "inventory", "sick"
KINDS = (INVENTORY, SICK, *BY_NAME)
PACKAGES = ("trustme", "h11")
INSTALL = "pip install 'pytest-mcp-conformance[backend]'"


def sicknesses(text: str) -> tuple[Sickness, ...]:
    """Return the sicknesses that a text names, none for `INVENTORY`.  Raises `ValueError`."""
    names = [one.strip() for one in text.split(",")]
    for name in names:
        if name not in KINDS or (name == INVENTORY and len(names) > 1):
            near = did_you_mean(name, KINDS)
            raise ValueError(
                f"{INVENTORY}, {SICK}, or some of {', '.join(BY_NAME)} is expected, not {text!r}{near}"
            )
    if SICK in names:
        return SICKNESSES
    return tuple(BY_NAME[name] for name in dict.fromkeys(names) if name != INVENTORY)


def backend(chosen: tuple[Sickness, ...]) -> Backend:
    """Return the network in which each host is this process.  Raises `Unavailable`."""
    if sys.platform != "linux":
        raise Unavailable(f"it needs Linux, not {sys.platform}")
    if any(find_spec(name) is None for name in PACKAGES):
        raise Unavailable(f"it needs two more packages: {INSTALL}")
    # Only a run with this option pays for it.
    from mcp_conformance.backend.backend import Backend, obstacle  # noqa: PLC0415

    if reason := obstacle():
        raise Unavailable(reason)
    return Backend(chosen)
