"""The steps of the login whose token the run uses, as they were recorded."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mcp_conformance.expect import skip
from mcp_conformance.login.login import Login
from mcp_conformance.login.web import Step
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.text import named
from mcp_conformance.target.server import Server

# For a sentence.
MAX_SHOWN = 80


@dataclass(frozen=True)
class LoginReply:
    """A step of a login, with its lines, for the words of a check."""

    login: Login
    step: Step

    @property
    def lines(self) -> tuple[Line, Line]:
        """The request and the response, as they were kept."""
        sent, got = self.step.sent.encode(), self.step.got.encode()
        return Line(True, sent), Line(False, got, status=self.step.status)

    @property
    def asked(self) -> Mapping[str, str]:
        """The parameters in the query of the request."""
        url = self.step.sent.partition(" || ")[0].partition(" ")[2]
        return dict(parse_qsl(urlsplit(url).query))

    @property
    def has_token(self) -> bool:
        """Whether the response brings a token."""
        return "access_token" in self.step.document

    @property
    def is_refusal(self) -> bool:
        """Whether the status is one of an error."""
        return self.step.status is not None and self.step.status >= 400

    @property
    def redirect(self) -> tuple[str, Mapping[str, str]]:
        """Where the response sends the browser, without the query, and the parameters; else empty."""
        url = self.step.headers.get("location", "")
        is_redirect = self.step.status is not None and 300 <= self.step.status < 400
        if not url or not is_redirect:
            return "", {}
        return url.partition("?")[0], dict(parse_qsl(urlsplit(url).query))

    def __str__(self) -> str:
        what = f"HTTP {self.step.status}" if self.step.status is not None else named(self.step.got, MAX_SHOWN)
        error = self.step.document.get("error")
        token = " with a token" if self.has_token else f", {named(str(error), MAX_SHOWN)}" if error else ""
        return f"{what}{token} in the login of {self.login.made}"


def login_of(server: Server) -> Login:
    """Return the login whose token the run uses; skip the check without one."""
    if server.settings.login is None:
        skip("nobody has logged in (--auth login)")
    return server.settings.login.current


def reply_of(server: Server, name: str) -> LoginReply:
    """Return the last step of a name; skip the check without one, or if it was not answered."""
    login = login_of(server)
    steps = login.named(name)
    if not steps:
        skip("the login has not tried it: mcp-conformance login --examine does")
    reply = LoginReply(login, steps[-1])
    if name not in BY_BROWSER and (reply.step.status is None or reply.step.status >= 500):
        skip(f"the authorization server did not answer: {reply}")
    return reply


BY_BROWSER = ("authorization",)
"""The steps of which the status is not known."""


def claims_of(token: str) -> Mapping[str, Any] | None:
    """Return what a token says if it is a JWT; None for any other one."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        found = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
