"""The steps of a login, as a client of MCP takes them; Authlib makes the requests of OAuth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mcp_conformance.login.callback import Callback, listening
from mcp_conformance.login.login import BASIC, METHODS, POSTED, VISIBLE, Login, OAuthClient
from mcp_conformance.login.provider import TOKEN_USED, Provider, open_session, provider
from mcp_conformance.login.web import Answer, LoginFailed, Step, Web, exchanges
from mcp_conformance.protocol.text import harmless, named
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.headers import PLAIN, SESSION_ID
from mcp_conformance.transport.http.request import Headers

if TYPE_CHECKING:
    from authlib.oauth2.client import OAuth2Client

REGISTERED, AUTHORIZED, GIVEN, REFRESHED = "registration", "authorization", "token", "refresh"
WRONG_VERIFIER, NO_VERIFIER, CODE_AGAIN = "wrong verifier", "no verifier", "code again"
FOREIGN, NEAR, NO_CHALLENGE = "foreign redirect", "redirect below", "no challenge"
REFRESHED_FIRST, REFRESH_AGAIN = "refresh of another token", "refresh token again"
"""The names of the steps that are judged."""
EXAMINED = (WRONG_VERIFIER, NO_VERIFIER, CODE_AGAIN, FOREIGN, NEAR, NO_CHALLENGE, REFRESH_AGAIN)
"""Those in which something has to be refused."""
CODES, CREDENTIALS, REFRESH = "authorization_code", "client_credentials", "refresh_token"
"""The grants."""
ANNOUNCES_ISSUER = "authorization_response_iss_parameter_supported"
NAME = "mcp-conformance"
ELSEWHERE = "https://redirect.invalid/callback"
"""A redirect URI that nobody has registered, at a host that cannot be (RFC 6761)."""
BELOW = "/elsewhere"
"""What makes of the registered redirect URI one below it, which OAuth 2.1, section 2.3.1, tells apart."""
VERIFIER_LENGTH, STATE_LENGTH = 64, 32
LOGIN_SECONDS = 300.0
"""How long a person may take.  Not measured."""
# Not measured: nobody gives a token for longer and means it.
MAX_LIFETIME_SECONDS = 100 * 365 * 24 * 3600
"""A token that lasts longer has no known end."""


@dataclass(frozen=True)
class Choice:
    """What the user chose for a login.

    ``client`` is one that the authorization server knows, ``document`` the URL of a client-id metadata
    document.  ``scope`` replaces that of the server.  With ``examines`` the authorization server is asked
    what it must refuse too.  ``opens`` shows a URL in a browser, and returns whether one has opened.
    """

    url: str
    headers: Headers = ()
    client: OAuthClient | None = None
    document: str = ""
    scope: str = ""
    port: int = 0
    seconds: float = LOGIN_SECONDS
    examines: bool = False
    opens: Callable[[str], bool] = lambda _: False
    say: Callable[[str], None] = lambda _: None


def log_in(choice: Choice) -> Login:
    """Log a person in, and return the token with what renews it.  Raises `LoginFailed`."""
    own = Endpoint.parse(choice.url)
    with _exchanges(own, choice) as web:
        found = _provider(web, own, choice)
        _expect_pkce(found, web)
        with listening(choice.port) as callback:
            if choice.client is not None:
                client = _known(choice.client, found)
            else:
                client = _client(web, found, choice, callback.url)
            flow = _Flow(web, found, client, choice, callback)
            if choice.examines:
                flow.examine()
            login = flow.login(flow.code())
        if choice.examines and login.refresh_token:
            login = _refreshed(login, web)
        _try(login, web, own, choice)
        return replace(login, steps=web.steps)


def log_in_as_client(choice: Choice) -> Login:
    """Log the client itself in, without a person.  Raises `LoginFailed`."""
    own = Endpoint.parse(choice.url)
    with _exchanges(own, choice) as web:
        found = _provider(web, own, choice)
        assert choice.client is not None
        client = _known(choice.client, found)
        oauth = _oauth(web, GIVEN, client)
        login = _login(choice, found, client, CREDENTIALS, _fetched(oauth, CREDENTIALS, found))
        _try(login, web, own, choice)
        return replace(login, steps=web.steps)


def renewed(login: Login, secret: str = "") -> Login:
    """Return a login with a new token; ``secret`` is that of the user's client.  Raises `LoginFailed`."""
    try:
        client = replace(login.client, secret=login.client.secret or secret)
    except ValueError as error:
        raise LoginFailed(f"in the variable {login.client.secret_variable}: {error}") from error
    secrets = (login.access_token, login.refresh_token, client.secret)
    with exchanges(Endpoint.parse(login.url), secrets=secrets) as web:
        if login.refresh_token:
            new = _refreshed(replace(login, client=client), web)
        elif login.grant == CREDENTIALS:
            new = _with_token(login, _fetched(_oauth(web, GIVEN, client), CREDENTIALS, _provider_of(login)))
        else:
            raise LoginFailed("the token is expired, and there is none to refresh it with")
        names = {one.name for one in web.steps}
        return replace(new, steps=(*(one for one in login.steps if one.name not in names), *web.steps))


def _exchanges(own: Endpoint, choice: Choice) -> AbstractContextManager[Web]:
    secrets = (choice.client.secret,) if choice.client is not None else ()
    return exchanges(own, choice.headers, secrets, choice.say)


def _provider(web: Web, own: Endpoint, choice: Choice) -> Provider:
    found = provider(web, own, choice.headers)
    words = (choice.scope or found.scope).split()
    return replace(found, scope=" ".join(one for one in words if VISIBLE.fullmatch(one)))


def _provider_of(login: Login) -> Provider:
    """Return the authorization server of a login, of which only what a token needs is known."""
    document = {"token_endpoint": login.token_endpoint}
    return Provider(login.issuer, login.issuer, document, login.resource, login.scope)


def _expect_pkce(found: Provider, web: Web) -> None:
    """Raise `LoginFailed` if the authorization server knows PKCE in another way than S256."""
    methods = "code_challenge_methods_supported"
    if methods not in found.document:
        web.say(f"the document of {found.issuer} lacks {methods}: clients since 2025-11-25 refuse it")
    elif not found.lists(methods, "S256"):
        raise LoginFailed(f"{found.issuer} does not list S256 in {methods}: clients refuse it")


# The client -------------------------------------------------------------------------------------


def _known(client: OAuthClient, found: Provider) -> OAuthClient:
    """Return a client of the user, with the way in which it authenticates itself there."""
    listed = found.document.get("token_endpoint_auth_methods_supported")
    only_posts = isinstance(listed, list) and BASIC not in listed and POSTED in listed
    return replace(client, method=POSTED if only_posts else BASIC) if client.secret else client


def _client(web: Web, found: Provider, choice: Choice, redirect: str) -> OAuthClient:
    """Return the client of this login: one with a document of its own, else one that registers now."""
    if choice.document and found.document.get("client_id_metadata_document_supported") is True:
        return OAuthClient(choice.document)
    if "registration_endpoint" not in found.document:
        raise LoginFailed(
            f"{found.issuer} registers nobody: --client-id names a client that it knows"
            + ("" if choice.document else ", --client-document one with a document of its own")
        )
    listed = found.document.get("token_endpoint_auth_methods_supported")
    known = listed if isinstance(listed, list) else METHODS
    method = next((one for one in METHODS if one in known), METHODS[0])
    wanted = {
        "client_name": NAME,
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": [CODES, "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        **({"scope": found.scope} if found.scope else {}),
    }
    answer = web.post_json(REGISTERED, found.endpoint("registration"), wanted)
    document = answer.document
    if answer.status not in (200, 201) or "client_id" not in document:
        raise LoginFailed(f"{found.issuer} does not register a client: {answer}")
    id, secret = document["client_id"], document.get("client_secret") or ""
    with _usable(found.issuer):
        return OAuthClient(id, secret, method=document.get("token_endpoint_auth_method") or method)


# Codes ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Code:
    text: str
    verifier: str


@dataclass(frozen=True)
class _Flow:
    """A login with codes: what all its steps share."""

    web: Web
    found: Provider
    client: OAuthClient
    choice: Choice
    callback: Callback

    def code(self) -> _Code:
        """Let a person log in, and return the code.  Raises `LoginFailed`."""
        url, state, verifier = self._request(self.callback.url)
        self.web.say("opened in the browser: " if self.choice.opens(url) else "log in at ", url)
        # That of an earlier page, or of somebody else's, has another state.
        got = self.callback.wait(self.choice.seconds, lambda one: one.get("state") == state)
        shown = " & ".join(f"{name}={one}" for name, one in self.web.hidden(got).items())
        self.web.add(
            Step(AUTHORIZED, f"GET {url}", f"redirect with {harmless(shown)}", document=self.web.hidden(got))
        )
        self._expect_issuer(got)
        if "error" in got:
            raise LoginFailed(
                f"{self.found.issuer} gives no code: {_error(got['error'], got.get('error_description'))}"
            )
        if not got.get("code"):
            raise LoginFailed(f"{self.found.issuer} sends the browser back without a code")
        return _Code(got["code"], verifier)

    def login(self, code: _Code, step: str = GIVEN) -> Login:
        """Exchange a code for a token.  Raises `LoginFailed`."""
        oauth = _oauth(self.web, step, self.client, self.callback.url)
        given = {"code": code.text, **({"code_verifier": code.verifier} if code.verifier else {})}
        token = _fetched(oauth, CODES, self.found, **given)
        return _login(self.choice, self.found, self.client, CODES, token)

    def examine(self) -> None:
        """Ask for what has to be refused; each code is used for one of these tries alone."""
        for name, redirect, has_challenge in (
            (FOREIGN, ELSEWHERE, True),
            (NEAR, f"{self.callback.url}{BELOW}", True),
            (NO_CHALLENGE, self.callback.url, False),
        ):
            url, _, _ = self._request(redirect, has_challenge=has_challenge)
            self.web.get(name, url)
        self.web.say("four logins follow: three for what has to be refused, and one for the token")
        self._refusal(replace(self.code(), verifier=_generated(VERIFIER_LENGTH)), WRONG_VERIFIER)
        self._refusal(replace(self.code(), verifier=""), NO_VERIFIER)
        code = self.code()
        self._use_twice(self.login(code))
        self._refusal(code, CODE_AGAIN)

    def _use_twice(self, login: Login) -> None:
        """Refresh a token, and use the same refresh token once more if that has brought another one."""
        with suppress(LoginFailed):
            new = _refreshed(login, self.web, REFRESHED_FIRST) if login.refresh_token else login
            if new.refresh_token != login.refresh_token:
                _refreshed(login, self.web, REFRESH_AGAIN)

    def _refusal(self, code: _Code, step: str) -> None:
        with suppress(LoginFailed):
            self.login(code, step)

    def _request(self, redirect: str, *, has_challenge: bool = True) -> tuple[str, str, str]:
        """Return the URL of a request for a code, its state and its verifier."""
        oauth = _oauth(self.web, AUTHORIZED, self.client, redirect, scope=self.found.scope or None)
        state, verifier = _generated(STATE_LENGTH), _generated(VERIFIER_LENGTH)
        url, _ = oauth.create_authorization_url(
            self.found.endpoint("authorization"),
            state=state,
            code_verifier=verifier if has_challenge else None,
            resource=self.found.resource,
        )
        return str(url), state, verifier

    def _expect_issuer(self, got: Mapping[str, str]) -> None:
        """Raise `LoginFailed` for a response of another issuer, or without one if that was promised."""
        says, issuer = self.found.document.get(ANNOUNCES_ISSUER), got.get("iss")
        if issuer is None and says is not True:
            return
        if issuer not in (self.found.issuer, self.found.named):
            came = f"names the issuer {named(issuer)}" if issuer is not None else "names no issuer"
            raise LoginFailed(f"the response of {self.found.issuer} {came}: clients refuse it (RFC 9207)")


# Tokens -----------------------------------------------------------------------------------------


def _oauth(web: Web, step: str, client: OAuthClient, redirect: str = "", **more: Any) -> OAuth2Client:
    """Return Authlib's client for one step."""
    from authlib.oauth2.client import OAuth2Client  # noqa: PLC0415  (an extra)

    oauth = OAuth2Client(
        web.sender(step),
        client.id,
        client.secret or None,
        client.method,
        redirect_uri=redirect or None,
        code_challenge_method="S256",
        **more,
    )
    oauth.parse_response_token = lambda answer: answer  # it computes with whatever a response has
    return oauth


def _fetched(oauth: OAuth2Client, grant: str, found: Provider, **given: str) -> Mapping[str, Any]:
    """Return the response with a token of an authorization server.  Raises `LoginFailed`."""
    given |= {"scope": found.scope} if grant == CREDENTIALS and found.scope else {}
    # RFC 6749, section 3.2.1, permits to name a client whose header does it; the Python SDK (1.30) demands
    # it.
    given |= {"client_id": oauth.client_id} if oauth.token_endpoint_auth_method == BASIC else {}
    endpoint = found.endpoint("token")
    answer: Answer = oauth.fetch_token(endpoint, grant_type=grant, resource=found.resource, **given)
    token = answer.document
    if "error" in token:
        said = _error(token["error"], token.get("error_description"))
        raise LoginFailed(f"{found.issuer} gives no token: {said}")
    if answer.status != 200 or not token:
        raise LoginFailed(f"{endpoint} is answered with {answer}")
    kind = token.get("token_type")
    if "access_token" not in token:
        raise LoginFailed(f"{found.issuer} gives no token: the response has no access_token")
    if str(kind).lower() != "bearer":
        raise LoginFailed(f"{found.issuer} gives no bearer token: its type is {named(str(kind))}")
    return token


def _error(error: Any, description: Any) -> str:
    said = f" ({named(str(description))})" if description else ""
    return f"{named(str(error))}{said}"


def _login(
    choice: Choice, found: Provider, client: OAuthClient, grant: str, token: Mapping[str, Any]
) -> Login:
    with _usable(found.issuer):
        return Login(
            Endpoint.parse(choice.url).url.partition("?")[0],
            found.resource,
            found.issuer,
            found.endpoint("token"),
            grant,
            _kept(client),
            found.scope,
            announces_issuer=found.document.get(ANNOUNCES_ISSUER) is True,
            **_members(token),
        )


def _with_token(login: Login, token: Mapping[str, Any]) -> Login:
    """Return a login with another token.  Raises `LoginFailed` for one that cannot be used."""
    with _usable(login.issuer):
        return replace(login, **_members(token, login.refresh_token))


@contextmanager
def _usable(issuer: str) -> Iterator[None]:
    """Raise `LoginFailed` where what the authorization server gives raises `ValueError`."""
    try:
        yield
    except ValueError as error:
        raise LoginFailed(f"{issuer} gives what cannot be used: {error}") from error


def _members(token: Mapping[str, Any], refresh_token: str = "") -> dict[str, Any]:
    """Return the members of a login that a response with a token brings.  Raises `ValueError`."""
    lifetime, now = _lifetime(token.get("expires_in")), time.time()
    return {
        "access_token": token["access_token"],
        "refresh_token": token.get("refresh_token") or refresh_token,
        "given": now,
        "expires": now + lifetime if lifetime is not None else 0.0,
    }


def _lifetime(lasts: Any) -> float | None:
    """Return how long a token lasts; None if that is not known.  Raises `ValueError` for what is no time."""
    if isinstance(lasts, str) and lasts.isascii() and lasts.isdecimal():
        lasts = float(lasts)
    if lasts is None:
        return None
    if isinstance(lasts, bool) or not isinstance(lasts, int | float) or not lasts >= 0:
        raise ValueError("expires_in is not a number of seconds")
    return float(lasts) if lasts <= MAX_LIFETIME_SECONDS else None


def _refreshed(login: Login, web: Web, step: str = REFRESHED) -> Login:
    """Return a login whose token is a new one, by its refresh token.  Raises `LoginFailed`."""
    oauth = _oauth(web, step, login.client)
    before = login.refresh_token
    new = _with_token(login, _fetched(oauth, REFRESH, _provider_of(login), refresh_token=before))
    web.note_renewal(is_renewed=new.refresh_token != before)
    return replace(new, client=_kept(new.client))


def _kept(client: OAuthClient) -> OAuthClient:
    """Return a client as it is kept: the user's secret stays in its variable."""
    return replace(client, secret="") if client.secret_variable else client


def _try(login: Login, web: Web, own: Endpoint, choice: Choice) -> None:
    """Raise `LoginFailed` if the server does not take the token."""
    answer = open_session(web, TOKEN_USED, own, (*choice.headers, login.header))
    if answer.status is None or answer.status in (401, 403) or 300 <= answer.status < 400:
        raise LoginFailed(f"{own.url} refuses the token that {login.issuer} has given for it: {answer}")
    for id in filter(PLAIN.fullmatch, answer.header(SESSION_ID)[:1]):
        session = (SESSION_ID.encode(), id.encode())
        web.send(TOKEN_USED, own.url, "DELETE", (*choice.headers, login.header, session))


def _generated(length: int) -> str:
    """Return random letters and digits."""
    from authlib.common.security import generate_token  # noqa: PLC0415  (an extra)

    text: str = generate_token(length)
    return text
