"""Logins at the authorization servers that SDKs bring, and what the rules of logging in say of them."""

import os
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import mcp_conformance_fixtures as fixtures
from mcp_conformance.transport.http.server import HttpServer
from support.bench import run_checks, settings_on_process
from support.logins import with_login
from support.server_installation import filled, installed

SERVERS = tomllib.loads((Path(__file__).parent / "servers.toml").read_text())
PLACE = Path(os.environ["SDK_SERVERS"])
SOURCES = Path(fixtures.__file__).parent / "sdk"
EXAMPLE = "node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js"
AUTH_PORT = "8399"
"""The port for the authorization server of the example on TypeScript, which has one of its own."""


def command(name):
    """Return the command of a server behind a login on the SDK that another server is installed with."""
    folder = installed(PLACE, name, SERVERS[name])
    if name == "typescript1":
        return (
            "env",
            "MCP_PORT={port}",
            f"MCP_AUTH_PORT={AUTH_PORT}",
            "node",
            str(folder / EXAMPLE),
            "--oauth",
        )
    source = shutil.copy(SOURCES / f"{name.partition('_')[0]}_login.py", folder)
    return (filled("{ENV}/bin/python", {"ENV": str(folder)}), str(source), "{port}")


@pytest.mark.parametrize("name", ["python1_fastmcp", "fastmcp4", "typescript1"])
def test_a_login_at_an_sdk_succeeds_and_breaks_no_rule(name, tmp_path):
    if name == "typescript1" and shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    http = HttpServer(command=command(name))
    with settings_on_process((), tmp_path, start_timeout=60.0) as settings:
        chosen = replace(settings, command=http.command, http=http)
        try:
            chosen.converse().stop()
            http.url = http.endpoint.url
            logged_in = with_login(chosen)
            found = run_checks(logged_in, "2025-11-25", lambda check: check.suite == "test_http_login")
        finally:
            http.close()
    assert [one.text for one in found.verdicts] == []
    assert "test_a_code_needs_its_verifier" in found.passed
