"""What a client owes its server, as far as the lines show it.

Each rule is silent on the official clients; `tests/tap` has a client that breaks each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, is_response, kind, show
from mcp_conformance.protocol.methods import CANCELLED, FEATURES, LISTS
from mcp_conformance.protocol.revisions import (
    CLIENT_CAPABILITIES,
    LATEST_HANDSHAKE,
    PROTOCOL_VERSION,
    REMOVED,
)
from mcp_conformance.protocol.wire_schema import CLIENT, SERVER, message_errors
from mcp_conformance.tap.conversation import Conversation, items, keys_of, part
from mcp_conformance.tap.rules import rule

NO_SUCH_METHOD = -32601
LATE = 1.0
"""Seconds after which an answer is known to have arrived.  Not measured: a pipe takes far less."""
NEGOTIATED = {
    "tools/list": ("tools",),
    "tools/call": ("tools",),
    "prompts/list": ("prompts",),
    "prompts/get": ("prompts",),
    "resources/list": ("resources",),
    "resources/read": ("resources",),
    "resources/templates/list": ("resources",),
    "resources/subscribe": ("resources", "subscribe"),
    "resources/unsubscribe": ("resources", "subscribe"),
    "completion/complete": ("completions",),
    "logging/setLevel": ("logging",),
}
"""The capability of a server that permits each request of a client."""
REQUESTS = {*NEGOTIATED, *FEATURES, "initialize", "ping"}
REMOVED_NOTIFICATIONS = {"notifications/initialized", "notifications/roots/list_changed"}
"""Notifications of handshake revisions that the modern ones lack."""
MAX_PING_SECONDS = 10.0
"""Seconds after which a ping that others overtook is unanswered.  Not measured: no work is behind it."""


@rule(CLIENT, "fromclient.json-lines", "MUST", "basic/transports#stdio")
def _json_lines(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each line of the client is a message in JSON and UTF-8."""
    if message is ABSENT or not line.is_json:
        yield line.fault or ", ".join(line.oddities) or "an empty array"


@rule(CLIENT, "fromclient.batch", "MUST", "basic/transports#stdio", since="2025-06-18")
def _batch(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each line of the client, and each body over HTTP, is a single message."""
    if isinstance(line.message, list) and line.message and message is line.message[0]:
        yield f"an array of {len(line.message)} messages"


@rule(CLIENT, "fromclient.message-shape", "MUST", "schema#JSONRPCMessage")
def _message_shape(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each message of the client has the form that the schema of its revision gives it."""
    if message is ABSENT:
        return
    request = known.request_of(CLIENT, message) if is_response(message) else None
    if part(message, "params", "_meta", PROTOCOL_VERSION) is not ABSENT and not known.is_modern:
        return
    revision = known.revision or LATEST_HANDSHAKE
    for error in message_errors(message, revision, CLIENT, request.message if request else None):
        yield str(error)


@rule(CLIENT, "fromclient.request-id", "MUST", "basic/index#requests")
def _request_id(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """A request has an id; without one it is a notification, which gets no answer."""
    if kind(message) is Kind.NOTIFICATION and str(message["method"]) in REQUESTS:
        yield f"{message['method']} has no id"


@rule(CLIENT, "fromclient.id-unused", "MUST", "basic/index#requests")
def _id_unused(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """The id of a request was not used before in the session."""
    if kind(message) is Kind.REQUEST and id_key(message["id"]) in known.asked[CLIENT]:
        before = known.asked[CLIENT][id_key(message["id"])]
        yield f"{message['method']} has the id {show(message['id'])} of an earlier {before.method}"


@rule(CLIENT, "fromclient.answer-asked", "MUST", "basic/index#result-responses", whole=True)
def _answer_asked(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """A response has the id of a request of the server."""
    if is_response(message) and known.request_of(CLIENT, message) is None and message.get("id") is not None:
        yield f"the server has asked nothing with the id {show(message['id'])}"


@rule(CLIENT, "fromclient.answer-once", "MUST", "basic/index#result-responses")
def _answer_once(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """A request of the server gets one response."""
    asked = known.request_of(CLIENT, message) if is_response(message) else None
    if asked is not None and asked.answer is not None and not asked.again:
        yield f"{asked.method} with the id {show(message['id'])} was answered before"


@rule(
    CLIENT,
    "fromclient.initialize-first",
    "MUST",
    "basic/lifecycle#initialization",
    until=LATEST_HANDSHAKE,
    whole=True,
)
def _initialize_first(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """The first request but pings is initialize, or one that names its revision in _meta."""
    if kind(message) is not Kind.REQUEST or known.opening is not None or message["method"] == "ping":
        return
    if message["method"] != "initialize" and part(message, "params", "_meta", PROTOCOL_VERSION) is ABSENT:
        yield f"{message['method']} comes before initialize"


@rule(CLIENT, "fromclient.waits-for-initialize", "SHOULD", "basic/lifecycle#initialization")
def _waits_for_initialize(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Only pings are sent before the server has answered initialize."""
    is_open = known.opening is None or known.opening.answer is not None
    if not is_open and kind(message) is Kind.REQUEST and message["method"] != "ping":
        yield f"{message['method']} comes before the answer to initialize"


@rule(CLIENT, "fromclient.initialized", "MUST", "basic/lifecycle#initialization", whole=True)
def _initialized(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """After the answer to initialize the client sends notifications/initialized, and only then requests."""
    is_answered = known.opening is not None and known.opening.answer is not None
    is_said = kind(message) is Kind.NOTIFICATION and message["method"] == "notifications/initialized"
    if is_said and not is_answered and not known.is_modern:
        yield "notifications/initialized comes before the answer to initialize"
    if not is_answered or known.is_ready or known.is_modern or kind(message) is not Kind.REQUEST:
        return
    if message["method"] not in ("ping", "initialize"):
        yield f"{message['method']} comes before notifications/initialized"


@rule(CLIENT, "fromclient.initialize-not-cancelled", "MUST", "basic/utilities/cancellation")
def _initialize_not_cancelled(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """The request initialize is not cancelled."""
    asked = _cancelled(known, message)
    if asked is not None and asked.method == "initialize":
        yield "initialize is cancelled"


@rule(CLIENT, "fromclient.cancels-what-it-asked", "MUST", "basic/utilities/cancellation", whole=True)
def _cancels_what_it_asked(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """A cancellation names a request of the client that may still be in progress."""
    if kind(message) is not Kind.NOTIFICATION or message["method"] != CANCELLED:
        return
    asked, id = _cancelled(known, message), part(message, "params", "requestId")
    if asked is None:
        yield f"the client has asked nothing with the id {show(id)}"
    elif asked.answer is not None and line.at - asked.answer.at > LATE:
        yield f"{asked.method} with the id {show(id)} was answered {line.at - asked.answer.at:.1f} s before"


def _cancelled(known: Conversation, message: Any) -> Any:
    if kind(message) is not Kind.NOTIFICATION or message["method"] != CANCELLED:
        return None
    return known.asked[CLIENT].get(id_key(part(message, "params", "requestId")))


@rule(CLIENT, "fromclient.token-unused", "MUST", "basic/utilities/progress")
def _token_unused(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """No two requests in flight have the same progress token."""
    token = part(message, "params", "_meta", "progressToken")
    if kind(message) is not Kind.REQUEST or token is ABSENT:
        return
    for asked in known.in_flight(CLIENT):
        if asked.token is not ABSENT and id_key(asked.token) == id_key(token):
            yield f"{asked.method} with the same token {show(token)} has no answer yet"


@rule(CLIENT, "fromclient.progress-known", "MUST", "basic/utilities/progress", whole=True)
def _progress_known(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Progress of the client names the token of a request of the server that has no answer yet."""
    if kind(message) is Kind.NOTIFICATION and message["method"] == "notifications/progress":
        token = part(message, "params", "progressToken")
        asked = known.named_by(CLIENT, token)
        if asked is None:
            yield f"the server has sent no request with the token {show(token)}"
        elif asked.answer is not None:
            yield f"{asked.method} with the token {show(token)} has its answer"


@rule(CLIENT, "fromclient.progress-increases", "MUST", "basic/utilities/progress")
def _progress_increases(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """The progress of a request grows with each notification."""
    if kind(message) is Kind.NOTIFICATION and message["method"] == "notifications/progress":
        asked = known.named_by(CLIENT, part(message, "params", "progressToken"))
        progress = part(message, "params", "progress")
        is_number = isinstance(progress, int | float)
        if asked is not None and asked.progress is not None and is_number and progress <= asked.progress:
            yield f"progress is {show(progress)} after {show(asked.progress)}"


@rule(
    CLIENT,
    "fromclient.roots-declared",
    "MUST",
    "client/roots#capabilities",
    until=LATEST_HANDSHAKE,
    whole=True,
)
def _roots_declared(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """A client that announces changes of its roots declares roots.listChanged."""
    is_sent = kind(message) is Kind.NOTIFICATION and message["method"] == "notifications/roots/list_changed"
    if is_sent and not known.declares(CLIENT, "roots", "listChanged"):
        yield "roots.listChanged is not declared"


@rule(CLIENT, "fromclient.declares-what-it-serves", "MUST", "basic/lifecycle#capability-negotiation")
def _declares_what_it_serves(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """A client that serves a request of the server has declared the capability for it."""
    asked = known.request_of(CLIENT, message) if kind(message) is Kind.RESULT else None
    path = needed(asked.message) if asked is not None else ()
    if asked is not None and path and part(known.client_capabilities, *path) is ABSENT:
        yield f"{asked.method} gets a result, and {'.'.join(path)} is not declared"


def needed(request: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the capability of a client that a request of the server needs; empty for one of no feature."""
    feature, params = FEATURES.get(str(request.get("method")), ""), request.get("params")
    if feature == "sampling" and not {"tools", "toolChoice"}.isdisjoint(keys_of(params)):
        return feature, "tools"
    if feature == "elicitation" and part(params, "mode") == "url":
        return feature, "url"
    return (feature,) if feature else ()


@rule(
    CLIENT,
    "fromclient.ping-answered",
    "MUST",
    "basic/utilities/ping#behavior-requirements",
    until=LATEST_HANDSHAKE,
    whole=True,
)
def _ping_answered(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """A ping of the server is answered at once."""
    for asked in known.in_flight(SERVER) if kind(message) is Kind.REQUEST else ():
        if asked.method == "ping" and line.at - asked.line.at > MAX_PING_SECONDS:
            yield f"a ping has no answer for {line.at - asked.line.at:.0f} s"


@rule(CLIENT, "fromclient.serves-what-it-declares", "MUST", "basic/lifecycle#capability-negotiation")
def _serves_what_it_declares(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """A request of the server for a declared capability is not refused as unknown."""
    asked = known.request_of(CLIENT, message) if kind(message) is Kind.ERROR else None
    feature = FEATURES.get(asked.method) if asked is not None else None
    if asked is None or feature is None or part(message, "error", "code") != NO_SUCH_METHOD:
        return
    if part(known.client_capabilities, feature) is not ABSENT:
        yield f"{asked.method} is refused as unknown, and {feature} is declared"


@rule(CLIENT, "fromclient.negotiated", "MUST", "basic/lifecycle#operation", since="2025-06-18")
def _negotiated(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """The client uses only capabilities that the server has declared."""
    path = NEGOTIATED.get(str(message["method"])) if kind(message) is Kind.REQUEST else None
    if path and isinstance(known.server_capabilities, dict) and not known.declares(SERVER, *path):
        yield f"{message['method']} is asked for, and the server has not declared {'.'.join(path)}"


@rule(CLIENT, "fromclient.elicited-content", "SHOULD", "client/elicitation", since="2025-06-18")
def _elicited_content(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """The content of an accepted elicitation is valid under the schema that the server has asked with."""
    for asked, response in _responses(known, message):
        schema, content = part(asked, "params", "requestedSchema"), part(response, "content")
        is_form = asked.get("method") == "elicitation/create" and part(asked, "params", "mode") != "url"
        if is_form and part(response, "action") == "accept" and isinstance(schema, dict):
            with suppress(Unjudgeable):
                given = {} if content is ABSENT else content
                yield from instance_errors(given, schema, known.revision)


def _responses(known: Conversation, message: Any) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield the requests of the server that a message responds to, each with what it gets."""
    asked = known.request_of(CLIENT, message) if kind(message) is Kind.RESULT else None
    if asked is not None:
        yield asked.message, message["result"]
    given = part(message, "params", "inputResponses")
    for key, response in given.items() if isinstance(given, dict) else ():
        for result in known.inputs_for(message)[-1:]:
            if isinstance(one := part(result, "inputRequests", key), dict):
                yield one, response


@rule(
    CLIENT,
    "fromclient.request-state",
    "MUST",
    "basic/patterns/mrtr#basic-workflow",
    since="2026-07-28",
    whole=True,
)
def _request_state(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """A request that is sent again with responses has the requestState that the server gave, unchanged."""
    state = part(message, "params", "requestState")
    given = [part(one, "requestState") for one in known.inputs_for(message)]
    if state is not ABSENT and state not in given:
        yield "the server has given no such requestState"
    is_retry = part(message, "params", "inputResponses") is not ABSENT
    if state is ABSENT and is_retry and given and ABSENT not in given:
        yield "the server has given a requestState, and it is missing"


@rule(
    CLIENT,
    "fromclient.input-asked",
    "SHOULD",
    "basic/patterns/mrtr#basic-workflow",
    since="2026-07-28",
    whole=True,
)
def _input_asked(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each of the inputResponses has the key of an input that the server has asked for."""
    responses = part(message, "params", "inputResponses")
    keys = {key for one in known.inputs_for(message) for key in keys_of(part(one, "inputRequests"))}
    for key in responses if isinstance(responses, dict) else ():
        if key not in keys:
            yield f"the server has asked for no input {show(key)}"


@rule(CLIENT, "fromclient.root-uri", "MUST", "client/roots#root")
def _root_uri(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """The URI of a root begins with file://."""
    asked = known.request_of(CLIENT, message) if kind(message) is Kind.RESULT else None
    if asked is not None and asked.method == "roots/list":
        for root in items(message["result"], "roots"):
            if not str(root.get("uri")).startswith("file://"):
                yield f"{show(root.get('uri'))} is the URI of a root"


@rule(CLIENT, "fromclient.cursor-known", "MUST", "server/utilities/pagination", whole=True)
def _cursor_known(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """A cursor is one that the server has given, unchanged."""
    cursor = part(message, "params", "cursor")
    is_list = kind(message) is Kind.REQUEST and str(message["method"]) in LISTS
    if is_list and isinstance(cursor, str) and cursor not in known.cursors:
        yield f"the server has given no cursor {show(cursor)}"


@rule(CLIENT, "fromclient.meta", "MUST", "basic/index#meta", since="2026-07-28")
def _meta(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each request names the revision and the client's capabilities in _meta."""
    if kind(message) is Kind.REQUEST and known.is_modern:
        found = part(message, "params", "_meta")
        for name in (PROTOCOL_VERSION, CLIENT_CAPABILITIES):
            if part(found, name) is ABSENT:
                yield f"{message['method']} has no {name}"


@rule(CLIENT, "fromclient.removed-method", "MUST", "basic/versioning", since="2026-07-28")
def _removed_method(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """No message of this revision has a method that the revision has removed."""
    is_removed = kind(message) is Kind.REQUEST and str(message["method"]) in REMOVED
    is_named = part(message, "params", "_meta", PROTOCOL_VERSION) is not ABSENT
    is_notified = kind(message) is Kind.NOTIFICATION and str(message["method"]) in REMOVED_NOTIFICATIONS
    if (is_removed and is_named) or is_notified:
        yield f"{message['method']} was removed"
