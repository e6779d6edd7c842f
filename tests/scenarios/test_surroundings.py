"""A server that works on its author's machine, in the surroundings of others."""

import sys

import pytest
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


def test_the_surroundings_are_judged_only_if_the_user_asks(tmp_path):
    run = run_suite(REFERENCE, "--select", "surroundings", cwd=tmp_path)
    assert run.cases == ()
