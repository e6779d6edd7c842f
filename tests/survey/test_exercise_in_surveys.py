"""What was exercised, in a survey: it is kept, shown and compared, and can be required."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.project.env_file import read_env_file
from mcp_conformance.report.exercise import ExercisedTool
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.hosts import AskedHost
from mcp_conformance.survey import examine as examining
from mcp_conformance.survey.diff import differences, render
from mcp_conformance.survey.examine import Examination, examine
from mcp_conformance.survey.prepare import Installation
from mcp_conformance.survey.results import Grade, Obstacle, SurveyResult
from mcp_conformance.survey.site import write_site
from mcp_conformance.survey.targets import Target
from support.sample_report import REPORT, failed, result
from support.survey_results import made_result

WORKS = ExercisedTool("read_note", "", 60, 40, 3, ("an answer of list_notes",))
FAILS = ExercisedTool("find_note", "", 60)
BARRED = ExercisedTool("drop_note", "it may not be called (--call)")
PASSED = result("ping.empty-result", Outcome.PASSED)


def examined(monkeypatch, *reports):
    """Examine a target whose runs write these reports."""
    written = [json_format.render(one) for one in reports]

    def run(program, *_):
        path = Path(program[program.index("--report") + 1])
        path.write_text(written.pop(0), encoding="utf-8")
        return SimpleNamespace(status=1, cpu_seconds=0.0, output="")

    monkeypatch.setattr(examining, "run", run)
    return examine(Target("notes", command=("notes",)), Installation("", ""), Examination((), 60.0, "none"))


@pytest.mark.parametrize(
    ("tools", "more", "kept"),
    [((WORKS, FAILS, BARRED), {}, 3), ((WORKS,), {"is_partial": True}, 0)],
)
def test_a_result_keeps_what_was_exercised(tools, more, kept, monkeypatch):
    report = replace(REPORT, results=(PASSED,), ended="", exercise=tools, lacking="", **more)
    found = examined(monkeypatch, report)
    assert found.grade is Grade.CONFORMS
    assert found.exercise == tools[:kept]
    assert found.exercised == ("1/2" if kept else "")
    assert SurveyResult.from_json(found.to_json()) == found


def test_a_result_keeps_the_hosts_that_were_asked(monkeypatch):
    hosts = (AskedHost("call", "search", "https://api.example.com", "GET", "/v1", received=2, times=3),)
    found = examined(monkeypatch, replace(REPORT, results=(PASSED,), ended="", lacking="", hosts=hosts))
    assert found.hosts == hosts
    assert SurveyResult.from_json(found.to_json()) == found


def test_a_server_of_which_too_little_was_exercised_could_not_be_judged(monkeypatch):
    report = replace(REPORT, results=(PASSED,), ended="", exercise=(FAILS,), lacking="0 of 1, 80% required")
    found = examined(monkeypatch, report)
    assert (found.grade, found.obstacle) == (Grade.NOT_JUDGED, Obstacle.EXERCISE)
    assert found.diagnosis == "0 of 1, 80% required"
    red = replace(report, results=(failed("add"),))
    assert examined(monkeypatch, red, red).grade is Grade.DOES_NOT_CONFORM


def test_the_second_run_has_the_same_empty_folder_and_what_the_first_learned(monkeypatch):
    report = replace(REPORT, results=(failed("add"),), ended="", exercise=(WORKS,))
    places = []

    def run(program, folder, *_):
        work, learned = Path(program[-1]), folder / ".mcp-conformance" / "known" / "a.json"
        places.append((work, sorted(folder.rglob("*.json"))))
        (work / "made.json").write_text("")
        learned.parent.mkdir(parents=True, exist_ok=True)
        learned.write_text("{}")
        (folder / "report.json").write_text(json_format.render(report), encoding="utf-8")
        return SimpleNamespace(status=1, cpu_seconds=0.0, output="")

    monkeypatch.setattr(examining, "run", run)
    target = Target("notes", command=("notes", "{WORK}"))
    examine(target, Installation("", ""), Examination((), 60.0, "none"))
    (first, nothing), (second, known) = places
    assert first == second
    assert not nothing
    assert [one.name for one in known] == ["a.json"]


def test_no_variable_of_a_target_is_in_a_command(monkeypatch, tmp_path):
    """Other users see the words of a command."""
    (tmp_path / "env").write_text("IN_FILE=first\nOF_ALL=first\n")
    commands, given = [], []

    def run(program, *_):
        commands.append(program)
        given.append(read_env_file(Path(program[program.index("--env-file") + 1])))
        return SimpleNamespace(status=4, cpu_seconds=0.0, output="")

    monkeypatch.setattr(examining, "run", run)
    target = Target("notes", command=("notes",), env={"A_KEY": "of\ntwo lines"}, options=("--env=B_KEY=b=c",))
    options = ("--env", "OF_ALL=last", "--env", "PATH", "--timeout", "5", "--env-file", str(tmp_path / "env"))
    examine(target, Installation("", ""), Examination(options, 60.0, "none"))
    assert given == [{"IN_FILE": "first", "OF_ALL": "last", "A_KEY": "of\ntwo lines", "B_KEY": "b=c"}]
    (words,) = commands
    assert not [word for word in words if any(text in word for text in ("lines", "b=c", "last", "first"))]
    assert [words[words.index("--env") :][:4]] == [["--env", "PATH", "--timeout", "5"]]


def test_a_result_of_an_earlier_version_has_none():
    text = made_result().to_json()
    assert '"exercise": []' in text
    assert SurveyResult.from_json(text.replace('"exercise": []', '"server": ""')).exercise == ()


def test_a_server_that_no_survey_gets_inside_any_more_is_worse():
    old, new = (made_result("notes", exercise=(one, FAILS)) for one in (WORKS, replace(WORKS, successes=0)))
    found = differences([old], [new])
    assert found.status == 1
    assert "the share of tools exercised was 1/2, is 0/2" in render(found)
    assert differences([new], [old]).status == 0
    less = replace(old, exercise=(WORKS, FAILS, replace(FAILS, name="other")))
    assert differences([old], [less]).changes == ()


def test_the_pages_show_it(tmp_path):
    results = [made_result("notes", exercise=(WORKS, FAILS)), made_result("empty", exercise=(FAILS,))]
    write_site(results, tmp_path)
    start = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "1 of 3 callable tools exercised; none in 1 server" in start
    (page,) = (tmp_path / "servers").glob("notes-*.html")
    shown = page.read_text(encoding="utf-8")
    assert "Tools exercised: 1/2" in shown
    assert "an answer of list_notes" in shown
