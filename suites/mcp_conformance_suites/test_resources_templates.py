"""Listing resource templates, and reading their expansions (spec: server/resources, "Resource Templates")."""

from __future__ import annotations

import pytest

from mcp_conformance.client.thrown import INTERNAL_ERROR
from mcp_conformance.expect import (
    expect,
    expect_each,
    expect_result,
    is_string,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol.uri import is_template
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.list_stability import (
    expect_items,
    require_answered_form,
    require_pages,
)
from mcp_conformance.scenarios.resource_templates import expansions, unrouted
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.verdicts import Finding

LIST = "resources/templates/list"
FORMS = ("absent", "empty")


# The list


@pytest.mark.requirement("resources.templates.list-answered")
@pytest.mark.capability("resources")
def test_templates_are_listed(server, session):
    if require_answer(server.listing(LIST).replies[0]).value is None:
        expect_result(session.request(LIST, {}))


@pytest.mark.requirement("resources.templates.result-shape")
@pytest.mark.capability("resources")
def test_a_page_has_an_array_of_templates(server):
    pages = require_pages(server, LIST)
    expect_items(pages, LIST, is_named_template, "an object with strings in uriTemplate and name")


@pytest.mark.requirement("resources.templates.params-optional")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.capability("resources")
def test_the_list_of_templates_needs_no_params(server, session, form):
    if server.listing(LIST).replies[0].fault is not None:
        skip(f"{LIST} is not answered")
    expect_result(require_answered_form(session, LIST, form, FORMS))


def is_named_template(value):
    return isinstance(value, dict) and is_string(value.get("uriTemplate")) and is_string(value.get("name"))


# A template


@pytest.mark.requirement("resources.templates.uri-template-syntax")
@pytest.mark.capability("resources")
def test_a_uri_template_has_valid_syntax(server):
    templates = require_some(templates_of(server), skip="no resource template is listed")
    patterns = [one for one in members(templates, "uriTemplate") if one.is_a(str)]
    expect_each(patterns, is_template, "a URI template by RFC 6570")


@pytest.mark.requirement("resources.templates.optional-members")
@pytest.mark.capability("resources")
def test_a_template_describes_itself_in_strings(server, revision):
    templates = require_some(templates_of(server), skip="no resource template is listed")
    described = ("description", "mimeType", "title")
    for member in described if revision >= "2025-06-18" else described[:2]:
        expect_each(members(templates, member), is_string, f"a string, or no {member}")


def templates_of(server):
    return [template for template in server.listed(LIST) if template.is_a(dict)]


# Expansions


@pytest.mark.requirement("resources.templates.expansion-readable")
@pytest.mark.capability("resources")
def test_an_expanded_template_can_be_read(server):
    require_served(server, "resources/read")
    found = require_some(expansions(server), skip="no value is known for a variable of a template")
    lost = [each for each in found if each.exists and each.reply.error is not None]
    judged = [each for each in found if each in lost or each.reply.value is not None]
    for each in judged:
        siblings = [other for other in judged if other.template == each.template]
        if all(other in lost for other in siblings):
            raise Finding(f"{each.uri} to be read, {each.shown_by}", str(each.reply), each.reply.lines)
    if one := unrouted(server, found):
        template = one.template.json["uriTemplate"]
        expected = f"some expansion of {template} to be read (--example '{template} JSON' gives values)"
        how = "fail" if one.reply.code == INTERNAL_ERROR else "are refused like a URI that is not known"
        got = f"all that were tried {how}: {one.reply}"
        raise Finding(expected, got, one.reply.lines, advisory=True)
    require_some(judged, skip="no expanded template was read, and none that exists was refused")


@pytest.mark.requirement("resources.templates.mime-uniform")
@pytest.mark.capability("resources")
def test_the_resources_of_a_template_have_its_mime_type(server):
    typed = [each for each in expansions(server) if is_string(each.template.json.get("mimeType"))]
    pairs = [(each, mime) for each in typed for mime in mime_types_of(each.reply)]
    require_some(pairs, skip="no template with a mimeType has a read resource with one")
    for each, mime in pairs:
        expected = each.template.json["mimeType"]
        holds = essence(mime.json) == essence(expected)
        expect(mime, holds, f"{expected} for {each.uri}, as its template says")


def mime_types_of(reply):
    """Return the type of a single content, in a list; an empty list for several."""
    array = reply.value.get("contents") if reply.value is not None else None
    contents = list(array.each()) if array is not None and array.is_a(list) else []
    return [mime for mime in members(contents, "mimeType") if mime.is_a(str) and len(contents) == 1]


def essence(media_type):
    """Return a media type without parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()
