"""A login that succeeded: its token, what renews it, and the steps by which it came."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from types import NoneType
from typing import Any

from mcp_conformance.login.web import Step
from mcp_conformance.transport.http.challenge import WORD_68
from mcp_conformance.transport.http.endpoint import Endpoint

# Not measured: a request that is on its way for longer may come too late.
LEEWAY_SECONDS = 60.0
"""How long before its end a token is taken for expired; half of its life, if that is shorter."""
VERSION = 1
"""The form of the file of a login."""
BASIC, POSTED = "client_secret_basic", "client_secret_post"
METHODS = ("none", BASIC, POSTED)
"""How a client can authenticate itself, the plainest way first."""
VISIBLE = re.compile(r"[ -~]*")
"""What an id, a secret or a refresh token may have (RFC 6749, appendix A)."""
# Node.js refuses longer heads, and most other servers do.
MAX_CREDENTIAL = 16 * 1024
"""The characters that an id, a secret or a token may have."""
# The functions of Windows know no later time.
MAX_TIME = 32_503_680_000.0
"""The last moment that a file may have: the year 3000."""


@dataclass(frozen=True)
class OAuthClient:
    """A client as an authorization server knows it, and how it authenticates itself there.

    The ``secret`` of a registration is kept with it; that of the user is in the environment variable
    ``secret_variable``.
    """

    id: str
    secret: str = field(default="", repr=False)
    secret_variable: str = ""
    method: str = "none"

    def __post_init__(self) -> None:
        """Raise `ValueError` for what no client has."""
        _expect_visible("client_id", self.id)
        _expect_visible("client_secret", self.secret)
        _expect_types(self, str, "secret_variable")
        if not self.id:
            raise ValueError("the client_id is empty")
        if self.method not in METHODS:
            raise ValueError(
                f"the token_endpoint_auth_method is {self.method}, not one of {', '.join(METHODS)}"
            )
        if self.method != METHODS[0] and not (self.secret or self.secret_variable):
            raise ValueError(f"the token_endpoint_auth_method is {self.method}, without a client_secret")


@dataclass(frozen=True)
class Login:
    """A token for the server at ``url``, and what renews it.

    ``resource`` is what the token was requested for (RFC 8707), ``issuer`` the authorization server and
    ``grant`` how it was given: authorization_code or client_credentials.  The token is valid from ``given``
    until ``expires``, times in seconds since 1970; the end is 0 if it is unknown.  ``announces_issuer`` is
    whether the document of the authorization server says that its responses name it.  ``steps`` are the
    exchanges of the login, without secrets.
    """

    url: str
    resource: str
    issuer: str
    token_endpoint: str
    grant: str
    client: OAuthClient
    scope: str
    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    given: float = 0.0
    expires: float = 0.0
    when: float = field(default_factory=time.time)
    announces_issuer: bool = False
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        """Raise `ValueError` for what no login has."""
        _expect_visible("access_token", self.access_token)
        if not self.access_token:
            raise ValueError("the access_token is empty")
        if not WORD_68.fullmatch(self.access_token):
            raise ValueError("the access_token has characters that RFC 6750, section 2.1, does not allow")
        _expect_visible("refresh_token", self.refresh_token)
        _expect_types(self, str, "url", "resource", "issuer", "token_endpoint", "grant", "scope")
        _expect_types(self, bool, "announces_issuer")
        _expect_types(self, float, "given", "expires", "when")
        Endpoint.parse(self.url)
        if not all(0 <= one <= MAX_TIME for one in (self.given, self.expires, self.when)):
            raise ValueError("a time is not one of this millennium")

    @property
    def header(self) -> tuple[bytes, bytes]:
        """The header with the token."""
        return b"Authorization", f"Bearer {self.access_token}".encode()

    @property
    def is_expired(self) -> bool:
        """Whether the token is expired, or soon will be."""
        leeway = min(LEEWAY_SECONDS, (self.expires - self.given) / 2)
        return bool(self.expires) and time.time() > self.expires - leeway

    @property
    def made(self) -> str:
        """When the login was, as a text."""
        return shown_time(self.when)

    def named(self, name: str) -> list[Step]:
        """Return the steps with a name."""
        return [one for one in self.steps if one.name == name]

    def as_json(self) -> dict[str, Any]:
        """Return the login as it is kept."""
        return {"version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Login:
        """Return the login in a file.  Raises `ValueError`, `TypeError` or `KeyError` for another content."""
        found = dict(value)
        if found.pop("version") != VERSION:
            raise ValueError("it is of another version of this tool")
        found["client"] = OAuthClient(**found["client"])
        found["steps"] = tuple(_step(one) for one in found["steps"])
        return cls(**found)


def _step(value: Mapping[str, Any]) -> Step:
    """Return a step in a file.  Raises `ValueError` or `TypeError` for another content."""
    step = Step(**value)
    _expect_types(step, str, "name", "sent", "got")
    _expect_types(step, dict, "headers", "document")
    _expect_types(step, bool, "is_renewed")
    if type(step.status) not in (int, NoneType) or not all(
        isinstance(one, str) for one in step.headers.values()
    ):
        raise ValueError("it is not a step of a login")
    return step


def _expect_visible(name: str, value: Any) -> None:
    """Raise `ValueError` unless a value is a text that RFC 6749 allows; the sentence has no part of it."""
    if not isinstance(value, str) or not VISIBLE.fullmatch(value) or len(value) > MAX_CREDENTIAL:
        raise ValueError(f"the {name} is not a text of at most {MAX_CREDENTIAL} visible ASCII characters")


def _expect_types(value: Any, kind: type, *names: str) -> None:
    """Raise `ValueError` unless these fields have a type."""
    wrong = [name for name in names if type(getattr(value, name)) is not kind]
    if wrong:
        raise ValueError(f"{wrong[0]} is not a {kind.__name__}")


def shown_time(seconds: float) -> str:
    """Return a time in words."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
