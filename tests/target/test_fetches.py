"""Prompts and templates that need values of the world get them, within limits."""

from dataclasses import replace

import pytest

from mcp_conformance.generation.known import KEYWORD
from mcp_conformance.report.exercise import fetched
from mcp_conformance.scenarios.resource_templates import MIN_TRIED, expansions, unrouted
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.settings import Sample
from mcp_conformance.transport.throwaway import Throwaway
from mcp_conformance.world.folder import furnish
from mcp_conformance.world.reading import MAX_READS
from mcp_conformance_fixtures.mutants import method, params
from support.bench import Bench, settings_in_memory
from support.in_memory import mutated
from support.world import world_in_memory

REVISIONS = ("2024-11-05", "2025-11-25", "2026-07-28")
REVISION = "2025-11-25"


@pytest.fixture
def world():
    """Return a function that begins a run on the world in a revision."""
    throwaway = Throwaway()
    furnish(throwaway.work)
    servers = []

    def begun(revision, **more):
        settings = replace(settings_in_memory(world_in_memory(throwaway.work), throwaway=throwaway), **more)
        servers.append(Bench(probe_all(settings, (revision,)), revision).server)
        return servers[-1]

    yield begun
    for server in servers:
        server.close()
    throwaway.remove()


@pytest.fixture
def begin():
    """Return a function that begins a run on the reference server with a mutation."""
    servers = []

    def begun(mutate, revision=REVISION):
        subject = probe_all(settings_in_memory(mutated(mutate)), (revision,))
        servers.append(Bench(subject, revision).server)
        return servers[-1]

    yield begun
    for server in servers:
        server.close()


def sent(reply):
    return reply.request.message["params"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_prompt_gets_the_id_that_a_tool_shows(world, revision):
    server = world(revision)
    best, *others = server.prompts()
    assert best.value is not None, str(best)
    assert all(reply.error is not None for reply in others)
    assert len(others) < MAX_READS
    assert server.prompts() == [best, *others]


def test_the_fetches_of_prompts_and_templates_are_counted(world):
    server = world(REVISION)
    server.prompts()
    (template,) = server.listed("resources/templates/list")
    server.fetches.expansions(template)
    prompt, expanded = fetched(server.fetches.exercise)
    assert (prompt.kind, prompt.title, expanded.title) == ("prompt", "prompt review", "template note://{id}")
    assert [one.is_callable for one in (prompt, expanded)] == [False, False]
    for one in (prompt, expanded):
        assert one.is_exercised
        assert one.calls <= MAX_READS
        assert any(origin.startswith("an answer of") for origin in one.origins)


def test_a_template_that_the_server_completes_is_counted_once(begin):
    server = begin(lambda _, __, reply: reply)
    found = expansions(server)
    assert expansions(server) == found
    counted = fetched(server.fetches.exercise)
    assert sum(one.calls for one in counted) == len(found)
    assert all(one.is_exercised for one in counted)
    assert {origin for one in counted for origin in one.origins} == {"a completion"}


def test_a_prompt_is_given_up_once(world):
    server = world(REVISION, call=("none",))
    replies = server.prompts()
    assert all(reply.error is not None for reply in replies)
    assert 1 < len(replies) <= MAX_READS
    assert sent(replies[0])["arguments"] == {"note": "example"}


def only(names):
    """Return a mutation: each argument of a prompt must be one of these names, which refusals do not show."""

    def answer(_, request, reply):
        arguments = params(request).get("arguments") or {}
        if method(request) == "prompts/get" and any(value not in names for value in arguments.values()):
            return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "Not that."}}
        if method(request) == "completion/complete":
            completion = {"completion": {"values": list(names)}}
            return {"jsonrpc": "2.0", "id": request["id"], "result": completion}
        return reply

    return answer


def test_a_prompt_gets_what_the_server_completes(begin):
    server = begin(only(["kestrel", "plover"]))
    greetings = [reply for reply in server.prompts() if sent(reply)["name"] == "greet"]
    assert [reply.value is not None for reply in greetings] == [True]
    assert sent(greetings[0])["arguments"] == {"name": "kestrel", "tone": "kestrel"}


def test_a_prompt_without_arguments_is_fetched_once(begin):
    def refuse(_, request, reply):
        if method(request) == "prompts/get":
            return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "No."}}
        return reply

    server = begin(refuse)
    names = [sent(reply)["name"] for reply in server.prompts()]
    bare = [one.json["name"] for one in server.listed("prompts/list") if not one.json.get("arguments")]
    assert bare
    assert all(names.count(name) == 1 for name in bare)
    assert max(map(names.count, names)) <= MAX_READS


def test_the_values_that_worked_are_known_to_the_fuzzer(world):
    server = world(REVISION)
    (prompt,) = server.listed("prompts/list")
    assert KEYWORD not in server.fetches.prompt_schema(prompt)
    (best, *_) = server.prompts()
    ((_, values),) = server.fetches.prompt_schema(prompt)[KEYWORD]["values"]
    assert values[0] == sent(best)["arguments"]["note"]


# Templates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_template_gets_the_id_that_a_tool_shows(world, revision):
    server = world(revision)
    found = expansions(server)
    assert found[-1].reply.value is not None, [str(one.reply) for one in found]
    assert not any(one.exists for one in found)
    assert len(found) <= MAX_READS
    assert unrouted(server, found) is None


def test_a_template_that_leads_nowhere_is_told_of(world):
    server = world(REVISION, call=("none",))
    found = expansions(server)
    assert MIN_TRIED <= len(found) <= MAX_READS
    assert not any(one.exists for one in found)
    assert unrouted(server, found) is not None


def test_a_link_that_a_tool_gives_exists(begin):
    """A tool that only reads links to a resource of a template, which can't be read."""

    def link(_, request, reply):
        if method(request) == "tools/call" and params(request).get("name") == "echo":
            link = {"type": "resource_link", "uri": "memo://pages/7", "name": "page"}
            return {"jsonrpc": "2.0", "id": request["id"], "result": {"content": [link]}}
        if method(request) == "resources/templates/list":
            listed = [{"uriTemplate": "memo://pages/{number}", "name": "pages"}]
            return {"jsonrpc": "2.0", "id": request["id"], "result": {"resourceTemplates": listed}}
        return reply

    server = begin(link)
    (linked, *_) = [one for one in expansions(server) if one.uri == "memo://pages/7"]
    assert linked.reply.error is not None
    assert linked.shown_by == "which echo links to"


def test_the_values_of_the_user_exist(world):
    samples = (Sample("note://{id}", {"id": "kestrel"}),)
    server = world(REVISION, samples=samples)
    (given,) = [one for one in expansions(server) if one.exists]
    assert given.uri == "note://kestrel"
    assert given.reply.error is not None


@pytest.mark.parametrize(
    ("template", "values", "wrong"),
    [
        ("note://{id}", {"id": "a"}, ""),
        ("note://{id}", {}, "note://{id} takes a value for each of id"),
        ("note://{id}", {"id": "a", "part": "b"}, "note://{id} takes a value for each of id"),
        ("note://{id}", {"id": ["a"]}, "id of note://{id} takes a text"),
        (
            "notes://{id}",
            {"id": "a"},
            "the server lists no template 'notes://{id}'; did you mean note://{id}?",
        ),
    ],
)
def test_values_for_a_template_are_judged(tmp_path, template, values, wrong):
    settings = replace(settings_in_memory(world_in_memory(tmp_path)), samples=(Sample(template, values),))
    subject = probe_all(settings, (REVISION,))
    assert subject.error_in_samples() == wrong
    subject.close()
