"""The member `_meta`, which any message may have (spec: basic, "General fields")."""

from __future__ import annotations

import re

import pytest

from mcp_conformance.expect import expect, expect_each, is_object, require_answer, require_some
from mcp_conformance.protocol.jsonrpc import Kind, show
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.revisions import is_modern
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.client_features import FULL_CLIENT, run_with_client
from mcp_conformance.scenarios.log_messages import logging_requests
from mcp_conformance.scenarios.subscriptions import trigger_notifications
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.verdicts import Finding

LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
PREFIX = re.compile(rf"{LABEL}(?:\.{LABEL})*")
NAME = re.compile("(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
COMMON_DOMAINS = ("com", "org", "net", "io", "dev", "edu")
OTHER_DOMAINS = ("ai", "app", "biz", "cloud", "gov", "info", "int", "mil", "tech", "xyz")
MAX_ITEM_LENGTH = 100_000
RESERVED = ("modelcontextprotocol", "mcp")
DEFINED = {
    f"io.modelcontextprotocol/{name}"
    for name in (
        "related-task",
        "model-immediate-response",
        "serverInfo",
        "subscriptionId",
        "protocolVersion",
        "clientInfo",
        "clientCapabilities",
        "logLevel",
    )
}
WORD, OCTETS = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", r"[!#-+\--:<-\[\]-~]*"
STATE = re.compile(r"[a-z0-9][a-z0-9_*/@-]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]")
BAGGAGE = re.compile(rf"{WORD}\s*=\s*{OCTETS}(\s*;\s*{WORD}(\s*=\s*{OCTETS})?)*")
UNKNOWN = {"com.example/conformance": {"a": [1]}, "conformance": "unknown"}
WITH_AND_WITHOUT = ({}, {"_meta": UNKNOWN}, {}, {}, {"_meta": UNKNOWN})
"""The params of five requests; a list that differs every second time does not look as if these matter."""


@pytest.mark.requirement("meta.object")
def test_meta_of_the_servers_own_messages_is_an_object(server):
    messages = all_messages(server, Kind.NOTIFICATION, Kind.REQUEST)
    messages += [one for session in server.sessions for one in session.received.requests("roots/list")]
    found = members(messages, "params", "_meta")
    require_some(found, skip="no notification and no request of the server has _meta")
    expect_each(found, is_object, "an object")


@pytest.mark.requirement("meta.key-prefix")
def test_the_prefix_of_a_key_consists_of_labels(server):
    expected = "labels with dots between them, each beginning with a letter"
    expect_each(require_prefixed(server), lambda key: PREFIX.fullmatch(prefix_of(key)) is not None, expected)


@pytest.mark.requirement("meta.key-name")
def test_the_name_of_a_key_consists_of_letters_and_digits(server):
    found = require_some(keys(server), skip="nothing that came has _meta with a key")
    expected = "a name that begins and ends with a letter or a digit, and has but those, - _ and . in between"
    expect_each(found, lambda key: NAME.fullmatch(name_of(key)) is not None, expected)


@pytest.mark.requirement("meta.reverse-dns")
def test_the_prefix_of_a_key_begins_with_the_top_level_domain(server):
    expect_each(require_prefixed(server), lambda key: not is_forward(prefix_of(key)), "such as com.example/")


@pytest.mark.requirement("meta.reserved-prefix")
def test_a_key_with_a_reserved_prefix_is_defined(server, revision):
    found = [key for key in require_prefixed(server) if is_reserved(prefix_of(key.json), revision)]
    expect_each(found, lambda key: key in DEFINED, "a key that MCP defines, as its prefix is reserved")


@pytest.mark.requirement("meta.unknown-request-keys")
def test_unknown_keys_of_a_request_are_ignored(server, session):
    for method in require_some(server.served_lists(), skip="no list is declared and served"):
        replies = [require_answer(session.request(method, params)) for params in WITH_AND_WITHOUT]
        before, other, *between, again = (listed(method, reply) for reply in replies)
        is_steady = all(one == before for one in between)
        if before is not None and is_steady and before not in (other, again):
            expected = "the same answer as without unknown keys in _meta"
            raise Finding(expected, str(replies[1]), replies[1].lines)


@pytest.mark.requirement("meta.trace-context-format")
def test_trace_context_has_the_format_of_w3c(server):
    found = [(key, value) for meta in metas(server) for key in TRACES for value in members([meta], key)]
    for key, value in require_some(found, skip="nothing that came has a traceparent, tracestate or baggage"):
        expect(value, value.is_a(str) and TRACES[key](value.json), f"a {key} as W3C has it")


def is_traceparent(text: str) -> bool:
    """Return whether a text is a traceparent."""
    version, trace, parent, flags, *more = (*text.split("-"), "", "", "")
    sizes = [len(part) for part in (version, trace, parent, flags)]
    is_hex = re.fullmatch("[0-9a-f]*", version + trace + parent + flags) is not None
    is_known = version != "ff" and set(trace) != {"0"} != set(parent)
    return sizes == [2, 32, 16, 2] and is_hex and is_known and (version != "00" or not any(more))


def is_list_of(pattern):
    """Return a predicate: is a text a list of these with commas between them, empty ones allowed?"""
    return lambda text: all(pattern.fullmatch(part.strip()) for part in text.split(",") if part.strip())


TRACES = {"traceparent": is_traceparent, "tracestate": is_list_of(STATE), "baggage": is_list_of(BAGGAGE)}


def all_messages(server, *kinds):
    """Make the server send requests, logs and notifications; return all messages of these kinds."""
    exercise_everything(server)
    run_with_client(server, FULL_CLIENT)
    if is_modern(server.revision):
        logging_requests(server)
        trigger_notifications(server)
    return server.received(*kinds)


def metas(server):
    """Return every `_meta` object at a place that the protocol defines."""
    messages = all_messages(server)
    bodies = [*members(messages, "params"), *members(messages, "result")]
    listed = items(bodies, *(member for _, member in LISTS.values()), "contents")
    speeches = items(bodies, "messages")
    blocks = [*items([*bodies, *speeches], "content"), *members(speeches, "content")]
    found = members([*bodies, *listed, *speeches, *blocks, *members(blocks, "resource")], "_meta")
    return [meta for meta in found if meta.is_a(dict)]


def items(values, *names):
    """Return the items of the arrays that the values have under these names."""
    arrays = [array for name in names for array in members(values, name) if array.is_a(list)]
    return [item for array in arrays for item in array.each()]


def keys(server):
    """Return every key of every `_meta`, once each."""
    found = {key: Value(key, meta.path, meta.lines) for meta in metas(server) for key in meta.json}
    return list(found.values())


def require_prefixed(server):
    """Return the keys that have a prefix; skip if there are none."""
    found = [key for key in keys(server) if "/" in key.json]
    return require_some(found, skip="nothing that came has _meta with a key that has a prefix")


def prefix_of(key):
    """Return the prefix of a key without its slash."""
    return key.partition("/")[0]


def name_of(key):
    """Return a key without its prefix."""
    return key.partition("/")[2] if "/" in key else key


def is_forward(prefix):
    """Return whether a prefix is surely a domain in its usual order, with the top-level domain last."""
    labels = prefix.lower().split(".")
    is_reversed = labels[0] in (*COMMON_DOMAINS, *OTHER_DOMAINS) or len(labels[0]) == 2
    return labels[-1] in COMMON_DOMAINS and not is_reversed


def is_reserved(prefix, revision):
    """Return whether a prefix is reserved for the protocol."""
    labels = prefix.split(".")
    return any(label in RESERVED for label in (labels[1:2] if revision >= "2025-11-25" else labels[:-1]))


def listed(method, reply):
    """Return the items on a page of a list as sorted texts; None if it has no array of them."""
    found = reply.value.get(LISTS[method][1]) if reply.value is not None else None
    if found is None or not found.is_a(list):
        return None
    return sorted(show(item, MAX_ITEM_LENGTH) for item in found.json)
