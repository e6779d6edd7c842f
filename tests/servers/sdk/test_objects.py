"""Server objects of the official SDKs and of FastMCP in the process of a project's own tests."""

import os
import shutil
import tomllib
from pathlib import Path

import pytest

import mcp_conformance_fixtures as fixtures
from support.repositories import run_pytest, write
from support.server_installation import installed

SERVERS = tomllib.loads((Path(__file__).parent / "servers.toml").read_text())
PLACE = Path(os.environ["SDK_SERVERS"])
SOURCES = Path(fixtures.__file__).parent / "sdk"
OBJECTS = {
    "python1_fastmcp": "mcp",
    "python2_mcpserver": "mcp",
    "python2_lowlevel": "server",
    "fastmcp4": "mcp",
}
TESTS = """
import pytest
from mcp_conformance import for_each_tool


@for_each_tool
def test_each(tool):
    assert tool.definition["inputSchema"]


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_async(conformance_session, anyio_backend):
    assert (await conformance_session.request("tools/list")).json["tools"]


def test_a_new_session(conformance_server):
    conformance_server.restart()
    assert conformance_server.request("tools/list").ok
"""


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_of_an_sdk_is_tested_without_a_process(name, tmp_path):
    server = SERVERS[name]
    site = next(installed(PLACE, name, server).glob("lib/python3*/site-packages"))
    repo = write(tmp_path / "repo", {"test_it.py": TESTS})
    shutil.copy(SOURCES / server["source"], repo)
    place = f"--conformance-object={Path(server['source']).stem}:{OBJECTS[name]}"
    run = run_pytest(repo, place, ".", lean=(), env={"PYTHONPATH": str(site)})
    assert run.exit == 0, run.output
    assert len(run.own) >= 3, run.output
