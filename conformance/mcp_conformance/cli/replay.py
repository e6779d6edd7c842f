"""The command ``mcp-conformance replay``: send a transcript to the server again, and compare the answers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace

from mcp_conformance.cli.arguments import UsageError, expect_no_more, given_options, usage_errors
from mcp_conformance.client.replaying import ReplayStep, replay
from mcp_conformance.client.transcript import Transcript
from mcp_conformance.options.given import Chosen
from mcp_conformance.options.run_options import (
    expect_no_gap,
    given_headers,
    given_variables,
    sandbox,
    setting_values,
)
from mcp_conformance.options.table import read
from mcp_conformance.protocol.text import named, shorten
from mcp_conformance.sandbox.layer import Layer
from mcp_conformance.tap.conversation import part
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.files import BadFile
from mcp_conformance.transport.http.server import DEFAULT_PATH, server_of
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.transport.throwaway import throwaway_folder
from mcp_conformance.world.folder import Folder
from mcp_conformance.world.naming import Places
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.success import leaves_of

COPY = re.compile(r"\bexample[0-9a-f]{4}-")
"""How the name of a copy begins (`Ownership.text`)."""


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print each line sent and the answers; return 1 if an answer differs."""
    expect_no_more(rest)
    try:
        with usage_errors("replay"):
            return _replay(options, command)
    except (CannotStart, OSError) as error:
        raise UsageError(f"replay: {options.file}: {error}") from error


def _replay(options: argparse.Namespace, command: Sequence[str] | None) -> int:
    chosen = Chosen(given_options(options, "replay"), None, "--")
    values = {**setting_values(chosen), "env": given_variables(chosen)}
    headers = given_headers(chosen)
    transcript = Transcript.read(options.file)
    if transcript.is_redacted and not command:
        raise BadFile(
            f"{options.file}: credentials are left out of its command: give the server's command after --"
        )
    words = tuple(command or transcript.command)
    expect_no_gap(chosen, words)
    http = server_of(words, chosen.text("http-path") or DEFAULT_PATH, headers)
    settings = Settings(words, **values, http=http, sandbox=sandbox(chosen, http))
    if not chosen.has("sandbox") and not (http is not None and http.url):
        settings = replace(settings, layer=Layer(read(chosen, "allow-write", ())))
    redact = settings.redaction
    _print(f"{named(redact(transcript.about), 300)} ({named(transcript.revision)})")
    differences = 0
    with throwaway_folder() as throwaway, closing(http) if http is not None else nullcontext():
        inside = settings.within(throwaway)
        moved = transcript.moved(str(inside.folder.root.parent)) if inside.folder is not None else transcript
        process = inside.start()
        if not chosen.has("sandbox") and not inside.holds_writes:
            expect_nothing_taken(moved, inside)
        if inside.folder is not None:
            make_copies(inside.folder, moved)
        for step in replay(moved, process, settings.timeout):
            differences += step.differs
            _print(*_lines(redact(step)))
    _print(f"{differences} answers differ from the transcript" if differences else "the answers are the same")
    return 1 if differences else 0


def expect_nothing_taken(transcript: Transcript, settings: Settings) -> None:
    """Raise `UsageError` if a call in a transcript names what is there, and nothing holds the server.

    Others may have made the file.
    """
    folder = settings.throwaway.root if settings.throwaway is not None else None
    ours = Ours(folders=(str(folder),) if folder is not None else ())
    places = Places((settings.here, *((settings.cwd,) if settings.cwd is not None else ())))
    for line in transcript.lines:
        for message in line.parts() if line.sent else ():
            params = part(message, "params") if part(message, "method") == "tools/call" else None
            if taken := next(places.taken(part(params, "arguments"), ours), ""):
                raise UsageError(
                    f"replay: it gives the tool {named(str(part(params, 'name')))} what is there already "
                    f"({named(taken)}), and nothing holds the server here: --sandbox none sends it"
                )


def make_copies(folder: Folder, transcript: Transcript) -> None:
    """Make the copies of files that the run had made for its calls: their names begin with its own text."""
    sent = [line for line in transcript.lines if line.sent]
    texts = [text for line in sent for text in leaves_of(line.message)]
    for mark in {mark for line in sent for mark in COPY.findall(line.text)}:
        folder.make_copies(texts, mark)


def _lines(step: ReplayStep) -> Iterator[str]:
    yield f"> {shorten(step.line.text)}"
    now = shorten(step.now.text) if step.now is not None else f"({step.fault})"
    if not step.differs:
        yield f"= {now}"
        return
    yield f"- {shorten(step.then.text) if step.then is not None else '(no answer)'}"
    yield f"+ {now}"


def _print(*lines: str) -> None:
    for line in lines:
        print(line)  # noqa: T201
