"""Causes why a server does not start: each is a function, and the first that matches is reported."""

from __future__ import annotations

from mcp_conformance.doctor.causes import confinement, exits, framing, handshake, launch
from mcp_conformance.doctor.diagnosis import Cause, Diagnosis
from mcp_conformance.doctor.observations import Observations

CAUSES: tuple[Cause, ...] = (
    *(*launch.CAUSES, *framing.CAUSES, *handshake.CAUSES),
    *(*confinement.CAUSES, *exits.CAUSES),
)
"""All causes in the order of evaluation; the last one always matches."""


def diagnose(seen: Observations) -> Diagnosis:
    """Return the diagnosis of the first cause that matches."""
    return next(found for cause in CAUSES if (found := cause(seen)) is not None)
