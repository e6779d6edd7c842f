"""The command ``mcp-conformance login``: get a token for a server as a client does, and keep it."""

from __future__ import annotations

import argparse
import os
import webbrowser
from collections.abc import Sequence

from mcp_conformance.cli.arguments import (
    UsageError,
    chosen_by,
    configuration,
    expect_no_more,
    require_server,
    usage_errors,
)
from mcp_conformance.login import store
from mcp_conformance.login.flow import EXAMINED, Choice, log_in, log_in_as_client
from mcp_conformance.login.login import Login, OAuthClient, shown_time
from mcp_conformance.login.web import LoginFailed, expect_extra
from mcp_conformance.options.run_options import http_server
from mcp_conformance.protocol.text import named
from mcp_conformance.report.exit_status import NOT_RUN, NOT_STARTED, PASSED
from mcp_conformance.report.model import plural
from mcp_conformance.transport.http.server import HttpServer


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Log in, and keep the token; return 0 if it is kept, 6 if the authorization server gives none."""
    expect_no_more(rest, command)
    try:
        store.folder()
        if options.list:
            return _list()
        server = _server(options)
        if options.logout:
            return _log_out(server.url)
        expect_extra()
    except LoginFailed as error:
        raise UsageError(f"login: {error}") from error
    choice = _choice(options, server)
    try:
        login = log_in_as_client(choice) if options.client_credentials else log_in(choice)
    except LoginFailed as error:
        _say(f"no token: {error}")
        return NOT_STARTED
    return _keep(login)


def _server(options: argparse.Namespace) -> HttpServer:
    """Return the server that the user names by its URL.  Raises `UsageError`."""
    if not (options.url or options.server or options.config or configuration("login")):
        raise UsageError("login: no server is given: --url URL")
    given = require_server(options, None, "login", "login --url URL")
    chosen = chosen_by(options, given, "login")
    with usage_errors("login"):
        server = http_server(chosen, ())
    if server is None or not server.url:
        raise UsageError("login: it needs a server at a URL: --url URL")
    return server


def _choice(options: argparse.Namespace, server: HttpServer) -> Choice:
    """Return what the user chose.  Raises `UsageError`."""
    secret, variable = "", options.client_secret_env
    if variable and variable not in os.environ:
        raise UsageError(f"login: --client-secret-env: the variable {variable} is not set")
    if variable:
        secret = os.environ[variable]
    if (variable or options.client_credentials) and not options.client_id:
        raise UsageError("login: it needs --client-id, the client that the authorization server knows")
    if options.client_credentials and not variable:
        raise UsageError("login: --client-credentials needs --client-secret-env")
    if options.client_document and not options.client_document.startswith("https://"):
        raise UsageError("login: --client-document: a URL with https:// is expected")
    try:
        client = OAuthClient(options.client_id, secret, variable) if options.client_id else None
    except ValueError as error:
        raise UsageError(f"login: {error}") from error
    return Choice(
        server.url,
        server.headers,
        client,
        options.client_document,
        options.scope,
        options.redirect_port,
        options.wait,
        options.examine,
        (lambda _: False) if options.no_browser else opened,
        _say,
    )


def _keep(login: Login) -> int:
    try:
        path = store.keep(login)
    except OSError as error:
        raise UsageError(f"login: the token cannot be kept: {error}") from error
    ends = f" until {shown_time(login.expires)}" if login.expires else ""
    renewed = ", and is refreshed then" if login.refresh_token else ""
    _say(f"logged in to {login.url} by {login.issuer}: the token is valid{ends}{renewed}")
    tried = sum(one.name in EXAMINED for one in login.steps)
    if tried:
        _say(f"{plural(tried, 'thing')} that had to be refused: run --auth login judges the answers")
    _say(f"kept in {path}")
    _say(f"use it: mcp-conformance run --url {login.url} --auth login")
    return PASSED


def opened(url: str) -> bool:
    """Open a URL in a browser with windows; return whether there is one."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    # One in the terminal, if the user has not chosen it, would take the place of what this command prints.
    is_of_terminal = type(browser) is webbrowser.GenericBrowser and "BROWSER" not in os.environ
    return not is_of_terminal and browser.open(url)


def _list() -> int:
    """Print a line for each login, and for each file that is broken."""
    found = list(store.all_kept())
    for one in found:
        if isinstance(one, LoginFailed):
            _say(str(one))
            continue
        ends = f"the token ends {shown_time(one.expires)}" if one.expires else "its end is unknown"
        _say(
            f"{one.url}  by {one.issuer}, {one.made}; {ends}{', refreshed then' if one.refresh_token else ''}"
        )
    if not found:
        _say("no login is kept")
    return NOT_RUN if any(isinstance(one, LoginFailed) for one in found) else PASSED


def _log_out(url: str) -> int:
    if not store.forget(url):
        raise LoginFailed(f"no login to {store.key(url)} is kept")
    _say(f"the login to {store.key(url)} is removed; its token may be valid until it ends")
    return PASSED


def _say(text: str) -> None:
    print(named(text, 2000), flush=True)  # noqa: T201
