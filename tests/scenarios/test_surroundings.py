"""A server that works on its author's machine, in the surroundings of others."""

import os
import sys
from dataclasses import replace

import pytest

from mcp_conformance.scenarios import other_machines
from mcp_conformance.scenarios.other_machines import LOCALES, NO_GIT, READ_ONLY
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.throwaway import throwaway_folder
from support import REFERENCE, run_suite

WITH_AN_EM_DASH = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        info = {"name": "dash", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
        result["instructions"] = "Ask me anything \u2014 I answer."
        answer = result if request["method"] == "initialize" else {}
        message = {"jsonrpc": "2.0", "id": request["id"], "result": answer}
        print(json.dumps(message, ensure_ascii=False), flush=True)
"""
OPTIONS = ("--surroundings", "--select", "surroundings", "--timeout", "3", "--start-timeout", "5")


@pytest.mark.skipif(sys.platform == "win32", reason="the encoding of its streams is another one already")
def test_an_em_dash_ends_a_server_on_a_machine_with_another_code_page(tmp_path):
    (tmp_path / "server.py").write_text(WITH_AN_EM_DASH, encoding="utf-8")
    run = run_suite((sys.executable, "server.py"), *OPTIONS, cwd=tmp_path)
    (failed,) = run.findings
    assert failed.requirement == "surroundings.code-page"
    assert "on Windows with the code page" in failed.text
    assert "mcp-conformance run --select surroundings.code-page" in failed.text
    assert "--surroundings" in failed.text


ELSEWHERE = """
import json, os, shutil, subprocess, sys
START
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        info = {"name": "elsewhere", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
        answer = result if request["method"] == "initialize" else {}
        text = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer})
        print(text, flush=True)
"""
LOGS_HERE = "open('server.log', 'a').write('started')"
ASKS_GIT = "subprocess.run(['git', '--version'], check=True, capture_output=True)"
WRITES_A_COMMA = "if os.environ.get('LC_ALL', '').startswith('de_DE'): print('1,5', flush=True)"
LOCALE = "#!/bin/sh\necho UTF-8\n"
"""A program that finds every locale installed."""


@pytest.mark.skipif(sys.platform == "win32", reason="these surroundings are POSIX's")
@pytest.mark.parametrize(
    ("fault", "machine", "what"),
    [
        (LOGS_HERE, READ_ONLY[0], "server.log"),
        (ASKS_GIT, NO_GIT[0], "'git'"),
        (WRITES_A_COMMA, LOCALES[0], "1,5"),
    ],
    ids=["logs-here", "asks-git", "writes-a-comma"],
)
def test_a_server_breaks_only_on_one_other_machine(fault, machine, what, tmp_path, monkeypatch):
    (tmp_path / "locale").write_text(LOCALE)
    (tmp_path / "locale").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "server.py").write_text(ELSEWHERE.replace("START", fault))
    run = run_suite((sys.executable, "server.py"), *OPTIONS, cwd=tmp_path)
    (found,) = run.of("failed", "warned")
    assert f"on {machine.title}" in found.text
    assert what in found.text


@pytest.mark.skipif(sys.platform == "win32", reason="these surroundings are POSIX's")
def test_surroundings_that_cannot_be_had_are_named(tmp_path, monkeypatch):
    (tmp_path / "locale").write_text("#!/bin/sh\necho ANSI_X3.4-1968\n")
    (tmp_path / "locale").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    settings = Settings(("python",))
    assert LOCALES[0].obstacle(settings) == "de_DE.UTF-8 is not installed here"
    assert READ_ONLY[0].obstacle(settings) == "--cwd names the working directory"
    with throwaway_folder() as throwaway:
        inside = replace(settings, throwaway=throwaway)
        assert NO_GIT[0].obstacle(inside) == "there is no git on the PATH here either"
        monkeypatch.setattr(other_machines, "_launcher", lambda: ("/nowhere/setpriv",))
        assert READ_ONLY[0].obstacle(inside) == "this user may write everywhere"


def test_the_surroundings_are_judged_only_if_the_user_asks(tmp_path):
    run = run_suite(REFERENCE, "--select", "surroundings", cwd=tmp_path)
    assert run.cases == ()
