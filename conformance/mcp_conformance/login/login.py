"""A login that succeeded: its token, what renews it, and the steps by which it came."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from mcp_conformance.login.web import Step
from mcp_conformance.protocol.shape import misfit

# Not measured: a request that is on its way for longer may come too late.
LEEWAY_SECONDS = 60.0
"""How long before its end a token is taken for expired; half of its life, if that is shorter."""
MAX_SECONDS = 1e11
"""The latest time that a file may have, in the year 5138: later than 9999 no calendar of Python's goes."""
VERSION = 1
"""The form of the file of a login."""


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
        found["steps"] = tuple(Step(**one) for one in found["steps"])
        login = cls(**found)
        times = (login.given, login.expires, login.when)
        if misfit(login, Login, "login") or not all(0 <= one < MAX_SECONDS for one in times):
            raise ValueError("a member is of the wrong type")
        if not (login.access_token.isascii() and login.access_token.isprintable()):
            raise ValueError("no header can have its token")
        return login


def shown_time(seconds: float) -> str:
    """Return a time in words."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
