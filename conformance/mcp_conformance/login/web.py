"""The requests of a login and their responses: sent as all our HTTP is, and kept without secrets."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote_plus, urlencode

from mcp_conformance.protocol.jsonrpc import ABSENT, WITH_MARK, decode
from mcp_conformance.protocol.text import harmless, named, shorten
from mcp_conformance.transport.credentials import HIDDEN, Secret, secrets_of
from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.exchange import EVENT_STREAM, Exchange
from mcp_conformance.transport.http.reach import NotAsked, Reach
from mcp_conformance.transport.http.request import Headers, Request
from mcp_conformance.transport.redaction import Redaction

# Not measured: a function that starts with the first request takes some 10 s.
RESPONSE_SECONDS = 30.0
"""How long a response may take."""
# Not measured: documents of large providers have some 5 kB.
MAX_DOCUMENT = 256 * 1024
SHOWN_BODY, SHOWN_IN_SENTENCE = 400, 200
MAX_SENTENCE = 2000
# Not measured: no rule reads more of a text in a document, and none looks so deep.
KEPT_TEXT, KEPT_DEPTH = 2000, 20
"""What is kept of a header or of a text in a document, and how deeply a document is kept."""
SECRETS = frozenset(
    (
        *("access_token", "refresh_token", "id_token", "code", "code_verifier"),
        *("client_secret", "registration_access_token"),
    )
)
"""The members and parameters whose values are kept nowhere but with the token."""
PAIR = re.compile(r"""([\w.%+-]+)("\s*:\s*"|=)([^&#\s"'<>]*)""")
"""A parameter of a URL or a form, or a member in a JSON text."""
SHOWN_HEADERS = ("content-type", "cache-control", "location", "www-authenticate", "retry-after")
PACKAGES = ("authlib", "h11")


class LoginFailed(Exception):  # noqa: N818  (what came of it)
    """No token was given; the sentence says why."""


def expect_extra() -> None:
    """Raise `LoginFailed` unless the packages of the extra are installed."""
    if any(find_spec(name) is None for name in PACKAGES):
        raise LoginFailed("a login needs two more packages: pip install 'pytest-mcp-conformance[login]'")


@dataclass(frozen=True)
class Step:
    """An exchange of a login as it is kept, without secrets: ``name`` says what it was for.

    ``document`` is the JSON object in the response, empty without one; ``headers`` are those that count, by
    their names in lower case; ``is_renewed`` says that a refresh brought another refresh token.
    """

    name: str
    sent: str
    got: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)
    is_renewed: bool = False


class Answer:
    """A response."""

    def __init__(self, exchange: Exchange):
        self._exchange, self._fault = exchange, ""

    @property
    def status(self) -> int | None:
        """The status; None without a response."""
        return self._exchange.status

    def header(self, name: str) -> list[str]:
        """Return the values of a header."""
        return self._exchange.header(name)

    @property
    def text(self) -> str:
        """The body."""
        return self._exchange.body.decode("utf-8", "replace")

    @cached_property
    def json(self) -> Any:
        """The JSON value in the body; `ABSENT` for what is cut, or what readers take for different values."""
        if self._exchange.failure and not self._exchange.is_stalled:
            return ABSENT
        value, self._fault, oddities = decode(self._exchange.body)
        odd = ", ".join(one for one in oddities if one != WITH_MARK)
        self._fault = self._fault or odd or ("" if isinstance(value, dict) else "not a JSON object")
        return ABSENT if odd else value

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object in the body; empty if it has none."""
        return self.json if isinstance(self.json, dict) else {}

    def __str__(self) -> str:
        if self.status is None:
            return self._exchange.failure or "no response"
        error = self.document.get("error")
        if isinstance(error, str):
            said = self.document.get("error_description")
            more = f" ({named(said, SHOWN_IN_SENTENCE)})" if isinstance(said, str) and said else ""
            return f"HTTP {self.status}, {named(error, SHOWN_IN_SENTENCE)}{more}"
        location = "".join(f" to {_without_query(one)}" for one in self.header("Location")[:1])
        kind = f" with {self._exchange.media_type}" if self._exchange.media_type else ""
        fault = self._fault if "json" in kind and self.status < 300 else ""
        failure = self._exchange.failure or fault
        failure = f": {failure}" if failure else ""
        return f"HTTP {self.status}{named(location or kind, SHOWN_IN_SENTENCE)}{failure}"


class Web:
    """The exchanges of one login with the server ``own`` and the hosts that it names.

    No secret is in the ``steps`` or in what is said: those of the user and those that were exchanged are left
    out.
    """

    def __init__(
        self,
        own: Endpoint,
        headers: Headers = (),
        secrets: Iterable[str] = (),
        say: Callable[[str], None] = lambda _: None,
    ):
        self._steps: list[Step] = []
        given = ((name.decode(), value.decode("latin-1")) for name, value in headers)
        self._given = secrets_of((own.url,), None, given)
        self._secrets: dict[str, None] = dict.fromkeys(filter(None, secrets))
        self._reach, self._say = Reach(own.host), say

    @property
    def _redaction(self) -> Redaction:
        return Redaction((*self._given, *(Secret(text, is_named=True) for text in self._secrets)))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps so far; what became known as a secret later is left out of the earlier ones too."""
        redact = self._redaction
        return tuple(replace(redact(one), sent=redact.text(one.sent)) for one in self._steps)

    def shown(self, text: str) -> str:
        """Return a text as it may be printed, in one line."""
        return named(self._redaction.text(text), MAX_SENTENCE)

    def say(self, text: str, url: str = "") -> None:
        """Say something to the user, perhaps with a URL, which may have any word of the user's."""
        self._say(f"{self.shown(text)}{named(self._redaction.of_names.text(url), MAX_SENTENCE)}")

    def add(self, step: Step) -> None:
        """Add a step that was made elsewhere, as in a browser."""
        self._steps.append(step)

    def note_renewal(self, *, is_renewed: bool) -> None:
        """Note of the last step whether it brought another refresh token."""
        self._steps[-1] = replace(self._steps[-1], is_renewed=is_renewed)

    def hidden(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return members without the secret ones, and remember these."""
        found: dict[str, Any] = self._kept(values)
        return found

    def _kept(self, value: Any, depth: int = 0) -> Any:
        """Return a JSON value without secret members, and without what is too deep or too long."""
        if isinstance(value, str):
            return shorten(value, KEPT_TEXT)
        if not isinstance(value, Mapping | list):
            return value
        if depth == KEPT_DEPTH:
            return "..."
        if isinstance(value, list):
            return [self._kept(one, depth + 1) for one in value]
        secret = {
            name: one
            for name, one in value.items()
            if name in SECRETS and not isinstance(one, int | float | None)
        }
        self._secrets |= {one: None for one in secret.values() if one and isinstance(one, str)}
        kept = {name: self._kept(one, depth + 1) for name, one in value.items() if name not in secret}
        return {**kept, **dict.fromkeys(secret, HIDDEN)}

    def _plain(self, text: str) -> str:
        """Return a URL, a form or another text without the values of secret parameters; remember these."""
        return PAIR.sub(self._plain_pair, text)

    def _plain_pair(self, found: re.Match[str]) -> str:
        name, sign, value = found.groups()
        if unquote_plus(name) not in SECRETS or not value:
            return found[0]
        self._secrets |= dict.fromkeys((value, unquote_plus(value)))
        return f"{name}{sign}{HIDDEN}"

    def endpoint(self, url: str) -> Endpoint:
        """Return an address that the server has named.  Raises `LoginFailed` for one that is not asked."""
        try:
            return replace(Endpoint.parse(url), look_up=self._reach.addresses)
        except ValueError as error:
            raise LoginFailed(f"the server names an address that cannot be requested: {error}") from error

    def expect_reachable(self, url: str) -> Endpoint:
        """Return an address that the server has named.  Raises `LoginFailed` for one that is not asked."""
        found = self.endpoint(url)
        try:
            self._reach.addresses(found.host, found.port)
        except NotAsked as error:
            raise LoginFailed(f"the server names {url}: {error}") from error
        except (OSError, UnicodeError):  # the request says so
            pass
        return found

    def get(self, name: str, url: str) -> Answer:
        """GET a document."""
        return self._exchange(name, url, "GET", ((b"Accept", b"application/json"),))

    def post_json(self, name: str, url: str, value: Any, headers: Headers = ()) -> Answer:
        """POST a JSON value."""
        own = () if headers else ((b"Accept", b"application/json"),)
        kind = ((b"Content-Type", b"application/json"), *own)
        return self._exchange(name, url, "POST", (*kind, *headers), json.dumps(value).encode())

    def send(self, name: str, url: str, method: str, headers: Headers) -> Answer:
        """Send a request without a body."""
        return self._exchange(name, url, method, headers)

    def sender(self, name: str) -> Sender:
        """Return what Authlib sends the requests of a step through."""
        return Sender(self, name)

    def post_form(self, name: str, url: str, body: str, headers: Mapping[str, str]) -> Answer:
        """POST a form."""
        given = tuple((key.encode(), value.encode("latin-1")) for key, value in headers.items())
        return self._exchange(name, url, "POST", given, body.encode())

    def _exchange(self, name: str, url: str, method: str, headers: Headers, body: bytes = b"") -> Answer:
        endpoint, until = self.endpoint(url), time.monotonic() + RESPONSE_SECONDS
        request = Request.to(endpoint, method, headers, body)
        with closing(Client(endpoint, max_body=MAX_DOCUMENT)) as client:
            exchange = client.begin(request)
            exchange.wait_for_head(RESPONSE_SECONDS)
            if exchange.media_type != EVENT_STREAM:
                exchange.wait(until - time.monotonic())
            if not exchange.has_ended:
                exchange.give_up(RESPONSE_SECONDS)
        answer = Answer(exchange)
        self.add(self._step(name, url, request, answer))
        return answer

    def _step(self, name: str, url: str, request: Request, answer: Answer) -> Step:
        kept = self._kept(answer.json) if isinstance(answer.json, Mapping | list) else None
        document = kept if isinstance(kept, dict) and "jsonrpc" not in kept else {}
        headers = {one: self._header(answer, one) for one in SHOWN_HEADERS if answer.header(one)}
        text = json.dumps(kept) if kept else self._plain(answer.text)
        shown = " | ".join((*(f"{key}: {value}" for key, value in headers.items()),))
        got = f"HTTP {answer.status} | {shown} || {shorten(text, SHOWN_BODY)}"
        if answer.status is None:
            got = str(answer)
        body = self._plain(request.body.decode("utf-8", "replace"))
        sent = f"{request.method} {self._plain(url)} || {shorten(body, SHOWN_BODY)}"
        return Step(name, harmless(sent), harmless(got), answer.status, headers, document)

    def _header(self, answer: Answer, name: str) -> str:
        return shorten(self._plain(", ".join(answer.header(name))), KEPT_TEXT)


@dataclass(frozen=True)
class Sender:
    """What Authlib's client sends requests through: those of one step."""

    web: Web
    name: str

    def post(self, url: str, data: Mapping[str, str], headers: Mapping[str, str], auth: Any) -> Answer:
        """POST a form, with what authenticates the client."""
        url, given, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        if "Authorization" in given:
            self.web.hidden({"client_secret": given["Authorization"].partition(" ")[2]})
        return self.web.post_form(self.name, url, body, given)


def _without_query(url: str) -> str:
    return re.split("[?#]", url, maxsplit=1)[0]


@contextmanager
def exchanges(
    own: Endpoint,
    headers: Headers = (),
    secrets: Iterable[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Web]:
    """Give the exchanges of a login; a `LoginFailed` has no secret in its sentence."""
    web = Web(own, headers, secrets, say)
    try:
        yield web
    except LoginFailed as error:
        raise LoginFailed(web.shown(str(error))) from None
