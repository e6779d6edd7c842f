"""Skills of servers that are right in odd ways, and of a revision that the extension's text does not name."""

import pytest

from mcp_conformance_fixtures.reference import START
from mcp_conformance_fixtures.reference_skills import SKILLS
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
ODD = """name: größe
description: |
  Say: "how large"
  it is. 📏
base: &b {unit: m, since: 2026-01-31, on: off}
more: {<<: *b, unit: km}
list: [*b, 0o17, 1_000, ~, yes]
"""
FIELDS = {
    "name": "größe",
    "description": 'Say: "how large"\nit is. 📏',
    "base": {"unit": "m", "since": "2026-01-31T00:00:00.000Z", "on": "off"},
    "more": {"unit": "km", "since": "2026-01-31", "on": False},
    "list": [{"unit": "m", "since": "2026-01-31", "on": False}, 15, 1000, None, True],
}
OWN = "memo-skills://owner/size/gr%C3%B6%C3%9Fe"


def is_of_skills(check):
    return check.suite == "test_skills"


def odd(server, request, reply):
    """Serve a skill of another scheme, with a binary file, an empty one and odd YAML."""
    skills = server.modern.skills
    if request is START:
        skills.files = {
            f"{OWN}/SKILL.md": f"\ufeff---\r\n{ODD}---\r\n# Size".encode(),
            f"{OWN}/a b.png": bytes(range(256)),
            f"{OWN}/empty.md": b"",
        }
        skills.frontmatter, skills.listed, skills.dynamic = {OWN: FIELDS}, [OWN], set()


def all_dynamic(server, request, reply):
    """Serve skills whose content is made anew, so that no file has a digest."""
    skills = server.modern.skills
    if request is START:
        skills.dynamic = set(skills.frontmatter)
    elif reply and "skills/" in str(request):
        for uri in skills.files:
            skills.files[uri] += b" " if uri.endswith(".md") else b""


def none_listed(server, request, reply):
    """List no skill at all, which a server with many may do."""
    server.modern.skills.listed = []


@pytest.mark.parametrize("mutate", [odd, all_dynamic, none_listed])
def test_an_odd_server_that_is_right_has_no_finding(mutate):
    found = run_checks(settings_in_memory(mutated(mutate)), MODERN, is_of_skills)
    assert [verdict.text for verdict in found.verdicts] == []
    assert found.passed


def declared(server, request, reply):
    """Declare skills in a handshake."""
    if isinstance(request, dict) and request.get("method") == "initialize":
        settings = {SKILLS: {"directoryRead": True}}
        reply["result"]["capabilities"]["extensions"] = settings


def declared_with_other_sizes(server, request, reply):
    """Declare skills in a handshake, and count characters for bytes."""
    declared(server, request, reply)
    result = (reply or {}).get("result", {})
    for one in [*result.get("skills", ()), *([result["skill"]] if "skill" in result else [])]:
        for file in one["resources"] if one["resources"] != "dynamic" else ():
            file["size"] += 1


def test_skills_are_judged_in_a_handshake_too():
    found = run_checks(settings_in_memory(mutated(declared)), HANDSHAKE, is_of_skills)
    assert [verdict.text for verdict in found.verdicts] == []
    assert len(found.passed) > 40


def test_what_breaks_the_rules_of_a_later_revision_fails_no_run():
    found = run_checks(settings_in_memory(mutated(declared_with_other_sizes)), HANDSHAKE, is_of_skills)
    assert {verdict.row.id for verdict in found.verdicts} == {"skills.size-equal"}
    assert not {verdict.outcome.value for verdict in found.verdicts} & {"failed", "blocked"}
