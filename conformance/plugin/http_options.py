"""The options of a server that speaks HTTP: its address, and the headers of each request."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

from conformance.plugin.option_values import value
from conformance.transport.http.headers import header_of
from conformance.transport.http.server import DEFAULT_PATH, PORT, HttpServer


def http_server(config: pytest.Config, command: tuple[str, ...]) -> HttpServer | None:
    """Return the server over HTTP, at a URL or to be started by a command; None for stdio.

    Raises `pytest.UsageError`.
    """
    url, is_served, headers = value(config, "url"), bool(value(config, "http")), _headers(config)
    if not url and not is_served:
        if headers:
            raise pytest.UsageError("--conformance-header: it needs --conformance-url or --conformance-http")
        return None
    if find_spec("h11") is None:
        raise pytest.UsageError("HTTP needs one more package: pip install 'pytest-mcp-conformance[http]'")
    if is_served and not any(PORT in word for word in command):
        raise pytest.UsageError(f"--conformance-http: the command needs {PORT} where its port belongs")
    path = str(value(config, "http-path") or DEFAULT_PATH)
    try:
        return HttpServer(url or "", () if url else command, path, headers)
    except ValueError as error:
        raise pytest.UsageError(f"--conformance-url: {error}") from None


def _headers(config: pytest.Config) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that the user gives to each HTTP request.  Raises `pytest.UsageError`."""
    found = [_header(text, "header") for text in value(config, "header")]
    for text in value(config, "header-env"):
        name, equals, variable = text.rpartition("=")
        if variable not in os.environ:
            raise pytest.UsageError(f"--conformance-header-env: no variable {variable!r} is set here")
        content = os.environ[variable]
        found.append(_header(f"{name}: {content}" if equals else content, "header-env"))
    return tuple(found)


def _header(text: str, option: str) -> tuple[bytes, bytes]:
    try:
        return header_of(text)
    except ValueError as error:
        raise pytest.UsageError(f"--conformance-{option}: {error}") from None
