"""Runs on published servers: the findings are the known ones."""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from support import run_suite
from support.server_installation import filled, installed, left_behind

SERVERS = tomllib.loads((Path(__file__).parent / "servers.toml").read_text())
PLACE = Path(os.environ["REAL_SERVERS"])


@pytest.mark.parametrize("name", SERVERS)
def test_the_findings_on_a_published_server_are_the_known_ones(name, tmp_path):
    server = SERVERS[name]
    places = {"ENV": str(installed(PLACE, name, server)), "WORK": str(tmp_path)}
    for step in server.get("setup", ()):
        subprocess.run(filled(step, places), shell=True, check=True, timeout=60)
    options = ["--revision", "latest", "--sdk-findings", "fail", "--cwd", str(tmp_path)]
    for variable, content in server.get("env", {}).items():
        options += ["--env", f"{variable}={filled(content, places)}"]
    run = run_suite([filled(word, places) for word in server["start"]], *options)
    assert {case.requirement for case in run.of("failed", "blocked")} == set(server["broken"]), run.output
    assert {case.requirement for case in run.of("warned")} == set(server["warned"]), run.output
    assert run.exit == (1 if server["broken"] else 0)
    assert left_behind(tmp_path) == []
