"""The member `_meta`, which any message may have (spec: basic, "General fields")."""

from __future__ import annotations

import re

import pytest

from conformance.expect import expect, expect_each, require_answer, require_some
from conformance.protocol.jsonrpc import Kind
from conformance.protocol.methods import LISTS
from conformance.protocol.revisions import is_modern
from conformance.protocol.value import Value, members
from conformance.scenarios.client_features import FULL_CLIENT, run_with_client
from conformance.scenarios.log_messages import chatty_requests
from conformance.scenarios.subscriptions import evoke_news
from conformance.verdicts import Finding

LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
PREFIX = re.compile(rf"{LABEL}(?:\.{LABEL})*")
NAME = re.compile("(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
COMMON_DOMAINS = ("com", "org", "net", "io", "dev", "edu")
OTHER_DOMAINS = ("ai", "app", "biz", "cloud", "gov", "info", "int", "mil", "tech", "xyz")
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


@pytest.mark.requirement("meta.object")
def test_meta_of_what_a_server_sends_unasked_is_an_object(server, traffic):
    evoke(server)
    questions = [one for session in server.sessions for one in session.server_requests("roots/list")]
    found = members([*traffic(Kind.NOTIFICATION, Kind.REQUEST), *questions], "params", "_meta")
    require_some(found, skip="no notification and no request of the server has _meta")
    expect_each(found, lambda meta: isinstance(meta, dict), "an object")


@pytest.mark.requirement("meta.key-prefix")
def test_the_prefix_of_a_key_is_made_of_labels(server, traffic):
    wanted = "labels with dots between them, each beginning with a letter"
    expect_each(prefixed(server, traffic), lambda key: PREFIX.fullmatch(prefix_of(key)) is not None, wanted)


@pytest.mark.requirement("meta.key-name")
def test_the_name_of_a_key_is_of_letters_and_digits(server, traffic):
    wanted = "a name that begins and ends with a letter or a digit, and has but those, - _ and . in between"
    found = require_some(keys(server, traffic), skip="nothing that came has _meta with a key")
    expect_each(
        found, lambda key: NAME.fullmatch(key.partition("/")[2] if "/" in key else key) is not None, wanted
    )


@pytest.mark.requirement("meta.reverse-dns")
def test_the_prefix_of_a_key_begins_with_the_top_level_domain(server, traffic):
    expect_each(prefixed(server, traffic), lambda key: not is_forward(prefix_of(key)), "such as com.example/")


@pytest.mark.requirement("meta.reserved-prefix")
def test_a_key_with_a_reserved_prefix_is_defined(server, traffic, revision):
    found = [key for key in prefixed(server, traffic) if is_reserved(prefix_of(key.json), revision)]
    expect_each(found, lambda key: key in DEFINED, "a key that MCP defines, as its prefix is reserved")


@pytest.mark.requirement("meta.unknown-request-keys")
def test_unknown_keys_of_a_request_change_nothing(server, session):
    for method in require_some(server.served_lists(), skip="no list is declared and served"):
        replies = [require_answer(session.request(method, params)) for params in ({}, {"_meta": UNKNOWN}, {})]
        before, other, after = (listed(method, reply) for reply in replies)
        if before is not None and before == after and other != before:
            raise Finding(
                "the same answer as without unknown keys in _meta", str(replies[1]), replies[1].lines
            )


@pytest.mark.requirement("meta.trace-context-format")
def test_what_tells_of_a_trace_is_written_as_w3c_has_it(server, traffic):
    found = [(key, value) for meta in metas(server, traffic) for key, value in traced(meta)]
    for key, value in require_some(found, skip="nothing that came has a traceparent, tracestate or baggage"):
        expect(value, value.is_a(str) and TRACES[key](value.json), f"a {key} as W3C has it")


def traced(meta):
    return [(key, value) for key in TRACES for value in members([meta], key)]


def is_traceparent(text):
    version, trace, parent, flags, *more = (*text.split("-"), "", "", "")
    sizes = [len(part) for part in (version, trace, parent, flags)]
    is_hex = re.fullmatch("[0-9a-f]*", version + trace + parent + flags) is not None
    is_known = version != "ff" and set(trace) != {"0"} != set(parent)
    return sizes == [2, 32, 16, 2] and is_hex and is_known and (version != "00" or not any(more))


def is_list_of(pattern):
    """Whether a text is a list with commas between its items; empty ones are let pass."""
    return lambda text: all(pattern.fullmatch(part.strip()) for part in text.split(",") if part.strip())


TRACES = {"traceparent": is_traceparent, "tracestate": is_list_of(STATE), "baggage": is_list_of(BAGGAGE)}


def evoke(server):
    """Have the server ask the client, and have a modern one log something and tell of changes too."""
    run_with_client(server, FULL_CLIENT)
    if is_modern(server.revision):
        chatty_requests(server)
        evoke_news(server)


def metas(server, traffic):
    """Every `_meta` object in a place where the protocol knows one."""
    evoke(server)
    messages = traffic()
    bodies = [*members(messages, "params"), *members(messages, "result")]
    listed = each(bodies, *(member for _, member in LISTS.values()), "contents")
    speeches = each(bodies, "messages")
    blocks = [*each([*bodies, *speeches], "content"), *members(speeches, "content")]
    found = members([*bodies, *listed, *speeches, *blocks, *members(blocks, "resource")], "_meta")
    return [meta for meta in found if meta.is_a(dict)]


def each(values, *names):
    return [
        item for name in names for array in members(values, name) if array.is_a(list) for item in array.each()
    ]


def keys(server, traffic):
    """Every key of every `_meta`, once each."""
    found = {key: Value(key, meta.path, meta.lines) for meta in metas(server, traffic) for key in meta.json}
    return list(found.values())


def prefixed(server, traffic):
    found = [key for key in keys(server, traffic) if "/" in key.json]
    return require_some(found, skip="nothing that came has _meta with a key that has a prefix")


def prefix_of(key):
    return key.partition("/")[0]


def is_forward(prefix):
    """Whether a prefix is surely a domain in its usual order: it ends with a top-level domain alone."""
    labels = prefix.lower().split(".")
    is_reversed = labels[0] in (*COMMON_DOMAINS, *OTHER_DOMAINS) or len(labels[0]) == 2
    return labels[-1] in COMMON_DOMAINS and not is_reversed


def is_reserved(prefix, revision):
    labels = prefix.split(".")
    return any(label in RESERVED for label in (labels[1:2] if revision >= "2025-11-25" else labels[:-1]))


def listed(method, reply):
    """What a page of a list holds; None if it is none."""
    items = reply.value.get(LISTS[method][1]) if reply.value is not None else None
    return None if items is None else items.json
