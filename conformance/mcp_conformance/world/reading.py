"""Reading: the search for arguments with which a prompt, or a resource template, is answered.

Both only read.  Each is taken for a tool that says so, and that takes texts: what is known of tools'
arguments holds for theirs, and values that were found are allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from mcp_conformance.client.refusals import asks_client, complaint_about_network
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.protocol.uri import variables
from mcp_conformance.protocol.value import Value
from mcp_conformance.world.attempts import Attempts
from mcp_conformance.world.filling import Filling
from mcp_conformance.world.known import Known, Origin, is_worth_knowing
from mcp_conformance.world.members import members_of
from mcp_conformance.world.worked import values_at
from mcp_conformance.world.world import World

# Not measured: a tool may get 30 calls.  A prompt has one or two arguments, and all of them are texts.
MAX_READS = 8
"""The most requests of one prompt or template."""
PLAIN = ("example", "1")
"""What an argument is when nothing is known of it: a text, then one that is also a number."""
MAX_HINTED, MAX_FITTING = 2, 3
"""How many of these are what refusals hint at, and how many the values that fit best, before all others."""
PROMPT, TEMPLATE = "prompts/get", "resources/read"
"""How the names of tools begin that stand for these."""
DESCRIBED = re.compile(r"\b(?:id|identifier|uuid|name|number|key|path|uri|url|title|slug)\b", re.IGNORECASE)
"""What a description says of a thing: `note`, "the id of the note", takes what `note_id` or `id` takes."""
RANK = 4
"""A completion is about this very argument."""

Fetch = Callable[[dict[str, Any]], Reply]
"""Sends the request for a prompt, or for an expansion of a template, with these arguments."""


def prompt_as_tool(prompt: Any) -> Tool:
    """Return a listed prompt as a tool that only reads."""
    listed = prompt.get("arguments") if isinstance(prompt, Mapping) else None
    arguments = {
        one["name"]: one
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, Mapping) and isinstance(one.get("name"), str)
    }
    required = [name for name, one in arguments.items() if one.get("required") is True]
    return _as_tool(f"{PROMPT} {prompt.get('name')}", prompt, arguments, required)


def template_as_tool(template: Any) -> Tool:
    """Return a listed resource template as a tool that only reads; its variables are the arguments."""
    names = variables(template["uriTemplate"])
    return _as_tool(f"{TEMPLATE} {template['uriTemplate']}", template, {name: {} for name in names}, names)


def _as_tool(
    name: str, listed: Mapping[str, Any], arguments: Mapping[str, Mapping[str, Any]], required: Sequence[str]
) -> Tool:
    described = {
        name: {key: one[key] for key in ("title", "description") if isinstance(one.get(key), str)}
        for name, one in arguments.items()
    }
    schema = {
        "type": "object",
        "properties": {name: {"type": "string", **words} for name, words in described.items()},
        "required": list(required),
    }
    words = listed.get("description")
    definition = {
        "name": name,
        "description": words if isinstance(words, str) else "",
        "inputSchema": schema,
        "annotations": {"readOnlyHint": True},
    }
    return Tool(Value(definition))


class Search:
    """The search for arguments of one prompt or template.

    ``replies`` are those so far, ``best`` is the first that is a result, None before it.
    """

    def __init__(self, tool: Tool, revision: str, world: World, fetch: Fetch):
        self.tool, self.world = tool, world
        self.replies: list[Reply] = []
        self.best: Reply | None = None
        self._revision, self._fetch = revision, fetch
        self._members = members_of(tool.input_schema)
        self._filling = Filling(tool.input_schema, revision)
        self._attempts = Attempts(tool, revision, world)
        self._sent: dict[bytes, None] = {}
        self._completed: Mapping[str, Sequence[str]] = {}

    def begin(self, completed: Mapping[str, Sequence[str]]) -> None:
        """Try what worked before, then the likeliest values, then made-up ones.

        ``completed`` are the values that the server completes, by the name of the argument: they exist.
        """
        self._completed = completed
        self.world.add(known for name in completed for known in self._completions(name))
        tries = [dict(one) for one in self.world.working(self.tool, self._revision)[:1]]
        tries.append(self._known_arguments(0))
        self._try_all([*tries, self._plain(PLAIN[0])])

    def go_on(self) -> None:
        """Try other values: what became known since, what the refusals hint at, and what fits less well."""
        self._try_all([self._known_arguments(0)])
        if any(self._attempts.refused.hints.values()):
            self._try_attempts(MAX_HINTED)
        self._try_all(self._known_arguments(place) for place in range(1, MAX_FITTING))
        self._try_all([self._plain(PLAIN[1])])
        self._try_attempts(MAX_READS)
        if self.best is None:
            self.world.given_up[self.tool.name] = ""

    def _try_attempts(self, most: int) -> None:
        for _ in range(most):
            attempt = None if self.is_over else self._attempts.next()
            if attempt is None:
                return
            self._try(attempt.arguments, attempt.known)

    @property
    def answer(self) -> Reply:
        """The first result; if there is none, the refusal of made-up arguments, or the first of all."""
        if self.best is not None:
            return self.best
        plain = encode(self._plain(PLAIN[0]))
        place = list(self._sent).index(plain) if plain in self._sent else 0
        return self.replies[place]

    @property
    def is_over(self) -> bool:
        """Whether other arguments lead nowhere, or are not needed."""
        if not self.replies:
            return False
        last = self.replies[-1]
        is_enough = self.best is not None or not self._members or len(self.replies) >= MAX_READS
        return is_enough or last.fault is not None or asks_client(last) or bool(complaint_about_network(last))

    @property
    def may_go_on(self) -> bool:
        """Whether more arguments are worth a try; not in a second revision if none worked in the first."""
        return not self.is_over and self.tool.name not in self.world.given_up

    def _try_all(self, some: Iterable[dict[str, Any]]) -> None:
        for arguments in some:
            if not self.is_over and encode(arguments) not in self._sent:
                self._try(arguments, self._known_in(arguments))

    def _try(self, arguments: dict[str, Any], known: Mapping[tuple[str, ...], Known]) -> None:
        self._sent[encode(arguments)] = None
        self._attempts.skip(arguments)
        reply = self._fetch(arguments)
        self.replies.append(reply)
        if reply.value is not None and not reply.needs_input:
            self.best = reply
            if known:
                self.world.learn_success(Call(self.tool, arguments, reply), known)
        elif not self.is_over:
            self._attempts.refused.learn(arguments, known, reply)

    def _known_arguments(self, place: int) -> dict[str, Any]:
        """Return arguments with known values, of each the completed one at this place if there are some."""
        arguments = self._plain(PLAIN[0])
        for member in self._members:
            found = self._options(member.name)
            if found:
                arguments[member.name] = found[min(place, len(found) - 1)].value
        return arguments

    def _options(self, name: str) -> list[Known]:
        """Return the values for an argument: those that are completed, then those that fit."""
        member = next(one for one in self._members if one.name == name)
        said = DESCRIBED.search(member.description)
        names = [f"{name}_{said[0].lower()}", said[0].lower()] if said is not None else []
        alike = [*(replace(member, path=(each,)) for each in names), member]
        fits = [self.world.fits(self.tool, like, self._filling) for like in alike]
        in_turn = [one for some in zip_longest(*fits) for one in some if one is not None]
        found: dict[bytes, Known] = {}
        for one in [*self._completions(name), *in_turn]:
            found.setdefault(encode(one.value), one)
        return list(found.values())

    def _completions(self, name: str) -> Iterator[Known]:
        ours, origin = self.world.ownership.ours, Origin("a completion of", self.tool.name)
        for value in self._completed.get(name, ()):
            if is_worth_knowing(value) and not ours.is_secret(value, (name,)):
                yield Known(value, (name,), origin, ours.owner(value), RANK)

    def _known_in(self, arguments: Mapping[str, Any]) -> dict[tuple[str, ...], Known]:
        """Return the known values in arguments, by the path of their member."""
        options = {one.path: self._options(one.name) for one in self._members}
        return {
            path: one
            for path, found in options.items()
            for one in found
            if values_at(arguments, path) == [one.value]
        }

    def _plain(self, text: str) -> dict[str, Any]:
        return {one.name: text for one in self._members}
