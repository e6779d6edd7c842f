"""What the credential of the user is worth: requests of nobody, with forged variants of it, and of another.

Each request is one that changes nothing: the opening of a session, a ping, a list, the call of a tool that
does not exist, or of one that only reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from mcp_conformance.client.session import NO_PARAMS, Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import skip
from mcp_conformance.login.discovery import resource_paths
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.scenarios.http_auth import (
    BUSY,
    CHALLENGE,
    NOBODY,
    credential,
    in_session,
    made_up_tokens,
    opening_of,
    outsider,
    require_token,
    with_credential,
    without_credential,
)
from mcp_conformance.scenarios.http_requests import (
    HeaderValue,
    HttpReply,
    exchanges,
    http_session,
    lines_of,
    post_message,
    requested,
)
from mcp_conformance.scenarios.http_sessions import INITIALIZED, peers, session_with_id
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.surface import is_live
from mcp_conformance.transport.forged import AUDIENCE, EXPIRED, SIGNATURE, forged
from mcp_conformance.transport.http.challenge import Challenge, challenges
from mcp_conformance.transport.http.headers import SESSION_ID, VERSION
from mcp_conformance.transport.http.request import Headers
from mcp_conformance.verdicts import Finding

NO_SUCH_TOOL = "conformance-no-such-tool"
OMNIBUS = ("all", "full-access")
"""Scopes that stand for all others, beside those with an asterisk (security best practices)."""
INSUFFICIENT = "insufficient_scope"

# Without a credential


@dataclass(frozen=True, eq=False)
class Pair:
    """One request of two clients: ``what`` it is, and the responses to the user and to the other."""

    what: str
    user: HttpReply
    other: HttpReply

    @property
    def is_settled(self) -> bool:
        """Whether the user is served, and the answer to the other says something of the request."""
        is_busy = self.other.status is None or self.other.status in BUSY
        return self.user.was_served and not is_tool_error(self.user) and not is_busy

    @property
    def serves_other(self) -> bool:
        """Whether the other is served as the user is."""
        return self.other.was_served and not is_tool_error(self.other)


def is_tool_error(reply: HttpReply) -> bool:
    """Return whether a call was answered with an error of the tool."""
    return isinstance(reply.result, Mapping) and reply.result.get("isError") is True


@scenario
def visits(server: Server) -> tuple[Pair, ...]:
    """Make requests with the credential and without; skip unless a session opens without it.

    They are a list, and the call of a tool that only reads and has been called with success.
    """
    if not credential(server):
        skip("no credential is given (--header-env Authorization=VARIABLE)")
    if not is_live(server.surface):
        skip("no session opens with the credential that is given")
    if not without_credential(server).was_served:
        skip("no session opens without a credential")
    session = http_session(server)
    with visitor(outsider(server), NOBODY) as nobody:
        return tuple(
            Pair(what, post_message(session, session.request_of(method, params)), nobody(method, params))
            for what, method, params in _harmless(server)
        )


def _harmless(server: Server) -> Iterator[tuple[str, str, Any]]:
    """Yield requests that change nothing: in words, the method and the params."""
    yield from ((one, one, NO_PARAMS) for one in list(server.served_lists())[:1])
    reading = (one for one in server.quick_calls() if one.tool.read_only and _is_plain(one))
    yield from ((f"the call of {one.tool.name}", one.method, one.params) for one in list(reading)[:1])


def _is_plain(call: Call) -> bool:
    """Return whether a call has succeeded, and asked the client for nothing."""
    return call.reply.value is not None and not (call.failed or call.asked or len(call.rounds) > 1)


@contextmanager
def visitor(session: Session, identity: Headers) -> Iterator[Callable[[str, Any], HttpReply]]:
    """Open a session with another identity, and give what sends its requests; skip if it does not open.

    ``session`` lends the connections.
    """
    message = opening_of(session)
    opening = _sent(session, identity, message, {})
    if not opening.was_served:
        skip(f"no session opens with the other identity: {opening}")
    id = next(iter(opening.header(SESSION_ID)), None)
    headers: Mapping[str, HeaderValue] = (
        {} if session.is_modern else {SESSION_ID: id, VERSION: session.revision}
    )
    if not session.is_modern:
        _sent(session, identity, INITIALIZED, headers)
    try:
        yield lambda method, params: _sent(session, identity, session.request_of(method, params), headers)
    finally:
        if id is not None:
            in_session(session, "DELETE", headers, identity=identity)


def _sent(
    session: Session, identity: Headers, message: Mapping[str, Any], headers: Mapping[str, HeaderValue]
) -> HttpReply:
    return in_session(session, "POST", headers, message, identity)


def open_to_all(server: Server, pairs: Sequence[Pair]) -> Finding:
    """Return the finding that all is served without the credential; a defect if the server wants one."""
    sign, said = _wants_credential(server), ""
    if sign is not None:
        said = (
            ", though a made-up token gets 401"
            if sign.status == 401
            else ", though it has metadata for clients"
        )
    served = " and ".join(one.what for one in pairs)
    lines = [line for one in pairs for reply in (one.user, one.other) for line in reply.lines]
    return Finding(
        "a request that is served with the credential only",
        f"{served} served without it as with it{said}",
        [*(sign.lines if sign is not None else ()), *lines],
        defect=Defect.LEAKS if sign is not None else None,
    )


def _wants_credential(server: Server) -> HttpReply | None:
    """Return the response that says that the server wants a credential; None if nothing says so.

    It is the metadata of a protected resource, or a 401 for a token that nobody has issued.
    """
    session = outsider(server)
    own = lines_of(session).server.endpoint
    found = requested(session, replace(own, target=resource_paths(own)[0]))
    if found.document is not None and "resource" in found.document:
        return found
    refused = with_credential(server, f"Bearer {made_up_tokens(server)['a word']}")
    return refused if refused.status == 401 else None


@scenario
def unknown_call(server: Server) -> Pair:
    """Call a tool that does not exist in a session, with the credential and without."""
    require_token(server)
    session = http_session(server)
    params = {"name": NO_SUCH_TOOL, "arguments": {}}
    messages = [session.request_of("tools/call", params) for _ in range(2)]
    return Pair(
        "tools/call", post_message(session, messages[0]), in_session(session, "POST", message=messages[1])
    )


def is_same_answer(pair: Pair) -> bool:
    """Return whether both clients got an answer of JSON-RPC of the same kind."""
    one, other = pair.user, pair.other
    is_answer = one.answer is not None and one.status not in (401, 403)
    return is_answer and (one.status, one.code, one.result is ABSENT) == (
        other.status,
        other.code,
        other.result is ABSENT,
    )


# Forged tokens


@scenario
def forged_replies(server: Server) -> Mapping[str, HttpReply]:
    """Send variants of the user's token that cannot be valid; return the responses by what each has."""
    token = require_token(server)
    if not server.settings.forge:
        skip("variants of the token are sent with --forge only")
    variants = forged(token)
    if not variants:
        skip("the token is so short that a changed one may be the token of somebody else")
    if with_credential(server, f"Bearer {made_up_tokens(server)['a word']}").status != 401:
        skip("a token that nobody has issued does not get 401 either: see http.auth.invalid-token")
    return {kind: with_credential(server, f"Bearer {one}") for kind, one in variants.items()}


def changed_tokens(server: Server) -> Mapping[str, HttpReply]:
    """Return the responses to variants that prove that no token is taken unverified, by what each has.

    Where the signature is not verified, those with other claims prove something else.  If a made-up token is
    served, `http.auth.invalid-token` is the finding, and the variants that are served add nothing.
    """
    replies = forged_replies(server)
    is_verified = SIGNATURE not in replies or not replies[SIGNATURE].was_served
    found = {kind: one for kind, one in replies.items() if is_verified or kind not in (AUDIENCE, EXPIRED)}
    made_up = [with_credential(server, f"Bearer {one}") for one in made_up_tokens(server).values()]
    is_found = any(one.was_served for one in made_up)
    return {kind: one for kind, one in found.items() if not (is_found and one.was_served)}


def for_another_audience(server: Server) -> HttpReply:
    """Return the response to a token for another audience; skip if its signature is verified."""
    return _with_claim(server, AUDIENCE)


def expired(server: Server) -> HttpReply:
    """Return the response to a token that has expired; skip if its signature is verified."""
    return _with_claim(server, EXPIRED)


def _with_claim(server: Server, kind: str) -> HttpReply:
    replies = forged_replies(server)
    if kind not in replies:
        skip("the token is not a JWT")
    if not replies[SIGNATURE].was_served:
        skip("the signature is verified: only a token that its issuer makes could show it")
    return replies[kind]


# Another identity


@scenario
def others_in_session(server: Server) -> Mapping[str, HttpReply]:
    """Send requests of a session that the user has opened with a second identity; return the responses.

    Skips the check unless both identities are served in sessions of their own, and nobody in that of another.
    """
    require_token(server)
    identity = server.settings.other_identity
    if not identity:
        skip("no second identity is given (--header-other-env Authorization=VARIABLE)")
    session = session_with_id(server)
    with visitor(outsider(server), identity) as other, peers(session, 1) as [owner]:
        own = other("ping", NO_PARAMS), owner.post("ping")
        if not all(one.was_served for one in own):
            skip("ping is not answered to both identities in sessions of their own")
        ping = session.request_of("ping")
        if in_session(session, "POST", owner.headers, ping).was_served:
            skip("a session needs no credential: see http.auth.every-request")
        asked = in_session(session, "POST", owner.headers, session.request_of("ping"), identity)
        rest = {one: in_session(session, one, owner.headers, identity=identity) for one in ("GET", "DELETE")}
        return {"ping": asked, **rest}


# Scopes


def scopes(challenge: Challenge | None, document: Mapping[str, Any]) -> list[str]:
    """Return the scopes in a challenge and in the metadata, each once."""
    listed = document.get("scopes_supported")
    asked = challenge.parameters.get("scope", "").split() if challenge is not None else []
    known = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    return list(dict.fromkeys((*asked, *known)))


def is_omnibus(scope: str) -> bool:
    """Return whether a scope permits everything of its kind: it has an asterisk, or a word for all."""
    return "*" in scope or scope.lower() in OMNIBUS


def scope_refusals(server: Server) -> list[tuple[HttpReply, list[Challenge]]]:
    """Return the refusals for want of a scope so far, each with its challenges for bearer tokens."""
    refusals = [(one, _bearers(one)) for one in exchanges(server) if one.status == 403]
    return [
        (reply, found)
        for reply, found in refusals
        if any(one.parameters.get("error") == INSUFFICIENT for one in found)
    ]


def _bearers(reply: HttpReply) -> list[Challenge]:
    try:
        return [one for one in challenges(reply.header(CHALLENGE)) if one.scheme == "bearer"]
    except ValueError:
        return []
