"""Modern requests over HTTP: a good one of each kind, and what else the server serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.expect import expect, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, encode
from mcp_conformance.protocol.methods import envelope
from mcp_conformance.protocol.revisions import HEADER_MISMATCH, LACKS_CAPABILITY
from mcp_conformance.scenarios.changing_call import mutating_call, params_of
from mcp_conformance.scenarios.http_requests import (
    HttpReply,
    delete,
    exchanges,
    http_session,
    lines_of,
    post,
    post_message,
    request_to,
    send_raw,
)
from mcp_conformance.scenarios.request_metadata import simple_method, versions
from mcp_conformance.scenarios.server_snapshot import changes, snapshot, watched
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS
from mcp_conformance.transport.http.headers import ACCEPT, JSON, SESSION_ID
from mcp_conformance.verdicts import Skipped

METHOD = "Mcp-Method"
OTHER_REFUSAL = (
    f"Keep the refusal, and give it the status 400 and the code {HEADER_MISMATCH} (HeaderMismatch): clients "
    "go by both."
)
MAX_CALLED = 5
"""How many tools are called at most to find one whose call can be repeated."""
OLDEST = "2025-03-26"
"""The oldest revision with Streamable HTTP, whose clients send no header with the revision."""


@dataclass(frozen=True)
class NamedRequest:
    """A request that the server answers with a result, and whose name a header mirrors."""

    method: str
    params: dict[str, Any]

    @property
    def name(self) -> str:
        """The name, or the URI."""
        name: str = self.params["uri" if self.method == "resources/read" else "name"]
        return name

    def post(self, session: Session, **given: Any) -> HttpReply:
        """POST the request again, with changed ``headers``."""
        return post(session, self.method, self.params, **given)


def named_request(server: Server, method: str) -> NamedRequest:
    """Return a request of this method that may be repeated; skip the check if there is none."""
    found = {
        "tools/call": _tool_call,
        "prompts/get": _prompt,
        "resources/read": _resource,
    }[method](server)
    if found is None:
        skip(f"no {method} is known that succeeds and may be repeated")
    return found


def any_named_request(server: Server) -> NamedRequest:
    """Return a request with a name, of the cheapest method; skip the check if there is none."""
    for method in ("resources/read", "prompts/get", "tools/call"):
        with suppress(Skipped):
            return named_request(server, method)
    return skip("no request with a name is known that succeeds and may be repeated")


@scenario
def _tool_call(server: Server) -> NamedRequest | None:
    for tool in _quiet_first(server)[:MAX_CALLED]:
        with suppress(Skipped):
            call = server.call(tool)
            if not (call.failed or call.asked or call.is_slow):
                return NamedRequest("tools/call", {"name": tool.name, "arguments": call.arguments})
    return None


def _quiet_first(server: Server) -> list[Any]:
    allowed = [tool for tool in server.tools if tool.name and server.settings.may_call(tool)]
    return sorted(allowed, key=lambda tool: not tool.read_only)


@scenario
def _prompt(server: Server) -> NamedRequest | None:
    return next(_repeated("prompts/get", server.prompts()), None)


@scenario
def _resource(server: Server) -> NamedRequest | None:
    return next(_repeated("resources/read", server.resources()), None)


def _repeated(method: str, replies: list[Reply]) -> Iterator[NamedRequest]:
    for reply in replies:
        params = reply.request.message.get("params", {})
        if reply.value is not None and not reply.needs_input:
            yield NamedRequest(method, {name: value for name, value in params.items() if name != "_meta"})


def plain_method(server: Server) -> str:
    """Return a served method that has no name to mirror; skip the check if it is not served."""
    session, method = http_session(server), simple_method(server)
    reply = plain_reply(server)
    if not reply.was_served:
        skip(f"{method} is not served to a client with the right headers: {reply}")
    assert session.is_modern
    return method


@scenario
def plain_reply(server: Server) -> HttpReply:
    """Return the response to a good request."""
    return post(http_session(server), simple_method(server))


def agreed_revision(server: Server, wanted: str) -> str:
    """Return the revision that the server agrees on when ``initialize`` proposes one; empty if it refuses."""
    result = raw_initialize(server, wanted).result
    agreed = result.get("protocolVersion") if isinstance(result, dict) else None
    return agreed if isinstance(agreed, str) else ""


def listed_versions(server: Server) -> set[str]:
    """Return the revisions that the server lists in its discovery."""
    return versions(server.surface.result.get("supportedVersions"))


def serves_handshakes(server: Server) -> bool:
    """Return whether the server also serves clients that open with ``initialize``."""
    listed = listed_versions(server) & set(revisions.HANDSHAKE)
    return bool(listed) or agreed_revision(server, revisions.LATEST_HANDSHAKE) in revisions.HANDSHAKE


def require_modern_only(server: Server) -> None:
    """Skip the check if the server also serves clients of the handshake revisions."""
    if serves_handshakes(server):
        skip("the server also serves clients that open with initialize")


def serves_clients_without_version_header(server: Server) -> bool:
    """Return whether the server serves a revision in which clients send no header with it."""
    old = {one for one in revisions.HANDSHAKE if one <= OLDEST}
    return bool(listed_versions(server) & old) or agreed_revision(server, OLDEST) in old


def is_mismatch(reply: HttpReply, *others: int) -> bool:
    """Return whether a response has the status 400 and HeaderMismatch, or another error that is right."""
    return reply.status == 400 and reply.code in (HEADER_MISMATCH, *others)


@scenario
def wrong_method_header(server: Server) -> HttpReply:
    """Return the response to a request whose header names another method."""
    method = plain_method(server)
    other = "prompts/list" if method == "tools/list" else "tools/list"
    return post(http_session(server), method, headers={METHOD: other})


def expect_mismatch(server: Server, reply: HttpReply, *others: int, why: str = "") -> None:
    """Expect the status 400 and HeaderMismatch, or another error that is right, and say ``why``.

    Skip the check if a wrong Mcp-Method is refused in the same other way, which has a finding of its own.
    """
    wrong = wrong_method_header(server)
    is_same = (reply.status, reply.code) == (wrong.status, wrong.code) and not wrong.was_served
    if is_same and reply is not wrong and not is_mismatch(wrong):
        skip("wrong headers are refused in another way: see http.headers.method-mismatch")
    codes = ", or ".join(map(str, (HEADER_MISMATCH, *others)))
    expected = f"the status 400 and error {codes}{why}"
    expect(reply, is_mismatch(reply, *others), expected, fix="" if reply.was_served else OTHER_REFUSAL)


def error_data(reply: HttpReply) -> Any:
    """Return the data of the error in a response; `ABSENT` if there is none."""
    error = reply.answer.get("error") if reply.answer is not None else None
    return error.get("data", ABSENT) if isinstance(error, dict) else ABSENT


def respelled(
    session: Session, method: str, change: Callable[[bytes, bytes], tuple[bytes, bytes]]
) -> HttpReply:
    """POST a request whose headers, but for those of HTTP itself, are changed one by one."""
    message = session.request_of(method)
    usual = (JSON, ACCEPT, *lines_of(session).mirror.headers(message))
    headers = tuple(change(name, value) for name, value in usual)
    return send_raw(session, request_to(session, "POST", headers, encode(message)), message=message)


def post_incomplete(session: Session, method: str, lacking: str | None) -> HttpReply:
    """POST a request without a member of its ``_meta``, or without ``_meta``; its headers are complete."""
    message = session.request_of(method)
    headers = {name.decode(): value for name, value in lines_of(session).mirror.headers(message)}
    meta = {name: value for name, value in session.envelope.items() if name != lacking}
    params = {} if lacking is None else {"_meta": meta}
    return post_message(session, {**message, "params": params}, headers)


@scenario
def raw_initialize(server: Server, wanted: str) -> HttpReply:
    """POST ``initialize`` as a client of a handshake revision does, and end the session that it opens."""
    session = http_session(server)
    params = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": session.client_info}
    message = {"jsonrpc": "2.0", "id": f"a handshake for {wanted}", "method": "initialize", "params": params}
    reply = post_message(session, message)
    for id in reply.header(SESSION_ID):
        delete(session, {SESSION_ID: id})
    return reply


def refusals_for_lack_of_capabilities(server: Server) -> list[HttpReply]:
    """Call the permitted tools as a client without capabilities; return what was refused for that."""
    server.calls()
    return [reply for reply in exchanges(server) if reply.code == LACKS_CAPABILITY]


def replies_with_results(server: Server) -> list[HttpReply]:
    """Call the permitted tools, and the one that fails; return the responses with a result so far."""
    server.calls()
    sample = server.settings.failing_call
    if sample is not None:
        server.session.request("tools/call", {"name": sample.tool, "arguments": dict(sample.arguments)})
    return [reply for reply in exchanges(server) if reply.result is not ABSENT]


@scenario
def changes_by_a_refused_call(server: Server) -> tuple[HttpReply, tuple[str, ...]]:
    """Send a mutating call with a wrong name in its header; return what has changed nevertheless.

    What changes without it is left out.  Skips the check if the server does not refuse the call, and if the
    right call changes nothing either.
    """
    sample, session = mutating_call(server), http_session(server)
    params = params_of(server.shared(CALLS), sample)
    first = snapshot(server, session, watched(server, session))
    before = snapshot(server, session, first.contents)
    reply = post(session, "tools/call", params, headers={"Mcp-Name": f"{sample.tool}x"})
    if not is_mismatch(reply):
        skip(f"the call is not refused, though its header has another name: {reply}")
    after = snapshot(server, session, before.contents)
    by_itself = changes(first, before)
    found = changes(before, after) - by_itself
    if not found:
        post(session, "tools/call", params)
        if not changes(after, snapshot(server, session, before.contents)) - by_itself:
            skip("the call changes nothing that is seen when its headers are right")
    return reply, tuple(sorted(found))


@scenario
def modern_reply(server: Server) -> HttpReply:
    """POST a right modern request without a session, in a run of a handshake revision."""
    meta = envelope(revisions.LATEST_MODERN, {})
    message = {"jsonrpc": "2.0", "id": "modern", "method": "server/discover", "params": {"_meta": meta}}
    return post_message(http_session(server), message, {SESSION_ID: None})
