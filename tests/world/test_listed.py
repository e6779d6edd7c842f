"""The values in lists of resources, templates, prompts and tools."""

import pytest

from mcp_conformance.world.known import Owner
from mcp_conformance.world.listed import (
    names_of_tools,
    values_of_completion,
    values_of_resources,
    variables_in,
    words_of_prompts,
    words_of_templates,
)
from mcp_conformance.world.ours import Ours


def values(found):
    return {(one.value, one.keys[0], one.owner) for one in found}


def test_resources_have_uris_names_and_the_variables_of_templates():
    items = [{"uri": "notes://inbox/7", "name": "seven"}, {"uri": 5}, "no object"]
    assert values(values_of_resources(items, ["notes://{folder}/{id}", "x://{a}"])) == {
        ("notes://inbox/7", "uri", Owner.FOUND), ("seven", "name", Owner.FOUND),
        ("inbox", "folder", Owner.FOUND), ("7", "id", Owner.FOUND),
    }  # fmt: skip


def test_the_variables_of_a_resource_of_ours_are_ours():
    ours = Ours(marks=frozenset({"mark-7f3a"}))
    found = values(
        values_of_resources([{"uri": "notes://mark-7f3a/7"}], ["notes://{folder}/{id}"], ours=ours)
    )
    assert ("7", "id", Owner.MADE) in found


@pytest.mark.parametrize(
    ("template", "uri", "wanted"),
    [
        ("a://{x}", "a://1%202", {"x": "1 2"}),
        ("a://{x}/b", "a://1/c", {}),
        ("a://{x}", "a://1/2", {}),
        ("file:///{+path}", "file:///a/b.txt", {"path": "a/b.txt"}),
        ("a://{x*}-{y}", "a://1-2", {"x": "1", "y": "2"}),
        ("a://{?x,y}", "a://?x=1", {}),
        ("a://b", "a://b", {}),
        ("a://{x}", "a://" + "1" * 1000, {}),
    ],
)
def test_variables_in_a_uri(template, uri, wanted):
    assert variables_in(template, uri) == wanted


def test_of_many_resources_a_few_are_kept():
    items = [{"uri": f"notes://{at}", "name": f"note {at}"} for at in range(5000)]
    assert len(list(values_of_resources(items))) <= 24


def test_completions_exist():
    found = list(values_of_completion("city", "notes://{city}", ["Paris", 5, "", "Rome"]))
    assert values(found) == {("Paris", "city", Owner.FOUND), ("Rome", "city", Owner.FOUND)}
    assert list(values_of_completion("city", "", None)) == []


def test_descriptions_of_prompts_and_templates_have_words():
    prompts = [{"name": "plan", "arguments": [{"name": "style", "description": "e.g. 'short'"}, 5]}, None]
    assert {("plan", "prompt", Owner.WORD), ("short", "style", Owner.WORD)} == values(
        words_of_prompts(prompts)
    )
    templates = [{"uriTemplate": "a://{day}", "description": "Format: YYYY-MM-DD"}, {"uriTemplate": 5}]
    assert values(words_of_templates(templates)) == {("2026-01-15", "day", Owner.WORD)}


def test_names_of_tools_have_the_lowest_rank():
    assert [(one.value, one.rank) for one in names_of_tools(["read"])] == [("read", 0)]
