"""How long results keep, and for whom (spec: server/utilities/caching).

It is seen in passing: in every result so far, of any conversation, whose request named this revision.
"""

from __future__ import annotations

import pytest

from conformance.expect import expect, expect_each, expect_none, require_some
from conformance.protocol.methods import LISTS
from conformance.protocol.value import members
from conformance.scenarios.multi_round_trip import input_required_replies
from conformance.scenarios.request_metadata import modern_results
from conformance.scenarios.traffic import exercise_everything

CACHEABLE = ("server/discover", *LISTS, "resources/read")
HINTS = ("ttlMs", "cacheScope")
NOTHING = "no complete result of what can be kept came"


# The hints are there


@pytest.mark.requirement("caching.hints.server-discover", "caching.hints-present")
def test_a_discovery_says_how_long_it_keeps(server):
    expect_hints(server, "server/discover")


@pytest.mark.requirement("caching.hints.tools-list", "caching.hints-present")
def test_a_page_of_tools_says_how_long_it_keeps(server):
    expect_hints(server, "tools/list")


@pytest.mark.requirement("caching.hints.prompts-list", "caching.hints-present")
def test_a_page_of_prompts_says_how_long_it_keeps(server):
    expect_hints(server, "prompts/list")


@pytest.mark.requirement("caching.hints.resources-list", "caching.hints-present")
def test_a_page_of_resources_says_how_long_it_keeps(server):
    expect_hints(server, "resources/list")


@pytest.mark.requirement("caching.hints.resources-templates-list", "caching.hints-present")
def test_a_page_of_templates_says_how_long_it_keeps(server):
    expect_hints(server, "resources/templates/list")


@pytest.mark.requirement("caching.hints.resources-read", "caching.hints-present")
def test_what_is_read_says_how_long_it_keeps(server):
    expect_hints(server, "resources/read")


def expect_hints(server, method):
    if method in LISTS and not server.declares(LISTS[method][0]):
        server.undeclared_items(method)
    for result in require_some(complete(server, method), skip=f"{method} gave no complete result"):
        lacking = [name for name in HINTS if result.get(name) is None]
        expect(result, not lacking, f"a member {' and a member '.join(lacking)} in a result of {method}")


# What they say


@pytest.mark.requirement("caching.ttl-integer")
def test_a_time_to_live_is_a_whole_number(server):
    found = require_some(members(complete(server, *CACHEABLE), "ttlMs"), skip=NOTHING)
    expect_each(found, is_whole, "a whole number of milliseconds")


@pytest.mark.requirement("caching.ttl-non-negative")
def test_a_time_to_live_is_not_negative(server):
    found = [each for each in members(complete(server, *CACHEABLE), "ttlMs") if each.is_a(int, float)]
    expect_each(require_some(found, skip=NOTHING), lambda value: value >= 0, "0 or more milliseconds")


@pytest.mark.requirement("caching.scope-enum", "caching.scope-values")
def test_a_result_keeps_for_all_or_for_one(server):
    found = require_some(members(complete(server, *CACHEABLE), "cacheScope"), skip=NOTHING)
    expect_each(found, lambda value: value in ("public", "private"), "public or private")


@pytest.mark.requirement("caching.scope-same-on-pages")
def test_all_pages_of_a_list_keep_for_the_same(server):
    for walk in require_some(server.paged_listings(), skip="no list has a second page"):
        pages = [reply.value for reply in walk.replies if reply.value is not None]
        first, *others = require_some(members(pages, "cacheScope"), skip="no page has a cacheScope")
        expect_each(
            others, lambda scope, same=first.json: scope == same, f"{first.json}, as on the first page"
        )


@pytest.mark.requirement("caching.none-on-input-required", "caching.interim-no-hints")
def test_what_asks_for_something_does_not_keep(server):
    asking = require_some([reply.value for reply in input_required_replies(server)], skip="nothing is asked of the client")
    found = [hint for name in HINTS for hint in members(asking, name)]
    expect_none(found, "neither ttlMs nor cacheScope beside what is asked for")


def is_whole(value):
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or value.is_integer()


def complete(server, *methods):
    """Every complete result of these methods so far."""
    exercise_everything(server)
    results = [reply.value for reply in modern_results(server) if reply.method in methods]
    return [result for result in results if getattr(result.get("resultType"), "json", None) == "complete"]
