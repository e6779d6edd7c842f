"""Resource templates: URIs that they expand to, and the replies to reading those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.refusals import NO_SUCH_URI, words
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.thrown import INTERNAL_ERROR
from mcp_conformance.expect import exercised
from mcp_conformance.protocol.uri import NETWORK_SCHEMES, expand, is_template, matches, scheme, variables
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.completion import MAX_VALUES, completed_values
from mcp_conformance.target.completions import CONTEXT_SINCE
from mcp_conformance.target.fetches import MAX_READS
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS
from mcp_conformance.world.reading import template_as_tool

MAX_TEMPLATES = 5
MIN_TRIED = 3
"""How many values are refused, at least, before a template seems to lead nowhere."""


SHOWN = "a URI that the server shows"
COMPLETED, VOUCHED = "a value the server completes", "a value that the user vouches for (--example)"
ORIGINS = {COMPLETED: "a completion", VOUCHED: "--example"}
"""Where the values of expansions come from, as reports say it."""


@dataclass(frozen=True)
class Expansion:
    """A URI that a template expands to, and the reply to reading it.

    ``shown_by`` says what shows that the resource exists, empty if nothing does: the server itself completed
    the template to this URI, each variable in the context of those before it, or one of its tools that only
    read links to it, or the user vouches for it.
    """

    template: Value
    uri: str
    shown_by: str
    reply: Reply

    @property
    def exists(self) -> bool:
        """Whether it is known that the resource exists."""
        return bool(self.shown_by)


def expansions(server: Server) -> list[Expansion]:
    """Read some URIs of each listed template, once.

    Their values are completed by the server, listed, or given by the user; if there are none that exist, the
    answers of tools link to them, or they are tried.
    """
    found = [item for item in server.listed("resources/templates/list") if _is_expandable(item)]
    return [one for template in found[:MAX_TEMPLATES] for one in _expansions_of(server, template)]


def _expansions_of(server: Server, template: Value) -> list[Expansion]:
    uris = _uris_of(server, template.json["uriTemplate"])
    found = exercised(lambda row: Expansion(template, *row, server.read(row[0])), uris)
    if not any(map(_is_judged, found)):
        links = _links_to(server, template).items()
        found += exercised(lambda link: _linked(server, template, *link), [*links][:MAX_VALUES])
    for one in found:
        server.fetches.note_expansion(template, one.reply, ORIGINS.get(one.shown_by, SHOWN))
    if not any(map(_is_judged, found)) and scheme(template.json["uriTemplate"]) not in NETWORK_SCHEMES:
        tried = {_uri_of(reply): reply for reply in server.fetches.expansions(template)}
        found += [Expansion(template, uri, "", reply) for uri, reply in tried.items()]
    return found


def _is_judged(one: Expansion) -> bool:
    """Return whether a read shows if the template leads anywhere: it worked, or it had to."""
    return one.exists or one.reply.value is not None


def _uri_of(reply: Reply) -> str:
    uri: str = reply.request.message["params"]["uri"]
    return uri


def unrouted(server: Server, found: Sequence[Expansion]) -> Expansion | None:
    """Return an expansion of a template all of which fail, or are refused like a URI that is not known.

    They are several, of values that need not exist: it is likely, not certain, that none can be read.  A
    template of several variables is left out, as their values need not exist together.
    """
    by_template: dict[str, list[Expansion]] = {}
    for one in found:
        by_template.setdefault(one.template.json["uriTemplate"], []).append(one)
    for template, some in by_template.items():
        is_simple = len(variables(template)) == 1 and not matches(template, NO_SUCH_URI)
        if is_simple and len(some) >= MIN_TRIED:
            unknown = words(server.read(NO_SUCH_URI))
            is_refused = all(one.reply.error is not None and _refusal(one) == unknown for one in some)
            if is_refused or all(one.reply.code == INTERNAL_ERROR for one in some):
                return some[0]
    return None


def _refusal(one: Expansion) -> str:
    return words(one.reply).replace(one.uri, NO_SUCH_URI)


# URIs that the server shows


def _links_to(server: Server, template: Value) -> dict[str, Reply | None]:
    """Return URIs in answers of tools that match a template, each with the answer that links to it, if any.

    A URI in a text is no link: what it names may not exist any more, or not yet.
    """
    pattern = template.json["uriTemplate"]
    if not scheme(pattern):
        return {}
    server.tool_calls.begin()
    found: dict[str, Reply | None] = {}
    for reply in server.tool_calls.answered():
        found.update({uri: reply for uri in _links_in(reply) if matches(pattern, uri)})
    known = (one.value for one in server.arguments.world.store.permitted(template_as_tool(template.json)))
    texts = [one for one in known if isinstance(one, str) and matches(pattern, one)]
    return {**found, **{uri: None for uri in texts if uri not in found}}


def _links_in(reply: Reply) -> list[str]:
    blocks = [block for content in members([reply.value or Value({})], "content") for block in content.each()]
    uris = [*members(blocks, "uri"), *members(blocks, "resource", "uri")]
    return [uri.json for uri in uris if uri.is_a(str)]


def _linked(server: Server, template: Value, uri: str, answer: Reply | None) -> Expansion:
    """Read a URI that an answer names; if it can't be read, see whether the answer still links to it."""
    reply = server.read(uri)
    if reply.error is None or answer is None:
        return Expansion(template, uri, "", reply)
    params = answer.request.message["params"]
    tool = server.tool(params["name"])
    if tool is None or not tool.read_only:
        return Expansion(template, uri, "", reply)
    is_linked, again = _linked_again(server, uri, tool.name, answer)
    return Expansion(template, uri, f"which {tool.name} links to" if is_linked else "", again)


@scenario
def _linked_again(server: Server, uri: str, tool: str, answer: Reply) -> tuple[bool, Reply]:
    """Make a call again, then read a URI; return whether the answer links to it, and the second reply."""
    session = server.shared(CALLS)
    arguments = answer.request.message["params"].get("arguments", {})
    call = session.request("tools/call", {"name": tool, "arguments": arguments})
    return uri in _links_in(call), session.request("resources/read", {"uri": uri})


# URIs with values that the server or the user gives


def _uris_of(server: Server, template: str) -> list[tuple[str, str]]:
    """Return URIs, each with what shows that it exists."""
    vouched = {expand(template, _texts(values)): VOUCHED for values in server.settings.vouched(template)}
    known = {name: completed_values(server, template, name) for name in variables(template)}
    rows = [
        {name: values[at % len(values)] for name, values in known.items()}
        for at in range(max(map(len, known.values())))
        if all(known.values())
    ]
    expanded = {expand(template, row): COMPLETED if len(known) == 1 else "" for row in rows}
    related = _related_rows(server, template, known)
    expanded.update((expand(template, row), COMPLETED) for row in related)
    listed = [uri.json for uri in members(server.listed("resources/list"), "uri") if uri.is_a(str)]
    matching = [uri for uri in listed[:MAX_READS] if matches(template, uri)]
    return [*(dict.fromkeys(matching[:MAX_VALUES], "") | expanded | vouched).items()]


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


def _related_rows(
    server: Server, template: str, known: Mapping[str, tuple[str, ...]]
) -> list[dict[str, str]]:
    """Return values of several variables that the server completes for one another.

    A server may ignore the context of a completion; then its values need not exist together.
    """
    first, *others = known
    if not others or not known[first] or server.revision < CONTEXT_SINCE:
        return []
    rows = [{first: known[first][0]}]
    for name in others:
        values = completed_values(server, template, name, tuple(rows[0].items()))
        if not values or values == known[name]:
            return []
        rows = [{**rows[0], name: value} for value in values]
    return rows


def is_templated(server: Server, uri: str) -> bool:
    """Return whether a listed template could expand to a URI."""
    patterns = members(server.listed("resources/templates/list"), "uriTemplate")
    return any(pattern.is_a(str) and matches(pattern.json, uri) for pattern in patterns)


def _is_expandable(template: Value) -> bool:
    text = template.get("uriTemplate")
    return text is not None and text.is_a(str) and is_template(text.json) and variables(text.json) != []
