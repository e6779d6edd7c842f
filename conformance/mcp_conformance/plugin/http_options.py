"""The options of a server that speaks HTTP: its address, and the headers of each request."""

from __future__ import annotations

import math
import os
from importlib.util import find_spec

import pytest

from mcp_conformance.plugin.option_values import value
from mcp_conformance.transport.http.endpoint import is_loopback
from mcp_conformance.transport.http.headers import header_of
from mcp_conformance.transport.http.server import DEFAULT_PATH, PORT, HttpServer
from mcp_conformance.transport.http.turns import REMOTE_RATE


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
        return HttpServer(url or "", () if url else command, path, headers, _rate(config))
    except ValueError as error:
        raise pytest.UsageError(f"--conformance-url: {error}") from None


def is_remote(config: pytest.Config) -> bool:
    """Return whether the server is at a URL that is not on this machine."""
    url = value(config, "url")
    return bool(url) and not is_loopback(str(url))


def _rate(config: pytest.Config) -> float:
    """Return the most requests a second.  Raises `pytest.UsageError`."""
    text = value(config, "rate")
    if not text:
        return REMOTE_RATE if is_remote(config) else math.inf
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not rate > 0:
        raise pytest.UsageError(f"--conformance-rate: a number over 0 is expected, not {text!r}")
    return rate


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
