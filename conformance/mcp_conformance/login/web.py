"""The requests of a login and their responses: sent as all our HTTP is, and kept without secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from mcp_conformance.protocol.text import named, shorten
from mcp_conformance.transport.credentials import HIDDEN, Secret
from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.exchange import Exchange
from mcp_conformance.transport.http.request import Headers, Request
from mcp_conformance.transport.redaction import Redaction

# Not measured: a function that starts with the first request takes some 10 s.
RESPONSE_SECONDS = 30.0
"""How long a response may take."""
# Not measured: documents of large providers have some 5 kB.
MAX_DOCUMENT = 1024 * 1024
SHOWN_BODY, SHOWN_IN_SENTENCE = 400, 200
SECRETS = frozenset(
    (
        *("access_token", "refresh_token", "id_token", "code", "code_verifier"),
        *("client_secret", "registration_access_token"),
    )
)
"""The members and parameters whose values are kept nowhere but with the token."""
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
    """A response from ``url``, with what Authlib asks of one."""

    def __init__(self, url: str, exchange: Exchange):
        self.url, self._exchange = url, exchange

    @property
    def status(self) -> int | None:
        """The status; None without a response."""
        return self._exchange.status

    @property
    def status_code(self) -> int:
        """The status; 0 without a response."""
        return self.status or 0

    def header(self, name: str) -> list[str]:
        """Return the values of a header."""
        return self._exchange.header(name)

    @property
    def text(self) -> str:
        """The body."""
        return self._exchange.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body as JSON; raise ValueError for another one."""
        return json.loads(self._exchange.body)

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object in the body; empty if it has none."""
        try:
            found = self.json()
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def raise_for_status(self) -> None:
        """Raise `LoginFailed` unless the status is one of success."""
        if not 200 <= self.status_code < 400:
            raise LoginFailed(f"{_without_query(self.url)} is answered with {self}")

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
        return f"HTTP {self.status}{location or kind}"


class Web:
    """The exchanges of one login: their ``steps``, in which secrets are hidden at once."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._secrets: dict[str, None] = {}

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps so far; what became known as a secret later is left out of the earlier ones too."""
        redact = Redaction(Secret(text, is_named=True) for text in self._secrets)
        return tuple(redact(one) for one in self._steps)

    def add(self, step: Step) -> None:
        """Add a step that was made elsewhere, as in a browser."""
        self._steps.append(step)

    def note_renewal(self, *, is_renewed: bool) -> None:
        """Note of the last step whether it brought another refresh token."""
        self._steps[-1] = replace(self._steps[-1], is_renewed=is_renewed)

    def hidden(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return members without the secret ones, and remember these."""
        secret = {name: one for name, one in values.items() if name in SECRETS}
        self._secrets |= {one: None for one in secret.values() if isinstance(one, str)}
        return {**values, **dict.fromkeys(secret, HIDDEN)}

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
        try:
            endpoint = Endpoint.parse(url)
        except ValueError as error:
            raise LoginFailed(f"the address for the step {name!r} cannot be requested: {error}") from error
        request = Request.to(endpoint, method, headers, body)
        with closing(Client(endpoint, max_body=MAX_DOCUMENT)) as client:
            exchange = client.begin(request)
            exchange.wait_for_head(RESPONSE_SECONDS)
            if exchange.media_type != "text/event-stream":
                exchange.wait(RESPONSE_SECONDS)
            if not exchange.has_ended:
                exchange.give_up(RESPONSE_SECONDS)
        answer = Answer(url, exchange)
        self.add(self._step(name, url, request, answer))
        return answer

    def _step(self, name: str, url: str, request: Request, answer: Answer) -> Step:
        found = answer.document
        document = self.hidden({} if "jsonrpc" in found else found)
        headers = {one: ", ".join(answer.header(one)) for one in SHOWN_HEADERS if answer.header(one)}
        if "location" in headers:
            headers["location"] = self._hidden_url(headers["location"])
        text = json.dumps(document) if document else answer.text
        shown = " | ".join((*(f"{key}: {value}" for key, value in headers.items()),))
        got = f"HTTP {answer.status} | {shown} || {shorten(text, SHOWN_BODY)}"
        if answer.status is None:
            got = str(answer)
        sent = f"{request.method} {self._hidden_url(url)} || {shorten(self._body(request), SHOWN_BODY)}"
        return Step(name, sent, got, answer.status, headers, document)

    def _body(self, request: Request) -> str:
        text = request.body.decode("utf-8", "replace")
        return text if text.startswith("{") else urlencode(self.hidden(dict(parse_qsl(text))), safe=":/*")

    def _hidden_url(self, url: str) -> str:
        query = urlsplit(url).query
        if not query:
            return url
        return f"{_without_query(url)}?{urlencode(self.hidden(dict(parse_qsl(query))), safe=':/*')}"


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
    return url.partition("?")[0]
