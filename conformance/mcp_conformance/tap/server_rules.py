"""What a server owes its client, as far as the lines show it: rows of the catalogue, by their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mcp_conformance.client.refusals import FEATURE_REQUESTS
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, is_response, kind, show
from mcp_conformance.protocol.methods import CANCELLED, FEATURES
from mcp_conformance.protocol.revisions import LOG_LEVEL
from mcp_conformance.protocol.wire_schema import SERVER, message_errors
from mcp_conformance.requirements import catalogue
from mcp_conformance.tap.client_rules import needed
from mcp_conformance.tap.conversation import Asked, Conversation, keys_of, part
from mcp_conformance.tap.rules import RULES, Rule, See


def of_catalogue(id: str, *, whole: bool = False) -> Callable[[See], See]:
    """Add a function to the server's rules under the id of a row."""
    row = catalogue.requirement(id)

    def add(see: See) -> See:
        RULES[SERVER].append(Rule(id, row.says, row.levels, row.url(row.revisions[-1]), see, whole))
        return see

    return add


def shape_errors(known: Conversation, message: Any) -> Iterator[tuple[str, str]]:
    """Yield the errors of a server's message by the schema: the id of the rule, and what is wrong."""
    asked = known.request_of(SERVER, message) if is_response(message) else None
    if not known.revision or (asked is not None and not _is_offered(known, asked)):
        return
    for error in message_errors(message, known.revision, SERVER, asked.message if asked else None):
        if catalogue.requirement(error.rule).holds_in(known.revision):
            yield error.rule, str(error)


def _is_offered(known: Conversation, asked: Asked) -> bool:
    paths = [path for path, _, method, _ in FEATURE_REQUESTS if method == asked.method]
    return all(known.declares(SERVER, *path) for path in paths)


@of_catalogue("stdio.stdout-purity")
def _stdout_purity(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    if message is ABSENT:
        yield f"this is no message ({line.fault})"


@of_catalogue("batch.not-sent")
def _not_sent(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    if isinstance(line.message, list) and line.message and message is line.message[0]:
        yield f"an array of {len(line.message)} messages"


@of_catalogue("jsonrpc.response-id-echo")
def _response_id_echo(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    if is_response(message) and message.get("id") is not None and known.request_of(SERVER, message) is None:
        yield f"the client has asked nothing with the id {show(message['id'])}"


@of_catalogue("jsonrpc.response-exactly-once")
def _response_exactly_once(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    asked = known.request_of(SERVER, message) if is_response(message) else None
    if asked is not None and asked.answer is not None:
        yield f"{asked.method} with the id {show(message['id'])} was answered before"


@of_catalogue("jsonrpc.request-id-unused")
def _request_id_unused(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    if kind(message) is Kind.REQUEST and id_key(message["id"]) in known.asked[SERVER]:
        yield f"{message['method']} has the id {show(message['id'])} of an earlier request"


@of_catalogue("progress.token-known")
def _token_known(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    if _is(message, "notifications/progress"):
        token = part(message, "params", "progressToken")
        if known.named_by(SERVER, token) is None:
            yield f"the client has sent no request with the token {show(token)}"


@of_catalogue("progress.stops-at-completion")
def _stops_at_completion(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    if _is(message, "notifications/progress"):
        asked = known.named_by(SERVER, part(message, "params", "progressToken"))
        if asked is not None and asked.answer is not None:
            yield f"{asked.method} with the token {show(asked.token)} has its answer"


@of_catalogue("progress.increasing")
def _increasing(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    if _is(message, "notifications/progress"):
        asked = known.named_by(SERVER, part(message, "params", "progressToken"))
        progress = part(message, "params", "progress")
        is_number = isinstance(progress, int | float)
        if asked is not None and asked.progress is not None and is_number and progress <= asked.progress:
            yield f"progress is {show(progress)} after {show(asked.progress)}"


@of_catalogue("lifecycle.operation.client-features", whole=True)
def _client_features(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    feature = FEATURES.get(str(message["method"])) if kind(message) is Kind.REQUEST else None
    if feature and part(known.client_capabilities, feature) is ABSENT:
        yield f"{message['method']} is asked for, and the client has not declared {feature}"


@of_catalogue("clientfeature.sampling.tools-capability", whole=True)
def _sampling_tools(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    yield from _undeclared(known, message, ("sampling", "tools"))


@of_catalogue("clientfeature.elicitation.mode-supported", whole=True)
def _elicitation_mode(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    yield from _undeclared(known, message, ("elicitation", "url"))


def _undeclared(known: Conversation, message: Any, path: tuple[str, str]) -> Iterator[str]:
    """Yield that a request needs a part of a capability; the capability itself has another rule."""
    if kind(message) is not Kind.REQUEST or needed(message) != path:
        return
    declared = part(known.client_capabilities, path[0])
    if declared is not ABSENT and path[1] not in keys_of(declared):
        yield f"{message['method']} needs {'.'.join(path)}, and the client has not declared it"


def _announced(feature: str) -> See:
    """Return the rule that a server announces changes of a list only if it has declared that."""

    def see(known: Conversation, line: Line, message: Any) -> Iterator[str]:
        is_sent = _is(message, f"notifications/{feature}/list_changed")
        if is_sent and not known.declares(SERVER, feature, "listChanged"):
            yield f"{feature}.listChanged is not declared"

    return see


for name in ("tools", "prompts", "resources"):
    of_catalogue(f"{name}.list-changed.negotiated", whole=True)(_announced(name))


@of_catalogue("capabilities.logging.declared")
def _logging_declared(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    is_known = isinstance(known.server_capabilities, dict)
    if is_known and _is(message, "notifications/message") and not known.declares(SERVER, "logging"):
        yield "logging is not declared"


@of_catalogue("cancel.server-only-own", whole=True)
def _server_only_own(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    if _is(message, CANCELLED) and not known.is_modern:
        id = part(message, "params", "requestId")
        if id_key(id) not in known.asked[SERVER]:
            yield f"the server has asked nothing with the id {show(id)}"


@of_catalogue("stdio.no-server-requests")
def _no_server_requests(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    if known.is_modern and kind(message) is Kind.REQUEST:
        yield f"the server sends the request {message['method']}"


@of_catalogue("reqmeta.log-opt-in")
def _log_opt_in(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    if known.is_modern and _is(message, "notifications/message"):
        asked = known.asked["client"].values()
        if not any(part(one.message, "params", "_meta", LOG_LEVEL) is not ABSENT for one in asked):
            yield "no request has asked for log messages"


@of_catalogue("tools.structured.present")
def _structured_present(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    schema, result = _promise(known, message)
    if schema is not None and "structuredContent" not in result and result.get("isError") is not True:
        yield "the tool has an outputSchema, and the result no structuredContent"


@of_catalogue("tools.structured.conforms")
def _structured_conforms(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    schema, result = _promise(known, message)
    if schema is not None and "structuredContent" in result and result.get("isError") is not True:
        try:
            yield from instance_errors(result["structuredContent"], schema, known.revision)
        except Unjudgeable:
            return


def _promise(known: Conversation, message: Any) -> tuple[Any, dict[str, Any]]:
    """Return the output schema of the tool whose call is answered, None if it has none, and the result."""
    asked = known.request_of(SERVER, message) if kind(message) is Kind.RESULT else None
    result = message.get("result") if asked is not None else None
    if asked is None or asked.method != "tools/call" or not isinstance(result, dict):
        return None, {}
    if result.get("resultType", "complete") != "complete" or "task" in result:
        return None, {}
    tool = known.tools.get(str(part(asked.message, "params", "name")), {})
    schema = tool.get("outputSchema")
    return (schema if isinstance(schema, dict) else None), result


def _is(message: Any, method: str) -> bool:
    return kind(message) is Kind.NOTIFICATION and message["method"] == method
