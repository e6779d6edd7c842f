"""Subscriptions to what a call of the run changes, without a call that the user names."""

import pytest

from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE, LATEST_MODERN
from mcp_conformance_fixtures.reference import SILENCE
from support.bench import run_checks
from support.in_memory import MemorySettings, VirtualClock, mutated
from support.nightly import nightly, some_of

UPDATED = "test_a_changed_resource_is_announced_to_its_subscriber"
LISTED = "test_a_changed_list_is_notified"
STOPS = "test_updates_stop_after_unsubscribing"
CASES = [(LATEST_HANDSHAKE, UPDATED), (LATEST_MODERN, UPDATED), (LATEST_MODERN, LISTED)]
REVISIONS = [LATEST_HANDSHAKE, pytest.param(LATEST_MODERN, marks=nightly)]
NOTE = "memo://greeting"


def outcome(revision, name, mutate, tmp_path, call=("all",)):
    """Return what the check finds where these tools may be called, and whether it passes."""
    settings = MemorySettings(
        ("in-memory",), call=call, transcripts=tmp_path, serve=mutated(mutate), clock=VirtualClock()
    )
    run = run_checks(settings, revision, lambda check: check.name == name, is_whole=False)
    return [verdict.row.id for verdict in run.verdicts], name in run.passed


def is_news(reply, *ends):
    """Return whether a message is a notification by a method that ends so."""
    return isinstance(reply, dict) and str(reply.get("method", "")).endswith(ends)


def without(*ends):
    """Return a function that lets the server send no notification by methods that end so."""
    return lambda server, request, reply: SILENCE if is_news(reply, *ends) else None


def keeping(note, notices=()):
    """Return a function that adds ``set_note``, which writes a resource; ``note`` keeps its text.

    ``notices`` are messages that the server sends then.
    """

    def mutate(server, request, reply):
        method = request.get("method") if isinstance(request, dict) else None
        params = request.get("params", {}) if method else {}
        if method == "tools/list" and "result" in (reply or {}):
            schema = {
                "type": "object",
                "properties": {"text": {"type": "string"}, "loud": {"type": "boolean"}},
                "required": ["text"],
            }
            tools = reply["result"]["tools"]
            tools.append({"name": "set_note", "description": "Write it.", "inputSchema": schema})
        if method == "resources/read" and params.get("uri") == NOTE and "result" in (reply or {}):
            reply["result"]["contents"][0]["text"] = note["text"]
        if method == "tools/call" and params.get("name") == "set_note":
            has_changed = note["text"] != params["arguments"]["text"]
            note["text"] = params["arguments"]["text"]
            if has_changed:
                for one in notices:
                    server.updated(one)
            reply.pop("error", None)
            reply["result"] = {"resultType": "complete", "content": [{"type": "text", "text": "Written."}]}

    return mutate


@pytest.mark.parametrize(("revision", "name"), CASES)
def test_a_change_that_is_notified_passes(revision, name, tmp_path):
    assert outcome(revision, name, None, tmp_path) == ([], True)


@pytest.mark.parametrize(("revision", "name"), CASES)
def test_a_change_that_is_not_notified_is_found(revision, name, tmp_path):
    found, _ = outcome(revision, name, without("/updated", "/list_changed"), tmp_path)
    is_list = name == LISTED
    assert found == ["subscriptions.list-changed-sent" if is_list else "resources.subscribe.updated-sent"]


@pytest.mark.parametrize(("revision", "name"), some_of(CASES, 2))
def test_what_no_call_changes_is_not_judged(revision, name, tmp_path):
    assert outcome(revision, name, None, tmp_path, call=("none", "add", "echo")) == ([], False)


def test_updates_after_a_call_that_was_found_end_with_the_subscription(tmp_path):
    assert outcome(LATEST_HANDSHAKE, STOPS, None, tmp_path) == ([], True)


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_resource_that_another_text_changes_is_watched(revision, tmp_path):
    call = ("none", "set_note")
    announcing = keeping({"text": ""}, [NOTE])
    assert outcome(revision, UPDATED, announcing, tmp_path, call) == ([], True)
    silent = keeping({"text": ""})
    found, _ = outcome(revision, UPDATED, silent, tmp_path, call)
    assert found == ["resources.subscribe.updated-sent"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_resource_that_changes_by_itself_is_not_judged(revision, tmp_path):
    reads = []

    def slowly(server, request, reply):
        params = request.get("params", {}) if isinstance(request, dict) else {}
        if params.get("uri") == NOTE and "contents" in (reply or {}).get("result", {}):
            reads.append(1)
            reply["result"]["contents"][0]["text"] = f"{len(reads) // 3}"

    assert outcome(revision, UPDATED, slowly, tmp_path, ("none", "echo", "report")) == ([], False)
