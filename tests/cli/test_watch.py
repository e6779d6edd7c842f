"""The command ``watch``: runs again when files change, and prints what is new, gone and still there."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_conformance.cli import watch
from mcp_conformance.outcome import Outcome
from mcp_conformance.plugin import rerun
from mcp_conformance.plugin.earlier_run import EarlierRun
from mcp_conformance.plugin.rerun import STOPPED, Known, RerunPlugin
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.verdicts import Skipped
from support.nightly import nightly
from support.repositories import write
from support.running import environment, forked
from support.sample_report import REPORT, result

posix = pytest.mark.skipif(sys.platform == "win32", reason="it presses Ctrl-C by a signal of POSIX")
SERVER = """
import json, pathlib, sys
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from definitions import TOOLS
import other

for line in sys.stdin:
    message = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": {}}
    if message["method"] == "initialize":
        info, offers = {"name": "small", "version": "1"}, {"tools": {}}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": offers, "serverInfo": info}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif message["method"] != "ping":
        del answer["result"]
        answer["error"] = {"code": -32601, "message": "no"}
    if "id" in message:
        print(json.dumps(answer), flush=True)
"""
DANGLING = {"type": "object", "properties": {"a": {"$ref": "#/$defs/nothing"}}}


def definitions(**schemas):
    tools = [{"name": name, "description": "A.", "inputSchema": one} for name, one in schemas.items()]
    return f"TOOLS = {tools!r}"


RIGHT = definitions(one={"type": "object"}, two={"type": "object"})
ONE_WRONG = definitions(one=DANGLING, two={"type": "object"})
OPTIONS = ("--select", "tools.def,ping", "--fuzz", "none", "--timeout", "20")
START = ("--", sys.executable, "server.py")


@posix
def test_each_run_says_what_is_new_gone_and_still_there(tmp_path):
    edits = [
        {"definitions.py": ONE_WRONG},
        {"other.py": "x = 1"},
        {"definitions.py": RIGHT},
        {"other.py": ""},
    ]
    lines = "\n".join(map(json.dumps, edits))
    write(tmp_path, {"server.py": SERVER, "definitions.py": RIGHT, "other.py": "", "edits.jsonl": lines})
    write(tmp_path, {".gitignore": "edits.jsonl\n"})
    exit, output = forked(["watch", *OPTIONS, "-p", "support.editing_plugin", *START], tmp_path, 120)
    first, second, third, fourth, _ = output.split("changed: ")
    assert "verdict: passed" in first, output
    assert second.startswith("definitions.py\n"), output
    assert "tools.def.input-schema-valid" in second, output
    assert "1 finding: 1 new, 0 gone, 0 still there" in second, output
    assert third.startswith("other.py\n"), output
    assert "still: failed tools.def.input-schema-valid (one): " in third, output
    assert "gone: failed tools.def.input-schema-valid (one): " in fourth, output
    assert output.endswith("no longer watching\n"), output
    assert exit == 2


@posix
@nightly
def test_an_edit_ends_a_run_and_a_server_that_does_not_start_is_explained(tmp_path):
    write(tmp_path, {"server.py": SERVER, "definitions.py": RIGHT, "other.py": ""})
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_conformance", "watch", *START],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    )

    def wait_for(text):
        return next(line for line in process.stdout if text in line)

    try:
        wait_for("watching 3 files")
        write(tmp_path, {"definitions.py": "TOOLS = [", "server.py": SERVER})
        wait_for("verdict: the server did not start")
        wait_for("watching")
        write(tmp_path, {"definitions.py": ONE_WRONG})
        wait_for("changed: definitions.py")
        for text in (RIGHT, ONE_WRONG):
            time.sleep(0.5)  # the run that it ends need not have begun
            write(tmp_path, {"definitions.py": text})
            wait_for("changed: definitions.py")
        wait_for(" new, ")
        wait_for("watching")
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 2
        process.stdout.close()


@posix
@pytest.mark.parametrize("options", [("--select", "nothing"), pytest.param(("--rnu",), marks=nightly)])
def test_errors_of_the_user_end_the_first_run(tmp_path, options):
    exit, output = forked(["watch", *options, *START], write(tmp_path, {"server.py": SERVER}), 60)
    assert exit == 4, output
    assert len(output.strip().splitlines()) == 1, output


# What is known -----------------------------------------------------------------------------------


def report(*results, ended=""):
    return replace(REPORT, results=results, ended=ended, not_run={})


BROKEN = result("ping.responds", Outcome.FAILED, check="test_ping", reason="silence")
SOUND = result("ping.responds", Outcome.PASSED, check="test_ping")
OTHER = result("tools.def.name-string", Outcome.WARNED, check="test_name", tool="add", reason="odd")


def test_a_run_that_ends_early_keeps_what_it_did_not_judge():
    known = Known().after(report(BROKEN, OTHER)).after(report(SOUND, ended=STOPPED))
    assert list(known.findings.values()) == [OTHER]
    assert known.broken == {OTHER.node}
    assert not Known().after(report(BROKEN, OTHER)).after(report(SOUND)).broken


def test_the_check_that_an_edit_has_ended_is_not_judged():
    stopped = replace(SOUND, outcome=Outcome.SKIPPED, reason=STOPPED)
    known = Known().after(report(BROKEN)).after(report(stopped, ended=STOPPED))
    assert list(known.findings.values()) == [BROKEN]


def test_a_finding_whose_check_is_skipped_now_is_not_said_to_be_gone():
    before = Known().after(report(BROKEN, OTHER))
    now = report(replace(SOUND, outcome=Outcome.SKIPPED, reason="no session"))
    lines = list(watch.changes(before, before.after(now), now))
    assert lines[:2] == [
        "no longer judged: failed ping.responds: silence",
        "no longer judged: warned tools.def.name-string (add): odd",
    ]


def test_many_findings_that_are_still_there_are_counted():
    many = [
        result("ping.responds", Outcome.FAILED, check="test_ping", tool=f"t{number}") for number in range(12)
    ]
    known = Known().after(report(*many))
    lines = list(watch.changes(known, known, report(*many)))
    assert len([one for one in lines if one.startswith("still: failed")]) == 10
    assert lines[-2] == "still: 2 more"
    assert lines[-1].startswith("12 findings: 0 new, 0 gone, 12 still there, in ")


# The order of the checks -------------------------------------------------------------------------


class Item:
    def __init__(self, nodeid, stage=0, tool=""):
        self.nodeid, self.stage, self.tool = nodeid, stage, tool


def test_checks_of_changed_tools_come_first_then_what_was_broken(monkeypatch):
    monkeypatch.setattr(rerun, "is_ours", lambda item: True)
    monkeypatch.setattr(rerun, "stage_of", lambda item: item.stage)
    monkeypatch.setattr(rerun, "tool_name", lambda item: item.tool)
    monkeypatch.setattr(rerun, "revision_of", lambda item: "now")
    base = EarlierRun("", frozenset(), {}, {"now": frozenset({"add"})}, frozenset())
    items = [Item("any"), Item("old", tool="add"), Item("broken", tool="add"), Item("new", tool="sub")]
    items.append(Item("probe", stage=-1))
    items.sort(key=lambda item: rerun._rank(item, base, {"broken"}))
    assert [item.nodeid for item in items] == ["probe", "new", "broken", "any", "old"]


def test_an_edit_ends_the_run_after_a_check_or_while_it_waits():
    config = SimpleNamespace(stash=pytest.Stash())
    session: Any = SimpleNamespace(shouldstop="", config=config)
    changed = set()
    plugin = RerunPlugin(Known(), lambda: changed)
    plugin.pytest_collection_finish(session)
    state = run_state(config)
    plugin.pytest_runtest_logfinish()
    assert not session.shouldstop
    changed.add("server.py")
    state.wait(1.0, 2.0)  # outside of a check nothing can be skipped
    in_check = plugin.pytest_runtest_call()
    next(in_check)
    with pytest.raises(Skipped, match=STOPPED):
        state.wait(1.0, 2.0)
    assert plugin.stopped
    assert session.shouldstop == STOPPED
