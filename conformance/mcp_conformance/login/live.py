"""The login of a run that goes on while tokens end."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mcp_conformance.login.login import Login
from mcp_conformance.login.renewal import valid_login
from mcp_conformance.login.web import LoginFailed
from mcp_conformance.transport.http.request import Headers


class LiveLogin:
    """A login whose token is renewed when it ends; ``tokens`` are all that it has had, for redaction.

    If it cannot be renewed, the last token stays, and the server says what it thinks of that.
    """

    def __init__(self, login: Login, renew: Callable[[str], Login] = valid_login):
        self.current = login
        self.tokens: tuple[str, ...] = (login.access_token,)
        self._renew: Callable[[str], Login] | None = renew
        self._lock = threading.Lock()

    def headers(self) -> Headers:
        """Return the header with the token, a new one if the last has ended."""
        with self._lock:
            if self.current.is_expired and self._renew is not None:
                try:
                    self.current = self._renew(self.current.url)
                except LoginFailed:
                    self._renew = None
                self.tokens = tuple(dict.fromkeys((*self.tokens, self.current.access_token)))
            return (self.current.header,)
