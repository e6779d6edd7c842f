"""How long clients may cache results, and for whom (spec: server/utilities/caching).

The checks judge every result so far, in any session, whose request named this revision.
"""

from __future__ import annotations

import pytest

from mcp_conformance.client.reply import results_of
from mcp_conformance.expect import expect, expect_each, expect_none, is_integer, require_some
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.multi_round_trip import input_required_replies
from mcp_conformance.scenarios.request_metadata import modern_results
from mcp_conformance.scenarios.traffic import exercise_everything

CACHEABLE = ("server/discover", *LISTS, "resources/read")
HINTS = ("ttlMs", "cacheScope")
NO_RESULT = "no complete result of a cacheable method came"


# Presence of the hints


@pytest.mark.requirement("caching.hints.server-discover", "caching.hints-present")
def test_a_discovery_result_has_caching_hints(server):
    expect_hints(require_results(server, "server/discover"), "server/discover")


@pytest.mark.requirement("caching.hints.tools-list", "caching.hints-present")
def test_a_page_of_tools_has_caching_hints(server):
    expect_hints(require_results(server, "tools/list"), "tools/list")


@pytest.mark.requirement("caching.hints.prompts-list", "caching.hints-present")
def test_a_page_of_prompts_has_caching_hints(server):
    expect_hints(require_results(server, "prompts/list"), "prompts/list")


@pytest.mark.requirement("caching.hints.resources-list", "caching.hints-present")
def test_a_page_of_resources_has_caching_hints(server):
    expect_hints(require_results(server, "resources/list"), "resources/list")


@pytest.mark.requirement("caching.hints.resources-templates-list", "caching.hints-present")
def test_a_page_of_templates_has_caching_hints(server):
    expect_hints(require_results(server, "resources/templates/list"), "resources/templates/list")


@pytest.mark.requirement("caching.hints.resources-read", "caching.hints-present")
def test_a_read_result_has_caching_hints(server):
    expect_hints(require_results(server, "resources/read"), "resources/read")


def require_results(server, method):
    """Return the complete results of a method, requested even if undeclared; skip if there are none."""
    if method in LISTS and not server.declares(LISTS[method][0]):
        server.listing(method)
    return require_some(complete(server, method), skip=f"{method} gave no complete result")


def expect_hints(results, method):
    """Expect both hints in each of the results."""
    for result in results:
        lacking = [name for name in HINTS if result.get(name) is None]
        expect(result, not lacking, f"a member {' and a member '.join(lacking)} in a result of {method}")


# Values of the hints


@pytest.mark.requirement("caching.ttl-integer")
def test_a_time_to_live_is_a_whole_number(server):
    found = require_some(members(complete(server, *CACHEABLE), "ttlMs"), skip=NO_RESULT)
    expect_each(found, is_integer, "a whole number of milliseconds")


@pytest.mark.requirement("caching.ttl-non-negative")
def test_a_time_to_live_is_not_negative(server):
    found = [each for each in members(complete(server, *CACHEABLE), "ttlMs") if each.is_a(int, float)]
    require_some(found, skip=NO_RESULT)
    expect_each(found, lambda value: value >= 0, "0 or more milliseconds")


@pytest.mark.requirement("caching.scope-enum", "caching.scope-values")
def test_a_cache_scope_is_public_or_private(server):
    found = require_some(members(complete(server, *CACHEABLE), "cacheScope"), skip=NO_RESULT)
    expect_each(found, lambda value: value in ("public", "private"), "public or private")


@pytest.mark.requirement("caching.scope-same-on-pages")
def test_all_pages_of_a_list_have_the_same_cache_scope(server):
    for listing in require_some(server.lists.paged(), skip="no list has a second page"):
        pages = results_of(listing.replies)
        first, *others = require_some(members(pages, "cacheScope"), skip="no page has a cacheScope")
        wrong = [scope for scope in others if scope.json != first.json]
        expect_none(wrong, f"{first.json}, as on the first page")


@pytest.mark.requirement("caching.none-on-input-required", "caching.interim-no-hints")
def test_an_input_required_result_has_no_caching_hints(server):
    results = results_of(input_required_replies(server))
    require_some(results, skip="no result is input_required")
    found = [hint for name in HINTS for hint in members(results, name)]
    expect_none(found, "neither ttlMs nor cacheScope in an input_required result")


def complete(server, *methods):
    """Return every complete result of these methods so far."""
    exercise_everything(server)
    results = results_of(reply for reply in modern_results(server) if reply.method in methods)
    return [result for result in results if getattr(result.get("resultType"), "json", None) == "complete"]
