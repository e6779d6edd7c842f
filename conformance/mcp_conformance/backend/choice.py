"""What the user chose with ``--backend``: how the API of the server behaves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_conformance.backend.sickness import BY_NAME, SICKNESSES, Sickness
from mcp_conformance.installation import how_to_install
from mcp_conformance.protocol.text import did_you_mean
from mcp_conformance.sandbox.policy import Unavailable
from mcp_conformance.transport.redaction import Redaction

if TYPE_CHECKING:
    from mcp_conformance.backend.backend import Backend
    from mcp_conformance.backend.exchange import Api

INVENTORY, SICK = "inventory", "sick"
RECORD, REPLAY = "record=", "replay="
KINDS = (INVENTORY, SICK, *BY_NAME)
PACKAGES = ("trustme", "h11")


@dataclass(frozen=True)
class Choice:
    """What the user chose: the ``sicknesses``, and a file to ``record`` the real API in or to ``replay``."""

    sicknesses: tuple[Sickness, ...] = ()
    record: Path | None = None
    replay: Path | None = None


def choice(text: str, path: Callable[[str], Path] = Path) -> Choice:
    """Return what a text chooses; ``path`` makes a path of a file's name.  Raises `ValueError`."""
    if text.startswith(RECORD):
        file = path(text.removeprefix(RECORD))
        if not file.parent.is_dir() or file.is_dir():
            raise ValueError(f"{file}: no file can be written there")
        return Choice(record=file)
    if not text.startswith(REPLAY):
        return Choice(sicknesses(text))
    name, _, names = text.removeprefix(REPLAY).partition(",")
    return Choice(sicknesses(names or INVENTORY), replay=path(name))


def sicknesses(text: str) -> tuple[Sickness, ...]:
    """Return the sicknesses that a text names, none for `INVENTORY`.  Raises `ValueError`."""
    names = [one.strip() for one in text.split(",")]
    for name in names:
        if name not in KINDS or (name == INVENTORY and len(names) > 1):
            near = did_you_mean(name, KINDS)
            raise ValueError(
                f"{INVENTORY}, {SICK}, some of {', '.join(BY_NAME)}, {RECORD}FILE or {REPLAY}FILE is "
                f"expected, not {text!r}{near}"
            )
    if SICK in names:
        return SICKNESSES
    return tuple(BY_NAME[name] for name in dict.fromkeys(names) if name != INVENTORY)


def backend(
    chosen: Choice, given: Redaction | None = None, sources: Mapping[str, Redaction] | None = None
) -> Backend:
    """Return the network in which each host is this process.

    ``given`` finds the credentials that the user gave, ``sources`` do for each variable and header.  Raises
    `Unavailable`, and `ValueError` for a file that is not HAR.
    """
    if sys.platform != "linux":
        raise Unavailable(f"it needs Linux, not {sys.platform}")
    if any(find_spec(name) is None for name in PACKAGES):
        raise Unavailable(f"it needs two more packages: {how_to_install('backend')}")
    # Only a run with this option pays for it.
    from mcp_conformance.backend.backend import Backend, obstacle  # noqa: PLC0415
    from mcp_conformance.backend.cleaning import Cleaner  # noqa: PLC0415
    from mcp_conformance.backend.record import Recorder, load  # noqa: PLC0415
    from mcp_conformance.backend.replay import Replayer  # noqa: PLC0415

    if reason := obstacle():
        raise Unavailable(reason)
    given = given or Redaction(())
    api: Api | None = None
    if chosen.record is not None:
        if chosen.record.exists():
            load(chosen.record)
        api = Recorder(chosen.record, Cleaner(given, sources))
    elif chosen.replay is not None:
        api = Replayer(load(chosen.replay).exchanges, chosen.replay.name)
    return Backend(chosen.sicknesses, api, given.of_names.finds)
