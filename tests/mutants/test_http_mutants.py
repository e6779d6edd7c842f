"""Mutants of HTTP are found over HTTP, by the checks that cite what they break, and by no other.

One for each set of rules runs, in one era; with ``MUTANTS=whole`` each, in each era in which its rules hold,
under all checks of HTTP.
"""

import sys
import zlib
from contextlib import ExitStack
from dataclasses import replace

import pytest

from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance_fixtures.http_mutants import HTTP_MUTANTS, all_http_mutants, started
from mcp_conformance_fixtures.http_unusual import UNUSUAL, headers_for, headers_of_another
from mcp_conformance_fixtures.mutants import all_mutants
from support.bench import SAMPLES, leave_out_shrinking, settings_on_process
from support.http_in_thread import served
from support.logins import with_login
from support.mutant_runs import (
    WHOLE,
    MutantRun,
    is_in_share,
    of_http,
    on_processes,
    revision_of,
    revisions_of,
)
from support.nightly import nightly

REFERENCE = (sys.executable, "-m", "mcp_conformance_fixtures.reference_http", "--port", "{port}")


ONE_PROCESS = "all conversations share a process, so none is without the effects of the others"
BY_STREAM = "a request is cancelled by closing its stream, on which nothing can come then"
BY_HEADERS = "the headers decide before the message does"
NOT_OVER_HTTP = {
    "a_call_adds_a_prompt": ONE_PROCESS,
    "a_call_adds_a_tool": ONE_PROCESS,
    "a_call_that_only_reads_adds_a_tool": ONE_PROCESS,
    "a_first_request_is_served_as_in_2025": ONE_PROCESS,
    "a_cancelled_subscription_gets_a_result": BY_STREAM,
    "a_handshake_is_an_unknown_method": BY_HEADERS,
    "a_missing_version_is_an_unknown_one": BY_HEADERS,
}
"""Mutants of messages whose fault does not show over HTTP, and why."""


HTTP_SHARE, MESSAGES_SHARE = 48, 6
FUZZED = {one.name for one in all_http_mutants() if one.is_fuzzed}
ALONE = {
    "http_auth": "test_http_auth",
    "http_auth_tokens": "test_http_auth",
    "http_login": "test_http_login",
    "http_sse24": "test_http_sse24",
}
"""The families of mutants that run under the checks of some suites alone: how the names of these begin."""


class HttpMutantRun(MutantRun):
    """A mutant of HTTP in one revision.

    The checks of the rules that it breaks run; for one in `HTTP_SHARE`, and with ``MUTANTS=whole`` for each,
    all checks of HTTP.
    """

    def selects(self, check):
        """Return whether a check runs."""
        if self.mutant.family in ALONE:
            return check.suite.startswith(ALONE[self.mutant.family])
        is_shared = zlib.crc32(self.mutant.name.encode()) % HTTP_SHARE == 0
        if (WHOLE or is_shared) and self.mutant.name not in FUZZED:
            return any(row.transport == "http" for row in check.rows)
        return not check.ids.isdisjoint((*self.mutant.breaks, *self.mutant.also))


def runs():
    return [
        HttpMutantRun(one, revision, is_whole=False)
        for one in (all_http_mutants() if WHOLE else of_http())
        for revision in (revisions_of(one) if WHOLE else [revision_of(one)])
    ]


@pytest.fixture
def settings(tmp_path):
    """Return a function from more words of the reference's command to settings over HTTP."""
    servers = []

    def made(*words):
        command = (*REFERENCE, *words)
        headers = headers_for(UNUSUAL.get("".join(words)))
        servers.append(HttpServer(command=command, headers=headers))
        return replace(chosen, command=command, http=servers[-1])

    with settings_on_process((), tmp_path, examples=0, timeout=5.0, start_timeout=10.0, **SAMPLES) as chosen:
        yield made
    for server in servers:
        server.close()


@pytest.fixture
def in_thread(tmp_path):
    """Return a function from a mutant to settings over HTTP, with its server in a thread of this process."""
    with (
        settings_on_process((), tmp_path, examples=0, timeout=5.0, start_timeout=10.0, **SAMPLES) as chosen,
        ExitStack() as servers,
    ):

        def made(name):
            http = started(name)
            server = servers.enter_context(served(http))
            others = headers_of_another(http)
            here = replace(chosen, command=(server.url,), http=server, forge=True, other_identity=others)
            is_login = name in HTTP_MUTANTS and HTTP_MUTANTS[name].family == "http_login"
            return with_login(here) if is_login else here

        yield made


@pytest.mark.parametrize("run", runs(), ids=lambda run: run.id)
def test_a_mutant_is_found(run, in_thread, settings):
    started = settings if run.mutant.needs_process else in_thread
    chosen = started(run.mutant.name)
    run.expect_found(replace(chosen, examples=1, call=("all",)) if run.mutant.name in FUZZED else chosen)


EXTENSIONS = ("apps", "extensions", "skills", "xtasks")
EXTENSIONS_SHARE = 40
"""One of so many mutants of extensions runs over HTTP in each push."""


def of_extensions():
    """Return the runs of mutants of extensions, each in one era."""
    found = [one for one in all_mutants() if one.family in EXTENSIONS and not one.needs_process]
    chosen = found if WHOLE else [one for one in found if is_in_share(one, EXTENSIONS_SHARE)]
    return [MutantRun(one, revision_of(one), is_whole=False) for one in chosen]


@pytest.mark.parametrize("run", of_extensions(), ids=lambda run: run.id)
def test_a_mutant_of_an_extension_is_found_over_http(run, in_thread):
    run.expect_found(replace(in_thread(run.mutant.name), **run.limits))


OWN_CALLS = ["updates_go_to_another_client", pytest.param("refused_call_is_executed", marks=nightly)]


@pytest.mark.parametrize("name", OWN_CALLS)
def test_a_mutant_is_found_by_a_call_of_the_run_that_changes_something(name, in_thread):
    mutant = next(one for one in all_http_mutants() if one.name == name)
    run = HttpMutantRun(mutant, revision_of(mutant), is_whole=False)
    run.expect_found(replace(in_thread(name), mutating_call=None))


def of_messages():
    """Return the run of one mutant of messages of each third family, in a revision that HTTP has."""
    share = 1 if WHOLE else MESSAGES_SHARE
    return [
        run
        for run in on_processes()
        if zlib.crc32(run.mutant.family.encode()) % share == 0
        and run.revision >= "2025-03-26"
        and not (run.mutant.family == "stdio" or run.mutant.needs_process or run.mutant.name in NOT_OVER_HTTP)
    ]


@pytest.mark.parametrize("run", of_messages(), ids=lambda run: run.id)
def test_a_mutant_of_messages_is_found_over_http(run, settings, monkeypatch):
    leave_out_shrinking(monkeypatch)
    run.expect_found(replace(settings(run.mutant.name), **run.limits))
