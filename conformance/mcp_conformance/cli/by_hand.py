"""The commands ``call``, ``list-tools``, ``read`` and ``prompt``: one request by hand, and its answer."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_conformance.cli.arguments import UsageError, chosen_by, expect_no_more, require_server, usage_errors
from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Tool, call_in
from mcp_conformance.generation import NoExample, example
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors
from mcp_conformance.options.probing import probed
from mcp_conformance.options.readers import NO_FILE
from mcp_conformance.options.run_options import read_options
from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.protocol.text import did_you_mean, first_names, harmless, named, shorten
from mcp_conformance.protocol.wire_schema import SERVER, conversation_errors
from mcp_conformance.report.exit_status import FAILED, PASSED
from mcp_conformance.target.arguments import Arguments
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import Surface
from mcp_conformance.target.world import world_of
from mcp_conformance.transport.throwaway import throwaway_folder
from mcp_conformance.world.reading import prompt_as_tool

MAX_LINE, MAX_ERROR = 2000, 600
"""How many characters of a line of the wire, and of a broken rule, are shown."""


@dataclass(frozen=True)
class Opened:
    """A server with an open ``session`` in the newest revision that it speaks.

    ``before`` is how many of its lines were there before the user's request.
    """

    settings: Settings
    surface: Surface
    session: Session
    options: argparse.Namespace
    before: int

    def show(self, text: str) -> None:
        """Print a part of the answer to stdout."""
        print(harmless(self.settings.redaction.text(text)))  # noqa: T201

    def say(self, text: str, most: int = MAX_ERROR) -> None:
        """Print what is no part of the answer to stderr, without credentials, and at most so much of it."""
        print(shorten(self.settings.redaction.text(text), most), file=sys.stderr)  # noqa: T201

    def end(self, reply: Reply, broken: Sequence[str] = ()) -> int:
        """Print an answer, the rules that it breaks, and how long it took; return the exit status."""
        if reply.result is not ABSENT:
            for text in [_pretty(reply.result)] if self.options.json else _texts(reply.result):
                self.show(text)
        failed = reply.result is ABSENT or reply.is_tool_error
        what = "isError" if reply.is_tool_error else "answered" if not failed else str(reply)
        status = self.judge(broken)
        self.say(f"{what} in {reply.seconds:.3f} s")
        return FAILED if failed else status

    def judge(self, broken: Sequence[str] = ()) -> int:
        """Print what the conversation breaks, with ``--verbose`` also its lines; return the exit status."""
        if self.options.verbose:
            for line in self.session.lines[self.before :]:
                self.say(f"{'>' if line.sent else '<'} {line.text}", MAX_LINE)
        errors = conversation_errors(self.session.lines, self.session.revision, SERVER)
        broken = [*broken, *(f"{error.rule}: {error}" for _, error in errors)]
        for text in broken:
            self.say(f"broken rule: {text}")
        return FAILED if broken else PASSED


def call(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Call a tool with the given arguments, else with those that worked before, else with the plainest."""
    given = _given(options.arguments, "call")

    def ask(server: Opened) -> int:
        tool = _chosen_tool(server, options.name)
        revision = server.session.revision
        arguments = _known(server, tool) if given is None else given
        for error in _errors(arguments, tool.input_schema, revision):
            server.say(f"these arguments break the inputSchema: {error}")
        reply = call_in(server.session, tool, arguments).reply
        return server.end(reply, _broken_promises(tool, reply, revision))

    return _with_server(options, rest, command, "call", ask)


def list_tools(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print each tool with its members and the first line of its description."""

    def ask(server: Opened) -> int:
        if options.json:
            server.show(_pretty([tool.definition.json for tool in server.surface.tools]))
        else:
            for tool in server.surface.tools:
                server.show(_summary(tool))
        if not server.surface.tools:
            server.say("the server lists no tools")
        return server.judge([f"{one.requirement}: {one.reason}" for one in server.surface.failures])

    return _with_server(options, rest, command, "list-tools", ask)


def read(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Read a resource."""
    return _with_server(
        options,
        rest,
        command,
        "read",
        lambda server: server.end(server.session.request("resources/read", {"uri": options.name})),
    )


def prompt(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Fetch a prompt with the given arguments, else with made-up texts for those that it requires."""
    given = _given(options.arguments, "prompt")

    def ask(server: Opened) -> int:
        params = {"name": options.name, "arguments": given}
        if given is None:
            listed = fetch_list(server.session, "prompts/list", "prompts")
            found = [one.json for one in listed.items if one.json.get("name") == options.name]
            if not found:
                raise UsageError(f"prompt: {_missing('prompt', options.name, listed.identifiers())}")
            params["arguments"] = example(prompt_as_tool(found[0]).input_schema, server.session.revision)
            server.say(f"{named(options.name)} {json.dumps(params['arguments'])}")
        return server.end(server.session.request("prompts/get", params))

    return _with_server(options, rest, command, "prompt", ask)


def _with_server(
    options: argparse.Namespace,
    rest: Sequence[str],
    command: list[str] | None,
    name: str,
    ask: Callable[[Opened], int],
) -> int:
    """Start the server, open a session in its newest revision, and return what ``ask`` does with it."""
    expect_no_more(rest)
    server = require_server(options, command, name, f"{name} ... [options]")
    with usage_errors(name), throwaway_folder() as throwaway:
        chosen = read_options(chosen_by(options, server, name).having("contract", NO_FILE))
        settings = chosen.settings.within(throwaway)
        subject = probed(chosen, settings)
        try:
            if not subject.live:
                reasons = [one.reason for surface in subject.surfaces for one in surface.failures]
                raise UsageError(settings.redaction.text(f"{name}: {reasons[0]}"))
            surface = subject.live[-1]
            session = subject.take_session(surface.revision)
            subject.end_sessions()
            assert session is not None
            try:
                before = 0 if name == "list-tools" else len(session.lines)
                return ask(Opened(settings, surface, session, options, before))
            finally:
                session.close()
        finally:
            subject.close()


def _given(text: str | None, name: str) -> dict[str, Any] | None:
    """Return the arguments that the user wrote, ``-`` for stdin; None if there are none."""
    if text is None:
        return None
    try:
        found = json.loads(sys.stdin.read() if text == "-" else text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: the arguments are no JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f'{name}: the arguments are a JSON object, such as \'{{"name": "value"}}\'')
    return found


# What is asked ---------------------------------------------------------------------------------------


def _chosen_tool(server: Opened, name: str) -> Tool:
    """Return the tool of that name.  Raises `UsageError` if the server lists none."""
    tools = {tool.name: tool for tool in server.surface.tools}
    if name not in tools:
        raise UsageError(f"call: {_missing('tool', name, list(tools))}")
    return tools[name]


def _missing(what: str, name: str, known: Sequence[str]) -> str:
    near = did_you_mean(name, known)
    has = near or (f"; it has {first_names(known)}" if known else "")
    return named(f"the server lists no {what} {name!r}{has}", MAX_ERROR)


def _known(server: Opened, tool: Tool) -> dict[str, Any]:
    """Return arguments that the user vouches for, that worked in an earlier run, or the plainest ones."""
    world = world_of(server.settings)
    world.recall(server.surface.tools)
    arguments = Arguments(server.settings, server.session.revision, world)
    try:
        found = arguments.valid(tool)
    except NoExample as error:
        raise UsageError(f"call: no arguments can be made up for {named(tool.name)}: {error}") from error
    origins = ", ".join(arguments.origins(tool, found)) or "made up"
    server.say(f"{named(tool.name)} {json.dumps(found)} ({origins})", MAX_LINE)
    return found


# What is shown ---------------------------------------------------------------------------------------


def _broken_promises(tool: Tool, reply: Reply, revision: str) -> list[str]:
    """Return how a result breaks the tool's output schema."""
    schema = tool.output_schema
    if schema is None or not isinstance(reply.result, dict) or reply.is_tool_error:
        return []
    if "structuredContent" not in reply.result:
        return ["tools.structured.present: no structuredContent, though the tool has an outputSchema"]
    errors = _errors(reply.result["structuredContent"], schema.json, revision)
    return [f"tools.structured.conforms: {error}" for error in errors]


def _errors(instance: Any, schema: Any, revision: str) -> list[str]:
    """Return the errors of a value under a schema; none if they cannot be judged."""
    try:
        return instance_errors(instance, schema, revision)
    except Unjudgeable:
        return []


def _texts(result: Any) -> Iterator[str]:
    """Yield the texts of a result, those of messages with their role; else all of it as JSON."""
    found = result if isinstance(result, dict) else {}
    blocks = [(block, "") for block in found.get("content") or found.get("contents") or ()]
    blocks += [(one.get("content"), f"{one.get('role')}: ") for one in found.get("messages") or ()]
    if blocks and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one, _ in blocks):
        yield from (f"{role}{one['text']}" for one, role in blocks)
    else:
        yield _pretty(result)


def _summary(tool: Tool) -> str:
    """Return a line for a tool: its name, its members with ``?`` if optional, what it says."""
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    required = schema.get("required") or ()
    described = tool.definition.json.get("description")
    first = described.strip().partition("\n")[0] if isinstance(described, str) else ""
    names = (name if name in required else f"{name}?" for name in schema.get("properties") or ())
    return named(f"{tool.name}({', '.join(names)})  {first}".rstrip(), MAX_ERROR)


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
