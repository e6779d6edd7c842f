"""The cause that lies in the sandbox of the server, if the user chose one."""

from __future__ import annotations

from mcp_conformance.doctor.diagnosis import Cause, Diagnosis, all_output, command_line
from mcp_conformance.doctor.observations import Observations
from mcp_conformance.protocol.text import named


def refused_by_sandbox(seen: Observations) -> Diagnosis | None:
    """Detect a server that reports something which the sandbox refused to it.

    The server is not started without the sandbox to see: the user does not trust it.
    """
    sandbox = seen.settings.sandbox
    if sandbox is None or seen.first.is_open:
        return None
    refusal = sandbox.refusal(all_output(seen.first))
    if refusal is None:
        return None
    line = named(refusal.line, 300)
    cause = f"The server did not start in the sandbox ({sandbox.kind}), which refused: {line}."
    if not refusal.option:
        return Diagnosis(cause, ("a process in the sandbox has limits that no option lifts",))
    advice = (
        f"if the server may do that: {refusal.option} (or --allow-write PATH, to write)"
        if refusal.option.startswith("--allow-read")
        else f"if the server may do that: {refusal.option}"
    )
    return Diagnosis(cause, (advice, command_line(seen, "run", *refusal.option.split(" ", 1))))


CAUSES: tuple[Cause, ...] = (refused_by_sandbox,)
