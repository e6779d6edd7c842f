"""Limits of clients: each has its evidence, and what is beyond it is found in a tool's definition."""

import re
from datetime import date

import pytest

from mcp_conformance.clients.limits import KINDS, UnknownClient, beyond, chosen, clients, limits_of
from mcp_conformance.options.table import BY_NAME
from mcp_conformance.protocol.value import Value
from mcp_conformance.requirements import catalogue

LIMITS = [limit for limits in clients().values() for limit in limits]
LINK = re.compile(r"https://(github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+|claude\.com/docs/[\w/-]+)")
PLAIN = {
    "name": "a",
    "description": "Return a.",
    "annotations": {"title": "A", "readOnlyHint": True, "openWorldHint": False, "destructiveHint": False},
    "inputSchema": {"type": "object", "properties": {"b": {"type": "string"}}},
    "_meta": {"ui": {"csp": {}, "domain": "a9.claudemcpcontent.com"}},
    "content": [{"type": "text", "text": "a" * 100_000}, {"type": "image", "data": "a" * 100_000}],
    "outputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema#", "type": "object"},
}


def tool(name="a", **schema):
    return {"name": name, "inputSchema": {"type": "object", **schema}}


def found(kind, *tools, client="all"):
    """Return the paths of what is beyond the limits of one kind."""
    definitions = [Value(one, f"tools[{number}]") for number, one in enumerate(tools)]
    limits = limits_of(chosen([client]), kind)
    return {part.path for limit in limits for part in beyond(limit, definitions)}


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: f"{limit.client}-{limit.kind}")
def test_a_limit_has_evidence_and_a_date(limit):
    assert limit.evidence
    assert all(LINK.fullmatch(url) for url in limit.evidence)
    assert date(2025, 1, 1) < limit.seen < date.today()
    assert "{}" not in limit.accepts
    assert not list(beyond(limit, [Value(PLAIN, "tools[0]")]))


def test_a_client_has_one_limit_of_a_kind_and_each_kind_has_a_rule():
    assert all(len({one.kind for one in limits}) == len(limits) for limits in clients().values())
    assert {f"client.{kind}" for kind in KINDS} == catalogue.select("client")
    assert set(KINDS) == {limit.kind for limit in LIMITS}


@pytest.mark.parametrize(
    ("kind", "right", "wrong", "where"),
    [
        ("tool-name", "a_B-9", "a.b", "tools[0].name"),
        ("tool-name", "a" * 64, "a" * 65, "tools[0].name"),
        ("name-length", "a" * 59, "a" * 60, "tools[0].name"),
    ],
)
def test_a_name_beyond_a_limit_is_found(kind, right, wrong, where):
    assert found(kind, tool(right)) == set()
    assert found(kind, tool(wrong)) == {where}


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("property-name", {"a.b": {"properties": {"c d": {}}}}, {"a b": {}}),
        ("keyword", {"const": {"minimum": 1}}, {"a": {"items": {"const": 1}}}),
        (
            "format",
            {"format": {"type": "string", "format": "date"}, "a": {"type": "integer", "format": "int32"}},
            {"a": {"items": {"type": ["string", "null"], "format": "uri"}}},
        ),
        ("one-type", {"type": {"type": "string"}}, {"a": {"items": {"type": ["string", "null"]}}}),
        ("array-items", {"a": {"type": "array", "prefixItems": []}}, {"a": {"anyOf": [{"type": "array"}]}}),
    ],
)
def test_a_schema_beyond_a_limit_is_found(kind, right, wrong):
    assert found(kind, tool(properties=right)) == set()
    assert len(found(kind, tool(properties=wrong))) == 1


def test_alternatives_are_refused_only_at_the_top():
    assert found("top-keyword", tool(properties={"a": {"anyOf": [{}]}})) == set()
    assert found("top-keyword", tool(anyOf=[{}])) == {"tools[0].inputSchema.anyOf"}


def test_one_tool_too_many_is_found():
    assert found("tool-count", *[PLAIN] * 128) == set()
    assert found("tool-count", *[PLAIN] * 200) == {"tools[128]"}


def test_only_the_chosen_clients_count():
    assert found("tool-name", tool("a.b"), client="gemini") == set()
    with pytest.raises(UnknownClient, match="did you mean cursor"):
        chosen(["cursr"])


def test_what_hosts_remove_does_not_count():
    assert found("keyword", tool(additionalProperties={"const": 1})) == set()


def test_the_help_names_each_client():
    help_ = BY_NAME["client"].full_help
    assert help_.endswith(f": {', '.join([*clients(), 'all'])}")


@pytest.mark.parametrize(
    ("kind", "client", "changes", "where"),
    [
        (
            *("output-dialect", "claude"),
            {"outputSchema": {"$schema": "http://json-schema.org/draft-07/schema#"}},
            "tools[0].outputSchema.$schema",
        ),
        ("output-dialect", "claude", {"outputSchema": {}}, ""),
        ("top-keyword", "claude", {"inputSchema": {"type": "object", "not": {}}}, "tools[0].inputSchema.not"),
        ("title", "directory-claude", {"annotations": {}}, "tools[0]"),
        ("title", "directory-claude", {"annotations": {}, "title": "A"}, ""),
        ("description", "directory-claude", {"description": " "}, "tools[0]"),
        ("any-hint", "directory-claude", {"annotations": {"destructiveHint": False}}, ""),
        ("any-hint", "directory-claude", {"annotations": {"openWorldHint": True}}, "tools[0]"),
        ("widget-csp", "directory-openai", {"_meta": {"ui": {"domain": "a"}}}, "tools[0]"),
        ("widget-csp", "directory-openai", {"_meta": {"openai/widgetCSP": {"connect_domains": []}}}, ""),
        ("widget-domain", "directory-openai", {"_meta": {"ui": {"csp": {}}}}, "tools[0]"),
        ("widget-domain", "directory-openai", {"_meta": {"openai/widgetDomain": "https://a.b"}}, ""),
        ("domain-pattern", "claude", {"_meta": {"ui": {"domain": "a.b"}}}, "tools[0]._meta.ui.domain"),
        ("domain-pattern", "claude", {"_meta": {"ui": {}}}, ""),
        ("result-length", "claude", {"content": [{"text": "a" * 75_000}] * 2}, ""),
        (
            "result-length",
            "claude",
            {"content": [{"text": "a" * 75_001}] * 2},
            "tools[0].content.text.length",
        ),
        ("each-hint", "directory-openai", {"annotations": {"readOnlyHint": True}}, "tools[0]"),
    ],
)
def test_a_definition_beyond_a_limit_is_found(kind, client, changes, where):
    assert found(kind, PLAIN | changes, client=client) == ({where} if where else set())


def test_directories_are_asked_for_by_name():
    assert not [name for name in chosen(["all"]) if name.startswith("directory-")]
    assert chosen(["directory-openai"]) == ("directory-openai",)
