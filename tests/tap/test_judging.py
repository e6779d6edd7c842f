"""A right conversation breaks no rule; each fault planted in it breaks its rule, and no other."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mcp_conformance.protocol.jsonrpc import Line, encode
from mcp_conformance.requirements import catalogue
from mcp_conformance.tap.exchanges import exchanges
from mcp_conformance.tap.judging import Judgement
from mcp_conformance.tap.rows import client_rows
from mcp_conformance.tap.rules import RULES

Row = tuple[bool, Any]
CLIENT, SERVER = True, False
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
MESSAGE = {"role": "user", "content": {"type": "text", "text": "Hello"}}
TOOL = {
    "name": "add",
    "inputSchema": {"type": "object"},
    "outputSchema": {**FORM, "properties": {"name": {}}},
}
CAPABILITIES = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}
SERVES = {"tools": {"listChanged": True}, "logging": {}}


def asks(id: Any, method: str, **params: Any) -> Any:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def tells(method: str, **params: Any) -> Any:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def answers(id: Any, **result: Any) -> Any:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def refuses(id: Any, code: int) -> Any:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "No."}}


def right() -> Any:
    """Return a conversation in which both sides do all that the rules are about, and do it right."""
    info = {"name": "client", "version": "1"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "clientInfo": info}
    opened = {"protocolVersion": "2025-11-25", "capabilities": SERVES, "serverInfo": info}
    form = {"message": "Who are you?", "requestedSchema": FORM}
    return copied(
        [
            (CLIENT, asks(0, "initialize", **opening)),
            (SERVER, answers(0, **opened)),
            (CLIENT, tells("notifications/initialized")),
            (CLIENT, tells("notifications/roots/list_changed")),
            (SERVER, asks(1, "roots/list", _meta={"progressToken": "roots"})),
            (CLIENT, tells("notifications/progress", progressToken="roots", progress=1)),
            (CLIENT, tells("notifications/progress", progressToken="roots", progress=2)),
            (CLIENT, answers(1, roots=[{"uri": "file:///here"}])),
            (SERVER, asks(2, "elicitation/create", **form)),
            (CLIENT, answers(2, action="accept", content={"name": "Ada"})),
            (SERVER, asks(3, "sampling/createMessage", messages=[MESSAGE], maxTokens=9)),
            (CLIENT, answers(3, role="assistant", content=MESSAGE["content"], model="m")),
            (CLIENT, asks(1, "tools/list")),
            (SERVER, answers(1, tools=[TOOL], nextCursor="more")),
            (CLIENT, asks(2, "tools/list", cursor="more")),
            (SERVER, answers(2, tools=[])),
            (CLIENT, asks(3, "tools/call", name="add", arguments={}, _meta={"progressToken": 7})),
            (SERVER, tells("notifications/progress", progressToken=7, progress=1)),
            (SERVER, tells("notifications/message", level="info", data="adding")),
            (SERVER, tells("notifications/progress", progressToken=7, progress=2)),
            (SERVER, answers(3, content=[], structuredContent={"name": "sum"})),
            (CLIENT, asks(4, "ping")),
            (SERVER, answers(4)),
            (CLIENT, asks(5, "tools/call", name="add", arguments={}, _meta={"progressToken": 8})),
            (CLIENT, tells("notifications/cancelled", requestId=5)),
            (SERVER, tells("notifications/tools/list_changed")),
        ]
    )


def modern() -> Any:
    """Return a right conversation of 2026-07-28."""
    hints = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **hints}
    return copied(
        [
            (CLIENT, asks(0, "server/discover", _meta=META)),
            (SERVER, answers(0, **discovered)),
            (CLIENT, asks(1, "tools/list", _meta=META)),
            (SERVER, answers(1, tools=[], **hints)),
        ]
    )


def copied(rows: list[Row]) -> Any:
    """Return rows that no fault shares."""
    return json.loads(json.dumps(rows))


def broken(rows: list[Row]) -> list[str]:
    """Return the rules that a conversation breaks, each once."""
    judgement = Judgement()
    for at, (sent, message) in enumerate(rows):
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        line = Line.received(raw, 2.0 * at)
        judgement.see(Line(sent, raw, line.at, line.message, line.fault, line.oddities))
    judgement.end(2.0 * len(rows))
    return list(dict.fromkeys(one.rule for one in judgement.breaches))


READY = tells("notifications/initialized")
PROMPT = {"type": "ref/prompt", "name": "p"}
Fault = Callable[[list[Row]], object]


def at(place: int, row: Row) -> Fault:
    return lambda rows: rows.insert(place, row)


def instead(place: int, message: Any) -> Fault:
    return lambda rows: rows.__setitem__(place, (rows[place][0], message))


def without(place: int) -> Fault:
    return lambda rows: rows.pop(place)


def both(*faults: Fault) -> Fault:
    return lambda rows: [fault(rows) for fault in faults]


def at_end(sent: bool, message: Any) -> Fault:
    return lambda rows: rows.append((sent, message))


BY_CLIENT: dict[str, Fault | tuple[Fault, ...]] = {
    "fromclient.json-lines": (at(3, (CLIENT, b'{"jsonrpc": "2.0", ')), at(3, (CLIENT, b'{"a": "\xff"}'))),
    "fromclient.message-shape": (
        instead(2, {"method": "notifications/initialized"}),
        instead(12, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": []}),
        instead(11, answers(3, role="assistant", content="Hello", model="m")),
        instead(16, asks(3, "tools/call", arguments={}, _meta={"progressToken": 7})),
    ),
    "fromclient.request-id": at_end(CLIENT, tells("tools/list")),
    "fromclient.id-unused": at_end(CLIENT, asks(4, "ping")),
    "fromclient.answer-asked": at_end(CLIENT, answers(99)),
    "fromclient.answer-once": at(8, (CLIENT, answers(1, roots=[]))),
    "fromclient.initialize-first": both(
        at(0, (CLIENT, asks("early", "tools/list"))), at(1, (SERVER, refuses("early", -32600)))
    ),
    "fromclient.waits-for-initialize": both(
        at(1, (CLIENT, asks("early", "tools/list"))), at(3, (SERVER, answers("early", tools=[])))
    ),
    "fromclient.initialized": (without(2), both(without(2), at(1, (CLIENT, READY)))),
    "fromclient.initialize-not-cancelled": at(1, (CLIENT, tells("notifications/cancelled", requestId=0))),
    "fromclient.cancels-what-it-asked": (
        at_end(CLIENT, tells("notifications/cancelled", requestId="never")),
        at_end(CLIENT, tells("notifications/cancelled", requestId=3)),
    ),
    "fromclient.token-unused": both(
        at(17, (CLIENT, asks(9, "ping", _meta={"progressToken": 7}))), at_end(SERVER, answers(9))
    ),
    "fromclient.progress-known": (
        at(5, (CLIENT, tells("notifications/progress", progressToken="other", progress=1))),
        at(8, (CLIENT, tells("notifications/progress", progressToken="roots", progress=3))),
    ),
    "fromclient.progress-increases": instead(
        6, tells("notifications/progress", progressToken="roots", progress=1)
    ),
    "fromclient.roots-declared": lambda rows: rows[0][1]["params"]["capabilities"].update(roots={}),
    "fromclient.serves-what-it-declares": instead(11, refuses(3, -32601)),
    "fromclient.negotiated": (
        at_end(CLIENT, asks(9, "resources/list")),
        at_end(CLIENT, asks(9, "resources/unsubscribe", uri="a:b")),
        at_end(CLIENT, asks(9, "completion/complete", ref=PROMPT, argument={"name": "a", "value": "b"})),
    ),
    "fromclient.elicited-content": (
        instead(9, answers(2, action="accept", content={"nom": "Ada"})),
        instead(9, answers(2, action="accept")),
    ),
    "fromclient.root-uri": instead(7, answers(1, roots=[{"uri": "https://example.org"}])),
    "fromclient.cursor-known": instead(14, asks(2, "tools/list", cursor="MORE")),
}
BY_CLIENT |= {
    "fromclient.batch": at_end(CLIENT, [asks(50, "ping"), asks(51, "ping")]),
    "fromclient.ping-answered": both(at(12, (SERVER, asks(4, "ping"))), at_end(CLIENT, asks(50, "ping"))),
}
BY_SERVER: dict[str, Fault | tuple[Fault, ...]] = {
    "batch.not-sent": at_end(SERVER, [tells("notifications/tools/list_changed")]),
    "stdio.stdout-purity": at(3, (SERVER, b"Listening")),
    "jsonrpc.response-id-echo": at_end(SERVER, answers("4")),
    "jsonrpc.response-exactly-once": at_end(SERVER, answers(4)),
    "jsonrpc.request-id-unused": at_end(SERVER, asks(3, "ping")),
    "jsonrpc.response-every-request": lambda rows: rows.pop(20),
    "progress.token-known": at(18, (SERVER, tells("notifications/progress", progressToken="7", progress=5))),
    "progress.increasing": instead(19, tells("notifications/progress", progressToken=7, progress=1)),
    "progress.stops-at-completion": at_end(
        SERVER, tells("notifications/progress", progressToken=7, progress=9)
    ),
    "capabilities.logging.declared": lambda rows: rows[1][1]["result"]["capabilities"].pop("logging"),
    "tools.list-changed.negotiated": lambda rows: rows[1][1]["result"]["capabilities"].update(tools={}),
    "prompts.list-changed.negotiated": at_end(SERVER, tells("notifications/prompts/list_changed")),
    "resources.list-changed.negotiated": at_end(SERVER, tells("notifications/resources/list_changed")),
    "cancel.server-only-own": at_end(SERVER, tells("notifications/cancelled", requestId="none")),
    "tools.structured.present": instead(20, answers(3, content=[])),
    "tools.structured.conforms": instead(20, answers(3, content=[], structuredContent={"sum": 3})),
    "tools.list.result-shape": instead(15, answers(2, tools={})),
    "tools.call.result-content-array": instead(20, answers(3, content={}, structuredContent={"name": 1})),
}


def cases(faults: dict[str, Fault | tuple[Fault, ...]]) -> list[Any]:
    found = [
        (id, one) for id, some in faults.items() for one in (some if isinstance(some, tuple) else (some,))
    ]
    return [pytest.param(id, one, id=f"{id}-{number}") for number, (id, one) in enumerate(found)]


def test_a_right_conversation_breaks_no_rule() -> None:
    assert broken(right()) == []
    assert broken(modern()) == []


def test_a_client_of_both_eras_may_find_a_server_of_the_older_one() -> None:
    probe = [(CLIENT, asks("probe", "server/discover", _meta=META)), (SERVER, refuses("probe", -32601))]
    assert broken([*probe, *right()]) == []


@pytest.mark.parametrize(("rule", "fault"), [*cases(BY_CLIENT), *cases(BY_SERVER)])
def test_a_fault_breaks_its_rule_alone(rule: str, fault: Fault) -> None:
    rows = right()
    fault(rows)
    assert broken(rows) == [rule]


@pytest.mark.parametrize("feature", ["roots", "sampling", "elicitation"])
def test_a_server_asks_only_for_what_the_client_has_declared(feature: str) -> None:
    rows = right()[:3]
    del rows[0][1]["params"]["capabilities"][feature]
    method = {
        "roots": "roots/list",
        "sampling": "sampling/createMessage",
        "elicitation": "elicitation/create",
    }
    params: dict[str, Any] = {
        "roots": {},
        "sampling": {"messages": [MESSAGE], "maxTokens": 9},
        "elicitation": {"message": "Who?", "requestedSchema": FORM},
    }
    rows += [(SERVER, asks(1, method[feature], **params[feature])), (CLIENT, refuses(1, -32601))]
    assert broken(rows) == ["lifecycle.operation.client-features"]


def test_what_is_served_undeclared_is_the_fault_of_both() -> None:
    rows = right()
    del rows[0][1]["params"]["capabilities"]["sampling"]
    assert broken(rows) == ["lifecycle.operation.client-features", "fromclient.declares-what-it-serves"]


URL = {"mode": "url", "message": "Pay", "url": "https://pay.example", "elicitationId": "1"}


@pytest.mark.parametrize(
    ("rule", "request_", "result"),
    [
        (
            "clientfeature.sampling.tools-capability",
            asks(9, "sampling/createMessage", messages=[MESSAGE], maxTokens=9, tools=[]),
            {"role": "assistant", "content": MESSAGE["content"], "model": "m"},
        ),
        (
            "clientfeature.elicitation.mode-supported",
            asks(9, "elicitation/create", **URL),
            {"action": "accept"},
        ),
    ],
)
def test_a_part_of_a_capability_is_declared_too(rule: str, request_: Any, result: dict[str, Any]) -> None:
    rows = [*right(), (SERVER, request_), (CLIENT, answers(9, **result))]
    assert broken(rows) == [rule, "fromclient.declares-what-it-serves"]
    rows[0][1]["params"]["capabilities"] |= {
        "sampling": {"tools": {}},
        "elicitation": {"form": {}, "url": {}},
    }
    assert broken(rows) == []


WANTS = {
    "resultType": "input_required",
    "inputRequests": {
        "who": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": FORM}}
    },
    "requestState": "sealed",
}


def asked_again(id: int = 6, **params: Any) -> Fault:
    """Return the fault of a client whose call is asked for input, and comes again with these parameters."""
    meta = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    call = asks(5, "tools/call", name="add", arguments={}, _meta=meta)
    again = {**call, "id": id, "params": {**call["params"], **params}}
    return lambda rows: rows.extend([(CLIENT, call), (SERVER, answers(5, **WANTS)), (CLIENT, again)])


GIVEN = {"who": {"action": "accept", "content": {"name": "Ada"}}}
UNFIT = {"who": {"action": "accept", "content": {"nom": "Ada"}}}


def test_a_call_may_come_again_with_what_the_server_has_asked_for() -> None:
    rows = modern()
    asked_again(inputResponses=GIVEN, requestState="sealed")(rows)
    assert broken(rows) == []


MODERN: dict[str, Fault | tuple[Fault, ...]] = {
    "fromclient.meta": instead(2, asks(1, "tools/list", _meta={})),
    "fromclient.removed-method": (
        at_end(CLIENT, asks(9, "logging/setLevel", level="info", _meta=META)),
        at_end(CLIENT, READY),
        at_end(CLIENT, tells("notifications/roots/list_changed")),
    ),
    "fromclient.request-state": (
        asked_again(inputResponses=GIVEN, requestState="SEALED"),
        asked_again(inputResponses=GIVEN),
    ),
    "fromclient.input-asked": asked_again(inputResponses={"whose": GIVEN["who"]}, requestState="sealed"),
    "fromclient.elicited-content": asked_again(inputResponses=UNFIT, requestState="sealed"),
    "fromclient.id-unused": asked_again(5, inputResponses=GIVEN, requestState="sealed"),
    "stdio.no-server-requests": at_end(SERVER, asks(9, "roots/list")),
    "reqmeta.log-opt-in": at_end(SERVER, tells("notifications/message", level="info", data="here")),
}


@pytest.mark.parametrize(("rule", "fault"), cases(MODERN))
def test_a_fault_of_a_modern_conversation_breaks_its_rule(rule: str, fault: Fault) -> None:
    rows = modern()
    fault(rows)
    assert rule in broken(rows)


def test_each_rule_of_clients_is_on_a_page_of_the_specification() -> None:
    rows = catalogue.all_requirements().values()
    pages = {url.partition("#")[0] for row in rows for one in row.revisions for url in row.urls(one)}
    for row in client_rows().values():
        assert row.url(row.revisions[-1]).partition("#")[0] in pages, row.id


def test_each_rule_has_a_fault() -> None:
    broken_here = {*BY_CLIENT, *BY_SERVER, *MODERN, "lifecycle.operation.client-features"}
    broken_here.add("fromclient.declares-what-it-serves")
    broken_here |= {"clientfeature.sampling.tools-capability", "clientfeature.elicitation.mode-supported"}
    ids = {rule.id for rules in RULES.values() for rule in rules}
    assert {id for id in ids if not id.startswith("fromclient.http-")} <= broken_here  # headers: another page


@pytest.mark.parametrize("rows", [right(), modern()], ids=["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("odd", ["[]", '{"jsonrpc": "2.0", "id": 1, "method": []}', '{"method": {}}'])
def test_what_nobody_should_say_is_judged(rows: list[Row], odd: str) -> None:
    judgement = Judgement()
    for sent, raw in [*((sent, json.dumps(message)) for sent, message in rows), (CLIENT, odd), (SERVER, odd)]:
        judgement.see(replace(Line.received(raw.encode(), 0.0), sent=sent))
    assert {one.side for one in judgement.breaches} == {"client", "server"}


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_a_number_that_json_does_not_have_is_played_as_a_text(number: str) -> None:
    asked = json.dumps(asks(1, "tools/call", name="a", arguments={"a": "@"})).replace('"@"', number)
    lines = [Line.received(asked.encode(), 0.0), Line.received(json.dumps(answers(1)).encode(), 1.0)]
    (found,) = exchanges([replace(lines[0], sent=True), lines[1]])
    assert encode(found.request)
