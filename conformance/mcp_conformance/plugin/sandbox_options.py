"""The options of the sandbox: what confines the server, and what it may do in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_conformance.plugin.option_values import path_of, value
from mcp_conformance.sandbox.policy import Unavailable
from mcp_conformance.sandbox.sandbox import NONE, Choice, Sandbox

ALLOWANCES = ("allow-read", "allow-write", "allow-net")


def sandbox(config: pytest.Config) -> Sandbox | None:
    """Return the sandbox that the user chose; None without one.  Raises `pytest.UsageError`."""
    text = str(value(config, "sandbox") or NONE)
    is_served = bool(value(config, "http"))
    given = next((name for name in ALLOWANCES if value(config, name)), "")
    if text == NONE and given:
        raise pytest.UsageError(f"--conformance-{given}: it needs --conformance-sandbox")
    if text != NONE and value(config, "url"):
        raise pytest.UsageError("--conformance-sandbox: it confines a command, not a server at a URL")
    read, write = (_paths(config, name) for name in ("allow-read", "allow-write"))
    try:
        return Choice(text, read, write, tuple(value(config, "allow-net")), listens=is_served).sandbox()
    except Unavailable as reason:
        raise pytest.UsageError(f"--conformance-sandbox: {reason}") from None


def _paths(config: pytest.Config, name: str) -> tuple[Path, ...]:
    """Return the paths that an option names.  Raises `pytest.UsageError` for one that does not exist."""
    paths = [path_of(config, name, text).absolute() for text in value(config, name)]
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise pytest.UsageError(f"--conformance-{name}: no such file or directory: {missing}")
    return tuple(paths)
