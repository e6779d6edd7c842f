"""Listing resource templates, and what they stand for (spec: server/resources, "Resource Templates")."""

from __future__ import annotations

import pytest

from conformance.client.session import NO_PARAMS
from conformance.expect import expect, expect_each, expect_result, require_answer, require_some, skip
from conformance.protocol.uri import is_template
from conformance.protocol.value import members
from conformance.scenarios.invalid_requests import is_not_found
from conformance.scenarios.resource_templates import expansions
from conformance.verdicts import Finding


def is_string(value):
    return isinstance(value, str)


# The list


@pytest.mark.requirement("resources.templates.list-answered")
def test_templates_are_listed(server, session):
    if require_answer(listing(server).replies[0]).value is None:
        expect_result(session.request("resources/templates/list", {}))


@pytest.mark.requirement("resources.templates.result-shape")
def test_a_page_has_an_array_of_templates(server):
    pages = [reply.value for reply in listing(server).replies if reply.value is not None]
    for page in require_some(pages, skip="resources/templates/list gave no result"):
        found = page.get("resourceTemplates")
        expect(found or page, found is not None and found.is_a(list), "an array in resourceTemplates")
        expect_each(found.each(), is_named_template, "an object with strings in uriTemplate and name")


@pytest.mark.requirement("resources.templates.params-optional")
@pytest.mark.parametrize("form", ["absent", "empty"])
def test_the_list_of_templates_needs_no_params(server, session, form):
    if listing(server).replies[0].fault is not None:
        skip("resources/templates/list is not answered")
    forms = {"absent": NO_PARAMS, "empty": {}}
    replies = {name: session.request("resources/templates/list", params) for name, params in forms.items()}
    if all(reply.value is None for reply in replies.values()):
        skip("resources/templates/list gives no result in either form")
    expect_result(replies[form])


def listing(server):
    if not server.declares("resources"):
        skip("resources are not declared")
    return server.listing("resources/templates/list")


def is_named_template(value):
    return isinstance(value, dict) and is_string(value.get("uriTemplate")) and is_string(value.get("name"))


# A template


@pytest.mark.requirement("resources.templates.uri-template-syntax")
def test_the_pattern_of_a_template_is_one(server):
    patterns = [one for one in members(listed(server), "uriTemplate") if one.is_a(str)]
    expect_each(patterns, is_template, "a URI template by RFC 6570")


@pytest.mark.requirement("resources.templates.optional-members")
def test_a_template_describes_itself_in_strings(server, revision):
    for member in (
        ("description", "mimeType", "title") if revision >= "2025-06-18" else ("description", "mimeType")
    ):
        expect_each(members(listed(server), member), is_string, f"a string, or no {member}")


def listed(server):
    found = [template for template in server.listed("resources/templates/list") if template.is_a(dict)]
    return require_some(found, skip="no resource template is listed")


# What it stands for


@pytest.mark.requirement("resources.templates.expansion-readable")
def test_what_a_template_stands_for_can_be_read(server):
    found = require_some(expansions(server), skip="no value is known for a variable of a template")
    lost = [each for each in found if each.sure and is_not_found(server, each.reply)]
    judged = [each for each in found if each in lost or each.reply.value is not None]
    for each in require_some(
        judged, skip="no expansion of a template was read, and none that is sure to exist was lost"
    ):
        siblings = [other for other in judged if other.template == each.template]
        if all(other in lost for other in siblings):
            raise Finding(
                f"{each.uri} to be read, a value the server completes", str(each.reply), each.reply.lines
            )


@pytest.mark.requirement("resources.templates.mime-uniform")
def test_a_template_of_one_type_stands_for_nothing_of_another(server):
    typed = [each for each in expansions(server) if is_string(each.template.json.get("mimeType"))]
    pairs = [(each, mime) for each in typed for mime in types_of(each.reply)]
    for each, mime in require_some(
        pairs, skip="no resource of a template with a mimeType was read and says its type"
    ):
        expected = each.template.json["mimeType"]
        expect(
            mime, essence(mime.json) == essence(expected), f"{expected} for {each.uri}, as its template says"
        )


def types_of(reply):
    """The type of what was read, if it is a single content."""
    array = reply.value.get("contents") if reply.value is not None else None
    contents = list(array.each()) if array is not None and array.is_a(list) else []
    return [mime for mime in members(contents, "mimeType") if mime.is_a(str) and len(contents) == 1]


def essence(media_type):
    return media_type.partition(";")[0].strip().lower()
