"""Extensions of the protocol (spec: basic/versioning, "Extension Negotiation").

This client declares none, so no result may depend on one.
"""

from __future__ import annotations

import re

import pytest

from mcp_conformance.expect import expect_each, is_object, require_some
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.request_metadata import exchanges, meta_value
from mcp_conformance.scenarios.traffic import exercise_everything

LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
IDENTIFIER = re.compile(rf"{LABEL}(?:\.{LABEL})*/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
CORE = ("complete", "input_required")


@pytest.mark.requirement("extensions.identifier")
@pytest.mark.stage("listed")
def test_the_identifier_of_an_extension_has_a_prefix_and_a_name(server):
    declared = require_extensions(server)
    identifiers = [Value(name, one.path, one.lines) for one in declared for name in one.json]
    expected = "labels with dots between them, a slash and a name, such as com.example/name"
    expect_each(identifiers, lambda name: IDENTIFIER.fullmatch(name) is not None, expected)


@pytest.mark.requirement("extensions.settings-object")
@pytest.mark.stage("listed")
def test_the_settings_of_an_extension_are_an_object(server):
    settings = [each for one in require_extensions(server) for each in one.each()]
    expect_each(settings, is_object, "an object")


@pytest.mark.requirement("extensions.settings-object")
@pytest.mark.stage("listed")
def test_the_extensions_are_an_object(server):
    declared = require_some(members([server.offers], "extensions"), skip="no extension is advertised")
    expect_each(declared, is_object, "an object")


@pytest.mark.requirement("extensions.fallback")
def test_results_do_not_depend_on_undeclared_extensions(server):
    require_extensions(server)
    exercise_everything(server)
    replies = [reply for request, reply in exchanges(server) if not declares_extensions(request)]
    types = [one for one in members(replies, "result", "resultType") if one.is_a(str)]
    expected = "a resultType of the core protocol: complete or input_required"
    expect_each(types, lambda one: one in CORE, expected)


def declares_extensions(request):
    """Return whether the client of a request declares an extension."""
    declared = Value(meta_value(request, revisions.CLIENT_CAPABILITIES)).get("extensions")
    return declared is not None and declared.json != {}


def require_extensions(server):
    """Return the extensions that the server advertises; skip if there are none."""
    declared = [one for one in members([server.offers], "extensions") if one.is_a(dict) and one.json]
    return require_some(declared, skip="no extension is advertised")
