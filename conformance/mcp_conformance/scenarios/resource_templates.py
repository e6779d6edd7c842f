"""Resource templates: URIs that they expand to, and the replies to reading those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_conformance.client.reply import Reply
from mcp_conformance.expect import exercised
from mcp_conformance.protocol.uri import expand, is_template, matches, variables
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.completion import MAX_VALUES, completed_values
from mcp_conformance.target.completions import CONTEXT_SINCE
from mcp_conformance.target.fetches import MAX_READS
from mcp_conformance.target.server import Server

MAX_TEMPLATES = 5


@dataclass(frozen=True)
class Expansion:
    """A URI that a template expands to, and the reply to reading it.

    ``exists``: the server itself completed the template to this URI, each variable in the context of those
    before it.
    """

    template: Value
    uri: str
    exists: bool
    reply: Reply


def expansions(server: Server) -> list[Expansion]:
    """Read some URIs of each listed template, once: with values that the server completes, or listed."""
    found = [item for item in server.listed("resources/templates/list") if _is_expandable(item)]
    rows = [
        (template, uri, exists)
        for template in found[:MAX_TEMPLATES]
        for uri, exists in _uris_of(server, template.json["uriTemplate"])
    ]
    return exercised(lambda row: Expansion(*row, server.read(row[1])), rows)


def _uris_of(server: Server, template: str) -> list[tuple[str, bool]]:
    known = {name: completed_values(server, template, name) for name in variables(template)}
    rows = [
        {name: values[at % len(values)] for name, values in known.items()}
        for at in range(max(map(len, known.values())))
        if all(known.values())
    ]
    expanded = {expand(template, row): len(known) == 1 for row in rows}
    expanded.update((expand(template, row), True) for row in _related_rows(server, template, known))
    listed = [uri.json for uri in members(server.listed("resources/list"), "uri") if uri.is_a(str)]
    matching = [uri for uri in listed[:MAX_READS] if matches(template, uri)]
    return [*expanded.items(), *((uri, False) for uri in matching[:MAX_VALUES] if uri not in expanded)]


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
