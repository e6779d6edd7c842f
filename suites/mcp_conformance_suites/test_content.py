"""Content blocks, resource contents, annotations and icons (spec: server/tools, prompts, resources)."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from mcp_conformance.expect import (
    expect,
    expect_each,
    is_number,
    is_object,
    is_string,
    require_some,
    skip,
)
from mcp_conformance.protocol.content import embeds, has_data, has_text, has_uri_and_name, is_base64, is_text
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.content import (
    annotatable,
    blocks,
    embedded_uris,
    prompt_blocks,
    read_contents,
    tool_blocks,
)
from mcp_conformance.scenarios.shown_credentials import shown_credentials
from mcp_conformance.verdicts import Finding

MEDIA_TYPE = re.compile(
    r"[A-Za-z0-9][\w!#$&^.+-]{0,126}/[A-Za-z0-9][\w!#$&^.+-]{0,126}(\s*;.*)?", re.ASCII | re.DOTALL
)
NO_CREDENTIALS, NO_SECRETS = "content.no-credentials", "logging.no-secrets"
MAX_SHOWN = 3
YEAR_MONTH_OR_DAY_NUMBER = re.compile(r"\d{4}(-\d{2})?|\d{4}-?\d{3}(T.*)?", re.ASCII)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
BINARY_TYPE = re.compile(r"(image/(?!svg)|audio/|video/|application/(octet-stream|pdf|zip|gzip)).*")

# Blocks


@pytest.mark.requirement("content.text.text-string")
def test_a_text_block_has_text(server):
    found = require_some(blocks(server, "text"), skip="no text block came")
    expect_each(found, has_text, "a string in text")


@pytest.mark.requirement("content.image.fields")
def test_an_image_block_has_data_and_a_type(server):
    found = require_some(blocks(server, "image"), skip="no image block came")
    expect_each(found, has_data, "strings in data and mimeType")


@pytest.mark.requirement("content.image.base64")
def test_an_image_is_base64(server):
    found = require_some(members(blocks(server, "image"), "data"), skip="no image block came")
    expect_each(found, is_base64, "base64")


@pytest.mark.requirement("content.image.mime-valid")
def test_an_image_in_a_prompt_has_a_media_type(server):
    types = require_some(members(prompt_blocks(server, "image"), "mimeType"), skip="no prompt has an image")
    expect_each(types, is_media_type, "a media type such as image/png")


@pytest.mark.requirement("content.audio.fields")
def test_an_audio_block_has_data_and_a_type(server):
    found = require_some(blocks(server, "audio"), skip="no audio block came")
    expect_each(found, has_data, "strings in data and mimeType")


@pytest.mark.requirement("content.audio.base64")
def test_audio_is_base64(server):
    found = require_some(members(blocks(server, "audio"), "data"), skip="no audio block came")
    expect_each(found, is_base64, "base64")


@pytest.mark.requirement("content.audio.mime-valid")
def test_audio_in_a_prompt_has_a_media_type(server):
    types = require_some(members(prompt_blocks(server, "audio"), "mimeType"), skip="no prompt has audio")
    expect_each(types, is_media_type, "a media type such as audio/wav")


@pytest.mark.requirement("content.resource-link.fields")
def test_a_resource_link_has_a_uri_and_a_name(server):
    links = require_some(blocks(server, "resource_link"), skip="no resource link came")
    expect_each(links, has_uri_and_name, "strings in uri and name")


@pytest.mark.requirement("content.embedded.fields")
def test_an_embedded_resource_has_a_uri_and_text_or_blob(server):
    found = require_some(blocks(server, "resource"), skip="no embedded resource came")
    expect_each(found, embeds, "an object resource with strings in uri and in text or blob")


@pytest.mark.requirement("content.embedded.uri-valid")
def test_an_embedded_resource_in_a_prompt_has_a_uri(server):
    uris = require_some(embedded_uris(server), skip="no prompt embeds a resource with a URI of its own")
    expect_each(uris, has_scheme, "a URI with a scheme")


@pytest.mark.requirement("content.embedded.mime-present")
def test_an_embedded_resource_in_a_prompt_has_a_mime_type(server):
    found = members(prompt_blocks(server, "resource"), "resource")
    require_some(found, skip="no prompt embeds a resource")
    expect_each(found, has_any("mimeType"), "a member mimeType")


@pytest.mark.requirement("content.embedded.text-or-blob")
def test_an_embedded_resource_carries_text_or_base64(server):
    found = require_some(members(blocks(server, "resource"), "resource"), skip="no embedded resource came")
    expect_each(found, has_any("text", "blob"), "text or blob")
    expect_each(members(found, "blob"), is_base64, "base64")


@pytest.mark.requirement("content.embedded.resources-capability")
def test_a_server_that_embeds_resources_declares_them(server):
    found = require_some(tool_blocks(server, "resource"), skip="no tool embeds a resource")
    expect(found[0], server.offers.get("resources") is not None, "a resources capability")


def has_any(*names):
    """Return a predicate: whether an object has one of these members."""
    return lambda json: isinstance(json, dict) and any(name in json for name in names)


# Resource contents


@pytest.mark.requirement("content.resource.blob-base64")
def test_a_blob_is_base64(server):
    found = require_some(members(read_contents(server), "blob"), skip="no resource has a blob")
    expect_each(found, is_base64, "base64")


@pytest.mark.requirement("content.resource.text-only-if-text")
def test_the_text_of_a_resource_is_text(server):
    contents = [each for each in read_contents(server) if each.is_a(dict)]
    found = [each for each in contents if is_string(each.json.get("text"))]
    require_some(found, skip="no resource has text")
    expect_each(found, reads_as_text, "text without NUL and of a textual type")


def reads_as_text(content):
    is_type_binary = BINARY_TYPE.fullmatch(str(content.get("mimeType", ""))) is not None
    return is_text(content["text"]) and not is_type_binary


# Annotations and _meta


@pytest.mark.requirement("content.annotations.audience")
def test_an_audience_is_made_of_roles(server):
    found = members(annotatable(server), "annotations", "audience")
    require_some(found, skip="nothing is annotated with an audience")
    expect_each(found, is_audience, 'an array of "user" and "assistant"')


@pytest.mark.requirement("content.annotations.priority")
def test_a_priority_is_from_0_to_1(server):
    found = members(annotatable(server), "annotations", "priority")
    require_some(found, skip="nothing is annotated with a priority")
    expect_each(found, is_priority, "a number from 0 to 1")


@pytest.mark.requirement("content.annotations.last-modified-string")
def test_last_modified_is_a_string(server):
    found = members(annotatable(server), "annotations", "lastModified")
    require_some(found, skip="nothing is annotated with lastModified")
    expect_each(found, is_string, "a string")


@pytest.mark.requirement("content.annotations.last-modified-iso8601")
def test_last_modified_is_a_time(server):
    found = members(annotatable(server), "annotations", "lastModified")
    require_some(found, skip="nothing is annotated with lastModified")
    expect_each(found, is_iso_8601, "an ISO 8601 time")


@pytest.mark.requirement("content.meta-object")
def test_meta_of_content_is_an_object(server):
    found = members([*annotatable(server), *read_contents(server)], "_meta")
    require_some(found, skip="nothing has _meta")
    expect_each(found, is_object, "an object")


def is_audience(value):
    return isinstance(value, list) and all(role in ("user", "assistant") for role in value)


def is_priority(value):
    return is_number(value) and 0 <= value <= 1


def is_iso_8601(value):
    if not isinstance(value, str) or YEAR_MONTH_OR_DAY_NUMBER.fullmatch(value):
        return True
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


# Formats


def is_media_type(value):
    return not isinstance(value, str) or MEDIA_TYPE.fullmatch(value) is not None


def has_scheme(value):
    """Return whether a string begins with a URI scheme and has no space; True for any other value."""
    return not isinstance(value, str) or (SCHEME.match(value) is not None and " " not in value)


# Credentials


@pytest.mark.stage("last")
@pytest.mark.requirement("content.no-credentials")
def test_no_credential_is_shown(server):
    found = shown_credentials(server)
    if not any(session.received.kept_lines for session in server.sessions.every):
        skip("the server wrote nothing")
    logged = [one for one in found if one.is_logged]
    returned = [one for one in found if one.is_returned]
    others = [one for one in found if not (one.is_logged or one.is_returned)]
    verdicts = [
        Finding("no credential", and_more(some), some[0].lines, rule, advisory=some is returned)
        for some, rule in ((logged, NO_SECRETS), (others, NO_CREDENTIALS), (returned, NO_CREDENTIALS))
        if some
    ]
    if verdicts:
        raise verdicts[0].with_others(verdicts[1:])


def and_more(some):
    """Return the credentials in words, the first few with their places."""
    shown = [f"{one.kind} in {one.place}" for one in some]
    more = f"; and {len(shown) - MAX_SHOWN} more" if len(shown) > MAX_SHOWN else ""
    return "; ".join(shown[:MAX_SHOWN]) + more
