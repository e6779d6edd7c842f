"""The probe of the server that the user chose, whose refusals name the options that cause them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from mcp_conformance.client.session import Session
from mcp_conformance.options.given import BadOption
from mcp_conformance.options.run_options import RunOptions
from mcp_conformance.protocol.text import named
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import Subject
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.transport.machine import machine_fault

MAX_REASON = 1000
"""The most characters of a reason that may quote the server."""


def probed(options: RunOptions, settings: Settings, begun: Sequence[Session] = ()) -> Subject:
    """Return the server in each revision wanted; the first sessions may have ``begun`` already.

    Raises `BadOption` for an error of the user, `CannotStart` for a fault of the machine.
    """
    try:
        subject = probe_all(settings, options.revisions, begun)
    except CannotStart as error:
        if machine_fault(error):
            raise
        from mcp_conformance.doctor.causes import why_not_started  # noqa: PLC0415  (only such a server needs it)

        raise BadOption(settings.redaction.text(why_not_started(settings, str(error)))) from error
    if not subject.live:
        from mcp_conformance.doctor.of_probe import explained  # noqa: PLC0415

        subject = explained(subject)
    if wrong := _user_error(options, subject):
        subject.close()
        raise BadOption(settings.redaction(wrong))
    return subject


def _user_error(options: RunOptions, subject: Subject) -> str:
    """Return what is wrong with the user's options for this server; empty if nothing is."""
    shown = options.chosen.shown
    if all(surface.refused for surface in subject.surfaces):
        asked = ", ".join(surface.revision for surface in subject.surfaces)
        offered = named(subject.surfaces[0].refused)
        return f"{shown('revision')}: the server does not speak {asked}; it offers {offered}"
    if rejection := subject.rejection:
        return f"the server {rejection}"
    if wrong := subject.error_in_samples():
        return f"{shown('example')}: {named(wrong, MAX_REASON)}"
    if unknown := _unmatched_choice(subject):
        return f"{shown('tool')}: the server has no tool {named(unknown)!r} (list-tools shows what it has)"
    unmatched = subject.unmatched_pattern()
    return f"{shown('call')}: {named(unmatched, MAX_REASON)}" if unmatched else ""


def _unmatched_choice(subject: Subject) -> str:
    """Return a name in ``--tool`` that no listed tool has; empty if each has one, or if it can't be said."""
    settings, live = subject.settings, subject.live
    is_cut = settings.not_tools or any(len(one.tools) >= settings.max_tools for one in live)
    if not live or is_cut or any(one.failures for one in live):
        return ""
    names = [tool.name for one in live for tool in one.tools]
    unmatched = (one for one in settings.only_tools if not any(fnmatchcase(name, one) for name in names))
    return next(unmatched, "")
