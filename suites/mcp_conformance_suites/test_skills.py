"""Skills: entries, and the files behind them (extension io.modelcontextprotocol/skills, SEP-2640).

All checks judge the same lists and reads, made once in the shared session.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from mcp_conformance.expect import (
    expect,
    expect_each,
    expect_error,
    is_boolean,
    is_integer,
    is_object,
    is_string,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol.frontmatter import INSTALL, YamlError, differences, fields, is_available
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.skills import (
    DIRECTORY,
    EXTENSION,
    FOLDER,
    GET,
    LIST,
    MAIN,
    MAX_NAME,
    Skill,
    all_entries,
    directories,
    fetched_entries,
    fetched_skills,
    file_as_directory,
    files,
    follows_naming_rules,
    fresh_entry,
    listed_resources,
    listed_skills,
    main_files,
    main_resources,
    other_unknown_file,
    read_directories,
    read_files,
    referred_skills,
    relisted,
    require_page,
    rooted_skills,
    skill_pages,
    supporting_file_as_skill,
    unknown_directory,
    unknown_file,
    unknown_skill,
)
from mcp_conformance.verdicts import Finding

MAX_FILES, MAX_BYTES = 512, 16 * 1024 * 1024
MAX_DESCRIPTION = 1024
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
REG_NAME = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
SEGMENT = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+")
PREFIX = "io.modelcontextprotocol.skills/"
SCOPES = ("public", "private")


# What is declared, and what of it is there


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.declares-resources")
@pytest.mark.stage("listed")
def test_a_server_with_skills_declares_resources(server):
    server.require_discovery()
    expect(server.offers, server.declares("resources"), "the capability resources beside the extension")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.settings-boolean")
@pytest.mark.stage("listed")
def test_the_setting_of_folders_is_a_boolean(server):
    found = members([server.offers], "extensions", EXTENSION, "directoryRead")
    expect_each(require_some(found, skip="directoryRead is not set"), is_boolean, "true or false")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.list-implemented")
def test_skills_are_listed(server):
    first = skill_pages(server).replies[0]
    require_answer(first)
    expect(first, first.value is not None, f"a result of {LIST}, as the extension is declared")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.get-implemented")
def test_a_listed_skill_can_be_fetched(server):
    for skill, reply in fetched_skills(server):
        require_answer(reply)
        if reply.value is None and relisted(server, skill.uri) is not None:
            expect(reply, False, f"a result of {GET} for {skill.uri}, which is listed")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills", "directoryRead")
@pytest.mark.requirement("skills.directory-implemented")
def test_the_folder_of_a_skill_is_listed(server):
    for one in [folder for folder in directories(server) if folder.is_root]:
        first = one.listing.replies[0]
        require_answer(first)
        expect(first, first.value is not None, f"a result of {DIRECTORY} for {one.uri}")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills", "directoryRead")
@pytest.mark.requirement("skills.directory-inner")
def test_a_folder_inside_of_a_skill_is_listed(server):
    inner = [folder for folder in directories(server) if not folder.is_root]
    require_root(server)
    for one in require_some(inner, skip="no skill has a folder in it"):
        first = one.listing.replies[0]
        require_answer(first)
        expect(
            first, first.value is not None, f"a result of {DIRECTORY} for {one.uri}, as for {one.skill.root}"
        )


def require_root(server):
    """Skip if no folder of a skill can be listed, which another rule reports."""
    roots = [one for one in directories(server) if one.is_root and one.listing.replies[0].value is not None]
    require_some(roots, skip="the folder of no skill is listed")


# The list


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.list-shape")
def test_the_list_of_skills_has_an_array_of_objects(server):
    for page in require_page(server):
        found = expect_member(page, "skills", is_array, "an array skills")
        expect_each(found.each(), is_object, "an object")


def expect_member(value, name, holds, expected):
    """Expect a member for which ``holds``, and return it."""
    found = value.get(name)
    expect(found or value, found is not None and holds(found.json), expected)
    return found


def is_array(json):
    """Return whether a JSON value is an array."""
    return isinstance(json, list)


def is_count(json):
    """Return whether a JSON value is a whole number from 0 on."""
    return is_integer(json) and json >= 0


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.list-hints")
def test_a_page_of_skills_has_caching_hints(server):
    for page in require_page(server):
        expect_hints(page)


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.get-hints")
def test_a_fetched_skill_has_caching_hints(server):
    for result in fetched_results(server):
        expect_hints(result)


def expect_hints(result):
    """Expect both caching hints, with their types."""
    expect_member(result, "ttlMs", is_count, "ttlMs, a whole number of milliseconds")
    expect_member(result, "cacheScope", SCOPES.__contains__, f"cacheScope, {' or '.join(SCOPES)}")


def fetched_results(server):
    """Return the results of skills/get; skip if there are none."""
    replies = [reply for _, reply in (*fetched_skills(server), *referred_skills(server))]
    found = [reply.value for reply in replies if reply.value is not None]
    return require_some(found, skip=f"{GET} gave no result")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.result-type")
def test_results_about_skills_are_complete(server):
    replies = [*skill_pages(server).replies]
    if any(skill.root for skill in map(Skill, skill_pages(server).items)):
        replies += [reply for _, reply in fetched_skills(server)]
        if server.declares("extensions", EXTENSION, "directoryRead"):
            replies += [reply for folder in directories(server) for reply in folder.listing.replies]
    results = [reply.value for reply in replies if reply.value is not None]
    found = require_some(members(results, "resultType"), skip="no result has a resultType")
    expect_each(found, lambda kind: kind == "complete", "complete")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.pages-end")
def test_the_pages_of_skills_end(server):
    listing = skill_pages(server)
    require_page(server)
    if listing.is_too_costly:
        skip(listing.failure)
    if listing.failure:
        last = listing.replies[-1]
        require_answer(last)
        raise Finding("a last page without a nextCursor", listing.failure, last.lines)


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.entry-atomic")
def test_an_entry_is_on_one_page(server):
    counted = Counter(one.uri for one in listed_skills(server) if one.uri)
    for one in listed_skills(server):
        expect(one.value, counted[one.uri] <= 1, f"one entry of {one.uri}", got=f"{counted[one.uri]} entries")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.names-unique")
def test_the_names_of_listed_skills_differ(server):
    different = {one.uri: one for one in listed_skills(server) if one.uri and one.name}
    counted = Counter(one.name for one in different.values())
    for one in different.values():
        expected = f"another name than {show(one.name)}, which {counted[one.name]} skills have"
        expect(one.value, counted[one.name] <= 1, expected, got=one.uri)


# An entry


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.entry-uri")
def test_an_entry_has_the_uri_of_a_skill_md(server):
    for one in all_entries(server):
        found = one.value.get("uri")
        expect(found or one.value, bool(one.root) and ":" in one.uri, f"a uri that ends with {MAIN}")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.name-and-description")
def test_an_entry_has_a_name_and_a_description(server):
    for one in all_entries(server):
        found = expect_member(one.value, "frontmatter", is_object, "frontmatter, an object")
        for name in ("name", "description"):
            is_there = isinstance(found.json.get(name), str) and bool(found.json[name].strip())
            expect(found, is_there, f"a {name} in the frontmatter of {one.uri}")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.name-rules")
def test_the_name_of_a_skill_follows_the_rules(server):
    named = [one for one in all_entries(server) if one.name]
    for one in require_some(named, skip="no entry has a name"):
        expected = f"1 to {MAX_NAME} lower-case letters, digits and single hyphens, none at either end"
        expect(
            one.value, follows_naming_rules(one.name), expected, got=f"the name {show(one.name)} of {one.uri}"
        )


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.description-length")
def test_the_description_of_a_skill_is_short(server):
    values = [one.value for one in all_entries(server)]
    found = [one for one in members(values, "frontmatter", "description") if one.is_a(str)]
    for one in require_some(found, skip="no entry has a description"):
        length = len(one.json)
        expect(
            one,
            length <= MAX_DESCRIPTION,
            f"at most {MAX_DESCRIPTION} characters",
            got=f"{length} characters",
        )


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.path-name")
def test_the_folder_of_a_skill_has_its_name(server):
    named = [one for one in all_entries(server) if one.name and one.root]
    for one in require_some(named, skip="no entry has a name and the URI of a SKILL.md"):
        expect(
            one.value,
            one.is_in_its_folder,
            f"a path whose last folder is {show(one.name)}, the name",
            got=one.uri,
        )


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.uri-form")
def test_a_skill_uri_has_two_slashes(server):
    uris = [uri for one in all_entries(server) for uri in members([one.value, *one.files], "uri")]
    ours = [uri for uri in uris if uri.is_a(str) and uri.json.lower().startswith("skill:")]
    found = require_some(ours, skip="no URI has the scheme skill")
    expect_each(found, lambda uri: uri.lower().startswith("skill://"), "skill:// and a path")


def skill_segments(server):
    """Return the segments before the name of each skill with the scheme skill, with its URI."""
    roots = [one for one in all_entries(server) if one.root.lower().startswith("skill://")]
    found = [(one.value.get("uri"), one.root[len("skill://") :].split("/")) for one in roots]
    return require_some(found, skip="no URI begins with skill://")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.authority")
def test_the_first_segment_is_a_registered_name(server):
    for uri, segments in skill_segments(server):
        expect(uri, REG_NAME.fullmatch(segments[0]) is not None, "a registered name behind skill://")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.prefix-segments")
def test_the_segments_of_a_skill_uri_are_valid(server):
    longer = [(uri, one) for uri, found in skill_segments(server) for one in found[1:-1]]
    for uri, segment in require_some(longer, skip="no skill has more than one segment before its name"):
        expect(uri, SEGMENT.fullmatch(segment) is not None, f"a valid segment in place of {show(segment)}")


# The files in an entry


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.resources-form")
def test_an_entry_has_resources(server):
    for one in all_entries(server):
        expect_member(
            one.value,
            "resources",
            lambda json: is_array(json) or json == "dynamic",
            'resources, an array or "dynamic"',
        )


def static_entries(server):
    """Return the entries that list files; skip if there are none."""
    found = [one for one in all_entries(server) if is_listed(one.value.get("resources"))]
    return require_some(found, skip="no entry lists files")


def is_listed(resources):
    """Return whether a member is an array."""
    return resources is not None and resources.is_a(list)


def file_entries(server):
    """Return what the entries say of files; skip if they say nothing."""
    found = [one for skill in static_entries(server) for one in skill.files]
    return require_some(found, skip="no entry lists a file")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.file-entry")
def test_a_file_is_an_object_with_a_uri(server):
    for skill in static_entries(server):
        for one in skill.value.get("resources").each():
            expect(one, is_object(one.json) and is_string(one.json.get("uri")), "an object with a string uri")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.size")
def test_a_file_has_a_size(server):
    for one in file_entries(server):
        expect_member(one, "size", is_count, "size, a number of bytes")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.digest-format")
def test_a_digest_has_its_format(server):
    for one in file_entries(server):
        expect_member(one, "digest", is_digest, "digest, sha256: and 64 lower-case hexadecimal digits")


def is_digest(json):
    """Return whether a JSON value has the form of a digest."""
    return is_string(json) and DIGEST.fullmatch(json) is not None


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.lists-main")
def test_the_files_of_a_skill_have_its_skill_md(server):
    for one in [skill for skill in static_entries(server) if skill.uri]:
        found = one.value.get("resources")
        expect(found, one.uri in one.file_uris, f"an item with the uri {one.uri}", got=show(one.file_uris))


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.files-once")
def test_a_file_is_listed_once(server):
    for skill in static_entries(server):
        counted = Counter(skill.file_uris)
        for one in skill.files:
            uri = one.json.get("uri")
            expect(one, not is_string(uri) or counted[uri] <= 1, f"{uri} once", got=f"{counted[uri]} times")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.files-inside")
def test_the_files_of_a_skill_are_in_its_folder(server):
    for skill in [one for one in static_entries(server) if one.root]:
        for one in members(skill.files, "uri"):
            inside = is_string(one.json) and skill.has_inside(one.json) and ".." not in one.json.split("/")
            expect(one, inside or not is_string(one.json), f"a URI that begins with {skill.root}/")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.files-complete")
def test_all_files_of_a_skill_are_in_its_entry(server):
    static = [one for one in static_entries(server) if one.root]
    served = [one for one in listed_resources(server) if is_file(one)]
    pairs = [(skill, one, one.json["uri"]) for skill in static for one in served]
    inside = [(skill, one, uri) for skill, one, uri in pairs if skill.has_inside(uri)]
    for skill, one, uri in require_some(inside, skip="no list has the files of a skill"):
        if is_of_another_rule(server, skill, uri):
            continue
        if uri not in skill.file_uris:
            current = fresh_entry(server, skill.uri)
            has = current is not None and (current.is_dynamic or uri in current.file_uris)
            expect(one, has, f"{uri} in the resources of {skill.uri}", got="it is in another list only")


def is_of_another_rule(server, skill, uri):
    """Return whether a URI is the SKILL.md, in a listed skill inside, or a folder with files of the entry."""
    inner = (one for one in all_entries(server) if is_nested(one, skill))
    folder = any(file.startswith(f"{uri}/") for file in skill.file_uris)
    return uri == skill.uri or folder or any(one.has_inside(uri) for one in inner)


def is_file(resource):
    """Return whether a listed resource is no folder."""
    uri, kind = resource.json.get("uri"), resource.json.get("mimeType")
    return is_string(uri) and kind != FOLDER and not uri.endswith("/")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.nested-files")
def test_the_files_of_nested_skills_are_in_the_entry(server):
    static = [one for one in static_entries(server) if one.root]
    known = {one.uri: one for one in all_entries(server)}.values()
    pairs = [(outer, inner) for outer in static for inner in known if is_nested(inner, outer)]
    for outer, inner in require_some(pairs, skip="no skill is nested in another"):
        for uri in {inner.uri, *inner.file_uris}:
            if uri not in outer.file_uris:
                current = fresh_entry(server, outer.uri)
                has = current is not None and (current.is_dynamic or uri in current.file_uris)
                expect(outer.value, has, f"{uri} of the nested skill in the resources of {outer.uri}")


def is_nested(inner, outer):
    """Return whether a skill is in the folder of another one."""
    return inner.uri != outer.uri and outer.has_inside(inner.uri)


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.files-limit")
def test_a_skill_has_few_files(server):
    for one in static_entries(server):
        number = len(one.value.get("resources").json)
        expect(
            one.value, number <= MAX_FILES, f"at most {MAX_FILES} files", got=f"{number} files in {one.uri}"
        )


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.bytes-limit")
def test_the_files_of_a_skill_are_small(server):
    for one in static_entries(server):
        total = sum(size.json for size in members(one.files, "size") if is_integer(size.json))
        expect(
            one.value, total <= MAX_BYTES, f"at most {MAX_BYTES:,} bytes", got=f"{total:,} bytes in {one.uri}"
        )


# The files that are read


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.main-readable")
def test_a_skill_md_can_be_read(server):
    expect_readable(server, [one for one in files(server) if one.is_main])


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.file-readable")
def test_a_file_of_a_skill_can_be_read(server):
    expect_readable(server, [one for one in files(server) if not one.is_main])


def expect_readable(server, found):
    """Expect that each of these files can be read, if it is still listed."""
    for one in require_some(found, skip="no entry has such a file"):
        require_answer(one.reply)
        if one.data is None and not one.reply.needs_input and is_still_listed(server, one):
            expect(one.reply, False, f"the text or the blob of {one.uri}")


def is_still_listed(server, file):
    """Return whether an entry still has a file."""
    current = fresh_entry(server, file.skill.uri)
    return current is None or file.is_main or file.uri in current.file_uris


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.main-frontmatter")
def test_a_skill_md_begins_with_frontmatter(server):
    for one in main_files(server):
        source, expected = one.frontmatter, "YAML between two lines of three hyphens at the beginning"
        expect(one.reply, source is not None, expected, got=f"{one.uri} begins with {show(one.text[:80])}")
        if not is_available():
            continue
        try:
            found = fields(source or "")
        except YamlError as error:
            raise Finding(f"YAML in {one.uri}", str(error), one.reply.lines) from None
        lacking = [name for name in ("name", "description") if name not in found]
        expect(
            one.reply,
            not lacking,
            f"{' and '.join(lacking)} in the frontmatter of {one.uri}",
            got=show(source),
        )


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.frontmatter-equal")
def test_the_frontmatter_of_an_entry_is_that_of_the_file(server):
    if not is_available():
        skip(f"the frontmatter is YAML: {INSTALL}")
    judged = 0
    for one in main_files(server):
        given = one.skill.value.get("frontmatter")
        if one.frontmatter is None or given is None or not given.is_a(dict):
            continue
        judged += 1
        names = differing(one.frontmatter, given.json)
        if names and (current := fresh_entry(server, one.uri)) is not None:
            names = differing(one.frontmatter, (current.value.get("frontmatter") or given).json)
        expected = f"the frontmatter of {one.uri}, field by field"
        got = f"{', '.join(names)}: {show(given.json)}, and in the file {show(one.frontmatter)}"
        lines = (*given.lines, *one.reply.lines)
        if names:
            raise Finding(expected, got, lines)
    if not judged:
        skip("no SKILL.md with frontmatter has an entry with frontmatter")


def differing(source, given):
    """Return the fields that differ; those that an entry must have and lacks are another rule."""
    try:
        found = differences(source, given)
    except YamlError:
        return []
    return [name for name in found if name in given or name not in ("name", "description")]


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.size-equal")
def test_a_file_has_the_size_of_its_entry(server):
    found = [one for one in read_files(server) if one.entry is not None and is_integer(one.claims("size"))]
    for one in require_some(found, skip="no file that was read has a size in an entry"):
        size = one.claims("size")
        expect(one.reply, size == one.size, f"{size} bytes of {one.uri}", got=f"{one.size} bytes")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.digest-equal")
def test_a_file_has_the_digest_of_its_entry(server):
    found = [one for one in read_files(server) if can_verify(one)]
    for one in require_some(found, skip="no file that was read has a digest and its size in an entry"):
        claimed = one.claims("digest")
        expect(one.reply, claimed == one.digest, f"bytes of {one.uri} with {claimed}", got=one.digest)


def can_verify(file):
    """Return whether a file has a well-formed digest in its entry, and its size, or none."""
    claimed, size = file.claims("digest"), file.claims("size")
    return (
        is_string(claimed) and DIGEST.fullmatch(claimed) and (not is_integer(size) or size == len(file.data))
    )


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.unknown-file")
def test_an_unknown_file_is_invalid_params(server):
    reply = unknown_file(server)
    if reply.code != -32602 and reply.code == other_unknown_file(server).code:
        skip("any unknown resource gets this answer: resources.read.not-found-code")
    expect_error(reply, -32602)


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.mime-type")
def test_a_skill_md_is_markdown(server):
    listed = [one for _, one in listed_mains(server)]
    read = [one.contents for one in files(server) if one.is_main and one.contents is not None]
    found = require_some(members([*listed, *read], "mimeType"), skip="no SKILL.md has a mimeType")
    expect_each(
        found, lambda kind: str(kind).partition(";")[0].strip().lower() == "text/markdown", "text/markdown"
    )


def listed_mains(server):
    """Return what lists say of each SKILL.md, nothing if they do not have it."""
    known = {one.uri: one for one in rooted_skills(server)}
    found = [(one.get("uri"), one) for one in listed_resources(server)]
    return [(known[uri.json], one) for uri, one in found if uri is not None and uri.json in known]


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.resource-name")
def test_a_listed_skill_md_has_the_name_of_its_skill(server):
    for skill, one in main_resources(server):
        name = one.get("name")
        expect(
            name or one, not skill.name or (name is not None and name.json == skill.name), show(skill.name)
        )


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.resource-description")
def test_a_listed_skill_md_has_the_description_of_its_skill(server):
    for skill, one in main_resources(server):
        wanted = skill.value.get("frontmatter", "description")
        if wanted is not None and wanted.is_a(str):
            words = wanted.json.split()
            expected = f"the description {show(wanted.json)}"
            expect_member(one, "description", lambda json, words=words: str(json).split() == words, expected)


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.meta-prefix")
def test_fields_in_meta_have_their_prefix(server):
    named = [
        (key, one)
        for skill, one in main_resources(server)
        for key in meta_of(one)
        if key.rpartition("/")[2] in (skill.value.get("frontmatter") or Value({})).json
    ]
    for key, one in require_some(named, skip="no _meta of a SKILL.md has a field of its frontmatter"):
        expect(one, key.startswith(PREFIX), f"{PREFIX}{key.rpartition('/')[2]} in _meta", got=show(key))


def meta_of(resource):
    """Return the _meta of a resource."""
    found = resource.get("_meta")
    return found.json if found is not None and found.is_a(dict) else {}


# One skill


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.get-shape")
def test_a_fetched_skill_is_the_one_asked_for(server):
    replies = [*((one.uri, reply) for one, reply in fetched_skills(server)), *referred_skills(server)]
    got = [(uri, reply.value) for uri, reply in replies if reply.value is not None]
    for uri, result in require_some(got, skip=f"{GET} gave no result"):
        found = expect_member(result, "skill", is_object, "an object skill")
        expect(found, found.json.get("uri") == uri, f"the entry of {uri}")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.get-same")
def test_both_methods_give_the_same_entry(server):
    fetched = {one.uri: one for one in fetched_entries(server)}
    pairs = [(one, fetched[one.uri]) for one in listed_skills(server) if one.uri in fetched]
    for listed, one in require_some(pairs, skip="no listed skill was fetched"):
        other = [name for name in ("frontmatter", "resources") if content(listed, name) != content(one, name)]
        current = relisted(server, one.uri) if other else None
        if current is not None:
            other = [name for name in other if content(current, name) != content(one, name)]
        got = "; ".join(f"{name} = {show((one.value.get(name) or Value(None)).json)}" for name in other)
        expect(one.value, not other, f"the {' and the '.join(other)} of {one.uri} as in {LIST}", got=got)


def content(skill, name):
    """Return a member of an entry, with files in the order of their URIs."""
    found = skill.value.get(name)
    if name == "resources" and is_listed(found):
        return sorted(map(show, found.json))
    return found.json if found is not None else None


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.get-no-cursor")
def test_a_fetched_skill_has_no_cursor(server):
    for one in fetched_results(server):
        expect(one, one.get("nextCursor") is None, "no nextCursor")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.get-unknown")
def test_an_unknown_skill_is_invalid_params(server):
    require_fetched(server)
    expect_error(unknown_skill(server), -32602)


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.get-other-file")
def test_a_supporting_file_is_no_skill(server):
    require_fetched(server)
    expect_error(supporting_file_as_skill(server), -32602)


def require_fetched(server):
    """Skip if no listed skill can be fetched, which another rule reports."""
    found = [reply for _, reply in fetched_skills(server) if reply.value is not None]
    require_some(found, skip="no listed skill can be fetched")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills")
@pytest.mark.requirement("skills.get-unlisted")
def test_an_unlisted_skill_can_be_fetched(server):
    require_fetched(server)
    found = referred_skills(server)
    for uri, reply in require_some(found, skip="the instructions refer to no skill that is not listed"):
        require_answer(reply)
        expect(
            reply, reply.value is not None, f"the entry of {uri}, which the instructions name and can be read"
        )


# Folders


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills", "directoryRead")
@pytest.mark.requirement("skills.directory-shape")
def test_a_list_of_a_folder_has_resources(server):
    for page in folder_pages(server):
        for one in expect_member(page, "resources", is_array, "an array resources").each():
            names = ("uri", "name")
            holds = is_object(one.json) and all(is_string(one.json.get(name)) for name in names)
            expect(one, holds, "an object with a uri and a name")


def folder_pages(server):
    """Return the results about folders; skip if there are none."""
    replies = [reply for one in directories(server) for reply in one.listing.replies]
    found = [reply.value for reply in replies if reply.value is not None]
    return require_some(found, skip=f"{DIRECTORY} gave no result")


def static_directories(server):
    """Return the folders whose children the entry of a skill names; skip if there are none."""
    found = [one for one in read_directories(server) if one.children]
    return require_some(found, skip="no entry names the files in a folder that was read")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills", "directoryRead")
@pytest.mark.requirement("skills.directory-children")
def test_a_folder_lists_all_children(server):
    for one in static_directories(server):
        given = {uri.rstrip("/") for uri in one.uris}
        direct = {uri for uri in given if uri.startswith(f"{one.uri}/")}
        lacking = sorted(child for child in one.children - given if not has_below(direct, child))
        got = f"it lacks {', '.join(lacking[:3])}"
        expect(one.listing.replies[-1], not lacking, f"each child of {one.uri}", got=got)


def has_below(uris, folder):
    """Return whether one of these URIs is inside of a folder, which another rule reports."""
    return any(uri.startswith(f"{folder}/") for uri in uris)


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills", "directoryRead")
@pytest.mark.requirement("skills.directory-direct")
def test_a_folder_lists_nothing_from_inside_its_folders(server):
    for one in read_directories(server):
        for uri in members(one.resources, "uri"):
            rest = uri.json.removeprefix(f"{one.uri}/").rstrip("/") if is_string(uri.json) else ""
            expect(uri, "/" not in rest, f"direct children of {one.uri}")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills", "directoryRead")
@pytest.mark.requirement("skills.directory-types")
def test_a_folder_in_a_list_has_the_type_of_folders(server):
    known = {one.uri for one in directories(server)}
    listed = [one for folder in read_directories(server) for one in folder.resources]
    found = [one for one in listed if str(one.json.get("uri")).rstrip("/") in known]
    for one in require_some(found, skip="no folder lists a folder that has files"):
        expect(one.get("mimeType") or one, one.json.get("mimeType") == FOLDER, f"the mimeType {FOLDER}")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills", "directoryRead")
@pytest.mark.requirement("skills.directory-no-slash")
def test_the_uri_of_a_folder_has_no_slash_at_its_end(server):
    listed = [one for folder in read_directories(server) for one in folder.resources]
    found = members([one for one in listed if one.json.get("mimeType") == FOLDER], "uri")
    for one in require_some(found, skip="no folder lists a folder"):
        expect(one, not str(one.json).endswith("/"), "no slash at the end")


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills", "directoryRead")
@pytest.mark.requirement("skills.directory-of-file")
def test_a_file_is_no_folder(server):
    require_root(server)
    expect_error(file_as_directory(server), -32602)


@pytest.mark.capability("extensions", "io.modelcontextprotocol/skills", "directoryRead")
@pytest.mark.requirement("skills.directory-unknown")
def test_an_unknown_folder_is_invalid_params(server):
    require_root(server)
    expect_error(unknown_directory(server), -32602)
