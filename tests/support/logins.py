"""Logins in tests: a browser that follows each redirect at once, and what a server has given away."""

import threading
from contextlib import suppress
from dataclasses import replace
from urllib.error import URLError
from urllib.request import urlopen

from mcp_conformance.login.flow import Choice, log_in
from mcp_conformance.login.live import LiveLogin
from mcp_conformance_fixtures.reference_http_login import Issuing


def browse(url):
    """Follow the redirects of a page in a thread, as a browser in which somebody is logged in does."""

    def follow():
        with suppress(URLError), urlopen(url) as page:
            page.read()

    threading.Thread(target=follow, daemon=True).start()
    return True


def logged_in(url, **choice):
    """Log in to a server whose authorization server asks nothing."""
    return log_in(Choice(url, **{"opens": browse, "seconds": 20.0, **choice}))


def with_login(settings, change=lambda login: login):
    """Return settings for a server over HTTP with the token of a login, examined and perhaps changed."""
    login = LiveLogin(change(logged_in(settings.http.url, examines=True)))
    settings.http.fixed_headers, settings.http.credential = (), login.headers
    return replace(settings, login=login)


class Watched(Issuing):
    """The server with logins, which keeps every secret that it has given."""

    def __init__(self):
        super().__init__()
        self.given = set()

    def no_store(self, status, document):
        secret = ("access_token", "refresh_token", "client_secret")
        self.given |= {document[name] for name in secret if name in document}
        return super().no_store(status, document)

    def new_code(self, call, asked):
        code = super().new_code(call, asked)
        self.given.add(code)
        return code
