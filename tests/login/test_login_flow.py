"""The steps of a login: what is sent, and what ends it."""

import socket
import struct
import threading
from contextlib import suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from mcp_conformance.login.callback import PATH, listening
from mcp_conformance.login.flow import (
    EXAMINED,
    NO_CHALLENGE,
    REFRESHED,
    REFRESHED_FIRST,
    Choice,
    log_in,
    log_in_as_client,
    renewed,
)
from mcp_conformance.login.login import OAuthClient
from mcp_conformance.login.web import LoginFailed
from mcp_conformance_fixtures.reference_http_login import CI_CLIENT, CI_SECRET, Issuing, OAuthError
from mcp_conformance_fixtures.reference_http_wire import Answer
from support.http_in_thread import served
from support.logins import Watched, browse, logged_in

CI = OAuthClient(CI_CLIENT, CI_SECRET, "CI_SECRET", "client_secret_basic")


def test_a_login_brings_a_token_that_can_be_renewed():
    http = Watched()
    with served(http) as server:
        login = logged_in(server.url)
        new = renewed(login)
    assert login.resource == server.url
    assert http.claims(login.access_token)["aud"] == server.url
    assert http.claims(new.access_token)["aud"] == server.url
    assert new.access_token != login.access_token
    assert {login.refresh_token, new.refresh_token} <= http.given
    assert [one.is_renewed for one in new.named(REFRESHED)] == [True]


def test_what_must_be_refused_is_tried_on_codes_of_its_own():
    with served(Issuing()) as server:
        login = logged_in(server.url, examines=True)
    statuses = {one.name: one.status for one in login.steps}
    assert {name: statuses[name] for name in EXAMINED if statuses[name] != 400} == {NO_CHALLENGE: 302}
    assert statuses[REFRESHED] == statuses[REFRESHED_FIRST] == 200


def test_no_secret_is_in_the_steps():
    http = Watched()
    with served(http) as server:
        login = logged_in(server.url, examines=True)
        client = log_in_as_client(Choice(server.url, client=CI))
    assert len(http.given) > 8
    for secret in (*http.given, CI_SECRET):
        assert secret not in repr(login)
        assert secret not in repr(client)
        assert secret not in str((login.steps, client.steps))
    assert client.client.secret == ""


def test_a_client_logs_in_itself_and_again():
    with served(Issuing()) as server:
        login = log_in_as_client(Choice(server.url, client=CI))
        assert renewed(login, CI_SECRET).access_token != login.access_token
        with pytest.raises(LoginFailed, match="gives no token: invalid_client"):
            renewed(login, "another")


class Posting(Issuing):
    """A server that registers clients with a secret, which they send in the body."""

    def register(self, call):
        answer = super().register(call)
        body = answer.body.replace(b'"none"', b'"client_secret_post"')
        return Answer(
            answer.status,
            answer.headers,
            body.replace(b'"client_id"', b'"client_secret":"s-e-c-r","client_id"'),
        )

    def by_code(self, call, asked):
        if asked.get("client_secret") != "s-e-c-r":
            raise OAuthError("invalid_client", 401)
        return super().by_code(call, asked)


class Naming(Issuing):
    """A server that registers clients with a secret for the header, and wants their names in the body too."""

    def register(self, call):
        answer = super().register(call)
        body = answer.body.replace(b'"none"', b'"client_secret_basic"')
        secret = b'"client_secret":"s-e-c-r","client_id"'
        return Answer(answer.status, answer.headers, body.replace(b'"client_id"', secret))

    def by_code(self, call, asked):
        assert call.value("authorization").startswith("Basic ")
        return super().by_code(call, asked)


class Slashed(Issuing):
    """A server whose document has an issuer with one more slash than its responses."""

    def server_document(self, call):
        return super().server_document(call) | {"issuer": f"{self.issuer(call)}/"}


class Old(Issuing):
    """A server of 2025-03-26, which describes nothing."""

    def answer(self, call):
        if "/.well-known/" in call.target:
            return Answer(404)
        call.target = call.target.replace("/authorize", "/issuer/authorize")
        call.target = call.target.replace("/token", "/issuer/token").replace("/register", "/issuer/register")
        return super().answer(call)

    def challenge(self, call, *parameters):
        return ", ".join(("Bearer realm=mcp", *parameters))

    def response_issuer(self, call):
        return {}


class Offline(Issuing):
    """A server whose authorization server has a scope for refresh tokens."""

    def server_document(self, call):
        return super().server_document(call) | {"scopes_supported": ["mcp:use", "offline_access"]}

    def new_code(self, call, asked):
        assert asked["scope"] == "mcp:use offline_access"
        return super().new_code(call, asked | {"scope": "mcp:use"})


@pytest.mark.parametrize("http", [Posting, Naming, Slashed, Old, Offline], ids=lambda one: one.__name__)
def test_a_login_succeeds_at_other_servers(http):
    with served(http()) as server:
        assert logged_in(server.url).access_token


def test_a_client_with_a_document_does_not_register():
    with served(Issuing()) as server:
        login = logged_in(server.url, document="https://client.example/id.json")
    assert login.client.id == "https://client.example/id.json"
    assert not login.named("registration")


# What ends a login ---------------------------------------------------------------------------------


class Denying(Issuing):
    """An authorization server at which the person refuses."""

    def new_code(self, call, asked):
        raise OAuthError("access_denied")


class Registering(Issuing):
    """An authorization server that refuses to register."""

    def register(self, call):
        raise OAuthError("invalid_redirect_uri")


class Known(Issuing):
    """An authorization server that registers nobody."""

    def server_document(self, call):
        document = super().server_document(call)
        del document["registration_endpoint"]
        return document


class Misnamed(Issuing):
    """An authorization server whose response has another issuer."""

    def response_issuer(self, call):
        return {"iss": "https://attacker.example"}


class Nameless(Issuing):
    """An authorization server whose response lacks the issuer that its document promises."""

    def response_issuer(self, call):
        return {}


class Distrustful(Issuing):
    """A server that refuses the tokens of its own authorization server."""

    def claims(self, token):
        return None


class Elsewhere(Issuing):
    """A server whose metadata is of another one."""

    def document(self, call):
        return super().document(call) | {"resource": "https://other.example/mcp"}


class Foreign(Issuing):
    """A server whose authorization server has the document of another one."""

    def server_document(self, call):
        return super().server_document(call) | {"issuer": "https://other.example"}


class Unencrypted(Issuing):
    """A server whose token endpoint is elsewhere without TLS."""

    def server_document(self, call):
        return super().server_document(call) | {"token_endpoint": "http://auth.example.com/token"}


class Plain(Issuing):
    """An authorization server without S256."""

    def server_document(self, call):
        return super().server_document(call) | {"code_challenge_methods_supported": ["plain"]}


class Busy(Issuing):
    """A server whose token endpoint shows a page."""

    def token_endpoint(self, call):
        return Answer(503, [("Content-Type", "text/html")], b"<html>")


class Wordless(Issuing):
    """A server whose token endpoint sends no token."""

    def token_endpoint(self, call):
        return self.no_store(200, {"expires_in": 3600})


class Array(Issuing):
    """A server whose token endpoint sends an array."""

    def token_endpoint(self, call):
        return self.no_store(200, [1])


class Open(Issuing):
    """A server that needs no token."""

    def check_token(self, call):
        """Serve everybody."""

    def answer(self, call):
        return Answer(404) if "/.well-known/" in call.target else super().answer(call)


@pytest.mark.parametrize(
    ("http", "said"),
    [
        (Denying, "gives no code: access_denied"),
        (Registering, "does not register a client: HTTP 400, invalid_redirect_uri"),
        (Known, "registers nobody: --client-id names a client that it knows"),
        (Misnamed, "names the issuer https://attacker.example: clients refuse it"),
        (Nameless, "names no issuer: clients refuse it"),
        (Distrustful, "refuses the token that"),
        (Elsewhere, "is of another resource than"),
        (Foreign, 'has the issuer "https://other.example", not'),
        (Unencrypted, "http://auth.example.com/token has no TLS"),
        (Plain, "does not list S256"),
        (Busy, "is answered with HTTP 503 with text/html"),
        (Wordless, "gives no token: the response has no access_token"),
        (Array, "is answered with HTTP 200 with application/json: not a JSON object"),
        (Open, "asks nobody to log in: initialize is answered with HTTP 200"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_login_ends_with_a_reason(http, said):
    with served(http()) as server, pytest.raises(LoginFailed) as caught:
        logged_in(server.url)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_scopes_that_are_not_known_are_refused():
    with served(Issuing()) as server, pytest.raises(LoginFailed, match="gives no code: invalid_scope"):
        logged_in(server.url, scope="admin")


def test_a_person_who_does_not_come_ends_the_login():
    with served(Issuing()) as server, pytest.raises(LoginFailed, match="nobody has logged in within 0 s"):
        logged_in(server.url, opens=lambda _: True, seconds=0.0)


def test_an_answer_with_another_state_is_ignored():
    def forged(url):
        back = url.partition("redirect_uri=")[2].partition("&")[0].replace("%3A", ":").replace("%2F", "/")
        threading.Thread(target=lambda: (browse(f"{back}?code=forged&state=x"), browse(url))).start()

    with served(Issuing()) as server:
        assert logged_in(server.url, opens=forged).access_token


def test_an_interruption_closes_the_listener():
    def interrupt(_):
        raise KeyboardInterrupt

    before = threading.active_count()
    with served(Issuing()) as server, pytest.raises(KeyboardInterrupt):
        log_in(Choice(server.url, opens=interrupt))
    assert threading.active_count() <= before + 1  # the thread of the server may be about to end


def test_a_port_that_is_taken_is_named():
    with listening() as one:
        port = int(one.url.removesuffix(PATH).rpartition(":")[2])
        with pytest.raises(LoginFailed, match=f"port {port} of 127.0.0.1 cannot be used"), listening(port):
            pass


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_a_page_of_another_host_does_not_answer_for_the_browser(header):
    with listening() as one:
        url = urlsplit(one.url)
        for headers, status in ((header, 403), ({}, 200)):
            connection = HTTPConnection(url.hostname, url.port, timeout=30)
            connection.request("GET", f"{url.path}?code={status}", headers=headers)
            assert connection.getresponse().status == status
            connection.close()
        assert one.wait(30, lambda got: True) == {"code": "200"}


def test_answers_of_others_do_not_make_the_login_wait_longer():
    def forge():
        while not stop.is_set():
            with suppress(OSError), urlopen(f"{callback.url}?state=x") as page:
                page.read()

    stop = threading.Event()
    with listening() as callback:
        thread = threading.Thread(target=forge)
        thread.start()
        try:
            with pytest.raises(LoginFailed, match="nobody has logged in within"):
                callback.wait(0.6, lambda _: False)
        finally:
            stop.set()
            thread.join()


def test_a_browser_that_goes_away_prints_nothing(capfd):
    with listening() as callback:
        port = urlsplit(callback.url).port
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.sendall(b"GET /callback?code=x HTTP/1.1\r\n")
        with urlopen(f"{callback.url}?code=y") as page:
            page.read()
        callback.wait(20.0, lambda got: got == {"code": "y"})
    assert capfd.readouterr() == ("", "")
