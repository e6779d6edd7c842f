"""Resource templates: the URIs they stand for, and what became of reading those."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.client.reply import Reply
from conformance.protocol.uri import expand, is_template, matches, variables
from conformance.protocol.value import Value, members
from conformance.scenarios.completion import MOST_VALUES, completed
from conformance.target.server import MAX_READS, Server, exercised

MOST_TEMPLATES = 5


@dataclass(frozen=True)
class Expansion:
    """A URI that a template stands for, and what became of reading it.

    ``sure``: the server itself completed the only variable of the template to this URI, so it is there.
    """

    template: Value
    uri: str
    sure: bool
    reply: Reply


def expansions(server: Server) -> list[Expansion]:
    """Some URIs that the listed templates stand for, read once: completed by the server, or listed."""
    found = [item for item in server.listed("resources/templates/list") if _is_expandable(item)]
    pairs = [
        (template, uri, sure)
        for template in found[:MOST_TEMPLATES]
        for uri, sure in _uris_of(server, template.json["uriTemplate"])
    ]
    return exercised(lambda pair: Expansion(*pair, server.read(pair[1])), pairs)


def _uris_of(server: Server, template: str) -> list[tuple[str, bool]]:
    known = {name: completed(server, template, name) for name in variables(template)}
    rows = [
        {name: values[at % len(values)] for name, values in known.items()}
        for at in range(max(map(len, known.values())))
        if all(known.values())
    ]
    made = {expand(template, row): len(known) == 1 for row in rows}
    listed = [uri.json for uri in members(server.listed("resources/list"), "uri") if uri.is_a(str)]
    fitting = [uri for uri in listed[:MAX_READS] if matches(template, uri)]
    return [*made.items(), *((uri, False) for uri in fitting[:MOST_VALUES] if uri not in made)]


def is_templated(server: Server, uri: str) -> bool:
    """Whether a listed template could stand for a URI."""
    patterns = members(server.listed("resources/templates/list"), "uriTemplate")
    return any(pattern.is_a(str) and matches(pattern.json, uri) for pattern in patterns)


def _is_expandable(template: Value) -> bool:
    text = template.get("uriTemplate")
    return text is not None and text.is_a(str) and is_template(text.json) and variables(text.json) != []
