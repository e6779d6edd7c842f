"""The login to a server as it is kept, with a new token if the old one has ended."""

from __future__ import annotations

import os

from mcp_conformance.login import store
from mcp_conformance.login.flow import renewed
from mcp_conformance.login.login import Login
from mcp_conformance.login.web import LoginFailed, expect_extra
from mcp_conformance.protocol.text import shell_line
from mcp_conformance.transport.lock import locked

# Not measured: twice what one response may take.
LOCK_SECONDS = 60.0


def valid_login(url: str) -> Login:
    """Return the login to a server, renewed and kept if its token has ended.

    Raises `LoginFailed` if there is none, or if it cannot be renewed.
    """
    again = shell_line(["mcp-conformance", "login", "--url", store.key(url)])
    login = store.kept(url)
    if login is None:
        raise LoginFailed(f"nobody has logged in to {store.key(url)}: {again}")
    if not login.is_expired:
        return login
    # A refresh token that is used twice may end all tokens: processes wait for each other.
    with locked(store.path_of(url).with_suffix(".lock"), LOCK_SECONDS):
        login = store.kept(url) or login
        return _renewed(login, again) if login.is_expired else login


def _renewed(login: Login, again: str) -> Login:
    expect_extra()
    variable = login.client.secret_variable
    if variable and variable not in os.environ:
        raise LoginFailed(f"the token has ended, and the variable {variable} with the secret is not set")
    try:
        new = renewed(login, os.environ.get(variable, ""))
    except LoginFailed as error:
        raise LoginFailed(f"{error}; log in again: {again}") from error
    try:
        store.keep(new)
    except OSError as error:
        raise LoginFailed(f"the new token cannot be kept: {error}") from error
    return new
