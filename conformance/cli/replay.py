"""What ``mcp-conformance replay`` does and shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from conformance.client.transcript import BadTranscript, Step, Transcript, replay
from conformance.protocol.text import named, shorten
from conformance.target.settings import Settings
from conformance.transport.process_tree import end_run
from conformance.transport.sandbox import Sandbox


def replayed(
    file: Path, command: Sequence[str] | None, cwd: Path | None, timeout: float
) -> Iterator[tuple[str, bool]]:
    """Send a transcript again, to ``command`` or the server it names: what to show, and whether it differs.

    Raises `BadTranscript`, `CannotStart` and `OSError`.
    """
    transcript = Transcript.read(file)
    if transcript.is_redacted and not command:
        raise BadTranscript("credentials were left out of its command: give the server's command behind --")
    settings = Settings(tuple(command or transcript.command), cwd=cwd, timeout=timeout)
    sandbox = Sandbox()
    try:
        yield f"{named(transcript.about, 300)} ({named(transcript.revision)})", False
        process = replace(settings, sandbox=sandbox).start()
        differences = 0
        for step in replay(transcript, process, timeout):
            differences += step.differs
            yield from ((line, False) for line in _shown(step))
        yield (
            f"{differences} answers differ from the transcript"
            if differences
            else "the answers are the same",
            (differences > 0),
        )
    finally:
        end_run()
        sandbox.remove()


def _shown(step: Step) -> Iterator[str]:
    yield f"> {shorten(step.line.text)}"
    now = shorten(step.now.text) if step.now is not None else f"({step.fault})"
    if not step.differs:
        yield f"= {now}"
        return
    yield f"- {shorten(step.then.text) if step.then is not None else '(no answer)'}"
    yield f"+ {now}"
