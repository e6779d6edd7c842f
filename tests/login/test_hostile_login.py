"""Logins at servers that are out to harm: what is printed and kept, how they end, and who is asked."""

import json
import re
import threading
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from mcp_conformance.cli import login as command
from mcp_conformance.cli.main import main
from mcp_conformance.login import store, web
from mcp_conformance.login.flow import Choice, log_in_as_client, renewed
from mcp_conformance.login.login import OAuthClient
from mcp_conformance.login.web import LoginFailed
from support.hostile_login import (
    ASKED,
    AUTHORIZE,
    CODE,
    ENDPOINTS,
    GIVE,
    METADATA,
    REFRESH,
    REGISTER,
    SECRET,
    SECRETS,
    SERVER,
    TOKEN,
    USE,
    changed,
    hostile,
    members,
    spelt,
    victim,
)
from support.nightly import some_of

pytestmark = pytest.mark.usefixtures("place")
ESCAPES = "\x1b]52;c;aGFja2Vk\x07\x1b[2J\x9b31m::error::x\n::error::owned\u202e<script>"
DEEP = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
ODD = {
    "list": "[1]",
    "object": '{"a": [1]}',
    "number": "1e999",
    "integer": "1" + "0" * 400,
    "too long": "1" + "0" * 5000,
    "NaN": "NaN",
    "true": "true",
    "surrogate": r'"\ud800\u4e2d"',
    "escapes": json.dumps(ESCAPES),
    "header": r'"a\r\nX-Evil: 1"',
    "long": json.dumps("t" * 100_000),
    "very long": json.dumps("t" * 900_000),
    "deep": "[" * 350 + "]" * 350,
    "deeper": "[" * 100_000 + "]" * 100_000,
}
"""JSON texts of any kind, and texts that are not JSON."""
KEPT, REFUSED = 0, 6


def echo(reply, asked):
    """Refuse, and repeat whatever the request has."""
    said = f"{asked.body} {asked.headers.get('Authorization')}"
    challenge = (("WWW-Authenticate", f'Bearer error="{asked.headers.get("Authorization")}"'),)
    return changed(status=403, body={"error": said[-60:], "error_description": said}, headers=challenge)(
        reply, asked
    )


def sends_back(**parameters):
    """Return the change of parameters with which the browser is sent back."""

    def change(reply, asked):
        ours = {"code": CODE, "state": asked.query["state"], **parameters}
        query = "&".join(f"{name}={value}" for name, value in ours.items() if value is not None)
        return changed(headers=(("Location", f"{asked.query['redirect_uri']}?{query}"),))(reply, asked)

    return change


def challenge(text):
    return changed(headers=(("WWW-Authenticate", text),))


FAR, FILE = "{victim}/steal", "file:///etc/passwd"
MODES = {
    "challenge of a file": (ASKED, challenge(f'Bearer resource_metadata="{FILE}"'), REFUSED),
    "challenge with escapes": (ASKED, challenge('Bearer scope="a b\x1b]0;x\x07 --x"'), KEPT),
    "challenge without an end": (ASKED, challenge('Bearer scope="a'), KEPT),
    "redirect before the login": (ASKED, changed(status=307, headers=(("Location", FAR),)), KEPT),
    "resource of another": (METADATA, members(resource="http://other.example/mcp"), REFUSED),
    "metadata redirects": (METADATA, changed(status=302, headers=(("Location", FAR),)), REFUSED),
    "metadata redirects nowhere": (
        METADATA,
        changed(status=302, headers=(("Location", "http://["),)),
        REFUSED,
    ),
    "metadata is deep": (METADATA, changed(body=DEEP), REFUSED),
    "metadata is no JSON": (METADATA, changed(body=b"\xff{"), REFUSED),
    "metadata has no end": (METADATA, changed(chunk=b" " * 65536), REFUSED),
    "metadata is slow": (METADATA, changed(body=b"", chunk=b" ", pause=0.05), REFUSED),
    "servers of any kind": (
        METADATA,
        members(authorization_servers=[ESCAPES, 5, None, "{", "http://["]),
        KEPT,
    ),
    "scopes with escapes": (METADATA, members(scopes_supported=["a", ESCAPES, "\ud800", 1]), KEPT),
    "scope that is a parameter": (METADATA, members(scopes_supported=["a&redirect_uri=http://evil"]), KEPT),
    "issuer of another": (SERVER, members(issuer="http://127.0.0.1:1/"), REFUSED),
    "no S256": (SERVER, members(code_challenge_methods_supported=["plain"]), REFUSED),
    "methods of any kind": (SERVER, members(code_challenge_methods_supported=5), REFUSED),
    "unknown authentication": (
        SERVER,
        members(token_endpoint_auth_methods_supported=["private_key_jwt"]),
        KEPT,
    ),
    "authentication of any kind": (SERVER, members(token_endpoint_auth_methods_supported="none"), KEPT),
    "promises an issuer": (SERVER, members(authorization_response_iss_parameter_supported=True), REFUSED),
    **{
        f"{name} at {where[:12]!r}": (SERVER, members(**{name: where}), REFUSED)
        for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint")
        for where in (
            FILE,
            "javascript:alert(1)",
            "--version",
            "http://10.0.0.9/x",
            "{origin}/a" + ESCAPES,
            "http://[",
        )
    },
    "no client id": (REGISTER, changed(body={}), REFUSED),
    "authentication by TLS": (REGISTER, members(token_endpoint_auth_method="tls_client_auth"), REFUSED),
    "no secret to authenticate with": (REGISTER, members(client_secret=None), REFUSED),
    "registration refused": (
        REGISTER,
        changed(status=400, body={"error": ESCAPES, "error_description": ESCAPES}),
        REFUSED,
    ),
    "registration redirects": (REGISTER, changed(status=307, headers=(("Location", FAR),)), REFUSED),
    "another state": (AUTHORIZE, sends_back(state="wrong"), REFUSED),
    "no state": (AUTHORIZE, sends_back(state=None), REFUSED),
    "no code": (AUTHORIZE, sends_back(code=""), REFUSED),
    "another issuer": (AUTHORIZE, sends_back(iss="http://evil.example"), REFUSED),
    "code with escapes": (AUTHORIZE, sends_back(code="c%1b%5d0%0d%0aX-Evil:%201"), KEPT),
    "error with escapes": (
        AUTHORIZE,
        sends_back(code=None, error="%1b%5d0;x%07%0a::error::x", error_description="%9b"),
        REFUSED,
    ),
    "redirect elsewhere": (AUTHORIZE, changed(headers=(("Location", FAR),)), REFUSED),
    "token without a type": (GIVE, changed(body={"access_token": TOKEN}), REFUSED),
    "token of another type": (GIVE, members(token_type=ESCAPES), REFUSED),
    "token that is empty": (GIVE, members(access_token=""), REFUSED),
    "token in a list": (GIVE, changed(body=[{"access_token": TOKEN}]), REFUSED),
    "token twice": (
        GIVE,
        changed(body=b'{"access_token":"a","access_token":"b","token_type":"bearer"}'),
        REFUSED,
    ),
    "token in a form": (GIVE, changed(body=f"access_token={TOKEN}&token_type=bearer".encode()), REFUSED),
    "token is deep": (GIVE, changed(body=DEEP), REFUSED),
    "token redirects": (GIVE, changed(status=307, headers=(("Location", FAR),)), REFUSED),
    "token is a page": (GIVE, changed(body=f"<html>{ESCAPES}{CODE}".encode()), REFUSED),
    "token is an error": (GIVE, changed(status=500, body=f"<html>{ESCAPES}{CODE}".encode()), REFUSED),
    "token has no end": (GIVE, changed(chunk=b" " * 65536), REFUSED),
    "token is slow": (GIVE, changed(body=b"", chunk=b" ", pause=0.05), REFUSED),
    "token is refused with everything": (GIVE, echo, REFUSED),
    "token is refused with escapes": (
        GIVE,
        changed(status=400, body={"error": ESCAPES, "error_description": CODE + ESCAPES}),
        REFUSED,
    ),
    "token is refused with any kind": (
        GIVE,
        changed(status=400, body={"error": {"a": 1}, "error_description": [1]}),
        REFUSED,
    ),
    "token may not be kept": (GIVE, members(expires_in=10**18), KEPT),
    "token of a day": (GIVE, members(expires_in="86400"), KEPT),
    "token that has ended": (GIVE, members(expires_in=-(10**18)), REFUSED),
    "use redirects": (USE, changed(status=307, headers=(("Location", FAR),)), REFUSED),
    "use is refused with everything": (USE, echo, REFUSED),
    "session with escapes": (USE, changed(headers=(("Mcp-Session-Id", "s\x1b]0;x\x07"),)), KEPT),
    "many sessions": (USE, changed(headers=(("Mcp-Session-Id", "s"),) * 90), KEPT),
}
"""A step, its change, and the exit status, by what the server does."""
MEMBERS = {
    METADATA: ("resource", "authorization_servers", "scopes_supported"),
    SERVER: (*(f"{name}_endpoint" for name in ENDPOINTS), "issuer", "scopes_supported"),
    REGISTER: ("client_id", "client_secret", "token_endpoint_auth_method"),
    GIVE: ("access_token", "refresh_token", "token_type", "expires_in", "expires_at", "error"),
}
"""The members that are read, by step."""
ANY = [
    pytest.param(step, spelt(name, text), id=f"{step} {name}: {kind}")
    for step, names in MEMBERS.items()
    for name in names
    for kind, text in ODD.items()
]
"""A value of any kind in each member that is read: the login may succeed or not."""


def browse(url):
    """Follow a redirect back to this machine's callback, as a browser does; and no other one."""

    def get(address):
        parts = urlsplit(address)
        with closing(HTTPConnection(parts.hostname, parts.port, timeout=5)) as connection:
            connection.request("GET", f"{parts.path}?{parts.query}")
            with connection.getresponse() as response:
                response.read()
                return response.headers.get("Location", "")

    def follow():
        back = get(url)
        if "/callback" in back:
            get(back)

    threading.Thread(target=follow, daemon=True).start()
    return True


def logged(capfd, url, *words):
    """Run the command, and return its exit status and what it has printed."""
    status = main(["login", "--url", url, "--wait", "2", *words])
    out, err = capfd.readouterr()
    return status, out + err


def expect_harmless(printed, folder):
    """Fail if what is printed or kept has what a server may not have us print or keep."""
    assert "Traceback" not in printed
    assert "Error:" not in printed
    assert not re.search(r"[^\n -~\u00a1-\uffff]|\u202e|^::|\n::", printed)
    for secret in SECRETS:
        assert secret not in printed
    for path in folder.glob("*"):
        kept = json.loads(path.read_text())
        assert CODE not in path.read_text()
        assert TOKEN not in json.dumps(kept["steps"])


def answered(capfd, monkeypatch, folder, step, change):
    """Log in at a server of which one step is changed; return the exit status and the last line."""
    monkeypatch.setattr(command, "opened", browse)
    monkeypatch.setattr(web, "RESPONSE_SECONDS", 1.0 if change in SLOW else 20.0)
    with victim() as listener:
        address = f"http://127.0.0.1:{listener.server_port}"

        def aimed(reply, asked):
            reply = change(reply, asked)
            headers = tuple((name, value.replace("{victim}", address)) for name, value in reply.headers)
            return changed(headers=headers)(reply, asked)

        with hostile(**{step: aimed}) as server:
            status, printed = logged(capfd, server.url)
            assert all("X-Evil" not in one.headers for one in server.asked)
            assert len(server.asked) < 20
        assert listener.met == []
    expect_harmless(printed, folder)
    assert main(["login", "--list"]) == 0
    expect_harmless("".join(capfd.readouterr()), folder)
    assert len(re.findall("^no token: ", printed, re.MULTILINE)) == (status == REFUSED)
    assert (list(folder.glob("*.json")) != []) == (status == KEPT)
    return status, printed.splitlines()[-1]


SLOW = [change for name, (_, change, _) in MODES.items() if name.endswith("slow")]


@pytest.mark.parametrize("name", some_of(MODES, 3))
def test_a_server_that_is_out_to_harm_gets_nothing(name, place, capfd, monkeypatch):
    step, change, expected = MODES[name]
    assert answered(capfd, monkeypatch, place, step, change)[0] == expected


@pytest.mark.parametrize(("step", "change"), some_of(ANY, 12, name=lambda one: one.id))
def test_a_member_of_any_kind_ends_in_one_line(step, change, place, capfd, monkeypatch):
    assert answered(capfd, monkeypatch, place, step, change)[0] in (KEPT, REFUSED)


@pytest.mark.parametrize(
    ("step", "change", "said"),
    [
        (USE, echo, "refuses the token that"),
        (USE, changed(status=307), "refuses the token that"),
        (GIVE, members(access_token="a\r\nX-Evil: 1"), "the access_token is not a text of"),
        (GIVE, members(access_token="a b"), "the access_token has characters that RFC 6750"),
        (GIVE, members(access_token=""), "the access_token is empty"),
        (GIVE, members(refresh_token="a\nb"), "the refresh_token is not a text of"),
        (GIVE, members(expires_in="soon"), "expires_in is not a number of seconds"),
        (GIVE, changed(body=DEEP), "HTTP 200 with application/json: nested more than 400 deep"),
        (
            REGISTER,
            members(token_endpoint_auth_method="tls_client_auth"),
            "_auth_method is tls_client_auth, not one of",
        ),
        (REGISTER, members(client_id="\ud800"), "the client_id is not a text of"),
    ],
    ids=range(10),
)
def test_the_line_names_the_cause(step, change, said, place, capfd, monkeypatch):  # noqa: PLR0917
    status, line = answered(capfd, monkeypatch, place, step, change)
    assert status == REFUSED
    assert said in line


def test_a_secret_of_the_user_is_not_repeated(capfd, monkeypatch, place):
    monkeypatch.setenv("MY_KEY", "the-key-of-the-user")
    monkeypatch.setenv("CI_SECRET", "the-secret-of-the-user")

    def repeated(reply, asked):
        said = f"{asked.headers.get('X-Api-Key')} {asked.headers.get('Authorization')}"
        return changed(status=400, body={"error": said})(reply, asked)

    words = ["--header-env", "X-Api-Key=MY_KEY", "--client-credentials", "--client-id", "ci"]
    with hostile(use=repeated) as server:
        _, printed = logged(capfd, server.url, *words, "--client-secret-env", "CI_SECRET")
        kept = store.path_of(server.url).read_text()
    with hostile(
        ask=lambda reply, asked: changed(status=200)(repeated(reply, asked), asked),
        metadata=changed(status=404),
    ) as server:
        _, refused = logged(
            capfd, f"{server.url}?api_key=the-query-of-the-user", *words, "--client-secret-env", "CI_SECRET"
        )
    assert "no token" in refused
    for text in (printed, kept, refused):
        assert "of-the-user" not in text


def test_the_address_to_open_has_the_words_of_the_user(capfd):
    with hostile(server=members(authorization_endpoint="{origin}/authorize/mycompany")) as server:
        words = ["--no-browser", "--wait", "1", "--header", "X-Api-Key: the-key-of-the-user"]
        _, printed = logged(capfd, f"{server.url}?org=mycompany", *words)
    assert f"log in at {server.origin}/authorize/mycompany?response_type=code&client_id=one&" in printed


def test_a_secret_that_cannot_be_is_named_by_its_variable():
    with hostile() as server:
        client = OAuthClient("ci", SECRET, "CI_SECRET", "client_secret_basic")
        login = log_in_as_client(Choice(server.url, client=client))
        with pytest.raises(LoginFailed, match="in the variable CI_SECRET: the client_secret is not"):
            renewed(replace(login, refresh_token=""), "caf\xe9")


def test_an_old_token_is_not_repeated_by_a_refresh(place, capfd, monkeypatch):
    monkeypatch.setattr(command, "opened", browse)
    with hostile() as server:
        assert logged(capfd, server.url)[0] == KEPT
        login = store.kept(server.url)
        server.changes["give"] = lambda reply, asked: members(
            access_token="new", note=f"{TOKEN} {asked.body}"
        )(reply, asked)
        new = renewed(login)
        server.changes["give"] = echo
        with pytest.raises(LoginFailed) as caught:
            renewed(login)
    for secret in (TOKEN, REFRESH, SECRET):
        assert secret not in str(new.steps)
        assert secret not in str(caught.value)


def test_a_token_in_what_must_be_refused_is_kept_nowhere(place, capfd, monkeypatch):
    monkeypatch.setattr(command, "opened", browse)
    given = iter(range(100))

    def another(reply, asked):
        number = next(given)
        if number < 2:
            return changed(
                body=[{"access_token": f"TRIED-token-{number}", "x": {"refresh_token": "TRIED-1"}}]
            )(reply, asked)
        return reply

    with hostile(give=another) as server:
        assert logged(capfd, server.url, "--examine", "--wait", "20")[0] == KEPT
        assert "TRIED" not in store.path_of(server.url).read_text()


def test_a_client_of_the_user_that_cannot_be_is_an_error_of_the_user(capfd):
    status, printed = logged(capfd, "http://127.0.0.1:9/mcp", "--client-id", "caf\xe9")
    assert status == 4
    assert printed.count("\n") == 1
    assert "the client_id is not a text" in printed


def test_a_login_of_a_client_needs_no_authorization_endpoint():
    with hostile(server=members(authorization_endpoint=5)) as server:
        client = OAuthClient("ci", SECRET, "CI", "client_secret_basic")
        assert log_in_as_client(Choice(server.url, client=client)).access_token == TOKEN
