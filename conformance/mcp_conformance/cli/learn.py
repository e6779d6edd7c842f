"""The command ``mcp-conformance learn``: arguments with which tools work, and what they make for others."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_conformance.cli.arguments import (
    UsageError,
    chosen_by,
    configuration,
    expect_no_more,
    require_server,
    usage_errors,
)
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Tool, call_in
from mcp_conformance.options.probing import probed
from mcp_conformance.options.readers import NO_FILE
from mcp_conformance.options.run_options import read_options
from mcp_conformance.project.examples import example_lines, write_examples
from mcp_conformance.protocol.text import named, shell_line, shorten
from mcp_conformance.report.build import interfaces
from mcp_conformance.report.exit_status import FAILED, PASSED
from mcp_conformance.report.model import plural
from mcp_conformance.report.text import server_lines
from mcp_conformance.report.tool_links import ToolLink, dot, link_lines, tool_links
from mcp_conformance.state.learning import Learner
from mcp_conformance.state.uses import uses_of
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import Subject
from mcp_conformance.transport.throwaway import throwaway_folder
from mcp_conformance.transport.writing import write_named
from mcp_conformance.verdicts import Blocked, Finding, Skipped
from mcp_conformance.world.ownership import is_deleting
from mcp_conformance.world.success import is_success
from mcp_conformance.world.wording import said

MAX_NAME, MAX_REFUSAL = 40, 120
"""How many characters of a tool's name, and of a refusal, stand in a line of the table."""


@dataclass(frozen=True)
class Learned:
    """What was learned of a tool: whether it ``works``, with which ``arguments``, after how many ``calls``.

    ``is_new`` says that these are others than the plainest ones.  ``reason`` is why the tool was not called,
    or what it said last.
    """

    tool: Tool
    calls: int
    works: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_new: bool = False
    origins: Sequence[str] = ()
    reason: str = ""


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print a table and the examples; return 0 if a tool works, else 1."""
    expect_no_more(rest)
    server = require_server(options, command, "learn", "learn [options]")
    file = configuration("learn") if options.write else None
    if options.write and (command or options.url or options.config or file is None):
        raise UsageError("learn: --write needs a server in a configuration: mcp-conformance init writes one")
    with usage_errors("learn"):
        chosen = read_options(chosen_by(options, server, "learn").having("contract", NO_FILE))
        with throwaway_folder() as throwaway:
            settings = chosen.settings.within(throwaway)
            subject = probed(chosen, settings)
            _print(server_lines(interfaces(subject)))
            with _server(subject) as tested:
                learned = [] if tested is None else [_of_tool(tested, tool) for tool in tested.tools]
                links = () if tested is None else _links(tested)
        lasting = list(_lasting(chosen.settings, subject, learned))
    redact = settings.redaction
    _print(redact(list(_table(learned))))
    _print_links(redact(links), options.graph)
    examples = redact([f"{one.tool.name} {json.dumps(one.arguments)}" for one in lasting])
    if file is not None and examples:
        _write(file.path, str(server), examples)
    elif examples:
        _print(["", *(shell_line(["--example", one]) for one in examples)])
    return PASSED if any(one.works for one in learned) else FAILED


@contextmanager
def _server(subject: Subject) -> Iterator[Server | None]:
    """Give the server in the newest revision that it speaks, its tools explored; None if it speaks none."""
    reasons = [one.reason for surface in subject.surfaces for one in surface.failures]
    _print(subject.settings.redaction(reasons))
    server = Server.of(subject, subject.live[-1].revision) if subject.live else None
    subject.close()
    if server is None:
        yield None
        return
    server.arguments.world.retry()
    server.tool_calls.begin()
    try:
        yield server
    finally:
        server.close()


def _links(server: Server) -> tuple[ToolLink, ...]:
    """Return which tools make what others use; none if no tool may write."""
    tools = server.state.workables()
    if not server.state.may_write() or all(one.tool.read_only for one in tools):
        return ()
    learned = Learner(server.state.workshop(server.state.session(), "noise"), tools).learn()
    return tool_links(uses_of(learned, tools))


def _print_links(links: Sequence[ToolLink], graph: Path | None) -> None:
    """Print which tools make what others use, and write that to a file for Graphviz if one is named."""
    if links:
        _print(
            [
                "",
                "what makes something, and what others do with it:",
                *(f"  {line}" for line in link_lines(links)),
            ]
        )
    if graph is not None:
        try:
            write_named(graph, f"{dot(links)}\n")
        except OSError as error:
            raise UsageError(f"learn: {graph}: {error.strerror}") from error
        _print([f"wrote {graph}"])


def _lasting(settings: Settings, subject: Subject, learned: Iterable[Learned]) -> Iterator[Learned]:
    """Yield the tools whose arguments work in a new process in a new folder: these are worth writing down.

    The plainest arguments need not be written down, and others may be gone with the process or its folder.
    """
    # What takes something away comes last: other arguments may need it.
    new = sorted((one for one in learned if one.is_new), key=lambda one: is_deleting(one.tool))
    if not new:
        return
    with throwaway_folder() as throwaway:
        elsewhere = settings.within(throwaway)
        revision = subject.live[-1].revision
        session = Session(elsewhere.start(), revision=revision, timeout=settings.timeout)
        try:
            session.open(settings.start_timeout)
            for one in new:
                arguments = elsewhere.folder.filled(one.arguments) if elsewhere.folder else one.arguments
                if is_success(call_in(session, one.tool, dict(arguments)).reply):
                    yield one
        finally:
            session.close()


def _of_tool(server: Server, tool: Tool) -> Learned:
    """Return what was learned of a tool."""
    exercise = server.tool_calls.exercise.get(tool.name)
    calls = exercise.calls if exercise is not None else 0
    try:
        call = server.call(tool)
    except (Skipped, Blocked, Finding) as reason:
        return Learned(tool, calls, reason=str(reason))
    shown = server.settings.folder.shown if server.settings.folder is not None else copy
    if exercise is None or not exercise.successes:
        nearest, last = exercise and exercise.nearest, call.with_others[-1].reply
        answer = nearest.answer if nearest else said(last)[0] or str(last)
        lacks = f"lacks {nearest.lacks}: " if nearest and nearest.lacks else ""
        return Learned(tool, calls, reason=shown(f"{lacks}{answer}" if lacks else f"refuses: {answer}"))
    is_new = call.arguments != server.arguments.plainest(tool)
    return Learned(tool, calls, True, shown(call.arguments), is_new, exercise.origins)


def _table(learned: Iterable[Learned]) -> Iterator[str]:
    """Yield a line for each tool, those that work first."""
    rows = sorted(learned, key=lambda one: not one.works)
    width = min(MAX_NAME, max((len(one.tool.name) for one in rows), default=0))
    for one in rows:
        what = f"from {', '.join(one.origins)}" if one.works else shorten(one.reason, MAX_REFUSAL)
        name = named(one.tool.name, width)
        yield f"{'works' if one.works else '-':<6} {name:<{width}} {one.calls:>4}  {what}"
    works = sum(one.works for one in rows)
    yield f"{works} of {plural(len(rows), 'tool')} work, after {sum(one.calls for one in rows)} calls"


def _write(path: Path, server: str, examples: Sequence[str]) -> None:
    """Write the examples to the configuration, or print them for the user to write."""
    try:
        is_written = write_examples(path, server, examples)
    except OSError as error:
        raise UsageError(f"learn: {path}: {error.strerror}") from error
    if is_written:
        _print([f"wrote {plural(len(examples), 'example')} to {path}"])
    else:
        _print([f"{path} has examples already, or another form: add these by hand", *example_lines(examples)])


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(named(line, 2000), flush=True)  # noqa: T201
