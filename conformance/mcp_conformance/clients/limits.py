"""The limits of clients, read from one file for each client, and what of a server is beyond them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

from mcp_conformance.json_schema.regex import search
from mcp_conformance.json_schema.subschemas import subschemas
from mcp_conformance.protocol.text import did_you_mean
from mcp_conformance.protocol.value import Value

FOLDER, ENDING, ALL = "mcp_conformance.clients", ".toml", "all"
DIRECTORY = "directory-"
"""How the names of those begin that are directories of servers: what they demand is for a submission."""


class UnknownClient(ValueError):  # noqa: N818  (an error of the user, in one line)
    """A name that no client has."""


@dataclass(frozen=True)
class Limit:
    """A limit of a client: its ``kind``, with a ``value`` if that has one, and what happens beyond it.

    ``seen`` is the day of the newest ``evidence``, links to reports of it.
    """

    client: str
    kind: str
    effect: str
    seen: date
    evidence: tuple[str, ...]
    value: Any = None

    @property
    def accepts(self) -> str:
        """What the client accepts, in words."""
        joint = " or " if self.kind.startswith("widget-") else ", "
        value = joint.join(self.value) if isinstance(self.value, list) else self.value
        return KINDS[self.kind].accepts.format(value)

    def __str__(self) -> str:
        return f"{self.client}, as seen on {self.seen}: {self.effect} ({self.evidence[0]})"


@cache
def clients() -> Mapping[str, tuple[Limit, ...]]:
    """Return the limits of each client, by the name that ``--client`` takes."""
    paths = sorted(files(FOLDER).iterdir(), key=lambda path: path.name)
    return {
        path.name.removesuffix(ENDING): _limits(path.read_text(encoding="utf-8"))
        for path in paths
        if path.name.endswith(ENDING)
    }


def _limits(text: str) -> tuple[Limit, ...]:
    found = tomllib.loads(text)
    return tuple(
        Limit(found["name"], **{**row, "evidence": tuple(row["evidence"])}) for row in found["limit"]
    )


def chosen(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the chosen clients, each once; all are those that are no directories.

    Raises `UnknownClient`.
    """
    all_clients = [name for name in clients() if not name.startswith(DIRECTORY)]
    wanted = dict.fromkeys(one for name in names for one in (all_clients if name == ALL else [name]))
    for name in wanted:
        if name not in clients():
            near = did_you_mean(name, (*clients(), ALL)) or f"; there are {', '.join(clients())} and {ALL}"
            raise UnknownClient(f"no client {name!r} is known{near}")
    return tuple(wanted)


def limits_of(names: Iterable[str], kind: str) -> list[Limit]:
    """Return the limits of one kind that these clients have."""
    return [limit for name in names for limit in clients()[name] if limit.kind == kind]


# What is beyond a limit --------------------------------------------------------------------------


def beyond(limit: Limit, subjects: Sequence[Value]) -> Iterator[Value]:
    """Yield the parts of the subjects of a limit, such as the definitions of tools, that are beyond it."""
    yield from KINDS[limit.kind].beyond(subjects, limit.value)


def _names(tools: Sequence[Value]) -> Iterator[Value]:
    for tool in tools:
        name = tool.get("name")
        if name is not None and name.is_a(str):
            yield name


def _schemas(tools: Sequence[Value]) -> Iterator[Value]:
    for tool in tools:
        schema = tool.get("inputSchema")
        if schema is not None and schema.is_a(dict):
            yield schema


def _parts(tools: Sequence[Value]) -> Iterator[Value]:
    """Yield each part of the schemas, but not of ``additionalProperties``, which many hosts remove."""
    for schema in _schemas(tools):
        yield from (part.value for part in subschemas(schema) if "additionalProperties" not in part.way)


def _members(value: Value, names: Iterable[str]) -> Iterator[Value]:
    yield from (found for name in names if (found := value.get(name)) is not None)


def _wrong_names(tools: Sequence[Value], pattern: str) -> Iterator[Value]:
    yield from (name for name in _names(tools) if not search(pattern, name.json))


def _long_names(tools: Sequence[Value], most: int) -> Iterator[Value]:
    yield from (name for name in _names(tools) if len(name.json) > most)


def _wrong_properties(tools: Sequence[Value], pattern: str) -> Iterator[Value]:
    for schema in _schemas(tools):
        properties = schema.get("properties")
        if properties is not None and properties.is_a(dict):
            yield from _members(properties, [name for name in properties.json if not search(pattern, name)])


def _top_keywords(tools: Sequence[Value], refused: Sequence[str]) -> Iterator[Value]:
    for schema in _schemas(tools):
        yield from _members(schema, refused)


def _keywords(tools: Sequence[Value], refused: Sequence[str]) -> Iterator[Value]:
    for part in _parts(tools):
        yield from _members(part, refused)


def _arrays_without_items(tools: Sequence[Value], _: None) -> Iterator[Value]:
    for part in _parts(tools):
        if part.json.get("type") == "array" and not {"items", "prefixItems"} & set(part.json):
            yield part


def _formats(tools: Sequence[Value], accepted: Sequence[str]) -> Iterator[Value]:
    for part in _parts(tools):
        found = part.get("format")
        if found is not None and "string" in _types(part) and found.is_a(str) and found.json not in accepted:
            yield found


def _types(part: Value) -> list[Any]:
    types = part.json.get("type")
    return types if isinstance(types, list) else [types]


def _several_types(tools: Sequence[Value], _: None) -> Iterator[Value]:
    for part in _parts(tools):
        if isinstance(part.json.get("type"), list):
            yield from _members(part, ["type"])


def _other_dialects(tools: Sequence[Value], accepted: str) -> Iterator[Value]:
    for tool in tools:
        schema = tool.get("outputSchema")
        named = schema.get("$schema") if schema is not None and schema.is_a(dict) else None
        if named is not None and named.is_a(str) and named.json.rstrip("#") != accepted:
            yield named


def _untitled(tools: Sequence[Value], _: None) -> Iterator[Value]:
    yield from (tool for tool in tools if not (tool.json.get("title") or _annotations(tool).get("title")))


def _undescribed(tools: Sequence[Value], _: None) -> Iterator[Value]:
    yield from (tool for tool in tools if not str(tool.json.get("description") or "").strip())


def _without_any_hint(tools: Sequence[Value], hints: Sequence[str]) -> Iterator[Value]:
    yield from (tool for tool in tools if not any(_is_hinted(tool, one) for one in hints))


def _without_a_hint(tools: Sequence[Value], hints: Sequence[str]) -> Iterator[Value]:
    yield from (tool for tool in tools if not all(_is_hinted(tool, one) for one in hints))


def _is_hinted(tool: Value, hint: str) -> bool:
    return isinstance(_annotations(tool).get(hint), bool)


def _annotations(tool: Value) -> Mapping[str, Any]:
    found = tool.json.get("annotations")
    return found if isinstance(found, dict) else {}


def _too_many(tools: Sequence[Value], most: int) -> Iterator[Value]:
    yield from tools[most : most + 1]


def _without(interfaces: Sequence[Value], ways: Sequence[str]) -> Iterator[Value]:
    yield from (one for one in interfaces if not any(one.get("_meta", *way.split(".")) for way in ways))


def _other_domains(interfaces: Sequence[Value], pattern: str) -> Iterator[Value]:
    for one in interfaces:
        domain = one.get("_meta", "ui", "domain")
        if domain is not None and domain.is_a(str) and not search(pattern, domain.json):
            yield domain


def _long_results(results: Sequence[Value], most: int) -> Iterator[Value]:
    for one in results:
        content = one.get("content")
        blocks = content.each() if content is not None and content.is_a(list) else ()
        texts = (block.json.get("text") for block in blocks if block.is_a(dict))
        length = sum(len(text) for text in texts if isinstance(text, str))
        if length > most:
            yield Value(length, f"{one.path}.content.text.length", one.lines)


@dataclass(frozen=True)
class Kind:
    """A kind of limits: what is within one, in words with a place for its value, and the search beyond it.

    The search gets its ``subjects``: the definitions of tools, the interfaces of tools (MCP Apps) as hosts
    see them, or the results of calls.
    """

    accepts: str
    beyond: Callable[[Sequence[Value], Any], Iterator[Value]]
    subjects: str = "tools"


KINDS: Mapping[str, Kind] = {
    "tool-name": Kind("names of tools that match {}", _wrong_names),
    "name-length": Kind("names of tools with at most {} characters", _long_names),
    "property-name": Kind("names of outermost properties that match {}", _wrong_properties),
    "top-keyword": Kind("an outermost input schema without {}", _top_keywords),
    "keyword": Kind("input schemas without {}", _keywords),
    "array-items": Kind("items in each array of an input schema", _arrays_without_items),
    "format": Kind("no format of a string in an input schema but {}", _formats),
    "one-type": Kind("one type in each part of an input schema, not a list of types", _several_types),
    "tool-count": Kind("at most {} tools", _too_many),
    "output-dialect": Kind("no dialect of an output schema but {}", _other_dialects),
    "title": Kind("a title of each tool", _untitled),
    "description": Kind("a description of each tool", _undescribed),
    "any-hint": Kind("one of the annotations {} of each tool", _without_any_hint),
    "each-hint": Kind("the annotations {} of each tool", _without_a_hint),
    "widget-csp": Kind("{} in _meta of each interface", _without, "interfaces"),
    "widget-domain": Kind("{} in _meta of each interface", _without, "interfaces"),
    "domain-pattern": Kind("no domain of an interface but one that matches {}", _other_domains, "interfaces"),
    "result-length": Kind("at most {} characters of text in a result", _long_results, "results"),
}
"""The kinds of limits; the rule of each is ``client.`` and its name."""
