"""Surveys on a local cluster: nothing is lost, nothing is done twice, and each ends."""

import errno
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_conformance.report.exit_status import MACHINE
from mcp_conformance.survey import examine as examining
from mcp_conformance.survey.engine import Plan, Progress, _is_done, cluster, survey
from mcp_conformance.survey.examine import Examination, examine
from mcp_conformance.survey.learned import LEARNED
from mcp_conformance.survey.prepare import DONE, Installation, installation_key
from mcp_conformance.survey.programs import Ended
from mcp_conformance.survey.results import Grade, Obstacle
from mcp_conformance.survey.store import Store
from mcp_conformance.survey.targets import Target
from mcp_conformance.transport.interface import CannotStart
from support.nightly import nightly
from support.running import forked
from support.survey_results import made_result

OPTIONS = ("--select", "ping", "--select", "tools.def.title-string", "--fuzz", "none", "--timeout", "5")


def ours(name, module, *words, **more):
    """Return a target that is one of our servers."""
    return Target(name, command=(sys.executable, "-m", f"mcp_conformance_fixtures.{module}", *words), **more)


RIGHT = ours("right", "reference")
BROKEN = ours("broken", "mutants", "a_tool_has_a_null_title")
DEAD = ours("dead", "hostile.exits_at_start", secrets=("TOKEN",))
"""A server that takes one short run; a broken one takes two long ones."""


@pytest.fixture(scope="module")
def client():
    with cluster("", 2) as client:
        yield client


def plan(folder, **more):
    return Plan(folder / "installations", str(folder / "results"), Examination(OPTIONS, 120.0), **more)


def surveyed(client, targets, how):
    """Return the lines that a survey reports, and the results by name."""
    lines = []
    survey(client, targets, how, lambda done, total, text: lines.append(text))
    return lines, {one.target.name: one for one in Store(how.results).results()}


def test_each_target_has_one_result_and_is_not_examined_again(client, tmp_path):
    remote = Target("remote", url="https://weather.example/mcp")
    lines, results = surveyed(client, [RIGHT, BROKEN, DEAD, remote], plan(tmp_path))
    assert {name: one.grade for name, one in results.items()} == {
        "right": Grade.CONFORMS,
        "broken": Grade.DOES_NOT_CONFORM,
        "dead": Grade.NOT_JUDGED,
        "remote": Grade.NOT_JUDGED,
    }
    assert {one.requirement for one in results["broken"].findings} == {"tools.def.title-string"}
    assert (results["dead"].obstacle, results["remote"].obstacle) == (Obstacle.SECRET, Obstacle.REMOTE)
    assert results["right"].matrix["ping.responds"]["2025-11-25"] == "passed"
    assert len(lines) == 4
    assert surveyed(client, [RIGHT, BROKEN, DEAD, remote], plan(tmp_path)) == ([], results)
    lines, _ = surveyed(client, [RIGHT, BROKEN, DEAD, remote], plan(tmp_path, retries=True))
    assert sorted(line.partition(":")[0] for line in lines) == ["dead", "remote"]


@nightly
def test_targets_of_one_package_have_commands_of_their_own(client, tmp_path):
    package = {"registry": "pypi", "package": "both", "version": "1"}
    targets = [replace(target, **package) for target in (RIGHT, DEAD)]
    folder = tmp_path / "installations" / installation_key(targets[0], scripts=False)
    folder.mkdir(parents=True)
    (folder / DONE).touch()
    _, results = surveyed(client, targets, plan(tmp_path))
    assert results["right"].grade == Grade.CONFORMS
    assert results["dead"].obstacle == Obstacle.SECRET


@nightly  # Dask takes ten seconds of the processor to replace the worker
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_worker_loses_nothing(client, tmp_path):
    pids = list(client.run(os.getpid).values())
    killer = threading.Timer(0.5, os.kill, (pids[0], signal.SIGKILL))
    killer.start()
    lines, results = surveyed(client, [RIGHT, DEAD], plan(tmp_path))
    killer.join()
    assert len(lines) == len(results) == 2
    assert results["right"].grade == Grade.CONFORMS
    assert results["dead"].obstacle == Obstacle.SECRET


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 200_000, b"3"])
def test_a_file_that_is_no_result_is_named_and_set_aside(content, tmp_path):
    how, store, progress = plan(tmp_path), Store(str(tmp_path / "results")), Progress(1)
    path = Path(how.path(store, DEAD))
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    lines = []
    assert list(store.results(lines.append)) == []
    assert [line.startswith(f"{path} is not the result of a survey: ") for line in lines] == [True]
    assert not _is_done(store, DEAD, how, progress)
    assert [str(path) in note for note in progress.notes] == [True]
    assert Path(f"{path}.unreadable").read_bytes() == content
    assert not path.exists()


@nightly
def test_a_result_that_cannot_be_written_is_a_problem(client, tmp_path):
    how = plan(tmp_path)
    (tmp_path / "results").write_text("a file in place of the folder", encoding="utf-8")
    done = survey(client, [DEAD], how, lambda *_: None)
    assert [problem.partition(":")[0] for problem in done.problems] == ["dead"]


SECRET = "s3cret-value-of-8"


@pytest.mark.parametrize(
    "members",
    [
        {"command": ("run", f"--token={SECRET}")},
        {"arguments": ("--api-key", SECRET)},
        {"env": {"ACME": SECRET}},
        {"options": ("--env", f"ACME={SECRET}")},
        {"options": (f"--env=ACME={SECRET}",)},
        {"options": ("--header", f"X-Acme: {SECRET}")},
        {"setup": (f"login --password={SECRET}",)},
        {"setup": (f"login --password={SECRET} 'without end",)},
        {"url": f"https://me:{SECRET}@localhost/mcp?page=2"},
    ],
    ids=str,
)
def test_a_result_has_no_credential_of_its_target(members):
    target = Target("acme", **members)
    result = made_result(target=target, diagnosis=f"cannot log in with {SECRET}")
    assert SECRET not in result.shown.to_json()
    assert SECRET not in repr([target, Plan(Path(), "")])


def test_a_result_has_no_credential_of_the_options_for_all():
    options = ("--env", f"ACME={SECRET}", "--timeout", "5")
    shown = made_result(options=options, diagnosis=f"cannot log in with {SECRET}").shown
    assert shown.options == ("--env", "ACME=***", "--timeout", "5")
    assert shown.diagnosis == "cannot log in with ***"


def test_the_command_says_what_is_wrong_in_a_line(tmp_path):
    targets = tmp_path / "targets.jsonl"
    targets.write_text(json.dumps({"name": "weather"}), encoding="utf-8")
    reason = "mcp-conformance: survey: weather: it needs a registry, a command or a url\n"
    assert forked(["survey", "run", str(targets)], tmp_path, 60) == (4, reason)


def test_a_machine_without_room_gives_no_result(monkeypatch, tmp_path):
    monkeypatch.setattr(examining, "run", lambda *_: Ended(MACHINE, "no space left\n", 0.0))
    with pytest.raises(OSError, match="no space left"):
        examine(RIGHT, Installation(), Examination((), 60.0, "none"), tmp_path)

    def full(*_):
        raise CannotStart("cannot furnish") from OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(examining, "run", full)
    with pytest.raises(OSError, match="No space left on device"):
        examine(RIGHT, Installation(), Examination((), 60.0, "none"), tmp_path)


def test_a_survey_begins_with_what_the_last_one_learned(monkeypatch, tmp_path):
    seen = []

    def run(_, own, *__):
        file = own / LEARNED / "a.json"
        seen.append(file.read_text() if file.exists() else None)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"learned {len(seen)}")
        (file.parent / "link.json").unlink(missing_ok=True)
        with suppress(OSError):  # Windows may forbid it
            (file.parent / "link.json").symlink_to(tmp_path)
        return Ended(1, "", 0.0)

    monkeypatch.setattr(examining, "run", run)
    learned = tmp_path / "known" / "right"
    for _ in range(2):
        examine(RIGHT, Installation(), Examination((), 60.0, "none"), learned)
    assert seen == [None, "learned 1"]
    assert [one.name for one in learned.iterdir()] == ["a.json"]


def test_a_worker_takes_no_module_of_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "")  # as before, afterwards
    monkeypatch.chdir(tmp_path)
    for name in ("pickle", "socket", "queue"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with cluster("", 1) as client:
        assert client.submit(sum, [1, 2]).result(timeout=60) == 3
    assert not (tmp_path / "ran").exists()
