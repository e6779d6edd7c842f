"""Causes why a server does not start: each is a function, and the first that matches is reported."""

from __future__ import annotations

from mcp_conformance.doctor.causes import confinement, exits, framing, handshake, launch
from mcp_conformance.doctor.diagnosis import Cause, Diagnosis
from mcp_conformance.doctor.observations import AttemptResult, Observations
from mcp_conformance.doctor.program import find_program
from mcp_conformance.target.settings import Settings

CAUSES: tuple[Cause, ...] = (
    *(*launch.CAUSES, *framing.CAUSES, *handshake.CAUSES),
    *(*confinement.CAUSES, *exits.CAUSES),
)
"""All causes in the order of evaluation; the last one always matches."""


def diagnose(seen: Observations) -> Diagnosis:
    """Return the diagnosis of the first cause that matches."""
    return next(found for cause in CAUSES if (found := cause(seen)) is not None)


def why_not_started(settings: Settings, refused: str) -> str:
    """Return why the system refused to start a command, and what to do, in one line."""
    found = diagnose(Observations(settings, find_program(settings), AttemptResult(refused=refused)))
    advice = f" ({'; or '.join(found.advice)})" if found.advice else ""
    return f"{found.cause.removesuffix('.')}{advice}"
