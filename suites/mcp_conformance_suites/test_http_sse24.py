"""HTTP+SSE, the transport of 2024-11-05: its stream and its POSTs (spec: basic/transports)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, require_some
from mcp_conformance.protocol.text import named
from mcp_conformance.scenarios.http_sse24 import NAMES, two_conversations
from mcp_conformance.verdicts import Finding

NO_ADDRESS = "no stream names an address for messages at the server's origin"


@pytest.mark.requirement("http.sse24.endpoint-event")
def test_the_first_event_names_the_address_for_messages(server):
    for client in two_conversations(server):
        expected = "first the event endpoint, with a URI for messages"
        got = f"{client.reply}, which begins with {named(client.reply.body.decode(errors='replace'))!r}"
        expect(client.reply, client.endpoint is not None, expected, got=got)


@pytest.mark.requirement("http.sse24.same-origin")
def test_the_address_for_messages_is_at_the_same_origin(server):
    known = [one for one in two_conversations(server) if one.endpoint is not None]
    for client in require_some(known, skip="no stream names an address for messages"):
        expected, got = f"an address at {client.server.endpoint.origin}", named(str(client.uri))
        expect(client.reply, client.is_here, expected, got=got)


@pytest.mark.requirement("http.sse24.post")
def test_messages_are_accepted_and_answered_on_the_stream(server):
    for client in require_some(speaking(server), skip=NO_ADDRESS):
        for reply in client.posts:
            expect(reply, reply.is_accepted, "a status from 200 to 299, as the message is accepted")
            id = reply.sent.get("id", "")
            if id and client.answers.get(id) != "message":
                got = f"it in an event {client.answers[id]}" if id in client.answers else "no answer"
                expected = f"the answer to {reply.sent['method']} in an event message on the stream"
                raise Finding(expected, got, (*reply.lines, *client.reply.lines))


@pytest.mark.requirement("http.sse24.isolated")
def test_each_stream_gets_its_own_answers(server):
    clients = require_some([one for one in two_conversations(server) if one.is_here], skip=NO_ADDRESS)
    if len({client.uri for client in clients}) < len(clients):
        lines = [line for client in clients for line in client.reply.lines]
        raise Finding("another address for each stream", f"{clients[0].uri} for two streams", lines)
    for name, client in zip(NAMES, two_conversations(server), strict=True):
        foreign = [id for id in client.answers if not id.startswith(name)]
        got = f"the answer to {named(str(foreign[0]))}" if foreign else ""
        expect(client.reply, not foreign, "no answers to another client's requests", got=got)


def speaking(server):
    """Return the clients that have sent messages."""
    return [one for one in two_conversations(server) if one.posts]
