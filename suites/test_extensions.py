"""Extensions of the protocol (spec: basic/versioning, "Extension Negotiation").

This client declares none, so none may show in what it is sent.
"""

from __future__ import annotations

import re

import pytest

from conformance.expect import expect_each, require_some
from conformance.protocol import revisions
from conformance.protocol.value import Value, members
from conformance.scenarios.request_metadata import exchanges, said_of

LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
IDENTIFIER = re.compile(rf"{LABEL}(?:\.{LABEL})*/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
CORE = ("complete", "input_required")


@pytest.mark.requirement("extensions.identifier")
def test_an_extension_is_named_by_a_prefix_and_a_name(server):
    names = [Value(name, one.path, one.lines) for one in extensions(server) for name in one.json]
    wanted = "labels with dots between them, a slash and a name, such as com.example/name"
    expect_each(names, lambda name: IDENTIFIER.fullmatch(name) is not None, wanted)


@pytest.mark.requirement("extensions.settings-object")
def test_the_settings_of_an_extension_are_an_object(server):
    settings = [each for one in extensions(server) for each in one.each()]
    expect_each(settings, lambda value: isinstance(value, dict), "an object")


@pytest.mark.requirement("extensions.settings-object")
def test_the_extensions_are_an_object(server):
    declared = require_some(members([server.offers], "extensions"), skip="no extension is advertised")
    expect_each(declared, lambda value: isinstance(value, dict), "an object")


@pytest.mark.requirement("extensions.fallback")
def test_an_extension_the_client_lacks_does_not_show_in_results(server, traffic):
    extensions(server)
    replies = [reply for request, reply in exchanges(server) if not declares_extensions(request)]
    types = [one for one in members(replies, "result", "resultType") if one.is_a(str)]
    expect_each(
        types, lambda one: one in CORE, "a resultType of the core protocol: complete or input_required"
    )


def declares_extensions(request):
    declared = Value(said_of(request, revisions.CLIENT_CAPABILITIES)).get("extensions")
    return declared is not None and declared.json != {}


def extensions(server):
    """The extensions that the server advertises."""
    declared = [one for one in members([server.offers], "extensions") if one.is_a(dict) and one.json]
    return require_some(declared, skip="no extension is advertised")
