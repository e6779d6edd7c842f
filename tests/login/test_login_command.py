"""The command login, and runs with its token: what is kept, what is printed, and what no output has."""

import json
import os
import stat
from dataclasses import replace

import pytest

from mcp_conformance.cli import login as command
from mcp_conformance.cli.main import main
from mcp_conformance.login import store, web
from mcp_conformance.login.live import LiveLogin
from mcp_conformance.login.login import Login, OAuthClient
from mcp_conformance.login.web import LoginFailed
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance_fixtures.reference_http_login import CI_CLIENT, CI_SECRET, Issuing
from support.http_in_thread import served
from support.logins import Watched, browse, logged_in

RULES = "ping.responds,http.login,http.auth.every-request"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Keep logins in a folder of the test, and let a browser log in at once."""
    folder = tmp_path / "state" / "logins"
    monkeypatch.setattr(store, "folder", lambda: folder)
    monkeypatch.setattr(command, "opened", browse)
    return folder


def lines(capfd):
    out, err = capfd.readouterr()
    return [*out.splitlines(), *err.strip().splitlines()]


def test_a_token_is_kept_used_and_in_no_output(place, tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    http = Watched()
    with served(http) as server:
        assert main(["login", "--url", server.url, "--examine"]) == 0
        (kept,) = place.glob("*.json")
        reports = [f"--report={name}" for name in ("r.json", "r.html", "r.sarif", "r.md")]
        words = ["--url", server.url, "--auth", "login", "--fuzz", "none", "--revision", "2025-11-25"]
        assert main(["run", "-v", "-p", "no:cacheprovider", "--select", RULES, *words, *reports]) == 0
        assert main(["login", "--list"]) == 0
    if os.name == "posix":
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert any(secret in kept.read_text() for secret in http.given)
    written = [one.read_text() for one in tmp_path.iterdir() if one.is_file()]
    assert len(written) == 4
    texts = "\n".join((*lines(capfd), *written))
    assert f"logged in to {server.url} by" in texts
    assert "every-request" in texts
    for secret in http.given:
        assert secret not in texts


def run(url, capfd):
    """Return the exit status of a short run with the login, and its report or its line."""
    capfd.readouterr()
    words = ["--select", "ping.responds", "--fuzz", "none", "--output-format", "json"]
    status = main(["run", "-p", "no:cacheprovider", *words, "--auth", "login", "--url", url])
    out, err = capfd.readouterr()
    return status, json.loads(out) if out.strip() else err.strip()


def expire(url):
    """Let the token of the login to a server have ended."""
    kept = store.kept(url)
    assert kept is not None
    store.keep(replace(kept, expires=1.0))


def test_a_token_that_has_ended_is_renewed(capfd):
    with served(Watched()) as server:
        login = replace(logged_in(server.url), expires=1.0)
        store.keep(login)
        status, report = run(server.url, capfd)
        assert status == 0
        assert report["verdict"]["status"] == "passed"
        assert store.kept(server.url).access_token != login.access_token
        store.keep(replace(login, expires=1.0))
        status, line = run(server.url, capfd)
    assert status == 4
    assert line.endswith(
        f"gives no token: invalid_grant; log in again: mcp-conformance login --url {server.url}"
    )


def test_a_token_that_ends_while_a_run_goes_on_is_renewed():
    now = [0]

    def renew(url):
        now[0] += 1
        return replace(login, access_token=f"token-{now[0]}", expires=0.0 if now[0] > 1 else 1.0)

    login = Login("http://127.0.0.1:9/mcp", "", "", "", "", OAuthClient("x"), "", "token-0", expires=1.0)
    server = HttpServer(login.url)
    live = LiveLogin(login, renew)
    server.credential = live.headers
    seen = [server.headers[0][1].decode() for _ in range(3)]
    assert seen == ["Bearer token-1", "Bearer token-2", "Bearer token-2"]
    settings = Settings((login.url,), http=server, login=live)
    assert settings.redaction.text("token-0 token-1 token-2") == "*** *** ***"
    assert settings.words == ("--url", login.url, "--auth", "login")


def test_a_token_that_cannot_be_renewed_stays():
    def refuse(url):
        calls.append(url)
        raise LoginFailed("no")

    calls = []
    login = Login("http://127.0.0.1:9/mcp", "", "", "", "", OAuthClient("x"), "", "token-0", expires=1.0)
    live = LiveLogin(login, refuse)
    assert [live.headers() for _ in range(2)] == [(login.header,)] * 2
    assert len(calls) == 1


def test_without_a_login_a_run_says_so_in_a_line(capfd):
    status, line = run("http://127.0.0.1:9/mcp", capfd)
    advice = "mcp-conformance login --url http://127.0.0.1:9/mcp"
    assert status == 4
    assert line == f"ERROR: --auth: nobody has logged in to http://127.0.0.1:9/mcp: {advice}"


def test_a_login_is_listed_and_removed(place, capfd):
    with served(Issuing()) as server:
        store.keep(logged_in(server.url))
    assert main(["login", "--list"]) == 0
    assert lines(capfd)[0].startswith(f"{server.url}  by ")
    assert main(["login", "--logout", "--url", server.url]) == 0
    assert main(["login", "--list"]) == 0
    assert lines(capfd)[-1] == "no login is kept"
    assert main(["login", "--logout", "--url", server.url]) == 4
    assert not list(place.glob("*.json"))


def test_a_client_logs_in_with_the_secret_of_a_variable(capfd, monkeypatch):
    words = ["--client-credentials", "--client-id", CI_CLIENT, "--client-secret-env", "SECRET_OF_CI"]
    monkeypatch.delenv("SECRET_OF_CI", raising=False)
    with served(Issuing()) as server:
        assert main(["login", *words, "--url", server.url]) == 4
        monkeypatch.setenv("SECRET_OF_CI", CI_SECRET)
        assert main(["login", *words, "--url", server.url]) == 0
        assert CI_SECRET not in store.path_of(server.url).read_text()
        expire(server.url)
        assert run(server.url, capfd)[0] == 0
        expire(server.url)
        monkeypatch.delenv("SECRET_OF_CI")
        status, line = run(server.url, capfd)
    assert status == 4
    assert line.endswith("the token has ended, and the variable SECRET_OF_CI with the secret is not set")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no server is given: --url URL"),
        (["--url", "ftp://x"], "--url: ftp://x is not a URL with http:// or https:// and a host."),
        (["--url", "http://127.0.0.1:9/mcp", "--client-credentials"], "it needs --client-id"),
        (["--url", "http://127.0.0.1:9/mcp", "--client-document", "http://x/y"], "https:// is expected"),
    ],
)
def test_an_error_of_the_user_is_one_line(words, said, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["login", *words]) == 4
    (line,) = lines(capfd)
    assert said in line


def test_without_its_packages_the_command_says_how_to_install_them(capfd, monkeypatch):
    monkeypatch.setattr(web, "PACKAGES", ("no_such_package",))
    assert main(["login", "--url", "http://127.0.0.1:9/mcp"]) == 4
    (line,) = lines(capfd)
    assert line.endswith("pip install 'pytest-mcp-conformance[login]'")


def test_a_refusal_is_one_line(capfd):
    with served(Issuing()) as server:
        assert main(["login", "--url", server.url, "--scope", "admin"]) == 6
    assert lines(capfd)[-1].endswith("gives no code: invalid_scope")


def test_a_broken_file_is_named(place, capfd):
    path = store.path_of("http://127.0.0.1:9/mcp")
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    status, line = run("http://127.0.0.1:9/mcp", capfd)
    assert status == 4
    assert f"{path} is not a login of this version" in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--http", "--", "server", "{port}"], "--auth: it needs --url"),
        (["--header", "Authorization: x", "--url", "http://127.0.0.1:9/"], "there is a header Authorization"),
        (["--url", "http://127.0.0.1:9/", "--auth", "password"], "login is expected"),
    ],
)
def test_what_a_login_cannot_be_used_with(options, said, capfd):
    assert main(["run", "--auth", "login", *options]) == 4
    assert said in capfd.readouterr().err
