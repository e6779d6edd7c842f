"""What a server writes and connects to for reasons of its own is not the effect of a tool."""

import itertools
import re
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.sandbox.traffic import Attempt
from mcp_conformance.scenarios import tool_effects
from mcp_conformance.transport.throwaway import Throwaway
from mcp_conformance_fixtures.mutants import items, method, params
from support.bench import run_checks, settings_in_memory
from support.in_memory import MemoryTransport, mutated

FILES, IDEMPOTENT, CLOSED = (
    f"tools.hints.{name}" for name in ("read-only-files", "idempotent", "closed-world")
)
REFERENCE = "jsonschema.no-network-ref"
OUTSIDE, NAME = Attempt("TCP", "192.0.2.1", 443), Attempt("UDP", "192.0.2.53", 53, "example.com")
FAR = {"$defs": {"far": {"$ref": "https://example.com/schema.json"}}}


@pytest.fixture
def folder():
    """Return a throwaway folder, to which servers in memory write too."""
    made = Throwaway()
    yield made
    made.remove()


class Seen:
    """Traffic of a server in memory."""

    def __init__(self):
        self.attempts: tuple[object, ...] = ()

    def note(self, attempt):
        self.attempts += (attempt,)


def found(folder, rule, serve, revision="2025-11-25"):
    """Return the findings of a rule on a server in memory that works in the folder."""
    settings = settings_in_memory(mutated(serve), timeout=5.0, throwaway=folder)
    run = run_checks(settings, revision, lambda check: rule in check.ids, is_whole=False)
    return [verdict.text for verdict in run.verdicts]


def calls(act, name="nothing"):
    """Return a mutation that does something in each call of a tool, with the number of the call."""
    numbers = itertools.count(1)

    def serve(server, request, reply):
        if method(request) == "tools/call" and params(request).get("name") == name:
            act(next(numbers))

    return serve


def writer(folder, path, text=str):
    """Return what writes a file with a text that depends on the number of the call, as its name may do."""

    def act(number):
        place = Path(folder.root, path.format(number))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text(number))

    return act


@pytest.mark.parametrize(
    "path",
    [
        "tmp/report.txt",
        "work/server.log",
        "work/logs/{}.txt",
        "work/__pycache__/x.pyc",
        "work/data.db-journal",
        "home/.cache/report.txt",
        "home/.npm/report.txt",
        "home/.local/state/app/report.txt",
        "home/.config/app/settings.json",
    ],
)
def test_what_a_program_keeps_for_itself_is_no_effect(folder, path):
    assert found(folder, FILES, calls(writer(folder, path))) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("work/report-{}.txt", str),
        ("work/report.txt", lambda _: "same"),
        ("home/.local/share/notes/a.md", str),
    ],
)
def test_a_file_that_each_call_writes_is_an_effect(folder, path, text):
    (one,) = found(folder, FILES, calls(writer(folder, path, text)))
    assert re.search(Path(path.format(r"\d+")).name, one)


@pytest.mark.parametrize("path", ["work/trace-{}.txt", "work/history/{}.json", "work/stats.json"])
def test_a_name_alone_makes_no_file_the_programs_own(folder, path):
    (one,) = found(folder, FILES, calls(writer(folder, path)))
    assert Path(path).parts[1].partition("-")[0] in one


@pytest.mark.parametrize("path", ["work/trace-{}.txt", "work/session/state.json"])
def test_a_file_that_the_calls_of_all_tools_write_is_the_programs_own(folder, path):
    write, numbers = writer(folder, path), itertools.count(1)

    def serve(server, request, reply):
        if method(request) == "tools/call":
            write(next(numbers))

    assert found(folder, FILES, serve) == []


def test_what_only_the_first_call_prepares_is_no_effect(folder):
    write = writer(folder, "work/index.db")
    assert found(folder, FILES, calls(lambda number: write(number) if number == 1 else None)) == []


def test_an_empty_file_is_no_effect(folder):
    assert found(folder, FILES, calls(writer(folder, "work/new-{}.db", lambda _: ""))) == []


def test_what_is_written_between_calls_too_is_no_effect(folder, monkeypatch):
    write = writer(folder, "work/status.txt")
    monkeypatch.setattr(tool_effects, "_wait", lambda *_: write(0))
    assert found(folder, FILES, calls(write)) == []


def test_a_file_that_an_argument_names_stays_only_if_it_is_left_alone(folder):
    bait = folder.work / "example"
    (one,) = found(folder, FILES, calls(lambda _: bait.unlink(missing_ok=True), "echo"))
    assert "deleted work/example" in one
    assert found(folder, FILES, calls(lambda _: bait.exists() and bait.read_text(), "echo")) == []
    assert not bait.exists()


def idempotent(act):
    """Return a mutation by which a tool that changes something is said to be idempotent."""
    serve_call = calls(act, "grow")

    def serve(server, request, reply):
        serve_call(server, request, reply)
        for listed in items(reply) if method(request) == "tools/list" else ():
            if listed["name"] == "grow":
                listed["annotations"] = {"readOnlyHint": False, "idempotentHint": True}

    return serve


@pytest.mark.parametrize(("text", "is_reported"), [(lambda _: "same", False), (str, True)])
def test_only_another_content_is_a_further_effect(folder, text, is_reported):
    act = writer(folder, "work/state.txt", text)
    assert bool(found(folder, IDEMPOTENT, idempotent(act))) is is_reported


@contextmanager
def seen(monkeypatch):
    """Give the traffic of all servers in memory."""
    monkeypatch.setattr(MemoryTransport, "traffic", Seen())
    yield MemoryTransport.traffic


@pytest.mark.parametrize("attempt", [OUTSIDE, NAME])
def test_a_call_that_reaches_outside_is_an_effect(folder, monkeypatch, attempt):
    with seen(monkeypatch) as traffic:
        (one,) = found(folder, CLOSED, calls(lambda _: traffic.note(attempt)))
    assert str(attempt) in one


def test_reaching_outside_once_or_by_the_clock_is_no_effect(folder, monkeypatch):
    with seen(monkeypatch) as traffic:
        once = calls(lambda number: traffic.note(OUTSIDE) if number == 1 else None)
        assert found(folder, CLOSED, once) == []
        monkeypatch.setattr(tool_effects, "_wait", lambda *_: traffic.note(OUTSIDE))
        assert found(folder, CLOSED, calls(lambda _: traffic.note(OUTSIDE))) == []


def test_without_a_network_of_its_own_nothing_is_judged(folder):
    settings = settings_in_memory(mutated(None), timeout=5.0, throwaway=folder)
    run = run_checks(settings, "2025-11-25", lambda check: CLOSED in check.ids, is_whole=False)
    assert (run.verdicts, run.passed) == ([], set())


@pytest.mark.parametrize(
    ("on", "is_reported"),
    [(("tools/list",), True), (("prompts/list",), False), (("tools/list", "tools/call"), False)],
)
def test_only_a_list_may_fetch_what_it_refers_to(folder, monkeypatch, on, is_reported):
    """A server that reaches for the host in calls too may have other business there."""
    with seen(monkeypatch) as traffic:

        def serve(server, request, reply):
            if method(request) in on:
                traffic.note(NAME)
            for listed in items(reply) if method(request) == "tools/list" else ():
                if listed["name"] == "echo":
                    listed["inputSchema"] |= FAR

        assert bool(found(folder, REFERENCE, serve, LATEST_MODERN)) is is_reported
