"""Servers over HTTP that open no session: what is judged all the same, and where a credential goes."""

import json
from dataclasses import replace

import pytest

from mcp_conformance.cli.main import main
from mcp_conformance.login.discovery import issuer_urls, may_ask
from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.scenarios.http_auth import is_hidden
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance_fixtures.http_mutants.http_auth import (
    a_missing_token_gets_403,
    a_missing_token_gets_a_login_page,
    a_token_in_the_query_is_accepted,
    the_metadata_has_no_server,
)
from mcp_conformance_fixtures.http_unusual import Scoped
from mcp_conformance_fixtures.reference_http import HttpReference, Refused
from mcp_conformance_fixtures.reference_http_auth import Protected
from mcp_conformance_fixtures.reference_http_sse24 import OldReference
from mcp_conformance_fixtures.reference_http_wire import Answer
from support.bench import all_checks, run_checks, settings_on_process
from support.http_in_thread import served
from support.nightly import nightly

AUTH, SSE = "test_http_auth", "test_http_sse24"
ODD_TOKEN = "odd+token/with=signs&"


@pytest.mark.parametrize(
    ("http", "revision", "suite"),
    [
        (Scoped, "2025-03-26", AUTH),
        (Scoped, "2025-06-18", AUTH),
        (Scoped, "2025-11-25", AUTH),
        (Scoped, LATEST_MODERN, AUTH),
        (OldReference, "2025-11-25", SSE),
    ],
)
def test_every_check_passes_on_a_right_server(http, revision, suite, tmp_path):
    with served(http()) as server, settings_on_process((), tmp_path) as settings:
        chosen = replace(settings, http=server)
        found = run_checks(chosen, revision, lambda check: check.suite == suite, is_whole=False)
    judged = "2024-11-05" if suite == SSE else revision
    names = {one.name for one in all_checks() if one.suite == suite and one.rows[0].holds_in(judged)}
    assert [one.text for one in found.verdicts] == []
    assert found.passed == names


def run(http, capfd, *options, headers=()):
    """Run the suites on a server in a thread; return the exit status and the report."""
    with served(http) as server:
        words = [word for name, value in headers for word in ("--header", f"{name}: {value}")]
        status = main(["run", "--output-format", "json", *options, *words, "--url", server.url])
    return status, json.loads(capfd.readouterr().out)


def outcomes(report):
    return {(one["requirement"], one["outcome"]) for one in report["results"]}


def test_a_server_that_wants_a_credential_is_judged_as_far_as_it_is_seen(capfd):
    status, report = run(Protected(), capfd)
    assert status == 6
    assert report["verdict"]["status"] == "not-started"
    assert report["verdict"]["text"].startswith(
        "the server could not be examined without a credential: initialize is answered with HTTP 401; "
        "--header-env Authorization=VARIABLE gives one"
    )
    found = outcomes(report)
    assert {one for one in found if one[1] == "blocked"} == {("lifecycle.initialize.responds", "blocked")}
    assert {("http.auth.discovery", "passed"), ("http.auth.invalid-token", "passed")} <= found
    assert {("http.auth.every-request", "skipped"), ("http.auth.query", "skipped")} <= found
    assert all(rule.startswith("http.auth.") for rule, outcome in found if outcome != "blocked")


class ForbidsTool(HttpReference):
    """A server whose credential is not permitted to call one tool."""

    def answer(self, call):
        """Refuse a call of that tool, without a message."""
        is_that = b'"name":"add"' in call.body.replace(b" ", b"")
        return Answer(403) if is_that else super().answer(call)


def test_a_tool_that_the_credential_may_not_call_is_not_judged(capfd):
    _, report = run(ForbidsTool(), capfd, "--select", "tools.call.result-content-array", "--fuzz", "none")
    assert {one for _, one in outcomes(report)} <= {"passed", "skipped"}
    assert any("add is not for the credential of this run" in one for one in report["notices"])
    calls = {one["name"]: one["successes"] for one in report["exercise"]["tools"]}
    assert calls["add"] == 0
    assert sum(calls.values()) > 0


def test_its_findings_count_and_the_rest_needs_a_credential(capfd):
    status, report = run(the_metadata_has_no_server(), capfd)
    assert status == 1
    assert ("http.auth.metadata-servers", "failed") in outcomes(report)
    assert "1 rule broken; the rest could not be examined without a credential" in report["verdict"]["text"]


class Expiring(Protected):
    """A protected server that serves so many requests, and then rejects the token."""

    def __init__(self, served_requests):
        super().__init__()
        self.left = served_requests

    def check_token(self, call):
        """Count the requests that have the token."""
        super().check_token(call)
        self.left -= 1
        if self.left < 0:
            words = f'error_description="The token {self.token} has expired"'
            raise self.unauthorized(call, 'error="invalid_token"', words)


WITH_TOKEN = ("--header", f"Authorization: Bearer {Protected.token}")


def test_a_credential_that_is_rejected_is_an_error_of_the_user(capfd):
    with served(Expiring(0)) as server:
        assert main(["run", *WITH_TOKEN, "--url", server.url]) == 4
    out, err = capfd.readouterr()
    (line,) = err.strip().splitlines()
    assert out == ""
    assert "with the credential that is given: initialize is answered with HTTP 401 (WWW-Auth" in line
    assert line.endswith('error="invalid_token", error_description="The token *** has expired")')


@nightly
def test_a_credential_that_expires_blocks_one_check(capfd):
    families = "lifecycle,ping,tools,prompts,resources,errors,http.post"
    options = ("--fuzz", "none", "--revision", "2025-11-25", "--select", families, "--timeout", "5")
    token = [("Authorization", f"Bearer {Protected.token}")]
    status, report = run(Expiring(100), capfd, *options, headers=token)
    (blocked,) = (
        one for one in report["results"] if one["outcome"] != "passed" and one["outcome"] != "skipped"
    )
    assert status == 1
    assert blocked["outcome"] == "blocked"
    assert "it answers each message with HTTP 401 (WWW-Authenticate: Bearer" in blocked["reason"]
    assert "could not be examined any more" in report["verdict"]["text"]
    assert sum("reported once" in one.get("reason", "") for one in report["results"]) > 20


class Undescribed:
    """What makes of a protected server one without metadata at a well-known path."""

    def metadata(self, call):
        """Return that there is none."""
        return Answer(404)


class RefusesWithSuccess(Protected):
    """Answers with an error of JSON-RPC and the status 200, as if a tool had failed."""

    def unauthorized(self, call, *parameters, status=401):
        refused = super().unauthorized(call, *parameters, status=status)
        return refused if parameters else Refused(200, "Unauthorized", code=-32001)


@pytest.mark.parametrize(
    ("http", "got"),
    [
        (a_missing_token_gets_403, "HTTP 403"),
        (a_missing_token_gets_a_login_page, "HTTP 302"),
        (RefusesWithSuccess, "HTTP 200"),
    ],
)
def test_a_server_with_metadata_wants_a_credential_whatever_it_answers(http, got, capfd):
    status, report = run(http(), capfd, "--select", "http.auth")
    assert status == 1
    assert f"could not be examined without a credential: initialize is answered with {got}" in str(report)
    reason = reasons(report, "http.auth.401")[0]
    assert reason.startswith(f"expected the status 401, as the request has no credential, got {got}")
    assert {one["can"] for one in report["clients"]} == {"with a credential"}


@pytest.mark.parametrize("http", [a_missing_token_gets_403, RefusesWithSuccess])
def test_a_server_without_metadata_is_not_guessed_at(http, capfd):
    undescribed = type("Undescribed", (Undescribed, http), {})
    _, report = run(undescribed(), capfd, "--select", "http.auth")
    assert not [one for one in report["results"] if one["requirement"].startswith("http.auth")]
    assert "accepts a connection and does not answer" not in str(report)


class DescribesEveryPath(Protected):
    """A server whose metadata is found for another path, which is not there, too."""

    def answer(self, call):
        if call.target.startswith("/.well-known/oauth-protected-resource"):
            return self.metadata(call)
        return Answer(403) if call.target == "/other" else super().answer(call)


def test_a_url_with_another_path_than_the_metadata_names_lacks_no_credential(capfd):
    with served(DescribesEveryPath()) as server:
        other = server.url.replace("/mcp", "/other")
        main(["run", "--output-format", "json", "--select", "http.auth", "--url", other])
    report = json.loads(capfd.readouterr().out)
    assert not [one for one in report["results"] if one["requirement"].startswith("http.auth")]


def test_a_server_of_the_old_transport_is_judged_by_its_rules(capfd):
    status, report = run(OldReference(), capfd)
    assert status == 6
    assert "the rest of the suite speaks only Streamable HTTP" in report["verdict"]["text"]
    assert ("http.sse24.isolated", "passed") in outcomes(report)
    assert [one["revision"] for one in report["revisions"]] == ["2024-11-05"]


class Recording(Protected):
    """A protected server that records the paths, and the credentials, of all requests."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def answer(self, call):
        self.seen.append((call.method, call.target, call.value("authorization"), call.value("x-tenant")))
        return super().answer(call)


def test_the_metadata_is_requested_without_any_header_of_the_user(capfd):
    http = Recording()
    headers = [("Authorization", f"Bearer {http.token}"), ("X-Tenant", "one")]
    status, _ = run(http, capfd, "--select", "http.auth", headers=headers)
    assert status == 0
    metadata = [one for one in http.seen if one[1].startswith("/.well-known")]
    assert metadata
    assert {one[2:] for one in metadata} == {(None, None)}
    assert {one[3] for one in http.seen if one not in metadata} == {"one"}


class Elsewhere(Protected):
    """A protected server whose metadata is at another server."""

    other = ""

    def metadata_url(self, call):
        return f"{self.other}/.well-known/oauth-protected-resource"


def reasons(report, rule):
    return [one["reason"] for one in report["results"] if one["requirement"] == rule]


def test_metadata_at_another_origin_is_not_requested(capfd):
    http = Elsewhere()
    http.other = "https://metadata.example.com"
    status, report = run(http, capfd)
    assert status == 6
    said = f"the metadata is at another origin: --auth-origin {http.other} lets it be asked"
    assert reasons(report, "http.auth.metadata-served") == [said]
    assert [one for one in report["notices"] if said in one]


def test_another_origin_of_this_machine_gets_no_header_of_the_user(capfd):
    other = Recording()
    headers = [("Authorization", f"Bearer {other.token}"), ("X-Tenant", "one")]
    with served(other) as elsewhere:
        http = Elsewhere()
        http.other = elsewhere.url.removesuffix("/mcp")
        _, report = run(http, capfd, "--select", "http.auth", headers=headers)
    assert {one[1:] for one in other.seen} == {("/.well-known/oauth-protected-resource", None, None)}
    assert ("http.auth.metadata-served", "failed") in outcomes(report)


def test_an_authorization_server_elsewhere_is_asked_if_the_user_says_so(capfd):
    class Issuing(Protected):
        def issuer(self, call):
            return "https://login.example.com/tenant"

    _, report = run(Issuing(), capfd, "--select", "http.auth.server-pkce")
    origin = "https://auth.example.com"
    said = f"the authorization server is at another origin: --auth-origin {origin} lets it be asked"
    assert reasons(report, "http.auth.server-pkce") == [said]


def test_an_authorization_server_that_does_not_run_is_not_judged(capfd):
    class Alone(Protected):
        def issuer(self, call):
            return "http://127.0.0.1:9/issuer"

    _, report = run(Alone(), capfd, "--select", "http.auth.server-metadata")
    (reason,) = reasons(report, "http.auth.server-metadata")
    assert reason.startswith("the authorization server http://127.0.0.1:9/issuer does not answer")


@pytest.mark.parametrize(
    ("named", "own", "expected"),
    [
        ("http://10.0.0.7:8000/meta", "https://mcp.example.com/mcp", True),
        ("http://localhost:8000/meta", "https://mcp.example.com/mcp", True),
        ("http://mcp-server:8000/meta", "https://mcp.example.com/mcp", True),
        ("http://mcp-server:8000/meta", "http://mcp-server:9000/mcp", False),
        ("http://mcp.svc.cluster.local/meta", "https://mcp.example.com/mcp", True),
        ("http://meta.corp.internal/meta", "https://mcp.corp.internal/mcp", False),
        ("http://10.0.0.7:8000/meta", "http://10.0.0.8/mcp", False),
        ("http://127.0.0.1:8000/meta", "http://localhost:9000/mcp", False),
        ("https://meta.example.org/meta", "https://mcp.example.com/mcp", False),
        ("https://meta.example.org/meta", "http://127.0.0.1/mcp", False),
    ],
)
def test_an_address_of_the_inside_is_hidden_from_clients(named, own, expected):
    assert is_hidden(Endpoint.parse(named), Endpoint.parse(own)) is expected


def test_only_origins_near_the_server_are_asked():
    near, far = Endpoint.parse("http://localhost:8000/"), Endpoint.parse("https://mcp.example.com/mcp")
    other = Endpoint.parse("https://auth.example.com/tenant")
    assert may_ask(near, Endpoint.parse("http://127.0.0.1:9000/mcp"), ())
    assert not may_ask(near, far, ())
    assert not may_ask(other, far, ())
    assert may_ask(other, far, ("https://auth.example.com",))


@pytest.mark.parametrize(
    ("issuer", "revision", "expected"),
    [
        ("https://a.example/t", "2025-06-18", ["/.well-known/oauth-authorization-server/t"]),
        (
            "https://a.example/t",
            "2025-11-25",
            [
                "/.well-known/oauth-authorization-server/t",
                "/.well-known/openid-configuration/t",
                "/t/.well-known/openid-configuration",
            ],
        ),
        (
            "https://a.example/",
            "2026-07-28",
            ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"],
        ),
    ],
)
def test_the_document_is_looked_for_where_clients_look(issuer, revision, expected):
    assert list(issuer_urls(issuer, revision)) == [f"https://a.example{path}" for path in expected]


def test_no_report_has_a_token_in_any_form(capfd):
    http = a_token_in_the_query_is_accepted()
    http.token = ODD_TOKEN
    _, report = run(http, capfd, "--select", "http.auth", headers=[("Authorization", f"Bearer {ODD_TOKEN}")])
    assert ("http.auth.query", "info") in outcomes(report)
    text = json.dumps(report)
    assert "access_token=***" in text
    assert ODD_TOKEN not in text
    assert "odd%2B" not in text
